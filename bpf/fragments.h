/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fragments of a datagram go where its first one goes, which alone has the ports:
 *
 *   first       balanced like any packet of its flow; what was decided is remembered in
 *               `fragments`, before it leaves, so that none can overtake it
 *   later       as remembered, by addresses and identification
 *   later, and nothing is remembered
 *               to ringlbd, by `held_fragments`: it waits for the first and then sends the
 *               frame through the program again, marked, so that it is held only once
 *
 * Never to another backend than the first: if that one is gone the rest is dropped. When
 * all bytes were seen the entry goes, or the next datagram with the same identification
 * would be taken for this one. Packets that are whole never get here.
 */
#ifndef RINGLB_BPF_FRAGMENTS_H
#define RINGLB_BPF_FRAGMENTS_H

#include "bpf/count.h"
#include "bpf/flows.h"
#include "bpf/maps.h"
#include "bpf/parse.h"
#include "bpf/vip.h"

/* What is to become of a packet: a reply if there is one, else it goes to the backend. */
struct fate {
	const struct reply *reply;
	struct reply remembered; /* `reply` may point here */
	__u32 backend;
};

static __always_inline void fragment_key_of(struct fragment_key *key, const struct flow *flow,
					    __be32 id)
{
	__builtin_memset(key, 0, sizeof(*key));
	__builtin_memcpy(key->source, flow->source, sizeof(key->source));
	__builtin_memcpy(key->destination, flow->destination, sizeof(key->destination));
	key->id = id;
	key->family = flow->family;
	if (flow->family == ENDPOINT_IPV4)
		key->protocol = flow->protocol;
}

/*
 * Remember for the rest of the datagram where its first fragment goes: @reply or else, unless
 * it is BACKEND_NONE, @backend. A function of its own, as the stack of the caller is scarce.
 */
__attribute__((noinline)) int fragment_remember(const struct traits *packet,
						const struct fragment *fragment,
						const struct reply *reply, __u32 backend, __u32 vip)
{
	struct fragment_entry entry = {.kind = FRAGMENT_PASS, .backend = backend, .vip = vip};
	const struct backend *to = bpf_map_lookup_elem(&backends, &backend);
	struct fragment_key key;

	if (!packet || !fragment)
		return 0;
	if (reply) {
		entry.kind = FRAGMENT_REPLY;
		entry.reply = *reply;
	} else if (to) {
		entry.kind = FRAGMENT_TO_BACKEND;
		entry.incarnation = to->incarnation;
	}
	entry.expires_s = flows_now_s() + FRAGMENT_LIFE_S;
	entry.seen_bytes = fragment->len;
	entry.source_port = packet->flow.source_port;
	entry.destination_port = packet->flow.destination_port;
	entry.protocol = packet->flow.protocol;
	entry.authenticated = fragment->authenticated;
	fragment_key_of(&key, &packet->flow, fragment->id);
	/* Should it not be kept, the others are dropped, and counted, as coming without it. */
	return bpf_map_update_elem(&fragments, &key, &entry, BPF_ANY);
}

static __always_inline void fragment_teach_backend(struct packet *packet, __u32 vip, __u32 id)
{
	if (packet_is_first_fragment(packet))
		fragment_remember(&packet->traits, &packet->fragment, 0, id, vip);
}

static __always_inline void fragment_teach_reply(struct packet *packet, const struct reply *reply)
{
	if (packet_is_first_fragment(packet))
		fragment_remember(&packet->traits, &packet->fragment, reply, BACKEND_NONE, 0);
}

static __always_inline bool fragment_is_of_backend(const struct packet *packet)
{
	struct address key = {.family = packet->flow.family};
	const __u32 *flags;

	__builtin_memcpy(key.address, packet->flow.source, sizeof(key.address));
	flags = bpf_map_lookup_elem(&addresses, &key);
	return flags && *flags & ADDRESS_BACKEND;
}

/* True if it goes to a VIP's address or comes from that of a nat backend. */
static __always_inline bool fragment_has_our_address(const struct packet *packet)
{
	return vip_has_address(&packet->flow) || fragment_is_of_backend(packet);
}

/*
 * A first fragment of somebody else with an address of ours, a service of its own beside
 * the VIP perhaps: the rest of it must not be waited for.
 */
static __always_inline void fragment_teach_pass(struct packet *packet)
{
	if (packet_is_first_fragment(packet) && fragment_has_our_address(packet))
		fragment_remember(&packet->traits, &packet->fragment, 0, BACKEND_NONE, 0);
}

/*
 * @verdict on a packet whose ports were not found. All headers have to be in the first
 * fragment: RFC 7112. If there are IPv6 headers before what is not ours, the later fragments
 * name only the first of these and look as if they might be ours.
 */
static __always_inline enum verdict fragment_unparsed(struct packet *packet, enum verdict verdict)
{
	if (!packet_is_first_fragment(packet))
		return verdict;
	if (verdict == PASS_SHORT_PORTS && fragment_has_our_address(packet))
		return DROP_FRAGMENT_HEADER;
	if (packet->fragment.len != packet->l4_len)
		fragment_teach_pass(packet);
	return verdict;
}

/* @verdict on the layer 4 header, or that it is not all in the first fragment: RFC 1858. */
static __always_inline enum verdict fragment_verdict(const struct packet *packet,
						     enum verdict verdict)
{
	if (packet_is_first_fragment(packet) &&
	    (verdict == DROP_SHORT_TCP || verdict == DROP_SHORT_UDP || verdict == DROP_SHORT_SCTP ||
	     verdict == DROP_BAD_TCP_OFFSET))
		return DROP_FRAGMENT_HEADER;
	return verdict;
}

/* True if the later fragment @packet would overwrite some of its first one's header. */
static __always_inline bool fragment_overlaps_header(const struct packet *packet, __u8 protocol)
{
	__u32 len = sizeof(struct udphdr);

	if (protocol == IPPROTO_TCP)
		len = sizeof(struct tcphdr);
	if (protocol == IPPROTO_SCTP)
		len = sizeof(struct sctphdr);
	return packet->fragment.offset < len;
}

/* What userspace says of a frame that it sends again; 0 for one that came in. */
static __always_inline __u64 fragment_mark(struct xdp_md *ctx)
{
	const __u64 *mark = (void *)(long)ctx->data_meta;

	if ((void *)(mark + 1) > (void *)(long)ctx->data)
		return 0;
	return *mark;
}

/* Hand the frame to userspace. */
static __always_inline enum verdict fragment_hold(struct xdp_md *ctx, const struct packet *packet,
						  const struct fragment_key *key)
{
	__u64 len = bpf_xdp_get_buff_len(ctx);
	struct held_fragment *held;

	if (len < sizeof(struct ethhdr) || len > HELD_FRAME_MAX)
		return DROP_FRAGMENT_NOT_HELD;
	held = bpf_ringbuf_reserve(&held_fragments, sizeof(*held), 0);
	if (!held)
		return DROP_FRAGMENT_NOT_HELD;
	held->arrived_ns = bpf_ktime_get_ns();
	held->key = *key;
	held->ifindex = packet->ingress;
	held->len = len;
	if (bpf_xdp_load_bytes(ctx, 0, held->frame, len)) {
		bpf_ringbuf_discard(held, BPF_RB_NO_WAKEUP);
		return DROP_FRAGMENT_NOT_HELD;
	}
	bpf_ringbuf_submit(held, 0);
	return HOLD_FRAGMENT;
}

/* A later fragment of which nothing is remembered. */
static __always_inline enum verdict fragment_miss(struct xdp_md *ctx, const struct packet *packet,
						  const struct fragment_key *key, __u64 mark)
{
	if (mark == HELD_MARK_AGAIN)
		return DROP_FRAGMENT_NO_FIRST;
	if (!fragment_has_our_address(packet))
		return PASS_FRAGMENT;
	if (fragment_overlaps_header(packet, packet->flow.protocol))
		return DROP_FRAGMENT_HEADER;
	return fragment_hold(ctx, packet, key);
}

/* True if with @packet all bytes of the datagram were seen. */
static __always_inline bool fragment_is_complete(struct fragment_entry *entry,
						 const struct packet *packet)
{
	__u32 seen;

	if (!packet->fragment.more)
		entry->total_bytes = packet->fragment.offset + packet->fragment.len;
	seen = __sync_fetch_and_add(&entry->seen_bytes, packet->fragment.len);
	return seen + packet->fragment.len == entry->total_bytes;
}

/* Protocols that fragments of ours may have. In IPv6 it may be that of more headers. */
static __always_inline bool fragment_may_be_ours(const struct packet *packet)
{
	__u8 protocol = packet->flow.protocol;

	return protocol_has_ports(protocol) ||
	       (packet_is_ipv6(packet) && protocol_is_extension(protocol));
}

/* Fill @fate as the first fragment's backend has it. Returns CONTINUE or a verdict. */
static __always_inline enum verdict fragment_follow(struct packet *packet,
						    const struct fragment_entry *entry,
						    struct fate *fate)
{
	const struct backend *backend;

	if (entry->kind == FRAGMENT_PASS)
		return PASS_FRAGMENT;
	if (fragment_overlaps_header(packet, entry->protocol))
		return DROP_FRAGMENT_HEADER;
	packet->fragment.authenticated = entry->authenticated;
	packet->flow.protocol = entry->protocol;
	packet->flow.source_port = entry->source_port;
	packet->flow.destination_port = entry->destination_port;
	if (entry->kind == FRAGMENT_REPLY) {
		fate->remembered = entry->reply;
		fate->reply = &fate->remembered;
		return CONTINUE;
	}
	if (packet_ttl(packet) <= 1)
		return DROP_TTL;
	count_packet(&vip_counters, entry->vip, packet);
	backend = flows_backend(entry->backend);
	if (!backend || backend->incarnation != entry->incarnation)
		return DROP_FRAGMENT_NO_BACKEND;
	fate->backend = entry->backend;
	return CONTINUE;
}

/* A fragment that is not the first. Fills @fate and returns CONTINUE, or a verdict. */
static __always_inline enum verdict fragment_recall(struct xdp_md *ctx, struct packet *packet,
						    struct fate *fate)
{
	struct fragment_entry *entry;
	struct fragment_key key;
	enum verdict verdict;
	__u64 mark;

	if (!fragment_may_be_ours(packet))
		return PASS_FRAGMENT;
	mark = fragment_mark(ctx);
	if (mark == HELD_MARK_FINAL)
		return DROP_FRAGMENT_NO_FIRST;
	fragment_key_of(&key, &packet->flow, packet->fragment.id);
	entry = bpf_map_lookup_elem(&fragments, &key);
	if (!entry || entry->expires_s <= flows_now_s())
		return fragment_miss(ctx, packet, &key, mark);
	verdict = fragment_follow(packet, entry, fate);
	if (verdict != CONTINUE && verdict != PASS_FRAGMENT)
		return verdict;
	/* Not before it was read: another processor may get it for another datagram. */
	if (fragment_is_complete(entry, packet))
		bpf_map_delete_elem(&fragments, &key);
	return verdict;
}

#endif
