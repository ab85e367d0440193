/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/health_probe.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void prober_release(struct prober *prober)
{
	probe_http_release(prober);
	probe_icmp_release(prober);
}

void probe_start(struct probe *probe)
{
	probe->running = true;
	switch (probe->check->type) {
	case CONFIG_CHECK_TCP:
		probe_tcp_start(probe);
		return;
	case CONFIG_CHECK_UDP:
		probe_udp_start(probe);
		return;
	case CONFIG_CHECK_HTTP:
	case CONFIG_CHECK_HTTPS:
		probe_http_start(probe);
		return;
	case CONFIG_CHECK_ICMP:
		probe_icmp_start(probe);
		return;
	case CONFIG_CHECK_NONE:
		probe_finish(probe, PROBE_NOT_RUN, "no check");
		return;
	}
}

void probe_cancel(struct probe *probe)
{
	if (!probe->running)
		return;
	probe->running = false;
	switch (probe->check->type) {
	case CONFIG_CHECK_TCP:
	case CONFIG_CHECK_UDP:
		probe_socket_stop(probe);
		return;
	case CONFIG_CHECK_HTTP:
	case CONFIG_CHECK_HTTPS:
		probe_http_stop(probe);
		return;
	case CONFIG_CHECK_ICMP:
		probe_icmp_stop(probe);
		return;
	case CONFIG_CHECK_NONE:
		return;
	}
}

void probe_finish(struct probe *probe, enum probe_outcome outcome, const char *reason)
{
	char copy[HEALTH_REASON_LEN];

	/* The text may lie in what is freed next. */
	snprintf(copy, sizeof(copy), "%s", reason);
	probe_cancel(probe);
	probe->done(probe, outcome, copy);
}

enum probe_outcome probe_error(int error, char out[HEALTH_REASON_LEN])
{
	snprintf(out, HEALTH_REASON_LEN, "%s", strerrordesc_np(error) ?: "unknown error");
	out[0] = (char)tolower((unsigned char)out[0]);
	switch (error) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
	case ENOSPC:
	case EAGAIN:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
	case EPERM:
	case EACCES:
		return PROBE_NOT_RUN;
	default:
		return PROBE_FAILED;
	}
}

void probe_fail(struct probe *probe, int error)
{
	char reason[HEALTH_REASON_LEN];
	enum probe_outcome outcome = probe_error(error, reason);

	probe_finish(probe, outcome, reason);
}

socklen_t probe_sockaddr(const struct probe *probe, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)out;

	*out = (struct sockaddr_storage){.ss_family = probe->address.family};
	if (probe->address.family == AF_INET6) {
		memcpy(&ipv6->sin6_addr, probe->address.bytes, sizeof(ipv6->sin6_addr));
		ipv6->sin6_port = htons(probe->port);
		return sizeof(*ipv6);
	}
	memcpy(&ipv4->sin_addr, probe->address.bytes, sizeof(ipv4->sin_addr));
	ipv4->sin_port = htons(probe->port);
	return sizeof(*ipv4);
}
