/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/hooks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "bpf/backend_abi.h"
#include "backend.skel.h"

#define XDP_PROGRAM	 "ringlb_backend"
#define XDP_SECTION	 "xdp.frags"
#define CLAMP_PROGRAM	 "ringlb_clamp"
#define MAP_OF_OURS	 "backend_vips"
#define PROGRAM_MAPS_MAX 16
#define OURS_MAX	 10 /* all that libxdp's dispatcher has room for */

/* Where our filter is among those of others; the numbers only have to be unusual. */
#define CLAMP_HANDLE   0x726c
#define CLAMP_PRIORITY 26476

int hook_map(int program_fd, const char *name)
{
	uint32_t ids[PROGRAM_MAPS_MAX] = {};
	struct bpf_prog_info info = {.nr_map_ids = PROGRAM_MAPS_MAX, .map_ids = (uintptr_t)ids};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &len))
		return -errno;
	for (uint32_t i = 0; i < info.nr_map_ids && i < PROGRAM_MAPS_MAX; i++) {
		struct bpf_map_info map = {};
		int fd = bpf_map_get_fd_by_id(ids[i]);

		len = sizeof(map);
		if (fd < 0)
			return -errno;
		if (!bpf_obj_get_info_by_fd(fd, &map, &len) && !strcmp(map.name, name))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* Somebody else's program may have the name of ours, but not the map too. */
static bool is_ours(int program_fd)
{
	int fd = hook_map(program_fd, MAP_OF_OURS);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

struct attached {
	struct xdp_multiprog *all;
	struct xdp_program *ours[OURS_MAX];
	size_t count;
};

static void note_if_ours(struct attached *on, struct xdp_program *program)
{
	const char *name = program ? xdp_program__name(program) : NULL;

	if (on->count < OURS_MAX && name && !strcmp(name, XDP_PROGRAM) &&
	    is_ours(xdp_program__fd(program)))
		on->ours[on->count++] = program;
}

/* Return: 0 with @on->all to be closed; -ENOENT if nothing of ours is there; -errno */
static int find_ours(uint32_t ifindex, struct attached *on)
{
	struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex((int)ifindex);
	int err = (int)libxdp_get_error(all);

	*on = (struct attached){};
	if (err)
		return err;
	on->all = all;
	if (xdp_multiprog__is_legacy(all))
		note_if_ours(on, xdp_multiprog__main_prog(all));
	else
		for (struct xdp_program *one = xdp_multiprog__next_prog(NULL, all); one;
		     one = xdp_multiprog__next_prog(one, all))
			note_if_ours(on, one);
	if (on->count)
		return 0;
	xdp_multiprog__close(all);
	return -ENOENT;
}

int xdp_find(uint32_t ifindex, struct hook_program *out)
{
	struct attached on;
	int err = find_ours(ifindex, &on);

	if (err)
		return err;
	*out = (struct hook_program){
		.fd = dup(xdp_program__fd(on.ours[0])),
		.generic = xdp_multiprog__attach_mode(on.all) == XDP_MODE_SKB,
		.shared = !xdp_multiprog__is_legacy(on.all),
	};
	memcpy(out->tag, xdp_program__tag(on.ours[0]), sizeof(out->tag));
	if (out->fd < 0)
		err = -errno;
	xdp_multiprog__close(on.all);
	return err;
}

bool xdp_mode_of(uint32_t ifindex, bool *generic)
{
	DECLARE_LIBBPF_OPTS(bpf_xdp_query_opts, query);

	if (bpf_xdp_query((int)ifindex, 0, &query) || query.attach_mode == XDP_ATTACHED_NONE)
		return false;
	*generic = query.attach_mode == XDP_ATTACHED_SKB;
	return true;
}

static int attach_shared(struct backend_bpf *skeleton, uint32_t ifindex, bool generic)
{
	struct xdp_program *program = xdp_program__from_bpf_obj(skeleton->obj, XDP_SECTION);
	int err = (int)libxdp_get_error(program);

	if (err)
		return err;
	err = xdp_program__attach(program, (int)ifindex, generic ? XDP_MODE_SKB : XDP_MODE_NATIVE,
				  0);
	xdp_program__close(program);
	return err;
}

int xdp_attach(struct backend_bpf *skeleton, uint32_t ifindex, bool shared, bool generic)
{
	uint32_t flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	int err;

	if (shared)
		return attach_shared(skeleton, ifindex, generic);
	err = backend_bpf__load(skeleton);
	if (err)
		return err;
	return bpf_xdp_attach((int)ifindex, bpf_program__fd(skeleton->progs.ringlb_backend),
			      flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
}

int xdp_detach(uint32_t ifindex)
{
	struct attached on;
	int err = find_ours(ifindex, &on);

	if (err)
		return err;
	err = xdp_program__detach_multi(on.ours, on.count, (int)ifindex,
					xdp_multiprog__attach_mode(on.all), 0);
	xdp_multiprog__close(on.all);
	return err;
}

int clamp_attach(uint32_t ifindex, int program_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLAMP_HANDLE,
			    .priority = CLAMP_PRIORITY, .prog_fd = program_fd);
	int err = bpf_tc_attach(&hook, &options);

	return err == -EEXIST ? -EBUSY : err;
}

int clamp_find_program(uint32_t ifindex, struct hook_program *out)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLAMP_HANDLE,
			    .priority = CLAMP_PRIORITY);
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);
	int fd, err = bpf_tc_query(&hook, &options);

	/* Without clsact the kernel says EINVAL. */
	if (err == -EINVAL || err == -ENODEV)
		return -ENOENT;
	if (err)
		return err;
	fd = bpf_prog_get_fd_by_id(options.prog_id);
	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || strcmp(info.name, CLAMP_PROGRAM) ||
	    !is_ours(fd)) {
		close(fd);
		return -ENOENT;
	}
	*out = (struct hook_program){.fd = fd};
	memcpy(out->tag, info.tag, sizeof(out->tag));
	return 0;
}

int clamp_detach(uint32_t ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, options, .handle = CLAMP_HANDLE,
			    .priority = CLAMP_PRIORITY);
	struct hook_program program = {.fd = -1};
	int err = clamp_find_program(ifindex, &program);

	if (err)
		return err;
	close(program.fd);
	return bpf_tc_detach(&hook, &options);
}
