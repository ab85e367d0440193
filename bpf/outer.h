/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the outer header of an encapsulated packet takes from the hash of its flow, so
 * that the receivers' queues and the links on the way share the load: the source address,
 * the source port of gue and the flow label of IPv6. Pure: compiled by BPF, userspace and
 * tests.
 *
 * All of it is the same for each packet of a flow, on every load balancer host with the
 * same configuration.
 */
#ifndef RINGLB_BPF_OUTER_H
#define RINGLB_BPF_OUTER_H

#include "bpf/abi.h"
#include "bpf/flow_hash.h"

/*
 * The ports for temporary use, 14 bits of them: a receiver that answers by ICMP, and a
 * filter on the way, take it for a client's. Source: RFC 6335, section 6.
 */
#define OUTER_PORT_FIRST 49152
#define OUTER_PORT_MASK	 0x3fff

/* RFC 8200, section 3. */
#define OUTER_LABEL_MASK 0xfffff

static inline __attribute__((always_inline)) __be32 outer_be32(__u32 word)
{
	return __builtin_bswap32(word);
}

static inline __attribute__((always_inline)) __u64 outer_hash(const struct encap *from,
							      const struct flow *flow)
{
	return flow_hash(flow, from->seed);
}

/*
 * Neither the first address of the prefix nor the last, as receivers may take those for
 * the network's own and for broadcast; a /31 has no such (RFC 3021), and a /32 no choice.
 */
static inline __attribute__((always_inline)) __be32 outer_source_ipv4(const struct encap *from,
								      __u64 hash)
{
	__be32 hosts = from->hosts_ipv4, host = outer_be32((__u32)hash) & hosts;

	if (!host || host == hosts)
		host = (host ^ outer_be32(1)) & hosts;
	return from->source_ipv4 | host;
}

static inline __attribute__((always_inline)) void outer_source_ipv6(const struct encap *from,
								    __u64 hash, __be32 source[4])
{
	source[0] = from->source_ipv6[0];
	source[1] = from->source_ipv6[1];
	source[2] = from->source_ipv6[2] | (outer_be32((__u32)(hash >> 32)) & from->hosts_ipv6[0]);
	source[3] = from->source_ipv6[3] | (outer_be32((__u32)hash) & from->hosts_ipv6[1]);
}

/* Other bits than those of an IPv4 source, so that the two together tell more flows apart. */
static inline __attribute__((always_inline)) __u16 outer_port(__u64 hash)
{
	return OUTER_PORT_FIRST + ((hash >> 32) & OUTER_PORT_MASK);
}

/* Never 0, which would say that there is none. Source: RFC 6438, section 3.1; RFC 6437. */
static inline __attribute__((always_inline)) __u32 outer_label(__u64 hash)
{
	__u32 label = (hash >> 32) & OUTER_LABEL_MASK;

	return label ? label : 1;
}

#endif
