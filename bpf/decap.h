/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frame -> the packet inside, for the backend. Each function reads one layer, checks its
 * bounds right before the first read, and returns CONTINUE or a verdict.
 *
 * Packets that are not ours stay as they are: the host may have tunnels of its own.
 */
#ifndef RINGLB_BPF_DECAP_H
#define RINGLB_BPF_DECAP_H

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "bpf/backend_maps.h"
#include "bpf/csum.h"
#include "bpf/ecn.h"
#include "bpf/link.h"

#define IPV4_IHL_MIN	   5
#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, and the offset */
#define IPV6_CLASS_SHIFT   4	  /* of the second byte: the class' low four bits are on top */

/*
 * Where we are: @pos is at the next header, @left how many bytes the headers so far say
 * there are from there on. A frame in several buffers has more than lie before @end.
 */
struct decap {
	void *pos;
	void *end;
	__u32 left;
	__u32 outer_len; /* of all that goes */
	struct backend_address source;
	struct backend_address destination;
	__u8 ecn;
	__u8 inner_ecn;
	__u8 protocol; /* IPPROTO_IPIP or IPPROTO_IPV6, of what is inside */
	bool udp;
	bool lengths_fit;
	__u16 port;
};

static __always_inline void address_set_ipv4(struct backend_address *out, __be32 address)
{
	*out = (struct backend_address){.family = 4, .address = {address}};
}

static __always_inline void address_set_ipv6(struct backend_address *out,
					     const struct in6_addr *address)
{
	out->family = 6;
	__builtin_memcpy(out->address, address, sizeof(out->address));
}

static __always_inline void decap_step(struct decap *decap, __u32 bytes)
{
	decap->pos += bytes;
	decap->left -= bytes;
	decap->outer_len += bytes;
}

static __always_inline bool decap_is_ours(__u8 protocol)
{
	return protocol == IPPROTO_IPIP || protocol == IPPROTO_IPV6 || protocol == IPPROTO_UDP;
}

/* The header goes, and with it what it protected: RFC 1122, section 3.2.1.2. */
static __always_inline bool ipv4_checksum_fits(const struct iphdr *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = 0;

	for (__u32 i = 0; i < IPV4_IHL_MIN; i++)
		sum += words[i];
	return csum_apply(0xffff, sum) == 0;
}

static __always_inline enum backend_verdict decap_outer_ipv4(struct decap *decap)
{
	struct iphdr *ip = decap->pos;
	__u32 len;

	if ((void *)(ip + 1) > decap->end || ip->version != 4 || ip->ihl < IPV4_IHL_MIN)
		return PASS_OUTER_BAD;
	if (!decap_is_ours(ip->protocol))
		return PASS_PLAIN;
	if (ip->frag_off & bpf_htons(IPV4_FRAGMENT_MASK))
		return PASS_FRAGMENT;
	if (ip->ihl > IPV4_IHL_MIN)
		return ip->protocol == IPPROTO_UDP ? PASS_PLAIN : PASS_OUTER_OPTIONS;
	len = bpf_ntohs(ip->tot_len);
	if (len < sizeof(*ip) || len > decap->left || !ipv4_checksum_fits(ip))
		return PASS_OUTER_BAD;
	address_set_ipv4(&decap->source, ip->saddr);
	address_set_ipv4(&decap->destination, ip->daddr);
	decap->protocol = ip->protocol;
	decap->ecn = ip->tos & ECN_MASK;
	decap->left = len;
	decap_step(decap, sizeof(*ip));
	return CONTINUE;
}

/* The next header of a fragment header is its first byte: RFC 8200, section 4.5. */
static __always_inline bool ipv6_fragment_is_ours(const struct decap *decap,
						  const struct ipv6hdr *ip)
{
	const __u8 *protocol = (const void *)(ip + 1);

	return ip->nexthdr == IPPROTO_FRAGMENT && (void *)(protocol + 1) <= decap->end &&
	       decap_is_ours(*protocol);
}

/* Extension headers before the encapsulated packet: not by our load balancer. */
static __always_inline enum backend_verdict decap_outer_ipv6(struct decap *decap)
{
	struct ipv6hdr *ip = decap->pos;
	__u32 len;

	if ((void *)(ip + 1) > decap->end || ip->version != 6)
		return PASS_OUTER_BAD;
	if (ipv6_fragment_is_ours(decap, ip))
		return PASS_FRAGMENT;
	if (!decap_is_ours(ip->nexthdr))
		return PASS_PLAIN;
	len = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	if (len > decap->left)
		return PASS_OUTER_BAD;
	address_set_ipv6(&decap->source, &ip->saddr);
	address_set_ipv6(&decap->destination, &ip->daddr);
	decap->protocol = ip->nexthdr;
	decap->ecn = ip->flow_lbl[0] >> IPV6_CLASS_SHIFT & ECN_MASK;
	decap->left = len;
	decap_step(decap, sizeof(*ip));
	return CONTINUE;
}

/* Outer IP header. @type is the EtherType. */
static __always_inline enum backend_verdict decap_outer(struct decap *decap, __be16 type)
{
	if (type == bpf_htons(ETH_P_IP))
		return decap_outer_ipv4(decap);
	if (type == bpf_htons(ETH_P_IPV6))
		return decap_outer_ipv6(decap);
	return PASS_PLAIN;
}

/*
 * The outer UDP header. Its checksum is not looked at: what it covers besides addresses
 * and ports, which are compared with what they have to be, is covered by checksums inside.
 */
static __always_inline enum backend_verdict decap_udp(struct decap *decap)
{
	struct udphdr *udp = decap->pos;
	__u32 len;

	if ((void *)(udp + 1) > decap->end || decap->left < sizeof(*udp))
		return PASS_OUTER_BAD;
	len = bpf_ntohs(udp->len);
	if (len < sizeof(*udp) || len > decap->left)
		return PASS_OUTER_BAD;
	decap->udp = true;
	decap->port = bpf_ntohs(udp->dest);
	decap->left = len;
	decap_step(decap, sizeof(*udp));
	return CONTINUE;
}

/* Variant 0: two bits of variant, C, five of length; protocol; flags. */
struct gue_header {
	__u8 first;
	__u8 protocol;
	__be16 flags;
};

#define GUE_VARIANT_SHIFT 6
#define GUE_NIBBLE_SHIFT  4

/* Source: draft-ietf-intarea-gue, sections 3.1 (variant 0) and 4 (variant 1). */
static __always_inline enum backend_verdict decap_gue(struct decap *decap)
{
	struct gue_header *gue = decap->pos;
	__u8 *first = decap->pos;

	if ((void *)(first + 1) > decap->end || !decap->left)
		return PASS_NOT_GUE;
	if (*first >> GUE_VARIANT_SHIFT == 1) {
		if (*first >> GUE_NIBBLE_SHIFT == 4)
			decap->protocol = IPPROTO_IPIP;
		else if (*first >> GUE_NIBBLE_SHIFT == 6)
			decap->protocol = IPPROTO_IPV6;
		else
			return PASS_NOT_GUE;
		return CONTINUE;
	}
	if (*first >> GUE_VARIANT_SHIFT || (void *)(gue + 1) > decap->end ||
	    decap->left < sizeof(*gue))
		return PASS_NOT_GUE;
	if (gue->first || gue->flags ||
	    (gue->protocol != IPPROTO_IPIP && gue->protocol != IPPROTO_IPV6))
		return PASS_GUE_OPTIONS;
	decap->protocol = gue->protocol;
	decap_step(decap, sizeof(*gue));
	return CONTINUE;
}

static __always_inline enum backend_verdict decap_inner_ipv4(struct decap *decap)
{
	struct iphdr *ip = decap->pos;
	struct backend_address destination;
	__u32 len;

	if ((void *)(ip + 1) > decap->end || decap->left < sizeof(*ip) || ip->version != 4)
		return PASS_INNER_BAD;
	address_set_ipv4(&destination, ip->daddr);
	if (!prefixes_cover(&backend_vips, &destination))
		return PASS_NOT_VIP;
	len = bpf_ntohs(ip->tot_len);
	decap->lengths_fit = ip->ihl >= IPV4_IHL_MIN && len >= ip->ihl * 4U && len <= decap->left;
	decap->inner_ecn = ip->tos & ECN_MASK;
	return CONTINUE;
}

static __always_inline enum backend_verdict decap_inner_ipv6(struct decap *decap)
{
	struct ipv6hdr *ip = decap->pos;
	struct backend_address destination;

	if ((void *)(ip + 1) > decap->end || decap->left < sizeof(*ip) || ip->version != 6)
		return PASS_INNER_BAD;
	address_set_ipv6(&destination, &ip->daddr);
	if (!prefixes_cover(&backend_vips, &destination))
		return PASS_NOT_VIP;
	decap->lengths_fit = bpf_ntohs(ip->payload_len) + sizeof(*ip) <= decap->left;
	decap->inner_ecn = ip->flow_lbl[0] >> IPV6_CLASS_SHIFT & ECN_MASK;
	return CONTINUE;
}

/* Is there a packet for a VIP inside? Moves nothing. */
static __always_inline enum backend_verdict decap_inner(struct decap *decap)
{
	if (decap->protocol == IPPROTO_IPIP)
		return decap_inner_ipv4(decap);
	return decap_inner_ipv6(decap);
}

/* The VIPs are this host's too, but nobody tunnels to them. */
static __always_inline bool decap_is_local(const struct decap *decap)
{
	struct backend_address address = decap->destination;

	return bpf_map_lookup_elem(&backend_locals, &address);
}

/* Write the ECN field of the inner header, whose bounds decap_inner() checked. */
static __always_inline void decap_set_ecn(struct decap *decap, __u8 ecn)
{
	struct iphdr *ip = decap->pos;
	__be16 *word = decap->pos; /* version, ihl, tos */
	__u8 *byte = decap->pos;
	__be16 before = *word;

	if (decap->protocol != IPPROTO_IPIP) {
		byte[1] = (byte[1] & ~(ECN_MASK << IPV6_CLASS_SHIFT)) | ecn << IPV6_CLASS_SHIFT;
		return;
	}
	byte[1] = (byte[1] & ~ECN_MASK) | ecn;
	ip->check = csum_apply(ip->check, csum_replace16(0, before, *word));
}

#endif
