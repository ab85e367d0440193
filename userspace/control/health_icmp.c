/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * icmp: an echo request is answered. All probes of an address family share a socket;
 * an answer finds its probe by the sequence number and must carry the probe's random
 * token, so neither other programs' pings nor late or forged answers count.
 *
 * Raw sockets where that is allowed, else "ping" sockets (net.ipv4.ping_group_range),
 * where the kernel chooses the identifier and sums.
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/health_probe.h"

#define SEQUENCES     65536
#define RECEIVE_BYTES (1 << 20) /* for the answers of one turn of the loop */
#define BURST	      64	/* answers read in a row */
/* Of <linux/icmp.h>, which does not go together with <netinet/ip_icmp.h>. */
#define ICMP_FILTER 1

/* The same in ICMPv4 and ICMPv6 but for the types. Source: RFC 792; RFC 4443, section 4. */
struct echo {
	uint8_t type;
	uint8_t code;
	uint16_t checksum;
	uint16_t id;
	uint16_t sequence;
	uint64_t token;
};
_Static_assert(sizeof(struct echo) == 16, "as on the wire");

struct family {
	int fd; /* -1 until needed */
	bool raw;
	sd_event_source *io;
};

struct probe_icmp {
	sd_event *loop;
	struct family ipv4, ipv6;
	uint16_t id;
	uint16_t next;
	struct probe *probes[SEQUENCES]; /* in flight */
};

/* Source: RFC 1071. @len is even. */
static uint16_t checksum(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint32_t sum = 0;
	uint16_t word;

	for (size_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		sum += word;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static struct family *family_of(struct probe_icmp *icmp, const struct config_address *address)
{
	return address->family == AF_INET6 ? &icmp->ipv6 : &icmp->ipv4;
}

static bool same_address(const struct probe *probe, const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)from;

	if (from->ss_family != probe->address.family)
		return false;
	if (from->ss_family == AF_INET6)
		return !memcmp(&ipv6->sin6_addr, probe->address.bytes, sizeof(ipv6->sin6_addr));
	return !memcmp(&ipv4->sin_addr, probe->address.bytes, sizeof(ipv4->sin_addr));
}

static void take_answer(struct probe_icmp *icmp, const struct family *family,
			const struct sockaddr_storage *from, const unsigned char *bytes, size_t len)
{
	uint8_t type = family == &icmp->ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
	struct probe *probe;
	struct echo echo;

	/* A raw IPv4 socket gives the IP header too. */
	if (family == &icmp->ipv4 && family->raw) {
		size_t header = len ? (bytes[0] & 0xfU) * 4 : 0;

		if (header < sizeof(struct iphdr) || header > len)
			return;
		bytes += header;
		len -= header;
	}
	if (len < sizeof(echo))
		return;
	memcpy(&echo, bytes, sizeof(echo));
	probe = icmp->probes[ntohs(echo.sequence)];
	if (echo.type != type || (family->raw && echo.id != icmp->id) || !probe ||
	    echo.token != probe->token || !same_address(probe, from))
		return;
	probe_finish(probe, PROBE_SUCCEEDED, "");
}

static int icmp_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct probe_icmp *icmp = context;
	struct family *family = fd == icmp->ipv6.fd ? &icmp->ipv6 : &icmp->ipv4;
	unsigned char bytes[256];

	(void)source;
	(void)events;
	for (int i = 0; i < BURST; i++) {
		struct sockaddr_storage from = {0};
		socklen_t from_len = sizeof(from);
		ssize_t len =
			recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &from_len);

		/* An error of the socket has gone with having been read. */
		if (len < 0)
			break;
		take_answer(icmp, family, &from, bytes, (size_t)len);
	}
	return 0;
}

static void family_close(struct family *family)
{
	family->io = sd_event_source_disable_unref(family->io);
	if (family->fd >= 0)
		close(family->fd);
	family->fd = -1;
}

/* No other messages than echo replies: pings that this host is sent wake nobody up. */
static void family_filter(const struct family *family, int domain)
{
	const uint32_t ipv4 = ~(1U << ICMP_ECHOREPLY); /* the types that are held back */
	struct icmp6_filter ipv6;
	const int bytes = RECEIVE_BYTES;

	ICMP6_FILTER_SETBLOCKALL(&ipv6);
	ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &ipv6);
	if (family->raw && domain == AF_INET)
		setsockopt(family->fd, SOL_RAW, ICMP_FILTER, &ipv4, sizeof(ipv4));
	if (family->raw && domain == AF_INET6)
		setsockopt(family->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &ipv6, sizeof(ipv6));
	setsockopt(family->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* Return: 0 or -errno. */
static int family_open(struct probe_icmp *icmp, struct family *family, int domain)
{
	const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
	int protocol = domain == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	int err;

	if (family->fd >= 0)
		return 0;
	family->fd = socket(domain, SOCK_RAW | flags, protocol);
	family->raw = family->fd >= 0;
	if (family->fd < 0 && errno == EPERM)
		family->fd = socket(domain, SOCK_DGRAM | flags, protocol);
	if (family->fd < 0)
		return -errno;
	family_filter(family, domain);
	err = sd_event_add_io(icmp->loop, &family->io, family->fd, EPOLLIN, icmp_ready, icmp);
	if (err >= 0)
		err = sd_event_source_set_priority(family->io, PROBE_PRIORITY);
	if (err < 0)
		family_close(family);
	return err < 0 ? err : 0;
}

void probe_icmp_release(struct prober *prober)
{
	if (!prober->icmp)
		return;
	family_close(&prober->icmp->ipv4);
	family_close(&prober->icmp->ipv6);
	free(prober->icmp);
	prober->icmp = NULL;
}

/* Return: 0 or -errno. */
static int icmp_open(struct prober *prober)
{
	struct probe_icmp *icmp;

	if (prober->icmp)
		return 0;
	icmp = calloc(1, sizeof(*icmp));
	if (!icmp)
		return -ENOMEM;
	if (getrandom(&icmp->id, sizeof(icmp->id), 0) != sizeof(icmp->id)) {
		free(icmp);
		return -EIO;
	}
	icmp->loop = prober->loop;
	icmp->ipv4.fd = icmp->ipv6.fd = -1;
	prober->icmp = icmp;
	return 0;
}

/* Give the probe a sequence number that no other in flight has. Return: 0 or -errno. */
static int icmp_enter(struct probe_icmp *icmp, struct probe *probe)
{
	if (getrandom(&probe->token, sizeof(probe->token), 0) != sizeof(probe->token))
		return -EIO;
	for (int i = 0; i < SEQUENCES; i++) {
		uint16_t sequence = icmp->next++;

		if (icmp->probes[sequence])
			continue;
		icmp->probes[sequence] = probe;
		probe->sequence = sequence;
		return 0;
	}
	return -ENOBUFS;
}

void probe_icmp_stop(struct probe *probe)
{
	struct probe_icmp *icmp = probe->prober->icmp;

	if (icmp && icmp->probes[probe->sequence] == probe)
		icmp->probes[probe->sequence] = NULL;
}

void probe_icmp_start(struct probe *probe)
{
	struct sockaddr_storage address;
	socklen_t len = probe_sockaddr(probe, &address);
	struct probe_icmp *icmp;
	struct family *family;
	struct echo echo = {0};
	int err = icmp_open(probe->prober);

	icmp = probe->prober->icmp;
	family = err ? NULL : family_of(icmp, &probe->address);
	if (!err)
		err = family_open(icmp, family, address.ss_family);
	if (!err)
		err = icmp_enter(icmp, probe);
	if (err) {
		probe_fail(probe, -err);
		return;
	}
	echo.type = address.ss_family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	echo.id = icmp->id;
	echo.sequence = htons(probe->sequence);
	echo.token = probe->token;
	/* In ICMPv6 the kernel sums in any case, as the sum covers the addresses too. */
	if (address.ss_family == AF_INET)
		echo.checksum = checksum(&echo, sizeof(echo));
	if (sendto(family->fd, &echo, sizeof(echo), 0, (struct sockaddr *)&address, len) < 0)
		probe_fail(probe, errno);
}
