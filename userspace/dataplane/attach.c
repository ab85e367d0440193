/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/if_link.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

#define PROGRAM_NAME	 "ringlb"
#define PROGRAM_MAPS_MAX 64

static bool uses_map(int prog_fd, uint32_t map_id)
{
	uint32_t maps[PROGRAM_MAPS_MAX] = {};
	struct bpf_prog_info info = {
		.nr_map_ids = PROGRAM_MAPS_MAX,
		.map_ids = (uintptr_t)maps,
	};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return false;
	for (uint32_t i = 0; i < info.nr_map_ids && i < PROGRAM_MAPS_MAX; i++)
		if (maps[i] == map_id)
			return true;
	return false;
}

static bool is_ours(struct xdp_program *program, uint32_t rings_id)
{
	const char *name = program ? xdp_program__name(program) : NULL;

	return name && !strcmp(name, PROGRAM_NAME) && uses_map(xdp_program__fd(program), rings_id);
}

int attach_find(uint32_t ifindex, uint32_t rings_id, struct xdp_multiprog **multiprog,
		struct xdp_program **program)
{
	struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *one;
	int err;

	*multiprog = NULL;
	err = libxdp_get_error(all);
	if (err)
		return err;
	*multiprog = all;
	if (xdp_multiprog__is_legacy(all)) {
		one = xdp_multiprog__main_prog(all);
		*program = one;
		return is_ours(one, rings_id) ? 0 : -ENOENT;
	}
	for (one = xdp_multiprog__next_prog(NULL, all); one;
	     one = xdp_multiprog__next_prog(one, all)) {
		*program = one;
		if (is_ours(one, rings_id))
			return 0;
	}
	return -ENOENT;
}

static enum xdp_attach_mode libxdp_mode(enum dataplane_mode mode)
{
	return mode == DATAPLANE_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/* Errors of a refused attach, with what an operator can do about each. */
static int explain_attach(struct dataplane_error *error, int err, const char *ifname,
			  enum dataplane_mode mode)
{
	const char *remedy = "";

	if (err == -EBUSY || err == -EEXIST)
		remedy = " (another XDP program is there that cannot be shared; ip link set dev "
			 "... xdp off removes it)";
	else if (mode == DATAPLANE_NATIVE && (err == -EOPNOTSUPP || err == -EINVAL))
		remedy = " (the driver has no native XDP; mode: generic works everywhere, slower)";
	else if (mode == DATAPLANE_NATIVE && err == -ERANGE)
		remedy = " (the MTU is too large for native XDP in this driver; lower it, or mode: "
			 "generic)";
	else if (err == -EPERM)
		remedy = " (root, or CAP_NET_ADMIN and CAP_BPF, is needed)";
	return dataplane_fail(error, err, "cannot attach to '%s': %s%s", ifname, strerror(-err),
			      remedy);
}

/* The program once more, not loaded yet: libxdp decides as which type to load it. */
static int open_shared(struct dataplane *dp)
{
	size_t len = 0;
	const void *elf = ringlb_bpf__elf_bytes(&len);
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "ringlb_bpf");
	struct xdp_program *program;
	int err;

	if (dp->shared)
		return 0;
	dp->shared_object = bpf_object__open_mem(elf, len, &options);
	if (!dp->shared_object)
		return -errno;
	err = pins_assign(dp->shared_object, dp->pin_dir);
	if (err)
		return err;
	program = xdp_program__from_bpf_obj(dp->shared_object, "xdp");
	err = libxdp_get_error(program);
	if (!err)
		dp->shared = program;
	return err;
}

static int attach_new(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode)
{
	int err = open_shared(dp);

	return err ? err : xdp_program__attach(dp->shared, ifindex, libxdp_mode(mode), 0);
}

/*
 * Put this version where an older one is, without a moment with neither: alone,
 * by the kernel's compare-and-swap; behind the dispatcher, by adding before
 * removing.
 */
static int replace(struct dataplane *dp, uint32_t ifindex, struct xdp_multiprog *multiprog,
		   struct xdp_program *old)
{
	enum xdp_attach_mode mode = xdp_multiprog__attach_mode(multiprog);
	uint32_t flags = mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	DECLARE_LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = xdp_program__fd(old));
	int err;

	if (xdp_multiprog__is_legacy(multiprog))
		return bpf_xdp_attach(ifindex, dataplane_program_fd(dp), flags | XDP_FLAGS_REPLACE,
				      &options);
	err = open_shared(dp);
	if (!err)
		err = xdp_program__attach(dp->shared, ifindex, mode, 0);
	if (!err)
		err = xdp_program__detach(old, ifindex, mode, 0);
	return err;
}

/* True if @program consists of the same instructions as ours. */
static bool same_version(const struct dataplane *dp, const struct xdp_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(dataplane_program_fd(dp), &info, &len))
		return false;
	return !memcmp(info.tag, xdp_program__tag(program), BPF_TAG_SIZE);
}

int dataplane_attach(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode,
		     struct dataplane_error *error)
{
	struct xdp_multiprog *multiprog;
	struct xdp_program *program;
	char ifname[IF_NAMESIZE] = "?";
	int err;

	if_indextoname(ifindex, ifname);
	err = attach_find(ifindex, dp->rings_id, &multiprog, &program);
	if (!err && xdp_multiprog__attach_mode(multiprog) != libxdp_mode(mode)) {
		/* The kernel has no step from one mode to the other: there is a gap. */
		err = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(multiprog),
					  0);
		if (!err)
			err = attach_new(dp, ifindex, mode);
	} else if (!err && !same_version(dp, program)) {
		err = replace(dp, ifindex, multiprog, program);
	} else if (err == -ENOENT) {
		err = attach_new(dp, ifindex, mode);
	}
	xdp_multiprog__close(multiprog);
	return err ? explain_attach(error, err, ifname, mode) : 0;
}

int dataplane_attachment(struct dataplane *dp, uint32_t ifindex, struct dataplane_attachment *out)
{
	struct xdp_multiprog *multiprog;
	struct xdp_program *program;
	int err = attach_find(ifindex, dp->rings_id, &multiprog, &program);

	if (!err) {
		out->mode = xdp_multiprog__attach_mode(multiprog) == XDP_MODE_SKB
				    ? DATAPLANE_GENERIC
				    : DATAPLANE_NATIVE;
		out->shared = !xdp_multiprog__is_legacy(multiprog);
	}
	xdp_multiprog__close(multiprog);
	return err;
}

static int detach(uint32_t ifindex, uint32_t rings_id)
{
	struct xdp_multiprog *multiprog;
	struct xdp_program *program;
	int err = attach_find(ifindex, rings_id, &multiprog, &program);

	if (!err)
		err = xdp_program__detach(program, ifindex, xdp_multiprog__attach_mode(multiprog),
					  0);
	xdp_multiprog__close(multiprog);
	return err;
}

int dataplane_detach(struct dataplane *dp, uint32_t ifindex, struct dataplane_error *error)
{
	int err = detach(ifindex, dp->rings_id);

	if (err && err != -ENOENT)
		return dataplane_fail(error, err, "cannot detach: %s", strerror(-err));
	return err;
}

struct removal {
	void (*removed)(void *context, const char *line);
	void *context;
	int count;
};

static void note_removal(struct removal *removal, const char *what, const char *subject)
{
	char line[PIN_PATH_LEN];

	removal->count++;
	if (!removal->removed)
		return;
	snprintf(line, sizeof(line), "%s '%s'", what, subject);
	removal->removed(removal->context, line);
}

static int detach_everywhere(uint32_t rings_id, struct removal *removal,
			     struct dataplane_error *error)
{
	struct if_nameindex *all = if_nameindex();
	int err = 0;

	if (!all)
		return dataplane_fail(error, -errno, "cannot list the interfaces");
	for (struct if_nameindex *one = all; one->if_index; one++) {
		int result = detach(one->if_index, rings_id);

		if (!result)
			note_removal(removal, "detached from", one->if_name);
		else if (result != -ENOENT)
			err = dataplane_fail(error, result, "cannot detach from '%s': %s",
					     one->if_name, strerror(-result));
	}
	if_freenameindex(all);
	return err;
}

int dataplane_remove(const char *pin_dir, void (*removed)(void *context, const char *line),
		     void *context, struct dataplane_error *error)
{
	struct removal removal = {.removed = removed, .context = context};
	uint32_t rings_id;
	int lock, err;

	if (access(pin_dir, F_OK))
		return errno == ENOENT ? 0 : dataplane_fail(error, -errno, "cannot reach the pins");
	lock = pins_lock(pin_dir, error);
	if (lock < 0)
		return lock;
	err = pins_map_id(pin_dir, "rings", &rings_id);
	if (!err)
		err = detach_everywhere(rings_id, &removal, error);
	else if (err == -ENOENT)
		err = 0;
	else
		dataplane_fail(error, err, "cannot read the pins in '%s': %s", pin_dir,
			       strerror(-err));
	if (!err) {
		err = pins_remove(pin_dir);
		if (err >= 0)
			note_removal(&removal, "unpinned", pin_dir);
		else
			dataplane_fail(error, err, "cannot remove '%s': %s", pin_dir,
				       strerror(-err));
	}
	close(lock);
	return err < 0 ? err : removal.count;
}
