/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which backend a packet in a moving arc goes to. Consulted there only: in a settled
 * arc the owner is all there is to know, and no flow table is read or written.
 *
 *   remembered, its backend alive     that backend
 *   not remembered, opens a flow      the owner; remembered in `embryos`, and moved to
 *                                     `flows` by the client's next packet without SYN
 *   not remembered, does not open     the previous owner while the arc is learning,
 *                                     remembered in `old_flows`; the owner afterwards
 *
 * UDP and SCTP have `other_flows` and no packet that opens a flow: while the arc learns, a flow
 * that is not remembered may be an old one and is the previous owner's.
 *
 * An ICMP error about a flow follows what is remembered and changes nothing.
 */
#ifndef RINGLB_BPF_FLOWS_H
#define RINGLB_BPF_FLOWS_H

#include "bpf/maps.h"
#include "bpf/parse.h"

#define NANOSECONDS 1000000000ULL

static __always_inline void flows_count(enum flow_count what)
{
	__u32 index = what;
	__u64 *count = bpf_map_lookup_elem(&flow_counts, &index);

	if (count)
		(*count)++;
}

static __always_inline __u32 flows_now_s(void)
{
	return bpf_ktime_get_coarse_ns() / NANOSECONDS;
}

static __always_inline bool flow_is_tcp(const struct traits *packet)
{
	return packet->flow.protocol == IPPROTO_TCP;
}

static __always_inline bool flow_opens(const struct traits *packet)
{
	return (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

static __always_inline bool flow_closes(const struct traits *packet)
{
	return packet->tcp_flags & (TCP_FIN | TCP_RST);
}

/* The backend with @id if its flows may still go there; NULL if it died or left. */
static __always_inline const struct backend *flows_backend(__u32 id)
{
	const struct backend *backend = bpf_map_lookup_elem(&backends, &id);

	if (!backend || !backend->forward || !(backend->takes & BACKEND_TAKES_OLD))
		return 0;
	return backend;
}

/* True if the backend that @entry names is there, alive, and the one it was then. */
static __always_inline bool flows_has_backend(const struct flow_entry *entry)
{
	const struct backend *backend = flows_backend(entry->backend);

	return backend && backend->incarnation == entry->incarnation;
}

/*
 * True if @entry still counts for @packet: not expired, its backend there and willing, and
 * the VIP still led to this pool.
 */
static __always_inline bool flows_is_live(const struct flow_entry *entry,
					  const struct traits *packet, const struct vip *vip,
					  __u32 now_s)
{
	const struct backend *backend = flows_backend(entry->backend);

	if (!backend || backend->incarnation != entry->incarnation || entry->expires_s <= now_s ||
	    entry->pool != vip->pool)
		return false;
	return !flow_opens(packet) || backend->takes & BACKEND_TAKES_NEW;
}

/* Remember that the flow is @id's. Returns @id. */
static __always_inline __u32 flows_remember(void *table, const struct traits *packet,
					    const struct vip *vip, __u32 id, __u32 expires_s)
{
	const struct backend *backend = flows_backend(id);
	struct flow_entry entry = {
		.backend = id,
		.expires_s = expires_s,
		.pool = vip->pool,
		.closing = flow_closes(packet),
		.hash = vip->hash,
	};

	if (!backend)
		return id;
	entry.incarnation = backend->incarnation;
	if (bpf_map_update_elem(table, &packet->flow, &entry, BPF_ANY))
		flows_count(FLOW_NOT_KEPT);
	return id;
}

/*
 * A packet of a remembered flow puts its end off, written once a second at most. A SYN
 * opens the tuple anew: that the flow before it has closed is nothing to this one.
 */
static __always_inline void flows_touch(struct flow_entry *entry, const struct traits *packet,
					__u32 now_s, __u32 idle_s, __u32 closing_s)
{
	if (flow_opens(packet))
		entry->closing = 0;
	if (flow_closes(packet))
		entry->closing = 1;
	if (entry->closing)
		idle_s = closing_s;
	if (entry->expires_s != now_s + idle_s)
		entry->expires_s = now_s + idle_s;
}

/* The first packet without SYN that follows an embryonic entry makes it established. */
static __always_inline void flows_promote(const struct traits *packet,
					  const struct flow_entry *entry,
					  const struct flow_times *times, __u32 now_s)
{
	struct flow_entry established = *entry;

	established.closing = flow_closes(packet);
	established.expires_s =
		now_s + (established.closing ? times->closing_s : times->tcp_idle_s);
	if (bpf_map_update_elem(&flows, &packet->flow, &established, BPF_ANY)) {
		flows_count(FLOW_NOT_KEPT);
		return;
	}
	bpf_map_delete_elem(&embryos, &packet->flow);
	flows_count(FLOW_PROMOTED);
}

/*
 * Nothing is remembered that counts: go by what the packet is and what the arc knows.
 *
 * While an arc learns anything, every flow that is sent to its owner is remembered
 * too: should the arc move on before it has settled, `previous` stays what it is, and
 * the memory alone tells which flows the owner of the meantime has.
 */
static __always_inline __u32 flows_pick(const struct traits *packet, const struct vip *vip,
					__u32 owner, const struct ring_move *move,
					const struct flow_times *times, __u32 now_s)
{
	bool tcp = flow_is_tcp(packet);
	__u32 idle_s = !tcp		     ? times->other_idle_s
		       : flow_closes(packet) ? times->closing_s
					     : times->tcp_idle_s;
	__u16 learns = move->flags & (tcp ? MOVE_LEARN_TCP : MOVE_LEARN_OTHER);

	if (!(move->flags & (MOVE_LEARN_TCP | MOVE_LEARN_OTHER))) {
		flows_count(FLOW_UNKNOWN);
		return owner;
	}
	if (flow_opens(packet)) {
		flows_count(FLOW_NEW);
		return flows_remember(&embryos, packet, vip, owner, now_s + times->embryo_s);
	}
	if (learns && flows_backend(move->previous)) {
		flows_count(FLOW_OLD);
		owner = move->previous;
	} else {
		flows_count(FLOW_UNKNOWN);
	}
	if (tcp)
		return flows_remember(&old_flows, packet, vip, owner, now_s + idle_s);
	return flows_remember(&other_flows, packet, vip, owner, now_s + idle_s);
}

/*
 * A flow whose backend died was not the previous owner's, who would only be kept from
 * draining by it: it goes to the owner.
 */
static __always_inline struct ring_move flows_without_dead(const struct ring_move *move,
							   const struct flow_entry *entry)
{
	struct ring_move again = *move;

	if (!flows_has_backend(entry))
		again.previous = BACKEND_NONE;
	return again;
}

static __always_inline __u32 flows_choose_tcp(const struct traits *packet, const struct vip *vip,
					      __u32 owner, const struct ring_move *move,
					      const struct flow_times *times, __u32 now_s)
{
	struct flow_entry *entry = bpf_map_lookup_elem(&flows, &packet->flow);
	bool embryonic = false;
	__u32 id;

	if (!entry)
		entry = bpf_map_lookup_elem(&old_flows, &packet->flow);
	if (!entry) {
		entry = bpf_map_lookup_elem(&embryos, &packet->flow);
		embryonic = true;
	}
	if (!entry)
		return flows_pick(packet, vip, owner, move, times, now_s);
	if (!flows_is_live(entry, packet, vip, now_s)) {
		struct ring_move again = flows_without_dead(move, entry);

		bpf_map_delete_elem(&flows, &packet->flow);
		bpf_map_delete_elem(&old_flows, &packet->flow);
		bpf_map_delete_elem(&embryos, &packet->flow);
		flows_count(FLOW_STALE);
		return flows_pick(packet, vip, owner, &again, times, now_s);
	}
	flows_count(FLOW_HIT);
	id = entry->backend;
	if (embryonic && !(packet->tcp_flags & TCP_SYN))
		flows_promote(packet, entry, times, now_s);
	else
		flows_touch(entry, packet, now_s, embryonic ? times->embryo_s : times->tcp_idle_s,
			    times->closing_s);
	return id;
}

static __always_inline __u32 flows_choose_other(const struct traits *packet, const struct vip *vip,
						__u32 owner, const struct ring_move *move,
						const struct flow_times *times, __u32 now_s)
{
	struct flow_entry *entry = bpf_map_lookup_elem(&other_flows, &packet->flow);

	if (!entry)
		return flows_pick(packet, vip, owner, move, times, now_s);
	if (!flows_is_live(entry, packet, vip, now_s)) {
		struct ring_move again = flows_without_dead(move, entry);

		bpf_map_delete_elem(&other_flows, &packet->flow);
		flows_count(FLOW_STALE);
		return flows_pick(packet, vip, owner, &again, times, now_s);
	}
	flows_count(FLOW_HIT);
	flows_touch(entry, packet, now_s, times->other_idle_s, times->other_idle_s);
	return entry->backend;
}

/* The backend of a packet in a moving arc, whose owner in the new ring is @owner. */
static __always_inline __u32 flows_choose(const struct traits *packet, const struct vip *vip,
					  __u32 owner, const struct ring_move *move)
{
	__u32 zero = 0, now_s = flows_now_s();
	const struct flow_times *values = bpf_map_lookup_elem(&flow_times, &zero);

	flows_count(FLOW_ASKED);
	if (!values)
		return owner;
	if (flow_is_tcp(packet))
		return flows_choose_tcp(packet, vip, owner, move, values, now_s);
	return flows_choose_other(packet, vip, owner, move, values, now_s);
}

/*
 * The same for an ICMP error about a flow, which is the flow's packet in nothing but the way
 * that it goes: what is not remembered is no SYN, nothing is learned, kept alive, given up or
 * counted. Anybody may send such errors.
 */
static __always_inline __u32 flows_look(const struct traits *packet, const struct vip *vip,
					__u32 owner, const struct ring_move *move)
{
	bool tcp = flow_is_tcp(packet);
	__u16 learns = move->flags & (tcp ? MOVE_LEARN_TCP : MOVE_LEARN_OTHER);
	const struct flow_entry *entry;

	if (tcp) {
		entry = bpf_map_lookup_elem(&flows, &packet->flow);
		if (!entry)
			entry = bpf_map_lookup_elem(&old_flows, &packet->flow);
		if (!entry)
			entry = bpf_map_lookup_elem(&embryos, &packet->flow);
	} else {
		entry = bpf_map_lookup_elem(&other_flows, &packet->flow);
	}
	if (entry && flows_is_live(entry, packet, vip, flows_now_s()))
		return entry->backend;
	if (entry && !flows_has_backend(entry))
		return owner;
	return learns && flows_backend(move->previous) ? move->previous : owner;
}

#endif
