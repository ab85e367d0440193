/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fragments that came before their first: the ring buffer they come by, and the way back. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

static int on_record(void *context, void *record, size_t len)
{
	struct dataplane *dp = context;

	if (len < sizeof(struct held_fragment))
		return 0;
	/* An error ends the walk; the record is consumed all the same. */
	return dp->take_held(dp->take_held_context, record) ? 0 : -EAGAIN;
}

int dataplane_held_fd(struct dataplane *dp)
{
	if (!dp->held_ring)
		dp->held_ring = ring_buffer__new(bpf_map__fd(dp->skeleton->maps.held_fragments),
						 on_record, dp, NULL);
	return dp->held_ring ? ring_buffer__epoll_fd(dp->held_ring) : -errno;
}

int dataplane_take_held(struct dataplane *dp,
			bool (*take)(void *context, const struct held_fragment *held),
			void *context)
{
	int result = dataplane_held_fd(dp);

	if (result < 0)
		return result;
	dp->take_held = take;
	dp->take_held_context = context;
	result = ring_buffer__consume(dp->held_ring);
	return result < 0 && result != -EAGAIN ? result : 0;
}

bool dataplane_first_was_seen(struct dataplane *dp, const struct held_fragment *held)
{
	struct fragment_entry entry;
	struct timespec now;

	if (bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.fragments), &held->key, &entry))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return entry.expires_s > (uint32_t)now.tv_sec;
}

/* Run the program on @held with @mark in front, for real if @live. */
static int run(struct dataplane *dp, const struct held_fragment *held, uint64_t mark, bool live)
{
	uint8_t data[sizeof(mark) + HELD_FRAME_MAX];
	struct xdp_md context = {
		.data = sizeof(mark),
		.data_end = (uint32_t)sizeof(mark) + held->len,
		.ingress_ifindex = live ? held->ifindex : 0,
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = data, .data_size_in = context.data_end,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = 1,
		    .flags = live ? BPF_F_TEST_XDP_LIVE_FRAMES : 0, .batch_size = live);

	memcpy(data, &mark, sizeof(mark));
	memcpy(data + sizeof(mark), held->frame, held->len);
	return bpf_prog_test_run_opts(dataplane_program_fd(dp), &options);
}

int dataplane_send_held(struct dataplane *dp, const struct held_fragment *held)
{
	int err = run(dp, held, HELD_MARK_AGAIN, true);

	/* Its interface is gone: so is the way back to where it came from. */
	return err ? dataplane_drop_held(dp, held) : 0;
}

int dataplane_drop_held(struct dataplane *dp, const struct held_fragment *held)
{
	return run(dp, held, HELD_MARK_FINAL, false);
}
