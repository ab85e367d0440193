/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ethernet frames for the packet tests, written and summed byte by byte from the
 * RFCs. Knows nothing of bpf/ but struct flow, so that it can be held against it.
 */
#ifndef RINGLB_TESTS_FRAME_H
#define RINGLB_TESTS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

#define FRAME_MAX	    2048
#define FRAME_ETHERNET_LEN  14
#define FRAME_OPTIONS_WORDS 10 /* the most that an IPv4 header has room for */

struct frame {
	size_t len;
	uint8_t bytes[FRAME_MAX];
};

/**
 * struct frame_spec - what frame_build() puts into a frame
 * @flow: family and protocol too; network byte order
 * @ttl: TTL or hop limit
 * @options_words: IPv4 options, in words of 32 bits, 0 to FRAME_OPTIONS_WORDS
 * @payload_len: bytes behind the TCP or UDP header
 * @padding_len: bytes behind the end that the IP header tells
 * @fill: from here the bytes of payload, options and padding follow
 * @without_udp_checksum: send 0, which in UDP means that there is none
 */
struct frame_spec {
	struct flow flow;
	uint8_t ttl;
	size_t options_words;
	size_t payload_len;
	size_t padding_len;
	uint64_t fill;
	bool without_udp_checksum;
};

/** frame_build() - make a valid frame with right checksums */
void frame_build(struct frame *frame, const struct frame_spec *spec);

/**
 * frame_fragment() - make a fragment of the valid frame @whole, without its padding
 * @id: identification; IPv4 takes the lower 16 bits
 * @from, @len: which bytes behind the IP header; all but the last are multiples of 8
 */
void frame_fragment(struct frame *frame, const struct frame *whole, uint32_t id, size_t from,
		    size_t len);

/** frame_flow() - a flow of @family and @protocol, all else made of four random words */
struct flow frame_flow(uint8_t family, uint8_t protocol, const uint64_t random[4]);

/** frame_sum() - one's complement sum of 16-bit words, of a last odd byte too (RFC 1071) */
uint16_t frame_sum(const uint8_t *bytes, size_t len, uint16_t sum);

/**
 * frame_checksums() - compute the checksums of IPv4, TCP and UDP anew
 *
 * Of a valid frame only. A UDP checksum that comes to 0 becomes 0xffff (RFC 768);
 * one that is 0 stays 0.
 */
void frame_checksums(struct frame *frame);

/* Offsets in a valid frame of TCP or UDP over IPv4 or IPv6. */
bool frame_is_ipv6(const struct frame *frame);
bool frame_is_tcp(const struct frame *frame);
size_t frame_l4_at(const struct frame *frame);
size_t frame_l4_check_at(const struct frame *frame);

/** frame_rewrite() - put another address and, unless it is 0, port on one side of the flow */
void frame_rewrite(struct frame *frame, bool source, const uint32_t address[4], uint16_t port);

/** frame_decrement_ttl() - TTL or hop limit; the checksum is left to frame_checksums() */
void frame_decrement_ttl(struct frame *frame);

uint16_t frame_word(const struct frame *frame, size_t at);
void frame_put_word(struct frame *frame, size_t at, uint16_t word);

#endif
