/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ICMP and ICMPv6 messages for the packet tests, summed in full from the RFCs.
 * Knows nothing of bpf/.
 */
#ifndef RINGLB_TESTS_ICMP_FRAME_H
#define RINGLB_TESTS_ICMP_FRAME_H

#include "tests/packet/frame.h"

#include <netinet/in.h>
#include <string.h>

#define ICMP_HEADER_LEN 8

/* Offsets of IPv4 and IPv6, by whether it is IPv6. */
static const size_t icmp_ip_len[] = {20, 40}, icmp_addresses_at[] = {26, 22},
		    icmp_ttl_at[] = {22, 21};

static inline size_t icmp_at(const struct frame *frame)
{
	return FRAME_ETHERNET_LEN + icmp_ip_len[frame_is_ipv6(frame)];
}

/** icmp_checksums() - of a message without IP options: of its IPv4 header, and its own */
static inline void icmp_checksums(struct frame *frame)
{
	bool ipv6 = frame_is_ipv6(frame);
	size_t at = icmp_at(frame), len = frame->len - at;
	uint8_t pseudo[4] = {0, IPPROTO_ICMPV6, (uint8_t)(len >> 8), (uint8_t)len};
	uint16_t sum = 0;

	if (ipv6) {
		sum = frame_sum(pseudo, sizeof(pseudo), 0);
		sum = frame_sum(&frame->bytes[icmp_addresses_at[1]], 32, sum);
	} else {
		frame_put_word(frame, FRAME_ETHERNET_LEN + 10, 0);
		frame_put_word(frame, FRAME_ETHERNET_LEN + 10,
			       ~frame_sum(&frame->bytes[FRAME_ETHERNET_LEN], icmp_ip_len[0], 0));
	}
	frame_put_word(frame, at + 2, 0);
	frame_put_word(frame, at + 2, ~frame_sum(&frame->bytes[at], len, sum));
}

/* An IP header without options in front of @len bytes of ICMP, which follow. */
static inline void icmp_head(struct frame *frame, bool ipv6, const void *source,
			     const void *destination, size_t len)
{
	size_t address_len = ipv6 ? 16 : 4, at = FRAME_ETHERNET_LEN;

	memset(&frame->bytes[at], 0, icmp_ip_len[ipv6]);
	frame_put_word(frame, 12, ipv6 ? 0x86dd : 0x0800);
	frame_put_word(frame, at, ipv6 ? 0x6000 : 0x45c0);
	frame_put_word(frame, at + (ipv6 ? 4 : 2), (uint16_t)(len + (ipv6 ? 0 : icmp_ip_len[0])));
	frame->bytes[at + (ipv6 ? 6 : 9)] = ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	frame->bytes[icmp_ttl_at[ipv6]] = 64;
	memcpy(&frame->bytes[icmp_addresses_at[ipv6]], source, address_len);
	memcpy(&frame->bytes[icmp_addresses_at[ipv6] + address_len], destination, address_len);
	frame->len = at + icmp_ip_len[ipv6] + len;
}

/**
 * icmp_error() - make the port unreachable that @router sends about @quoted to whom that is from
 * @cut: as many bytes of @quoted's IP packet are in it
 */
static inline void icmp_error(struct frame *frame, const struct frame *quoted,
			      const uint32_t router[4], size_t cut)
{
	bool ipv6 = frame_is_ipv6(quoted);
	size_t at = FRAME_ETHERNET_LEN + icmp_ip_len[ipv6];

	memcpy(frame->bytes, quoted->bytes, FRAME_ETHERNET_LEN);
	icmp_head(frame, ipv6, router, &quoted->bytes[icmp_addresses_at[ipv6]],
		  ICMP_HEADER_LEN + cut);
	memset(&frame->bytes[at], 0, ICMP_HEADER_LEN);
	frame->bytes[at] = ipv6 ? 1 : 3;
	frame->bytes[at + 1] = ipv6 ? 4 : 3;
	memcpy(&frame->bytes[at + ICMP_HEADER_LEN], &quoted->bytes[FRAME_ETHERNET_LEN], cut);
	icmp_checksums(frame);
}

/** icmp_error_of() - the same about an answer to @flow, of which as little is quoted as may be */
static inline void icmp_error_of(struct frame *frame, const struct flow *flow)
{
	struct frame_spec spec = {.flow = *flow, .ttl = 60};
	const uint32_t router[4] = {0x4d710020, 1, 2, 3};
	struct frame answer;

	memcpy(spec.flow.source, flow->destination, sizeof(flow->destination));
	memcpy(spec.flow.destination, flow->source, sizeof(flow->source));
	spec.flow.source_port = flow->destination_port;
	spec.flow.destination_port = flow->source_port;
	frame_build(&answer, &spec);
	icmp_error(frame, &answer, router, icmp_ip_len[frame_is_ipv6(&answer)] + 8);
}

/** icmp_echo() - make the shortest echo request from the source of @flow to its destination */
static inline void icmp_echo(struct frame *frame, const struct flow *flow)
{
	bool ipv6 = flow->family == ENDPOINT_IPV6;

	memset(frame->bytes, 2, FRAME_ETHERNET_LEN);
	icmp_head(frame, ipv6, flow->source, flow->destination, ICMP_HEADER_LEN);
	memset(&frame->bytes[icmp_at(frame)], 0, ICMP_HEADER_LEN);
	frame->bytes[icmp_at(frame)] = ipv6 ? 128 : 8;
	icmp_checksums(frame);
}

#endif
