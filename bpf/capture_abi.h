/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of packets, between the program and who captures. A part of abi.h, which includes it. */
#ifndef RINGLB_BPF_CAPTURE_ABI_H
#define RINGLB_BPF_CAPTURE_ABI_H

#include "bpf/abi.h"

/* An address and which bits of it count: none of them, and any packet has it. */
struct capture_peer {
	__be32 address[4];
	__be32 mask[4];
	__u8 family; /* 0: any */
	__u8 pad[3];
};
_Static_assert(sizeof(struct capture_peer) == 36, "capture peer");

/* What a packet must have to be captured, as it is known when it leaves. */
struct capture_filter {
	__u64 verdicts[VERDICTS_MAX / 64]; /* a bit for each verdict */
	struct capture_peer client;
	struct capture_peer vip;
	__u16 first_port; /* of the VIP, in host byte order */
	__u16 last_port;
	__u32 backend; /* BACKEND_NONE: any */
	__u8 protocol; /* 0: any */
	__u8 pad[3];
};
_Static_assert(sizeof(struct capture_filter) == 120, "capture filter");

/*
 * The one value of map `capture`: until when packets are copied to `captures`; 0: they are not.
 * Whoever captures puts the end off again and again, so that it comes with theirs.
 */
struct capture {
	__u64 until_ns; /* monotonic */
	__u64 lost;	/* packets for which there was no room */
	__u32 next;	/* counts packets that the filter lets through */
	__u32 every;	/* one in so many is copied; not 0 */
	struct capture_filter filter;
};
_Static_assert(sizeof(struct capture) == 144, "capture value");

#define CAPTURE_RING_BYTES (1U << 22)
#define CAPTURE_FRAME_MAX  2008

/* Stages that a packet went through. */
#define CAPTURE_FLOW   1 /* read as far as `flow` tells */
#define CAPTURE_REPLY  2 /* from a nat backend: its source becomes `reply` */
#define CAPTURE_HASHED 4 /* `hash` and what follows it */

/* A frame's length, and how much of it is there. */
struct captured_frame {
	__u32 frame_len;
	__u32 len;
};

/*
 * A record of the ring buffer `captures`: a packet as it came in and as it left, one behind the
 * other in `frames`, and what it met in between. The record ends with the second.
 */
struct captured {
	__u64 came_ns; /* monotonic, as the next */
	__u64 left_ns;
	__u64 hash;
	__u64 position; /* of the arc that the hash is in */
	struct flow flow;
	struct reply reply;
	__u32 id; /* of this packet among those that the filter let through, from 1 on */
	__u32 verdict;
	__u32 ingress; /* ifindex */
	__u32 egress;  /* the same; 0: not known here */
	__u32 backend; /* BACKEND_NONE: none was chosen */
	__u32 stages;  /* CAPTURE_* */
	__u16 pool;    /* with CAPTURE_HASHED, as the next ones */
	__u16 owner;   /* of the arc */
	struct ring_move move;
	__u8 what;	  /* enum vip_hash */
	__u8 forward;	  /* enum forward, of the backend */
	__u8 flow_counts; /* a bit for each enum flow_count that this packet raised */
	__u8 quic_counts; /* the same of enum quic_count */
	__u8 pad[6];
	struct captured_frame in;
	struct captured_frame out;
	__u8 frames[2 * CAPTURE_FRAME_MAX];
};
#define CAPTURED_HEAD __builtin_offsetof(struct captured, frames)
_Static_assert(CAPTURED_HEAD == 152 && sizeof(struct captured) == 152 + 2 * CAPTURE_FRAME_MAX,
	       "no hidden padding");
_Static_assert(FLOW_COUNT <= 8 && QUIC_COUNT <= 8, "a bit for each counter");

/*
 * The value of the per-CPU map `capture_notes`: the packet that is in the program, while somebody
 * captures. Each counter tells by its growth if this packet was counted there.
 */
struct capture_note {
	__u64 flow_counts[FLOW_COUNT];
	__u64 quic_counts[QUIC_COUNT];
	__u64 on; /* 0: this packet is not captured */
	struct captured copy;
};

#endif
