/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of moving arcs share: VIPs of both families for TCP and UDP, dr
 * backends that are told apart by the destination MAC address, and the flow tables,
 * which are looked at through their pins.
 */
#ifndef RINGLB_TESTS_MOVING_SETUP_H
#define RINGLB_TESTS_MOVING_SETUP_H

#include "tests/packet/icmp_frame.h"
#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#include <bpf/bpf.h>
#include <netinet/in.h>
#include <time.h>

#define MOVING_POOL 3

/* Flags of the TCP header. */
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

enum table { FLOWS, OLD_FLOWS, EMBRYOS, OTHER_FLOWS, TABLES };

static struct rig rig;
static int tables[TABLES];
static const struct endpoint moving_vips[] = {
	{.address[0] = 0x010200c0, .protocol = IPPROTO_TCP, .family = ENDPOINT_IPV4},
	{.address[0] = 0x010200c0, .protocol = IPPROTO_UDP, .family = ENDPOINT_IPV4},
	{.address[0] = 0xb80d0120, .protocol = IPPROTO_TCP, .family = ENDPOINT_IPV6},
	{.address[0] = 0xb80d0120, .protocol = IPPROTO_UDP, .family = ENDPOINT_IPV6},
};

static inline void moving_open_tables(void)
{
	static const char *const names[TABLES] = {"flows", "old_flows", "embryos", "other_flows"};

	for (int table = 0; table < TABLES; table++) {
		char path[128];

		snprintf(path, sizeof(path), DATAPLANE_PIN_DIR "/%s", names[table]);
		tables[table] = bpf_obj_get(path);
		rig_require(tables[table] >= 0, "cannot open '%s'", path);
	}
}

/* What an open rig needs. */
static inline void moving_fill(const struct flow_times *times)
{
	moving_open_tables();
	for (uint32_t i = 0; i < ARRAY_LEN(moving_vips); i++)
		rig_set_vip(&rig, &moving_vips[i], i, MOVING_POOL);
	rig_require(dataplane_set_flow_times(rig.dp, times) == 0, "cannot set times");
}

static inline void moving_open(const struct flow_times *times)
{
	rig_open(&rig);
	moving_fill(times);
}

/* The same with tables of other sizes than the rig's. */
static inline void moving_open_sized(const struct dataplane_sizes *sizes,
				     const struct flow_times *times)
{
	struct dataplane_error error = {};

	rig_open(&rig);
	dataplane_close(rig.dp);
	rig_require(dataplane_remove(DATAPLANE_PIN_DIR, NULL, NULL, &error) > 0, "%s", error.what);
	rig_require(dataplane_open_sized(&rig.dp, DATAPLANE_PIN_DIR, sizes, &error) == 0, "%s",
		    error.what);
	rig.program = dataplane_program_fd(rig.dp);
	moving_fill(times);
}

/* A random flow to the VIP of its kind. */
static inline struct flow moving_flow(uint8_t family, uint8_t protocol, struct rng *rng)
{
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), 0, rng_next(rng)};
	struct flow flow = frame_flow(family, protocol, random);

	memcpy(flow.destination, moving_vips[family == ENDPOINT_IPV6 ? 2 : 0].address,
	       sizeof(flow.destination));
	return flow;
}

static inline void moving_frame(struct frame *frame, const struct flow *flow)
{
	const struct frame_spec spec = {.flow = *flow, .ttl = 64, .payload_len = 4};

	frame_build(frame, &spec);
}

/* No checksum of it is looked at, so the flags are just set. Returns the backend. */
static inline uint32_t moving_send(struct frame *frame, uint8_t flags)
{
	struct frame out;

	if (frame_is_tcp(frame))
		frame->bytes[frame_l4_at(frame) + 13] = flags;
	if (rig_run(&rig, rig.ingress, frame, &out) != XDP_TX)
		return BACKEND_NONE;
	return rig_backend_of(&out);
}

static inline uint32_t moving_send_flow(const struct flow *flow, uint8_t flags)
{
	struct frame frame;

	moving_frame(&frame, flow);
	return moving_send(&frame, flags);
}

/* Does not count as a use of the entry. */
static inline bool moving_entry(enum table table, const struct flow *flow, struct flow_entry *entry)
{
	return bpf_map_lookup_elem(tables[table], flow, entry) == 0;
}

/* Send an ICMP error that quotes an answer to @flow. Returns the backend. */
static inline uint32_t moving_send_error(const struct flow *flow)
{
	struct frame frame, out;

	icmp_error_of(&frame, flow);
	if (rig_run(&rig, rig.ingress, &frame, &out) != XDP_TX)
		return BACKEND_NONE;
	return rig_backend_of(&out);
}

static inline void moving_forget(const struct flow *flow)
{
	for (int table = 0; table < TABLES; table++)
		bpf_map_delete_elem(tables[table], flow);
}

static inline uint64_t moving_count(enum flow_count what)
{
	uint64_t packets = 0;

	rig_require(dataplane_count_flows(rig.dp, what, &packets) == 0, "cannot read counts");
	return packets;
}

static inline uint32_t moving_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}

/* Entries of @table, live or not. */
static inline size_t moving_len(enum table table)
{
	struct flow key, *from = NULL;
	size_t len = 0;

	while (bpf_map_get_next_key(tables[table], from, &key) == 0) {
		from = &key;
		len++;
	}
	return len;
}

/* A backend as new, that takes all flows; with another @number it is another machine. */
static inline void moving_backend(uint32_t id, uint32_t number)
{
	const struct backend backend = {.forward = FORWARD_DR, .address = {number}};

	rig_set_backend(&rig, id, &backend, rig.ingress);
	dataplane_set_takes(rig.dp, id, BACKEND_TAKES_OLD | BACKEND_TAKES_NEW);
}

#endif
