/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frame -> struct packet. The only file that moves the cursor. Each function
 * reads one layer, checks its bounds right before the first read, and returns
 * CONTINUE or a verdict.
 *
 * Layer 3 that no router may forward is dropped here (RFC 1812, section 5.2.2).
 * Layer 4 is checked by parse_l4() once the packet is known to be ours: other
 * people's packets are none of our business.
 *
 * A frame may lie in several buffers (large MTU). Only the first is looked at: it has the
 * headers, and what is beyond its end is not touched.
 */
#ifndef RINGLB_BPF_PARSE_H
#define RINGLB_BPF_PARSE_H

#include <stdbool.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/extensions.h"

#define TAGS_MAX	 2
#define IPV4_IHL_MIN	 5
#define TCP_DOFF_MIN	 5
#define IPV4_MORE	 0x2000 /* fragments */
#define IPV4_OFFSET_MASK 0x1fff

/* Byte 13 of the TCP header. Source: RFC 9293, section 3.1. */
#define TCP_FLAGS_AT 13
#define TCP_FIN	     0x01
#define TCP_SYN	     0x02
#define TCP_RST	     0x04
#define TCP_ACK	     0x10

/* Behind the MAC addresses, and again behind each tag. Source: IEEE 802.1Q, 9.3. */
struct vlan_tag {
	__be16 tci;
	__be16 type; /* of what follows */
};

/* The common header. Source: RFC 9260, section 3.1. */
struct sctphdr {
	__be16 source;
	__be16 dest;
	__be32 tag;
	__le32 checksum; /* CRC32c; ports are in it, addresses are not */
};

/* Of echo and of errors, in both families. Source: RFC 792; RFC 4443. */
struct icmp_header {
	__u8 type;
	__u8 code;
	__u16 check;
	__be16 id; /* of echo; this and the next are other things in errors */
	__be16 sequence;
};

struct cursor {
	struct xdp_md *ctx;
	void *pos;
	void *end;
};

/*
 * What rings and flow tables ask about a packet. No pointers: the kernel's verifier
 * forgets where those lead once they were in memory that a function got.
 */
struct traits {
	struct flow flow;
	__u8 tcp_flags; /* TCP_FIN..., set by parse_l4(); 0 unless TCP */
	__u8 pad;
	/* Of an ICMP error, whose flow this is: the packet that it quotes, in the frame. */
	__u16 quote_at; /* its IP header; 0: no ICMP error */
	__u16 quote_l4_at;
	__u16 quote_l4_len; /* as much as is quoted */
};

/* Why a packet has no ports of its own. */
enum no_ports {
	NO_PORTS_FRAGMENT = 1, /* not the first one */
	NO_PORTS_QUOTE = 2,    /* an ICMP error, which quotes them */
};

/* What the headers say of fragments. No pointers, either. */
struct fragment {
	__be32 id;	    /* of IPv4: 16 bits, as a __be16 */
	__u16 offset;	    /* in bytes; 0: the first one, or a whole packet */
	__u16 len;	    /* bytes of the datagram that it has */
	__u8 more;	    /* 1: a fragment, and not the last one */
	__u8 authenticated; /* has an IPv6 authentication header */
	__u8 pad[2];
};

/* Where the IP packet lies in its frame. */
struct span {
	__u32 frame_len;
	__u32 l3_offset; /* from the start of the frame: 14, 18 or 22 with VLAN tags */
	__u32 ip_len;	 /* by the IP header: Ethernet padding is not in it */
	__u32 is_ipv6;	 /* set by whoever hands the span on: see packet_is_ipv6() */
	struct way way;	 /* of the backend that it goes to, read once */
};

/* What parsing found. Pointers are checked up to the end of their fixed header. */
struct packet {
	__u64 ip_version; /* 4 or 6; a whole stack slot, or the verifier forgets it */
	__u64 no_ports;	  /* 0 or enum no_ports; a whole slot, too */
	struct ethhdr *eth;
	union {
		struct iphdr *ipv4;   /* if ip_version is 4 */
		struct ipv6hdr *ipv6; /* if ip_version is 6 */
	};
	__be16 *ports;	    /* source, destination; unless no_ports */
	struct tcphdr *tcp; /* set by parse_l4(), NULL unless TCP */
	struct udphdr *udp; /* set by parse_l4(), NULL unless UDP */
	__u32 ingress;	    /* ifindex; read early, as the verifier wants plain ctx accesses */
	__u32 l4_len;
	union { /* packet->ip_len is packet->span.ip_len */
		struct span span;
		struct {
			__u32 frame_len;
			__u32 l3_offset;
			__u32 ip_len;
		};
	};
	struct fragment fragment;
	union { /* packet->flow is packet->traits.flow */
		struct traits traits;
		struct {
			struct flow flow;
			__u8 tcp_flags;
		};
	};
};

/*
 * Ask this, not the pointers and not flow.family: the verifier does not know if a
 * packet pointer is empty, nor what is in a key that it saw passed to a helper.
 */
static __always_inline bool packet_is_ipv6(const struct packet *packet)
{
	return packet->ip_version == 6;
}

/* Offset 0, and more to come: it has the ports. */
static __always_inline bool packet_is_first_fragment(const struct packet *packet)
{
	return packet->fragment.more && !packet->fragment.offset;
}

/* @verdict for what ends too early; that it only ends the frame's first buffer is another. */
static __always_inline enum verdict parse_short(const struct cursor *cur, enum verdict verdict)
{
	const void *start = (void *)(long)cur->ctx->data;

	return bpf_xdp_get_buff_len(cur->ctx) > (__u64)(cur->end - start) ? PASS_SPLIT : verdict;
}

static __always_inline enum verdict parse_ethernet(struct cursor *cur, struct packet *packet)
{
	struct ethhdr *eth = cur->pos;

	if ((void *)(eth + 1) > cur->end)
		return DROP_SHORT_ETHERNET;
	/* A host must not take a unicast datagram out of such a frame: RFC 1122, 3.3.6. */
	if (eth->h_dest[0] & 1)
		return PASS_NOT_UNICAST;
	packet->eth = eth;
	packet->l3_offset = sizeof(*eth);
	cur->pos = eth + 1;
	return CONTINUE;
}

static __always_inline bool type_is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/*
 * Step over VLAN tags, if there are any. @type is the frame's EtherType before, and that of
 * layer 3 afterwards.
 */
static __always_inline enum verdict parse_tags(struct cursor *cur, struct packet *packet,
					       __be16 *type)
{
#pragma unroll
	for (int i = 0; i < TAGS_MAX; i++) {
		struct vlan_tag *tag = cur->pos;

		if (!type_is_tag(*type))
			return CONTINUE;
		if ((void *)(tag + 1) > cur->end)
			return parse_short(cur, DROP_SHORT_TAG);
		*type = tag->type;
		cur->pos = tag + 1;
		packet->l3_offset += sizeof(*tag);
	}
	return type_is_tag(*type) ? PASS_MANY_TAGS : CONTINUE;
}

/* @len bytes from @cur->pos on, which is at the offset @at, must be in the frame. */
static __always_inline bool parse_fits(const struct cursor *cur, struct packet *packet, __u32 at,
				       __u32 len)
{
	if (len <= (__u64)(cur->end - cur->pos))
		return true;
	packet->frame_len = bpf_xdp_get_buff_len(cur->ctx);
	return at + len <= packet->frame_len;
}

/*
 * Of whole packets too, and without a branch: what the verifier need not tell apart here
 * it need not follow twice from here on.
 */
static __always_inline void parse_ipv4_fragment(const struct iphdr *ip, struct packet *packet)
{
	__u16 field = bpf_ntohs(ip->frag_off);

	packet->fragment.more = !!(field & IPV4_MORE);
	packet->fragment.offset = (field & IPV4_OFFSET_MASK) * 8;
	packet->fragment.len = packet->l4_len;
	packet->fragment.id = ip->id;
}

/* Source: RFC 791, section 3.1. */
static __always_inline enum verdict parse_ipv4(struct cursor *cur, struct packet *packet)
{
	struct iphdr *ip = cur->pos;
	__u32 header_len, total_len;

	if ((void *)(ip + 1) > cur->end)
		return parse_short(cur, DROP_SHORT_IPV4);
	if (ip->version != 4)
		return DROP_BAD_VERSION;
	if (ip->ihl < IPV4_IHL_MIN)
		return DROP_BAD_IHL;
	header_len = ip->ihl * 4U;
	total_len = bpf_ntohs(ip->tot_len);
	if (cur->pos + header_len > cur->end)
		return parse_short(cur, DROP_SHORT_IPV4);
	if (total_len < header_len || !parse_fits(cur, packet, packet->l3_offset, total_len))
		return DROP_BAD_IP_LENGTH;
	packet->ip_version = 4;
	packet->ipv4 = ip;
	packet->ip_len = total_len;
	packet->l4_len = total_len - header_len;
	packet->flow.family = ENDPOINT_IPV4;
	packet->flow.protocol = ip->protocol;
	packet->flow.source[0] = ip->saddr;
	packet->flow.destination[0] = ip->daddr;
	cur->pos += header_len;
	parse_ipv4_fragment(ip, packet);
	return CONTINUE;
}

/* Step over the extension headers of a packet that has some. */
static __always_inline enum verdict parse_extensions(struct cursor *cur, struct packet *packet)
{
	__u32 from = packet->l3_offset + sizeof(struct ipv6hdr);
	struct extensions chain = {
		.at = from,
		.end = from + packet->l4_len,
		.protocol = packet->flow.protocol,
	};
	int verdict = extensions_walk(cur->ctx, &chain);

	/* A packet that is its own only fragment is whole: RFC 6946. */
	packet->fragment.more = !!(chain.fragment_word & bpf_htons(FRAGMENT_MORE));
	packet->fragment.offset = bpf_ntohs(chain.fragment_word) & FRAGMENT_OFFSET_MASK;
	packet->fragment.len = chain.end - chain.fragment_at;
	packet->fragment.id = chain.fragment_id;
	if (verdict != CONTINUE)
		return verdict;
	packet->flow.protocol = chain.protocol;
	packet->fragment.authenticated = chain.authenticated;
	packet->l4_len -= chain.at - from;
	cur->pos = (void *)packet->eth + (chain.at & OFFSET_LIMIT);
	return CONTINUE;
}

/* Source: RFC 8200, section 3. */
static __always_inline enum verdict parse_ipv6(struct cursor *cur, struct packet *packet)
{
	struct ipv6hdr *ip = cur->pos;
	__u32 payload_len;

	if ((void *)(ip + 1) > cur->end)
		return parse_short(cur, DROP_SHORT_IPV6);
	if (ip->version != 6)
		return DROP_BAD_VERSION;
	payload_len = bpf_ntohs(ip->payload_len);
	cur->pos = ip + 1;
	if (!parse_fits(cur, packet, packet->l3_offset + sizeof(*ip), payload_len))
		return DROP_BAD_IP_LENGTH;
	packet->ip_version = 6;
	packet->ipv6 = ip;
	packet->ip_len = payload_len + sizeof(*ip);
	packet->l4_len = payload_len;
	packet->flow.family = ENDPOINT_IPV6;
	packet->flow.protocol = ip->nexthdr;
	__builtin_memcpy(packet->flow.source, &ip->saddr, sizeof(ip->saddr));
	__builtin_memcpy(packet->flow.destination, &ip->daddr, sizeof(ip->daddr));
	if (ip->nexthdr != IPPROTO_TCP && protocol_is_extension(ip->nexthdr))
		return parse_extensions(cur, packet);
	return CONTINUE;
}

static __always_inline bool protocol_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

/* They all begin with source port, destination port: RFC 9293, RFC 768, RFC 9260. */
static __always_inline enum verdict parse_ports(struct cursor *cur, struct packet *packet)
{
	__be16 *ports = cur->pos;

	if (!protocol_has_ports(packet->flow.protocol))
		return PASS_OTHER_PROTOCOL;
	if (packet->l4_len < 2 * sizeof(*ports))
		return PASS_SHORT_PORTS;
	if ((void *)(ports + 2) > cur->end)
		return PASS_SPLIT;
	packet->ports = ports;
	packet->flow.source_port = ports[0];
	packet->flow.destination_port = ports[1];
	return CONTINUE;
}

static __always_inline enum verdict parse_tcp(struct cursor *cur, struct packet *packet)
{
	struct tcphdr *tcp = cur->pos;

	if (packet->l4_len < sizeof(*tcp))
		return DROP_SHORT_TCP;
	if ((void *)(tcp + 1) > cur->end)
		return PASS_SPLIT;
	if (tcp->doff < TCP_DOFF_MIN || tcp->doff * 4U > packet->l4_len)
		return DROP_BAD_TCP_OFFSET;
	packet->tcp = tcp;
	packet->tcp_flags = ((__u8 *)tcp)[TCP_FLAGS_AT];
	return CONTINUE;
}

static __always_inline enum verdict parse_udp(struct cursor *cur, struct packet *packet)
{
	struct udphdr *udp = cur->pos;
	__u32 len;

	if (packet->l4_len < sizeof(*udp))
		return DROP_SHORT_UDP;
	if ((void *)(udp + 1) > cur->end)
		return PASS_SPLIT;
	len = bpf_ntohs(udp->len);
	/* In a first fragment it is that of the whole datagram. */
	if (len < sizeof(*udp) || (len > packet->l4_len && !packet->fragment.more))
		return DROP_BAD_UDP_LENGTH;
	packet->udp = udp;
	return CONTINUE;
}

static __always_inline enum verdict parse_sctp(struct cursor *cur, struct packet *packet)
{
	if (packet->l4_len < sizeof(struct sctphdr))
		return DROP_SHORT_SCTP;
	if (cur->pos + sizeof(struct sctphdr) > cur->end)
		return PASS_SPLIT;
	return CONTINUE;
}

/* Check the whole layer 4 header of a packet that is ours; @cur is at its start. */
static __always_inline enum verdict parse_l4(struct cursor *cur, struct packet *packet)
{
	if (packet->no_ports)
		return CONTINUE;
	if (packet->flow.protocol == IPPROTO_TCP)
		return parse_tcp(cur, packet);
	if (packet->flow.protocol == IPPROTO_UDP)
		return parse_udp(cur, packet);
	return parse_sctp(cur, packet);
}

static __always_inline __u8 packet_ttl(const struct packet *packet)
{
	return packet_is_ipv6(packet) ? packet->ipv6->hop_limit : packet->ipv4->ttl;
}

/* Fill @packet as far as the ports, which later fragments lack; @packet is all zero before. */
static __always_inline enum verdict parse_flow(struct cursor *cur, struct packet *packet)
{
	enum verdict verdict;
	__be16 type;

	packet->frame_len = cur->end - cur->pos;
	verdict = parse_ethernet(cur, packet);
	if (verdict != CONTINUE)
		return verdict;
	type = packet->eth->h_proto;
	verdict = parse_tags(cur, packet, &type);
	if (verdict != CONTINUE)
		return verdict;
	if (type == bpf_htons(ETH_P_IP))
		verdict = parse_ipv4(cur, packet);
	else if (type == bpf_htons(ETH_P_IPV6))
		verdict = parse_ipv6(cur, packet);
	else
		return PASS_NOT_IP;
	if (verdict != CONTINUE)
		return verdict;
	if (packet->fragment.offset) {
		packet->no_ports = NO_PORTS_FRAGMENT;
		return CONTINUE;
	}
	return parse_ports(cur, packet);
}

#endif
