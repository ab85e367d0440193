/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a VIP is made of: prefixes, ports, protocols, and what it hashes. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config/text.h"

int text_parse_protocol(const char *text, uint8_t *protocol)
{
	if (!strcmp(text, "tcp"))
		*protocol = IPPROTO_TCP;
	else if (!strcmp(text, "udp"))
		*protocol = IPPROTO_UDP;
	else if (!strcmp(text, "sctp"))
		*protocol = IPPROTO_SCTP;
	else
		return -EINVAL;
	return 0;
}

int text_parse_prefix(const char *text, struct config_address *address, uint8_t *prefix_len)
{
	struct config_prefix parsed;

	if (text_split_prefix(text, &parsed))
		return -EINVAL;
	if (parsed.len <
	    (parsed.address.family == AF_INET ? CONFIG_PREFIX_MIN_IPV4 : CONFIG_PREFIX_MIN_IPV6))
		return -EINVAL;
	*address = parsed.address;
	*prefix_len = parsed.len == text_address_bits(&parsed.address) ? 0 : parsed.len;
	return 0;
}

int text_parse_ports(const char *text, uint16_t *port, uint16_t *port_last)
{
	const char *dash = strchrnul(text, '-');
	size_t len = (size_t)(dash - text);
	uint16_t first = 0, last = 0;
	char copy[TEXT_PORTS_LEN];

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strcmp(text, "any") != 0 && text_parse_port(copy, &first))
		return -EINVAL;
	/* 0 would say that it is no range. */
	if (*dash && (text_parse_port(dash + 1, &last) || !last))
		return -EINVAL;
	*port = first;
	*port_last = last;
	return 0;
}

int text_parse_hash(const char *text, enum config_hash *hash)
{
	for (int i = CONFIG_HASH_FLOW; i <= CONFIG_HASH_SOURCE_PORT_LESS; i++) {
		if (strcmp(text, text_hash((enum config_hash)i)) != 0)
			continue;
		*hash = (enum config_hash)i;
		return 0;
	}
	return -EINVAL;
}

/* Take the brackets off "[2001:db8::1]". What has colons must have them, and nothing else. */
static char *host_of(char *text)
{
	size_t len = strlen(text);

	if (text[0] != '[')
		return strchr(text, ':') ? NULL : text;
	if (text[len - 1] != ']' || !strchr(text, ':'))
		return NULL;
	text[len - 1] = '\0';
	return text + 1;
}

int text_parse_vip(const char *text, struct config_vip *vip)
{
	char copy[TEXT_ENDPOINT_LEN], *slash, *colon, *host;
	struct config_vip parsed = *vip;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);
	slash = strrchr(copy, '/');
	if (!slash || text_parse_protocol(slash + 1, &parsed.protocol))
		return -EINVAL;
	*slash = '\0';
	/* A VIP on every port has to be asked for, never by leaving something out. */
	colon = strrchr(copy, ':');
	if (!colon || text_parse_ports(colon + 1, &parsed.port, &parsed.port_last))
		return -EINVAL;
	*colon = '\0';
	host = host_of(copy);
	if (!host || text_parse_prefix(host, &parsed.address, &parsed.prefix_len))
		return -EINVAL;
	*vip = parsed;
	return 0;
}

const char *text_protocol(uint8_t protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_SCTP:
		return "sctp";
	default:
		return "?";
	}
}

const char *text_prefix(const struct config_address *address, uint8_t prefix_len,
			char out[TEXT_PREFIX_LEN])
{
	char host[TEXT_ADDRESS_LEN];

	text_address(address, host);
	if (prefix_len)
		snprintf(out, TEXT_PREFIX_LEN, "%s/%" PRIu8, host, prefix_len);
	else
		snprintf(out, TEXT_PREFIX_LEN, "%s", host);
	return out;
}

const char *text_ports(uint16_t port, uint16_t port_last, char out[TEXT_PORTS_LEN])
{
	if (port_last)
		snprintf(out, TEXT_PORTS_LEN, "%" PRIu16 "-%" PRIu16, port, port_last);
	else
		snprintf(out, TEXT_PORTS_LEN, "%" PRIu16, port);
	return out;
}

const char *text_vip(const struct config_vip *vip, char out[TEXT_ENDPOINT_LEN])
{
	bool brackets = vip->address.family == AF_INET6;
	char host[TEXT_PREFIX_LEN], ports[TEXT_PORTS_LEN];

	snprintf(out, TEXT_ENDPOINT_LEN, "%s%s%s:%s/%s", brackets ? "[" : "",
		 text_prefix(&vip->address, vip->prefix_len, host), brackets ? "]" : "",
		 text_ports(vip->port, vip->port_last, ports), text_protocol(vip->protocol));
	return out;
}

const char *text_hash(enum config_hash hash)
{
	switch (hash) {
	case CONFIG_HASH_FLOW:
		return "5-tuple";
	case CONFIG_HASH_SOURCE:
		return "source";
	case CONFIG_HASH_SOURCE_PORT_LESS:
		return "source-port-less";
	}
	return "?";
}
