/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>

#include "tests/packet/frame.h"

#define IP_AT		  FRAME_ETHERNET_LEN
#define IPV4_TTL_AT	  (IP_AT + 8)
#define IPV4_PROTOCOL_AT  (IP_AT + 9)
#define IPV4_CHECK_AT	  (IP_AT + 10)
#define IPV4_ADDRESSES_AT (IP_AT + 12)
#define IPV6_PROTOCOL_AT  (IP_AT + 6)
#define IPV6_HOP_LIMIT_AT (IP_AT + 7)
#define IPV6_ADDRESSES_AT (IP_AT + 8)
#define IPV4_HEADER_LEN	  20
#define IPV6_HEADER_LEN	  40
#define TCP_HEADER_LEN	  20
#define IPV6_FRAGMENT_LEN 8
#define UDP_HEADER_LEN	  8
#define TCP_CHECK	  16
#define UDP_CHECK	  6
#define IPV4_NO_OPERATION 1
#define FILL_NEXT(fill)	  ((fill) * 6364136223846793005 + 1442695040888963407)
#define FILL_BYTE(fill)	  ((uint8_t)((fill) >> 56))

uint16_t frame_word(const struct frame *frame, size_t at)
{
	return (uint16_t)(frame->bytes[at] << 8 | frame->bytes[at + 1]);
}

void frame_put_word(struct frame *frame, size_t at, uint16_t word)
{
	frame->bytes[at] = word >> 8;
	frame->bytes[at + 1] = word & 0xff;
}

bool frame_is_ipv6(const struct frame *frame)
{
	return frame_word(frame, 12) == 0x86dd;
}

bool frame_is_tcp(const struct frame *frame)
{
	size_t at = frame_is_ipv6(frame) ? IPV6_PROTOCOL_AT : IPV4_PROTOCOL_AT;

	return frame->bytes[at] == IPPROTO_TCP;
}

size_t frame_l4_at(const struct frame *frame)
{
	if (frame_is_ipv6(frame))
		return IP_AT + IPV6_HEADER_LEN;
	return IP_AT + (frame->bytes[IP_AT] & 0x0f) * (size_t)4;
}

size_t frame_l4_check_at(const struct frame *frame)
{
	return frame_l4_at(frame) + (frame_is_tcp(frame) ? TCP_CHECK : UDP_CHECK);
}

uint16_t frame_sum(const uint8_t *bytes, size_t len, uint16_t sum)
{
	uint32_t total = sum;

	for (size_t i = 0; i < len; i += 2) {
		total += (uint32_t)bytes[i] << 8 | (i + 1 < len ? bytes[i + 1] : 0);
		total = (total & 0xffff) + (total >> 16);
	}
	return (uint16_t)total;
}

/* Sum of the pseudo-header: addresses, protocol, length (RFC 9293, 768, 8200). */
static uint16_t pseudo_sum(const struct frame *frame, uint16_t l4_len)
{
	uint8_t last[4] = {0, frame_is_tcp(frame) ? IPPROTO_TCP : IPPROTO_UDP, l4_len >> 8,
			   l4_len & 0xff};
	uint16_t sum = frame_sum(last, sizeof(last), 0);

	if (frame_is_ipv6(frame))
		return frame_sum(&frame->bytes[IPV6_ADDRESSES_AT], 32, sum);
	return frame_sum(&frame->bytes[IPV4_ADDRESSES_AT], 8, sum);
}

static uint16_t l4_len_of(const struct frame *frame)
{
	if (frame_is_ipv6(frame))
		return frame_word(frame, IP_AT + 4);
	return (uint16_t)(frame_word(frame, IP_AT + 2) - (frame_l4_at(frame) - IP_AT));
}

void frame_checksums(struct frame *frame)
{
	size_t l4_at = frame_l4_at(frame), check_at = frame_l4_check_at(frame);
	uint16_t l4_len = l4_len_of(frame), check;

	if (!frame_is_ipv6(frame)) {
		frame_put_word(frame, IPV4_CHECK_AT, 0);
		check = ~frame_sum(&frame->bytes[IP_AT], l4_at - IP_AT, 0);
		frame_put_word(frame, IPV4_CHECK_AT, check);
	}
	if (!frame_is_tcp(frame) && frame_word(frame, check_at) == 0)
		return;
	frame_put_word(frame, check_at, 0);
	check = ~frame_sum(&frame->bytes[l4_at], l4_len, pseudo_sum(frame, l4_len));
	if (!frame_is_tcp(frame) && check == 0)
		check = 0xffff;
	frame_put_word(frame, check_at, check);
}

static void fill(struct frame *frame, size_t at, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = FILL_NEXT(seed);
		frame->bytes[at + i] = FILL_BYTE(seed);
	}
}

/* Returns where layer 4 begins. */
static size_t build_ipv4(struct frame *frame, const struct frame_spec *spec, size_t l4_len)
{
	size_t header_len = IPV4_HEADER_LEN + spec->options_words * 4;

	frame_put_word(frame, 12, 0x0800);
	frame->bytes[IP_AT] = 0x40 | (uint8_t)(header_len / 4);
	frame->bytes[IP_AT + 1] = (uint8_t)(spec->fill & 0xfc);
	frame_put_word(frame, IP_AT + 2, (uint16_t)(header_len + l4_len));
	frame_put_word(frame, IP_AT + 4, (uint16_t)(spec->fill >> 16));
	frame_put_word(frame, IP_AT + 6, spec->fill & 1 ? 0x4000 : 0);
	frame->bytes[IPV4_TTL_AT] = spec->ttl;
	frame->bytes[IPV4_PROTOCOL_AT] = spec->flow.protocol;
	memcpy(&frame->bytes[IPV4_ADDRESSES_AT], spec->flow.source, 4);
	memcpy(&frame->bytes[IPV4_ADDRESSES_AT + 4], spec->flow.destination, 4);
	memset(&frame->bytes[IP_AT + IPV4_HEADER_LEN], IPV4_NO_OPERATION, spec->options_words * 4);
	return IP_AT + header_len;
}

static size_t build_ipv6(struct frame *frame, const struct frame_spec *spec, size_t l4_len)
{
	frame_put_word(frame, 12, 0x86dd);
	frame_put_word(frame, IP_AT, 0x6000 | (spec->fill & 0x0fff));
	frame_put_word(frame, IP_AT + 2, (uint16_t)(spec->fill >> 16));
	frame_put_word(frame, IP_AT + 4, (uint16_t)l4_len);
	frame->bytes[IPV6_PROTOCOL_AT] = spec->flow.protocol;
	frame->bytes[IPV6_HOP_LIMIT_AT] = spec->ttl;
	memcpy(&frame->bytes[IPV6_ADDRESSES_AT], spec->flow.source, 16);
	memcpy(&frame->bytes[IPV6_ADDRESSES_AT + 16], spec->flow.destination, 16);
	return IP_AT + IPV6_HEADER_LEN;
}

void frame_build(struct frame *frame, const struct frame_spec *spec)
{
	static const uint8_t addresses[] = {2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 2, 2};
	bool tcp = spec->flow.protocol == IPPROTO_TCP;
	size_t l4_len = (tcp ? TCP_HEADER_LEN : UDP_HEADER_LEN) + spec->payload_len, l4_at;

	memcpy(frame->bytes, addresses, sizeof(addresses));
	if (spec->flow.family == ENDPOINT_IPV6)
		l4_at = build_ipv6(frame, spec, l4_len);
	else
		l4_at = build_ipv4(frame, spec, l4_len);
	frame->len = l4_at + l4_len + spec->padding_len;
	fill(frame, l4_at, l4_len + spec->padding_len, spec->fill);
	memcpy(&frame->bytes[l4_at], &spec->flow.source_port, 2);
	memcpy(&frame->bytes[l4_at + 2], &spec->flow.destination_port, 2);
	if (tcp)
		frame->bytes[l4_at + 12] = TCP_HEADER_LEN / 4 << 4;
	else
		frame_put_word(frame, l4_at + 4, (uint16_t)l4_len);
	frame_put_word(frame, frame_l4_check_at(frame), spec->without_udp_checksum ? 0 : 1);
	frame_checksums(frame);
}

void frame_fragment(struct frame *frame, const struct frame *whole, uint32_t id, size_t from,
		    size_t len)
{
	size_t l4_at = frame_l4_at(whole), at = l4_at;
	bool more = from + len < l4_len_of(whole);

	memcpy(frame->bytes, whole->bytes, l4_at);
	if (frame_is_ipv6(whole)) {
		frame->bytes[at] = whole->bytes[IPV6_PROTOCOL_AT];
		frame->bytes[at + 1] = 0;
		frame_put_word(frame, at + 2, (uint16_t)(from | more));
		frame_put_word(frame, at + 4, (uint16_t)(id >> 16));
		frame_put_word(frame, at + 6, (uint16_t)id);
		at += IPV6_FRAGMENT_LEN;
		frame->bytes[IPV6_PROTOCOL_AT] = IPPROTO_FRAGMENT;
		frame_put_word(frame, IP_AT + 4, (uint16_t)(len + IPV6_FRAGMENT_LEN));
	} else {
		frame_put_word(frame, IP_AT + 2, (uint16_t)(l4_at - IP_AT + len));
		frame_put_word(frame, IP_AT + 4, (uint16_t)id);
		frame_put_word(frame, IP_AT + 6, (uint16_t)(more << 13 | from / 8));
		frame_put_word(frame, IPV4_CHECK_AT, 0);
		frame_put_word(frame, IPV4_CHECK_AT,
			       ~frame_sum(&frame->bytes[IP_AT], l4_at - IP_AT, 0));
	}
	memcpy(&frame->bytes[at], &whole->bytes[l4_at + from], len);
	frame->len = at + len;
}

struct flow frame_flow(uint8_t family, uint8_t protocol, const uint64_t random[4])
{
	struct flow flow = {
		.source_port = (uint16_t)random[3],
		.destination_port = (uint16_t)(random[3] >> 16),
		.protocol = protocol,
		.family = family,
	};

	/* 1.0.0.0/8 to 127.0.0.0/8 and global unicast; the rest is as random as it comes. */
	memcpy(flow.source, random, family == ENDPOINT_IPV6 ? 16 : 4);
	memcpy(flow.destination, &random[2], family == ENDPOINT_IPV6 ? 8 : 4);
	if (family == ENDPOINT_IPV6)
		*(uint8_t *)flow.source = 0x20;
	else
		*(uint8_t *)flow.source = 1 + *(uint8_t *)flow.source % 100;
	return flow;
}

void frame_rewrite(struct frame *frame, bool source, const uint32_t address[4], uint16_t port)
{
	size_t len = frame_is_ipv6(frame) ? 16 : 4;
	size_t at =
		(frame_is_ipv6(frame) ? IPV6_ADDRESSES_AT : IPV4_ADDRESSES_AT) + (source ? 0 : len);

	memcpy(&frame->bytes[at], address, len);
	if (port)
		memcpy(&frame->bytes[frame_l4_at(frame) + (source ? 0 : 2)], &port, 2);
}

void frame_decrement_ttl(struct frame *frame)
{
	frame->bytes[frame_is_ipv6(frame) ? IPV6_HOP_LIMIT_AT : IPV4_TTL_AT]--;
}
