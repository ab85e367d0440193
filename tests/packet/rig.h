/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the packet tests run on: the real program and its maps, loaded through
 * dataplane/ inside a network namespace and a mount namespace of their own, and
 * one frame at a time through BPF_PROG_TEST_RUN. Needs root.
 *
 * What cannot be set up ends the test program with a line on standard error and
 * status 1, in the midst of its plan, so that `prove` calls it failed.
 */
#ifndef RINGLB_TESTS_RIG_H
#define RINGLB_TESTS_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#include <bpf/libbpf.h>

#include "dataplane/dataplane.h"
#include "tests/packet/frame.h"

/* Where the maps are pinned. */
#define RIG_PIN_DIR "/sys/fs/bpf/ringlb"

/* The kernel runs no frame through XDP that is shorter than an Ethernet header. */
#define RIG_FRAME_MIN FRAME_ETHERNET_LEN
#define RIG_FRAME_TOP 1800  /* and none that does not fit in a page with its headroom */
#define RIG_LONG_TOP  40000 /* in several buffers */
#define RIG_LONG_MAX  (RIG_LONG_TOP + 128)

/**
 * struct rig
 * @ingress: ifindex of "rl0", a veth that is up and where frames come in
 */
struct rig {
	struct dataplane *dp;
	int program;
	uint32_t ingress;
};

void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

/**
 * rig_reuse_maps() - have @object, which is open and not loaded, use the maps of the rig
 *
 * For programs beside the rig's own: what is not pinned there, @object creates.
 */
void rig_reuse_maps(struct bpf_object *object);

/** rig_require() - end the test program unless @fine */
void rig_require(bool fine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** rig_shell() - run a command line in the namespaces; ends the test program if it fails */
void rig_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** rig_add_veth() - create a veth pair, both ends up, and return the ifindex of @name */
uint32_t rig_add_veth(const char *name);

/**
 * rig_run() - one frame through the program, as if it came in by @ingress
 * @out: receives what the program left; may be @in
 *
 * May be called from many threads.
 *
 * Return: the XDP action.
 */
int rig_run(const struct rig *rig, uint32_t ingress, const struct frame *in, struct frame *out);

/** rig_run_marked() - the same with @mark, unless it is 0, as metadata in front */
int rig_run_marked(const struct rig *rig, uint32_t ingress, const struct frame *in, uint64_t mark,
		   struct frame *out);

/**
 * rig_run_long() - the same for frames of up to RIG_LONG_TOP bytes, in several buffers
 * @linear: length of the first buffer; 0: as much as the kernel puts there
 * @out: has room for RIG_LONG_MAX bytes
 *
 * Return: the XDP action; -EINVAL if the kernel cannot make the first buffer that short.
 */
int rig_run_long(const struct rig *rig, uint32_t ingress, uint32_t linear, const uint8_t *in,
		 size_t len, uint8_t *out, size_t *out_len);

/**
 * rig_set_backend() - have a backend whose frames leave by @ifindex
 *
 * The destination MAC address is 02:00:00:00 and the id, which rig_backend_of()
 * reads, the source MAC address 02:01:00:00 and the id.
 */
void rig_set_backend(const struct rig *rig, uint32_t id, const struct backend *backend,
		     uint32_t ifindex);
uint32_t rig_backend_of(const struct frame *out);

/** rig_expect_macs() - write into @frame what the next hop of rig_set_backend() leaves there */
void rig_expect_macs(struct frame *frame, uint32_t id);

/** rig_prepare() - load @ring of @pool for dataplane_publish_ring(). Return: its descriptor */
int rig_prepare(const struct rig *rig, uint32_t pool, const struct ring *ring, const uint32_t *ids);

/** rig_is_live() - true if exactly this ring, with these ids, is live in @pool */
bool rig_is_live(const struct rig *rig, uint32_t pool, const struct ring *ring,
		 const uint32_t *ids);

/** rig_publish() - make @ring live, ids[i] being the backend of ring->members[i] */
void rig_publish(const struct rig *rig, uint32_t pool, const struct ring *ring,
		 const uint32_t *ids);

/** rig_set_vip() - counters as @vip; of any port if the key's is 0 */
void rig_set_vip(const struct rig *rig, const struct endpoint *key, uint32_t vip, uint32_t pool);
void rig_set_vip_value(const struct rig *rig, const struct endpoint *key, const struct vip *value);

/** rig_set_vip_range() - of the key's port to @last; the only one of its address */
void rig_set_vip_range(const struct rig *rig, const struct endpoint *key, uint16_t last,
		       const struct vip *value);

uint64_t rig_verdict(const struct rig *rig, enum verdict verdict);

/** rig_verdicts() - sum over all verdicts: how many frames the program saw */
uint64_t rig_verdicts(const struct rig *rig);

#endif
