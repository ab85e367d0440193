/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/trace_ends.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdio.h>
#include <string.h>

#define TAG_LEN	    4
#define TYPE_AT	    12
#define TYPE_QINQ   0x88a8
#define PORTS_LEN   4
#define OFFSET_MASK 0x1fff

static uint16_t word_at(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void put_peer(char out[TEXT_ENDPOINT_LEN], uint8_t family, const void *address,
		     const uint8_t *port)
{
	struct config_address peer = {.family = family};

	memcpy(peer.bytes, address, family == AF_INET6 ? 16 : 4);
	text_endpoint(&peer, port ? word_at(port) : 0, out);
}

/* Ports are behind @at if the packet has some and they are in the frame. */
static const uint8_t *ports_of(struct trace_ends *ends, const struct control_frame *frame,
			       size_t at)
{
	ends->has_ports = (ends->protocol == IPPROTO_TCP || ends->protocol == IPPROTO_UDP ||
			   ends->protocol == IPPROTO_SCTP) &&
			  at + PORTS_LEN <= frame->len;
	return ends->has_ports ? frame->bytes + at : NULL;
}

static void read_ipv4(struct trace_ends *ends, const struct control_frame *frame, size_t at)
{
	const uint8_t *ports;
	struct iphdr ip;

	if (at + sizeof(ip) > frame->len)
		return;
	memcpy(&ip, frame->bytes + at, sizeof(ip));
	ends->is_ip = true;
	ends->protocol = ip.protocol;
	ports = ntohs(ip.frag_off) & OFFSET_MASK ? NULL : ports_of(ends, frame, at + ip.ihl * 4U);
	put_peer(ends->source, AF_INET, &ip.saddr, ports);
	put_peer(ends->destination, AF_INET, &ip.daddr, ports ? ports + 2 : NULL);
}

static void read_ipv6(struct trace_ends *ends, const struct control_frame *frame, size_t at)
{
	const uint8_t *ports;
	struct ip6_hdr ip;

	if (at + sizeof(ip) > frame->len)
		return;
	memcpy(&ip, frame->bytes + at, sizeof(ip));
	ends->is_ip = true;
	ends->protocol = ip.ip6_nxt;
	ports = ports_of(ends, frame, at + sizeof(ip));
	put_peer(ends->source, AF_INET6, &ip.ip6_src, ports);
	put_peer(ends->destination, AF_INET6, &ip.ip6_dst, ports ? ports + 2 : NULL);
}

struct trace_ends trace_ends(const struct control_frame *frame)
{
	const uint8_t *mac = frame->bytes;
	struct trace_ends ends = {0};
	size_t at = TYPE_AT;

	if (frame->len < sizeof(struct ether_header))
		return ends;
	snprintf(ends.mac, sizeof(ends.mac), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		 mac[2], mac[3], mac[4], mac[5]);
	ends.type = word_at(frame->bytes + at);
	while ((ends.type == ETHERTYPE_VLAN || ends.type == TYPE_QINQ) &&
	       at + TAG_LEN + sizeof(ends.type) <= frame->len) {
		at += TAG_LEN;
		ends.type = word_at(frame->bytes + at);
	}
	at += sizeof(ends.type);
	if (ends.type == ETHERTYPE_IP)
		read_ipv4(&ends, frame, at);
	else if (ends.type == ETHERTYPE_IPV6)
		read_ipv6(&ends, frame, at);
	return ends;
}
