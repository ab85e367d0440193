/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "ring/moves.h"
#include "tests/packet/rig.h"

#define BPFFS "/sys/fs/bpf"

void rig_require(bool fine, const char *format, ...)
{
	va_list arguments;

	if (fine)
		return;
	va_start(arguments, format);
	fprintf(stderr, "# ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	va_end(arguments);
	exit(1);
}

void rig_shell(const char *format, ...)
{
	va_list arguments;
	char line[512];

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	rig_require(system(line) == 0, "'%s' failed", line);
}

/* The bpf file system mounted here hides the machine's own and goes with the namespace. */
static void enter_namespaces(void)
{
	rig_require(unshare(CLONE_NEWNET | CLONE_NEWNS) == 0, "cannot make namespaces: %s",
		    strerror(errno));
	rig_require(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0,
		    "cannot make mounts private: %s", strerror(errno));
	rig_require(mount("bpf", BPFFS, "bpf", 0, NULL) == 0, "cannot mount on '%s': %s", BPFFS,
		    strerror(errno));
	rig_shell("ip link set lo up");
}

void rig_open(struct rig *rig)
{
	struct dataplane_error error = {};

	enter_namespaces();
	rig_require(dataplane_open(&rig->dp, RIG_PIN_DIR, &error) == 0, "%s", error.what);
	rig->program = dataplane_program_fd(rig->dp);
	rig->ingress = rig_add_veth("rl0");
}

void rig_reuse_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		char path[256];
		int fd;

		snprintf(path, sizeof(path), RIG_PIN_DIR "/%s", bpf_map__name(map));
		fd = bpf_map__is_internal(map) ? -1 : bpf_obj_get(path);
		if (fd < 0)
			continue;
		rig_require(bpf_map__reuse_fd(map, fd) == 0, "cannot use '%s'", path);
		close(fd);
	}
}

void rig_close(struct rig *rig)
{
	dataplane_close(rig->dp);
	*rig = (struct rig){};
}

uint32_t rig_add_veth(const char *name)
{
	uint32_t ifindex;

	rig_shell("ip link add %s type veth peer name %s-peer", name, name);
	rig_shell("ip link set %s up && ip link set %s-peer up", name, name);
	ifindex = if_nametoindex(name);
	rig_require(ifindex != 0, "no interface '%s'", name);
	return ifindex;
}

int rig_run(const struct rig *rig, uint32_t ingress, const struct frame *in, struct frame *out)
{
	return rig_run_marked(rig, ingress, in, 0, out);
}

int rig_run_marked(const struct rig *rig, uint32_t ingress, const struct frame *in, uint64_t mark,
		   struct frame *out)
{
	const uint32_t mark_len = mark ? sizeof(mark) : 0;
	uint8_t bytes[sizeof(mark) + FRAME_MAX];
	struct xdp_md context = {
		.data = mark_len,
		.data_end = mark_len + (uint32_t)in->len,
		.ingress_ifindex = ingress,
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = bytes, .data_size_in = context.data_end,
		    .data_out = bytes, .data_size_out = sizeof(bytes), .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = 1);
	int err;

	memcpy(bytes, &mark, mark_len);
	memcpy(bytes + mark_len, in->bytes, in->len);
	err = bpf_prog_test_run_opts(rig->program, &options);
	rig_require(err == 0, "cannot run a frame of %zu bytes: %s", in->len, strerror(-err));
	out->len = options.data_size_out - mark_len;
	memcpy(out->bytes, bytes + mark_len, out->len);
	return (int)options.retval;
}

int rig_run_long(const struct rig *rig, uint32_t ingress, uint32_t linear, const uint8_t *in,
		 size_t len, uint8_t *out, size_t *out_len)
{
	struct xdp_md context = {
		.data_end = linear ? linear : (uint32_t)len,
		.ingress_ifindex = ingress,
	};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = in, .data_size_in = (uint32_t)len,
		    .data_out = out, .data_size_out = RIG_LONG_MAX, .ctx_in = &context,
		    .ctx_size_in = sizeof(context), .repeat = 1);
	int err = bpf_prog_test_run_opts(rig->program, &options);

	if (err == -EINVAL && linear)
		return err;
	rig_require(err == 0, "cannot run a frame of %zu bytes: %s", len, strerror(-err));
	*out_len = options.data_size_out;
	return (int)options.retval;
}

static struct nexthop nexthop_of(uint32_t id, uint32_t ifindex)
{
	return (struct nexthop){
		.ifindex = ifindex,
		.destination = {2, 0, 0, 0, id >> 8, id & 0xff},
		.source = {2, 1, 0, 0, id >> 8, id & 0xff},
	};
}

void rig_set_backend(const struct rig *rig, uint32_t id, const struct backend *backend,
		     uint32_t ifindex)
{
	struct nexthop nexthop = nexthop_of(id, ifindex);

	rig_require(dataplane_set_backend(rig->dp, id, backend) == 0, "cannot set backend %u", id);
	dataplane_set_nexthop(rig->dp, id, &nexthop);
}

uint32_t rig_backend_of(const struct frame *out)
{
	static const uint8_t prefix[] = {2, 0, 0, 0};

	if (memcmp(out->bytes, prefix, sizeof(prefix)) != 0)
		return BACKEND_NONE;
	return frame_word(out, sizeof(prefix));
}

void rig_expect_macs(struct frame *frame, uint32_t id)
{
	struct nexthop nexthop = nexthop_of(id, 0);

	memcpy(frame->bytes, nexthop.destination, 6);
	memcpy(frame->bytes + 6, nexthop.source, 6);
}

/* @ring as packets see it, with nothing moving; dataplane_ring_release() it. */
static struct dataplane_ring lay_out(const struct ring *ring, const uint32_t *ids)
{
	struct dataplane_ring live = {.seed = ring->params.seed};
	struct moving_ring merged = {};
	struct moves none = {};
	int err = moves_merge(&merged, ring, ids, &none);

	rig_require(err == 0, "cannot lay out a ring: %s", strerror(-err));
	live.len = merged.len;
	live.positions = merged.positions;
	live.owners = merged.owners;
	free(merged.moving);
	return live;
}

int rig_prepare(const struct rig *rig, uint32_t pool, const struct ring *ring, const uint32_t *ids)
{
	struct dataplane_ring live = lay_out(ring, ids);
	int fd = -1, err = dataplane_prepare_ring(rig->dp, pool, &live, &fd);

	rig_require(err == 0, "cannot prepare a ring: %s", strerror(-err));
	dataplane_ring_release(&live);
	return fd;
}

void rig_publish(const struct rig *rig, uint32_t pool, const struct ring *ring, const uint32_t *ids)
{
	int err = dataplane_publish_ring(rig->dp, pool, rig_prepare(rig, pool, ring, ids));

	rig_require(err == 0, "cannot publish a ring: %s", strerror(-err));
}

bool rig_is_live(const struct rig *rig, uint32_t pool, const struct ring *ring, const uint32_t *ids)
{
	struct dataplane_ring wanted = lay_out(ring, ids);
	bool is_live = dataplane_ring_is_live(rig->dp, pool, &wanted);

	dataplane_ring_release(&wanted);
	return is_live;
}

void rig_set_vip(const struct rig *rig, const struct endpoint *key, uint32_t vip, uint32_t pool)
{
	const struct vip value = {.vip = vip, .pool = pool};

	rig_set_vip_value(rig, key, &value);
}

void rig_set_vip_range(const struct rig *rig, const struct endpoint *key, uint16_t last,
		       const struct vip *value)
{
	uint8_t bits = key->family == ENDPOINT_IPV6 ? 128 : 32;
	struct vip_prefix prefix = {
		.prefixlen = VIP_PREFIX_BITS + bits,
		.family = key->family,
		.protocol = key->protocol,
	};
	const struct vip_ranges ranges = {
		.len = 1,
		.ranges[0] =
			{
				.first = ntohs(key->port),
				.last = last,
				.prefix_len = bits,
				.vip = *value,
			},
	};

	memcpy(prefix.address, key->address, sizeof(prefix.address));
	rig_require(!dataplane_set_prefix(rig->dp, &prefix, &ranges), "cannot set a range");
	prefix.protocol = 0;
	rig_require(!dataplane_set_prefix(rig->dp, &prefix, &(struct vip_ranges){}),
		    "cannot mark a prefix");
}

void rig_set_vip_value(const struct rig *rig, const struct endpoint *key, const struct vip *value)
{
	if (key->port)
		rig_require(!dataplane_set_vip(rig->dp, key, value), "cannot set a vip");
	else
		rig_set_vip_range(rig, key, UINT16_MAX, value);
}

uint64_t rig_verdict(const struct rig *rig, enum verdict verdict)
{
	uint64_t packets = 0;

	rig_require(dataplane_count_verdict(rig->dp, verdict, &packets) == 0,
		    "cannot read the count of %s", verdict_name(verdict));
	return packets;
}

uint64_t rig_verdicts(const struct rig *rig)
{
	uint64_t sum = 0;

	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		sum += rig_verdict(rig, verdict);
	return sum;
}
