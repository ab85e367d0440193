/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * QUIC: a packet whose connection id names a backend goes there, whatever its
 * addresses and ports, so that a client keeps its connection when these change.
 *
 *   short header                   the id that the server gave; its length is known
 *                                  from the configuration that it names
 *   long header, Handshake         the same
 *   long header, Initial, 0-RTT    by hash. The client made the id up, and one made up
 *                                  at random may look like a known one. One made up on
 *                                  purpose would let clients choose their backend, past
 *                                  the seed, the weights and a drain.
 *   long header, anything else     by hash. Retry and version negotiation are sent by
 *                                  servers only, and what an unknown version's packets
 *                                  are is not known.
 *
 * Only the form bit tells the headers apart: the next one is not invariant, and peers
 * may clear it (RFC 9287). So anything on the VIP's port whose first bit is 0 is asked
 * for an id; what is no QUIC has none that is known, and goes by hash.
 *
 * Source: RFC 8999, section 5 (what holds in every version); RFC 9000, section 17.2
 * and RFC 9369, section 3.2 (types of long headers);
 * draft-ietf-quic-load-balancers-21, sections 3 to 5.
 */
#ifndef RINGLB_BPF_QUIC_H
#define RINGLB_BPF_QUIC_H

#include "bpf/flows.h"

#define QUIC_LONG_HEADER     0x80
#define QUIC_TYPE(first)     ((first) >> 4 & 3)
#define QUIC_VERSION_1	     0x00000001
#define QUIC_VERSION_2	     0x6b3343cf
#define QUIC_SHORT_ID_AT     1 /* after the first octet */
#define QUIC_LONG_ID_AT	     6 /* after the first octet, the version and the id's length */
#define QUIC_LONG_LEN_AT     5
#define QUIC_LONG_VERSION_AT 1

/* The payload of a datagram. @len is by its UDP header, @end is the frame's. */
struct quic_packet {
	const __u8 *pos;
	const void *end;
	__u32 len;
};

static __always_inline void quic_count(enum quic_count what)
{
	__u32 index = what;
	__u64 *count = bpf_map_lookup_elem(&quic_counts, &index);

	if (count)
		(*count)++;
}

/* True if octets 0 to @n - 1 may be read. */
static __always_inline bool quic_has(const struct quic_packet *quic, __u32 n)
{
	return quic->len >= n && (const void *)(quic->pos + n) <= quic->end;
}

/* Of a long header whose version and type field are given: what it says by itself. */
static __always_inline enum quic_count quic_long_kind(__u32 version, __u32 type)
{
	/* Version 2 counts its types from 1, modulo 4, and means the same by them. */
	if (version == QUIC_VERSION_2)
		type = (type - 1) & 3;
	else if (version != QUIC_VERSION_1)
		return QUIC_OTHER;
	switch (type) {
	case 0: /* Initial */
	case 1: /* 0-RTT */
		return QUIC_OPENING;
	case 2: /* Handshake */
		return QUIC_ID;
	default: /* Retry */
		return QUIC_OTHER;
	}
}

/*
 * Find the connection id of a packet of which it counts. QUIC_ID: it begins at *@at and
 * has at most *@len octets, of which the frame need not have any.
 */
static __always_inline enum quic_count quic_find_id(const struct quic_packet *quic, __u32 *at,
						    __u32 *len)
{
	__u32 version;
	enum quic_count kind;

	if (!quic_has(quic, 1))
		return QUIC_OTHER;
	if (!(quic->pos[0] & QUIC_LONG_HEADER)) {
		*at = QUIC_SHORT_ID_AT;
		*len = quic->len - QUIC_SHORT_ID_AT;
		return QUIC_ID;
	}
	if (!quic_has(quic, QUIC_LONG_ID_AT))
		return QUIC_OTHER;
	version = (__u32)quic->pos[QUIC_LONG_VERSION_AT] << 24 |
		  (__u32)quic->pos[QUIC_LONG_VERSION_AT + 1] << 16 |
		  (__u32)quic->pos[QUIC_LONG_VERSION_AT + 2] << 8 |
		  quic->pos[QUIC_LONG_VERSION_AT + 3];
	kind = quic_long_kind(version, QUIC_TYPE(quic->pos[0]));
	*at = QUIC_LONG_ID_AT;
	*len = quic->pos[QUIC_LONG_LEN_AT];
	return kind;
}

/*
 * Read the server id out of the connection id of @len octets at @id. Return: QUIC_ID
 * with @key filled, which is all zero before; else QUIC_UNROUTABLE.
 */
static __always_inline enum quic_count quic_read_id(const struct quic_packet *id, __u32 len,
						    const struct vip *vip, struct quic_id *key)
{
	__u32 id_len;

	if (!len || !quic_has(id, 1))
		return QUIC_UNROUTABLE;
	key->config = QUIC_CONFIG(id->pos[0]);
	id_len = QUIC_LEN(vip->quic, key->config);
	if (!id_len || id_len >= len)
		return QUIC_UNROUTABLE;
	key->pool = vip->pool;
	key->len = id_len;
	for (__u32 i = 0; i < QUIC_ID_LEN_MAX && i < id_len; i++) {
		if (!quic_has(id, i + 2))
			return QUIC_UNROUTABLE;
		key->octets[i] = id->pos[i + 1];
	}
	return QUIC_ID;
}

/*
 * The backend that took these connections, if it is still there and alive, draining or
 * not. It never opens one here, so what it takes of new flows does not matter.
 */
static __always_inline enum quic_count quic_find_backend(const struct quic_id *key, __u32 *id)
{
	const struct quic_backend *named = bpf_map_lookup_elem(&quic_ids, key);
	const struct backend *backend;

	if (!named)
		return QUIC_UNKNOWN;
	backend = flows_backend(named->backend);
	if (!backend || backend->incarnation != named->incarnation)
		return QUIC_GONE;
	*id = named->backend;
	return QUIC_ID;
}

static __always_inline enum quic_count quic_choose(struct quic_packet *quic, const struct vip *vip,
						   __u32 *id)
{
	struct quic_id key = {};
	enum quic_count found;
	__u32 at, len;

	found = quic_find_id(quic, &at, &len);
	if (found != QUIC_ID)
		return found;
	quic->pos += at;
	quic->len -= at;
	found = quic_read_id(quic, len, vip, &key);
	if (found != QUIC_ID)
		return found;
	return quic_find_backend(&key, id);
}

/*
 * The backend that a datagram's connection id names, or BACKEND_NONE if the flow's hash
 * decides. @cur is at the UDP header, which has been checked; TCP has no vip->quic. What an
 * ICMP error quotes was sent to a client, and names none.
 */
static __always_inline __u32 quic_backend_of(const struct cursor *cur, const struct packet *packet,
					     const struct vip *vip)
{
	const struct udphdr *udp = cur->pos;
	struct quic_packet quic = {.end = cur->end};
	__u32 id = BACKEND_NONE, len;

	if (!vip->quic || packet->no_ports || (void *)(udp + 1) > cur->end)
		return BACKEND_NONE;
	quic.pos = (const __u8 *)(udp + 1);
	/* Of a first fragment there is less than the datagram's length, and padding after it. */
	len = bpf_ntohs(udp->len);
	quic.len = (len < packet->l4_len ? len : packet->l4_len) - sizeof(*udp);
	quic_count(quic_choose(&quic, vip, &id));
	return id;
}

#endif
