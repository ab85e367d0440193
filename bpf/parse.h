/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frame -> struct packet. The only file that moves the cursor. Each function
 * reads one layer, checks its bounds right before the first read, and returns
 * CONTINUE or a verdict.
 *
 * Layer 3 that no router may forward is dropped here (RFC 1812, section 5.2.2).
 * Layer 4 is checked by parse_tcp_udp() once the packet is known to be ours:
 * other people's packets are none of our business.
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

#define IPV4_IHL_MIN	 5
#define TCP_DOFF_MIN	 5
#define IPV4_MORE	 0x2000 /* fragments */
#define IPV4_OFFSET_MASK 0x1fff
#define IPV6_OFFSET_MASK 0xfff8

/* Byte 13 of the TCP header. Source: RFC 9293, section 3.1. */
#define TCP_FLAGS_AT 13
#define TCP_FIN	     0x01
#define TCP_SYN	     0x02
#define TCP_RST	     0x04
#define TCP_ACK	     0x10

struct cursor {
	void *pos;
	void *end;
};

/* What parsing found. Pointers are checked up to the end of their fixed header. */
struct packet {
	__u64 ip_version; /* 4 or 6; a whole stack slot, or the verifier forgets it */
	__u64 no_ports;	  /* 1: a fragment that is not the first; a whole slot, too */
	struct ethhdr *eth;
	struct iphdr *ipv4;   /* if ip_version is 4 */
	struct ipv6hdr *ipv6; /* if ip_version is 6 */
	__be16 *ports;	      /* source, destination; unless no_ports */
	struct tcphdr *tcp;   /* set by parse_tcp_udp(), NULL if UDP */
	struct udphdr *udp;   /* set by parse_tcp_udp(), NULL if TCP */
	__u32 ingress;	      /* ifindex; read early, as the verifier wants plain ctx accesses */
	__u32 frame_len;
	__u16 ip_len; /* by the IP header: Ethernet padding is not in it */
	__u16 l4_len;
	__u8 tcp_flags;	       /* TCP_FIN..., set by parse_tcp_udp(); 0 for UDP */
	__u8 fragment_more;    /* 1: a fragment, and not the last one */
	__u16 fragment_offset; /* in bytes; 0: the first one, or a whole packet */
	__u16 fragment_len;    /* bytes of the datagram that it has */
	__be32 fragment_id;    /* of IPv4: 16 bits, as a __be16 */
	struct flow flow;
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
	return packet->fragment_more && !packet->fragment_offset;
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
	cur->pos = eth + 1;
	return CONTINUE;
}

/*
 * Of whole packets too, and without a branch: what the verifier need not tell apart here
 * it need not follow twice from here on.
 */
static __always_inline void parse_ipv4_fragment(const struct iphdr *ip, struct packet *packet)
{
	__u16 field = bpf_ntohs(ip->frag_off);

	packet->fragment_more = !!(field & IPV4_MORE);
	packet->fragment_offset = (field & IPV4_OFFSET_MASK) * 8;
	packet->fragment_len = packet->l4_len;
	packet->fragment_id = ip->id;
}

/* Source: RFC 791, section 3.1. */
static __always_inline enum verdict parse_ipv4(struct cursor *cur, struct packet *packet)
{
	struct iphdr *ip = cur->pos;
	__u32 header_len, total_len;

	if ((void *)(ip + 1) > cur->end)
		return DROP_SHORT_IPV4;
	if (ip->version != 4)
		return DROP_BAD_VERSION;
	if (ip->ihl < IPV4_IHL_MIN)
		return DROP_BAD_IHL;
	header_len = ip->ihl * 4U;
	total_len = bpf_ntohs(ip->tot_len);
	if (cur->pos + header_len > cur->end)
		return DROP_SHORT_IPV4;
	if (total_len < header_len || total_len > (__u64)(cur->end - cur->pos))
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

/* Source: RFC 8200, section 4.5. A packet that is its own only fragment is whole: RFC 6946. */
static __always_inline enum verdict parse_ipv6_fragment(struct cursor *cur, struct packet *packet)
{
	struct {
		__u8 next;
		__u8 reserved;
		__be16 offset; /* in bytes; bit 0: more fragments */
		__be32 id;
	} *header = cur->pos;

	if ((void *)(header + 1) > cur->end || packet->l4_len < sizeof(*header))
		return PASS_SHORT_PORTS;
	packet->flow.protocol = header->next;
	packet->l4_len -= sizeof(*header);
	packet->fragment_more = header->offset & bpf_htons(1) ? 1 : 0;
	packet->fragment_offset = bpf_ntohs(header->offset) & IPV6_OFFSET_MASK;
	packet->fragment_len = packet->l4_len;
	packet->fragment_id = header->id;
	cur->pos = header + 1;
	return CONTINUE;
}

/* Source: RFC 8200, section 3. Extension headers are not walked yet. */
static __always_inline enum verdict parse_ipv6(struct cursor *cur, struct packet *packet)
{
	struct ipv6hdr *ip = cur->pos;
	__u32 payload_len;

	if ((void *)(ip + 1) > cur->end)
		return DROP_SHORT_IPV6;
	if (ip->version != 6)
		return DROP_BAD_VERSION;
	payload_len = bpf_ntohs(ip->payload_len);
	cur->pos = ip + 1;
	if (payload_len > (__u64)(cur->end - cur->pos))
		return DROP_BAD_IP_LENGTH;
	packet->ip_version = 6;
	packet->ipv6 = ip;
	packet->ip_len = payload_len + sizeof(*ip);
	packet->l4_len = payload_len;
	packet->flow.family = ENDPOINT_IPV6;
	packet->flow.protocol = ip->nexthdr;
	__builtin_memcpy(packet->flow.source, &ip->saddr, sizeof(ip->saddr));
	__builtin_memcpy(packet->flow.destination, &ip->daddr, sizeof(ip->daddr));
	if (ip->nexthdr == IPPROTO_FRAGMENT)
		return parse_ipv6_fragment(cur, packet);
	return CONTINUE;
}

/* Both protocols begin with source port, destination port: RFC 9293, RFC 768. */
static __always_inline enum verdict parse_ports(struct cursor *cur, struct packet *packet)
{
	__be16 *ports = cur->pos;

	if (packet->flow.protocol != IPPROTO_TCP && packet->flow.protocol != IPPROTO_UDP)
		return PASS_NOT_TCP_UDP;
	if ((void *)(ports + 2) > cur->end || packet->l4_len < 2 * sizeof(*ports))
		return PASS_SHORT_PORTS;
	packet->ports = ports;
	packet->flow.source_port = ports[0];
	packet->flow.destination_port = ports[1];
	return CONTINUE;
}

static __always_inline enum verdict parse_tcp(struct cursor *cur, struct packet *packet)
{
	struct tcphdr *tcp = cur->pos;

	if ((void *)(tcp + 1) > cur->end || packet->l4_len < sizeof(*tcp))
		return DROP_SHORT_TCP;
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

	if ((void *)(udp + 1) > cur->end || packet->l4_len < sizeof(*udp))
		return DROP_SHORT_UDP;
	len = bpf_ntohs(udp->len);
	/* In a first fragment it is that of the whole datagram. */
	if (len < sizeof(*udp) || (len > packet->l4_len && !packet->fragment_more))
		return DROP_BAD_UDP_LENGTH;
	packet->udp = udp;
	return CONTINUE;
}

/* Check the whole layer 4 header of a packet that is ours; @cur is at its start. */
static __always_inline enum verdict parse_tcp_udp(struct cursor *cur, struct packet *packet)
{
	if (packet->flow.protocol == IPPROTO_TCP)
		return parse_tcp(cur, packet);
	return parse_udp(cur, packet);
}

static __always_inline __u8 packet_ttl(const struct packet *packet)
{
	return packet_is_ipv6(packet) ? packet->ipv6->hop_limit : packet->ipv4->ttl;
}

/* Fill @packet as far as the ports, which later fragments lack; @packet is all zero before. */
static __always_inline enum verdict parse_flow(struct cursor *cur, struct packet *packet)
{
	enum verdict verdict;

	packet->frame_len = cur->end - cur->pos;
	verdict = parse_ethernet(cur, packet);
	if (verdict != CONTINUE)
		return verdict;
	if (packet->eth->h_proto == bpf_htons(ETH_P_IP))
		verdict = parse_ipv4(cur, packet);
	else if (packet->eth->h_proto == bpf_htons(ETH_P_IPV6))
		verdict = parse_ipv6(cur, packet);
	else
		return PASS_NOT_IP;
	if (verdict != CONTINUE)
		return verdict;
	if (packet->fragment_offset) {
		packet->no_ports = 1;
		return CONTINUE;
	}
	return parse_ports(cur, packet);
}

#endif
