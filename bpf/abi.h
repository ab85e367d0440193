/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the XDP program and userspace: map keys, map values,
 * limits and verdicts. Types and constants only. Compiled by both sides, so
 * each struct stands here once; every padding byte is named and every size is
 * asserted, because map keys are compared as raw bytes.
 *
 * Addresses are 16 bytes in network byte order; an IPv4 address occupies the
 * first 4 and the other 12 are zero. `family` (ENDPOINT_IPV4 or ENDPOINT_IPV6)
 * keeps the two apart.
 */
#ifndef RINGLB_BPF_ABI_H
#define RINGLB_BPF_ABI_H

#include <linux/types.h>

#include "bpf/flows_abi.h"
#include "bpf/ring_abi.h"
#include "bpf/verdicts.h"

/* Changes with any layout below; a pinned map of another version is refused. */
#define RINGLB_ABI_VERSION 5

#define POOLS_MAX 512
#define VIPS_MAX  4096
/* Two for each VIP, and in a change the old and the new at once. */
#define VIP_PREFIXES_MAX (4 * VIPS_MAX)
#define REPLIES_MAX	 131072
/* Ports and ranges of a VIP prefix, with those of the shorter prefixes that cover it. */
#define VIP_RANGES_MAX 16
#define EGRESS_MAX     256
/* What the configuration may have, twice: a change may replace every one. */
#define QUIC_IDS_MAX 131072
/* Backend ids are 0 to 65534; BACKEND_NONE marks a slot that nobody owns. */
#define BACKENDS_MAX 65535
#define BACKEND_NONE 0xffff
/* Sizes of the flow tables unless the configuration gives others. */
#define FLOWS_MAX_DEFAULT   262144
#define EMBRYOS_MAX_DEFAULT 65536
#define LABEL_LEN	    64
/* Datagrams whose fragments are on their way; and VIPs and nat backends by address. */
#define FRAGMENTS_MAX 65536
#define ADDRESSES_MAX (VIPS_MAX + REPLIES_MAX)

enum endpoint_family {
	ENDPOINT_IPV4 = 4,
	ENDPOINT_IPV6 = 6,
};

/*
 * A transport endpoint. Key of the maps `vips`, where it has a port, and `replies`,
 * where port 0 is any port.
 */
struct endpoint {
	__be32 address[4];
	__be16 port;
	__u8 protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	__u8 family;   /* enum endpoint_family */
};
_Static_assert(sizeof(struct endpoint) == 20, "endpoint is a raw map key");

/* What a flow is, in network byte order. */
struct flow {
	__be32 source[4];
	__be32 destination[4];
	__be16 source_port;
	__be16 destination_port;
	__u8 protocol;
	__u8 family;
	__u8 pad[2];
};
_Static_assert(sizeof(struct flow) == 40, "flow has no hidden padding");

/*
 * The bytes that are hashed: source address, destination address, source port,
 * destination port, protocol, all as on the wire; 13 bytes for IPv4 and 37 for
 * IPv6. Every load balancer host must pack a flow the same way.
 */
#define FLOW_KEY_LEN_IPV4 13
#define FLOW_KEY_LEN_IPV6 37

/*
 * Value of map `vips`, and of each range in `vip_prefixes`. `vip` indexes map `vip_counters`,
 * `pool` indexes map `rings`. All that a packet must know of its VIP and pool before the ring is
 * here.
 */
struct vip {
	__u32 vip;
	__u16 pool;
	__u16 mss;  /* host byte order: largest MSS option a SYN may carry; 0: any */
	__u8 hash;  /* enum vip_hash */
	__u8 flags; /* VIP_NAT */
	__u8 pad[2];
	__u32 quic; /* QUIC_LEN() of each configuration; 0: connection ids do not count here */
};
_Static_assert(sizeof(struct vip) == 16, "vip value");

/* Its pool forwards by nat. */
#define VIP_NAT 1

/* What of a flow is hashed; what is left out counts as zero. The key is as long as ever. */
enum vip_hash {
	VIP_HASH_FLOW = 0,	       /* all five */
	VIP_HASH_SOURCE = 1,	       /* the source address and nothing else */
	VIP_HASH_SOURCE_PORT_LESS = 2, /* all but the source port */
};

/*
 * A QUIC connection id that a backend made names it: its first three bits name a
 * configuration, and its second octet begins the server id, whose length the
 * configuration gives. 4 bits of vip.quic for each of the 7 configurations there can
 * be; the eighth, which says that an id names nobody, is always 0 there.
 * Source: draft-ietf-quic-load-balancers-21, sections 3.1 and 5.
 */
#define QUIC_CONFIGS		 7
#define QUIC_ID_LEN_MAX		 15
#define QUIC_CONFIG(first)	 ((first) >> 5)
#define QUIC_LEN(quic, config)	 ((quic) >> ((config) * 4) & 0xf)
#define QUIC_LEN_AT(len, config) ((__u32)(len) << ((config) * 4))

/* Key of map `quic_ids`: octets after the `len` of the server id are zero. */
struct quic_id {
	__u16 pool;
	__u8 config;
	__u8 len;
	__u8 octets[QUIC_ID_LEN_MAX + 1];
};
_Static_assert(sizeof(struct quic_id) == 20, "quic_id is a raw map key");

/* Value of map `quic_ids`; counts while the backend is this incarnation and alive. */
struct quic_backend {
	__u32 backend;
	__u32 incarnation;
};
_Static_assert(sizeof(struct quic_backend) == 8, "quic_backend value");

/* Index of the per-CPU map `quic_counts`: how packets to QUIC VIPs found their backend. */
#define QUIC_COUNTS(X)                                                                             \
	X(ID, "to the backend that the connection id names")                                       \
	X(GONE, "the connection id names a backend that is down or gone: by hash")                 \
	X(UNKNOWN, "the connection id names no backend of the pool: by hash")                      \
	X(UNROUTABLE, "the connection id is too short or of no configuration in use: by hash")     \
	X(OPENING, "Initial or 0-RTT, whose connection id the client made up: by hash")            \
	X(OTHER, "other long headers and versions, or no QUIC at all: by hash")

#define QUIC_COUNT_ENUM(name, text) QUIC_##name,
enum quic_count { QUIC_COUNTS(QUIC_COUNT_ENUM) QUIC_COUNT };
#undef QUIC_COUNT_ENUM

/*
 * Key of map `vip_prefixes`. `prefixlen` counts from `family` on, so it is
 * VIP_PREFIX_BITS more than the address has. Protocol 0 is there for each prefix that
 * has a VIP of any protocol, and has no ranges.
 */
struct vip_prefix {
	__u32 prefixlen;
	__u8 family;
	__u8 protocol;
	__u8 pad[2];
	__be32 address[4];
};
_Static_assert(sizeof(struct vip_prefix) == 24, "vip_prefix is a raw map key");
#define VIP_PREFIX_BITS 32

/* Ports in host byte order, both in it; 0 to 65535 is any port. */
struct vip_range {
	__u16 first;
	__u16 last;
	__u8 prefix_len; /* of the address, in bits: which of the prefixes above has it */
	__u8 pad[3];
	struct vip vip;
};
_Static_assert(sizeof(struct vip_range) == 24, "vip range");

/*
 * Value of map `vip_prefixes`: `len` ranges, of which the first that has a packet's
 * port is its VIP. What shorter prefixes have is in the list too, behind the prefix's
 * own, so the longest match is all that need be looked at.
 */
struct vip_ranges {
	__u32 len;
	__u32 pad;
	struct vip_range ranges[VIP_RANGES_MAX];
};
_Static_assert(sizeof(struct vip_ranges) == 8 + VIP_RANGES_MAX * 24, "vip ranges");

enum forward {
	FORWARD_DR = 1,
	FORWARD_NAT = 2,
	FORWARD_IPIP = 3,
	FORWARD_GUE = 4,
};

/* Where a frame leaves: `ifindex` 0 means that the next hop is not known. */
struct nexthop {
	__u32 ifindex;
	__u8 destination[6];
	__u8 source[6];
};
_Static_assert(sizeof(struct nexthop) == 16, "nexthop is read as two words");

/* How packets get to a backend: one word, so that it changes at once. */
struct way {
	__be16 port; /* nat: 0 keeps the packet's own; gue: the outer destination port */
	__u8 family;
	__u8 forward; /* enum forward; 0: no such backend */
};
_Static_assert(sizeof(struct way) == 4, "written at once");

/*
 * Value of map `backends`, one cache line, indexed by backend id.
 * Userspace writes the next hop that is not active and then flips `active`, so
 * a packet does not see half of a changed MAC address, unless two changes fall
 * within the microsecond in which it is handled.
 */
struct backend {
	__be32 address[4];
	union {
		struct way way;
		struct {
			__be16 port;
			__u8 family;
			__u8 forward;
		};
	};
	__u32 active; /* 0 or 1: which of `nexthops` counts */
	struct nexthop nexthops[2];
	__u32 incarnation; /* never the same twice for an id: remembered flows carry it */
	__u16 mtu;	   /* of the way to it: longest IP packet, in bytes; 0: not known */
	__u8 takes;	   /* BACKEND_TAKES_* */
	__u8 flags;	   /* BACKEND_UDP_CHECKSUM */
};

/*
 * The one value of map `encap`: what the outer headers of ipip and gue are made of. A
 * source address is the prefix, whose other bits are zero, and bits of the flow's hash
 * where `hosts_*` has ones. In IPv6 those are among the last 64.
 */
struct encap {
	__u64 seed; /* of that hash */
	__be32 source_ipv4;
	__be32 hosts_ipv4;
	__be32 source_ipv6[4];
	__be32 hosts_ipv6[2];
};
_Static_assert(sizeof(struct encap) == 40, "encap value");

/* Value of map `csum_blocks`: bytes of a packet, and room to fill up their last word. */
#define CSUM_BLOCK_MAX 512
struct csum_block {
	__u8 bytes[CSUM_BLOCK_MAX + 8];
};

/* gue: the outer UDP checksum is computed on IPv4 too, where 0 would do. */
#define BACKEND_UDP_CHECKSUM 1

/*
 * Answers to packets that are too long, on each CPU: one in so many nanoseconds, and so many
 * at once after a pause.
 */
#define TOO_BIG_EVERY_NS 1000000ULL
#define TOO_BIG_BURST	 100

/* A backend that is alive keeps its flows; one that is draining takes no new ones. */
#define BACKEND_TAKES_OLD 1
#define BACKEND_TAKES_NEW 2

_Static_assert(sizeof(struct backend) == 64, "one cache line");

/* Value of map `replies`: what a nat backend's reply gets as its source. */
struct reply {
	__be32 address[4];
	__be16 port; /* 0: the packet's own source port is kept */
	__u8 flags;  /* REPLY_IF_VIP */
	__u8 pad;
};
_Static_assert(sizeof(struct reply) == 20, "reply value");

/* Only where a nat VIP has that address and the packet's source port: ranges leave some out. */
#define REPLY_IF_VIP 1

/* Value of the per-CPU maps `vip_counters` and `backend_count`. */
struct counter {
	__u64 packets;
	__u64 bytes; /* whole frames, without the FCS, as they came in */
};
_Static_assert(sizeof(struct counter) == 16, "counter value");

/*
 * Map `addresses`: which addresses are those of VIPs with one port and of nat backends,
 * whatever the protocol and port. Asked for what has no ports: fragments and ICMP.
 */
struct address {
	__be32 address[4];
	__u8 family;
	__u8 pad[3];
};
_Static_assert(sizeof(struct address) == 20, "address is a raw map key");

#define ADDRESS_VIP	1
#define ADDRESS_BACKEND 2

/*
 * Map `fragments`: what the first fragment of a datagram, which has the ports, has taught
 * about the others. Source of the key: RFC 791, section 3.2; RFC 8200, section 4.5.
 */
struct fragment_key {
	__be32 source[4];
	__be32 destination[4];
	__be32 id;     /* IPv4: 16 bits, as a __be16 */
	__u8 protocol; /* IPv4; 0 for IPv6, whose fragments need not agree on it */
	__u8 family;
	__u8 pad[2];
};
_Static_assert(sizeof(struct fragment_key) == 40, "fragment_key is a raw map key");

enum fragment_kind {
	FRAGMENT_TO_BACKEND = 1, /* from a client */
	FRAGMENT_REPLY = 2,	 /* from a nat backend */
	FRAGMENT_PASS = 3,	 /* not ours in spite of its addresses */
};

/*
 * An entry goes when all bytes of its datagram were seen, or counts until `expires_s`
 * (monotonic). `backend`, `incarnation`, `vip`: FRAGMENT_TO_BACKEND; `reply`: FRAGMENT_REPLY.
 */
struct fragment_entry {
	__u32 backend;
	__u32 incarnation;
	__u32 vip;
	__u32 expires_s;
	__u32 seen_bytes;
	__u32 total_bytes; /* 0 until the last fragment was seen */
	__be16 source_port;
	__be16 destination_port;
	struct reply reply;
	__u8 kind; /* enum fragment_kind */
	__u8 protocol;
	__u8 authenticated; /* has an IPv6 authentication header */
	__u8 pad;
};
_Static_assert(sizeof(struct fragment_entry) == 52, "fragment entry");

/* How long a receiver waits, too: RFC 791 says 15 s, RFC 8200 60 s, Linux 30 and 60 s. */
#define FRAGMENT_LIFE_S 30

/*
 * One record of the ring buffer `held_fragments`: a later fragment that came before its
 * first, the whole frame. A record and its header of 8 bytes are 2 KiB.
 */
#define HELD_RING_BYTES (1U << 21)
#define HELD_FRAME_MAX	1984

struct held_fragment {
	__u64 arrived_ns; /* monotonic */
	struct fragment_key key;
	__u32 ifindex;
	__u32 len;
	__u8 frame[HELD_FRAME_MAX];
};
_Static_assert(sizeof(struct held_fragment) == 2040, "held fragment");

/*
 * Metadata in front of a held frame that userspace sends through the program again:
 * FINAL if there was no first fragment in time, so that it is counted and dropped.
 */
#define HELD_MARK_AGAIN 0x72696e676c620a01ULL
#define HELD_MARK_FINAL 0x72696e676c620a02ULL

/*
 * Map `labels`, never read by the packet path: which name holds which id, so
 * that a restarted daemon finds again what it had given out.
 */
enum label_kind {
	LABEL_POOL = 1,	   /* id: index in `rings` */
	LABEL_BACKEND = 2, /* id: index in `backends` */
};

struct label_key {
	__u32 kind;
	__u32 id;
};
_Static_assert(sizeof(struct label_key) == 8, "label key");

/* Names end with a zero byte; `backend` is empty in the label of a pool. */
struct label {
	char pool[LABEL_LEN];
	char backend[LABEL_LEN];
};
_Static_assert(sizeof(struct label) == 128, "label value");

#include "bpf/capture_abi.h"

#endif
