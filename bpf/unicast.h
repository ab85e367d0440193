/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sources may be answered: not nobody, everybody, a group or the host itself. Pure.
 *
 * Source: RFC 1122, sections 3.2.1.3 and 3.2.2; RFC 4291, section 2; RFC 4443, section 2.4.
 */
#ifndef RINGLB_BPF_UNICAST_H
#define RINGLB_BPF_UNICAST_H

#include <stdbool.h>
#include <linux/types.h>
#include <bpf/bpf_endian.h>

static inline __attribute__((always_inline)) bool ipv4_is_unicast(__be32 address)
{
	__u8 first = bpf_ntohl(address) >> 24;

	return first && first != 127 && first < 224;
}

static inline __attribute__((always_inline)) bool ipv6_is_unicast(const __be32 address[4])
{
	if (address[0] || address[1] || address[2])
		return bpf_ntohl(address[0]) >> 24 != 0xff;
	return bpf_ntohl(address[3]) > 1;
}

#endif
