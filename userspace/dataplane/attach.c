/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

#define PROGRAM_NAME	 "ringlb"
#define PROGRAM_SECTION	 "xdp.frags"
#define PROGRAM_MAPS_MAX 64
#define XDP_HEADROOM	 256 /* in front of a frame */
#define FRAME_TAIL	 320 /* struct skb_shared_info */
#define TAGS_LEN	 8   /* two of them */
#define OURS_MAX	 10  /* all that libxdp's dispatcher has room for */

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

static bool is_ours(struct xdp_program *program, uint32_t backends_id)
{
	const char *name = program ? xdp_program__name(program) : NULL;

	return name && !strcmp(name, PROGRAM_NAME) &&
	       uses_map(xdp_program__fd(program), backends_id);
}

/**
 * struct attached - what is on an interface
 * @all: to be closed in any case
 * @ours: programs with our maps, in the order in which they run; more than one if a
 *	replacement behind the dispatcher was cut short
 */
struct attached {
	struct xdp_multiprog *all;
	struct xdp_program *ours[OURS_MAX];
	size_t count;
};

static void note_if_ours(struct attached *on, struct xdp_program *program, uint32_t backends_id)
{
	if (on->count < OURS_MAX && is_ours(program, backends_id))
		on->ours[on->count++] = program;
}

/* Return: 0; -ENOENT if there is nothing of ours; -errno. */
static int find_ours(uint32_t ifindex, uint32_t backends_id, struct attached *on)
{
	struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex(ifindex);
	int err = libxdp_get_error(all);

	*on = (struct attached){};
	if (err)
		return err;
	on->all = all;
	if (xdp_multiprog__is_legacy(all))
		note_if_ours(on, xdp_multiprog__main_prog(all), backends_id);
	else
		for (struct xdp_program *one = xdp_multiprog__next_prog(NULL, all); one;
		     one = xdp_multiprog__next_prog(one, all))
			note_if_ours(on, one, backends_id);
	return on->count ? 0 : -ENOENT;
}

static int detach_ours(uint32_t ifindex, struct attached *on)
{
	return xdp_program__detach_multi(on->ours, on->count, ifindex,
					 xdp_multiprog__attach_mode(on->all), 0);
}

static enum xdp_attach_mode libxdp_mode(enum dataplane_mode mode)
{
	return mode == DATAPLANE_GENERIC ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

/*
 * The XDP program that the kernel runs on @ifindex, libxdp's dispatcher perhaps, and how:
 * XDP_ATTACHED_*. 0 if there is none.
 */
static uint32_t program_id(uint32_t ifindex, uint8_t *attached)
{
	DECLARE_LIBBPF_OPTS(bpf_xdp_query_opts, query);

	*attached = XDP_ATTACHED_NONE;
	if (bpf_xdp_query((int)ifindex, 0, &query))
		return 0;
	*attached = query.attach_mode;
	if (query.prog_id)
		return query.prog_id;
	return query.drv_prog_id ? query.drv_prog_id : query.skb_prog_id;
}

static int interface_mtu(const char *ifname)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
	struct ifreq request = {};

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", ifname);
	if (!ioctl(fd, SIOCGIFMTU, &request))
		mtu = request.ifr_mtu;
	close(fd);
	return mtu;
}

/*
 * The program takes frames of several buffers, but some drivers have none for XDP: a frame must
 * fit in a page, with the headroom and what the kernel puts behind it. No driver says what it
 * leaves, so what the most of them do.
 */
static int explain_mtu(struct dataplane_error *error, int err, const char *ifname)
{
	long fits = sysconf(_SC_PAGESIZE) - XDP_HEADROOM - FRAME_TAIL - ETH_HLEN - TAGS_LEN;

	return dataplane_fail(error, err,
			      "cannot attach to '%s': %s (its MTU of %d is too large for native "
			      "XDP in this driver, which takes %ld or somewhat less; lower it, or "
			      "mode: generic)",
			      ifname, strerror(-err), interface_mtu(ifname), fits);
}

/* Errors of a refused attach, with what an operator can do about each. */
static int explain_attach(struct dataplane_error *error, int err, uint32_t ifindex,
			  enum dataplane_mode mode)
{
	bool unsupported = err == -EOPNOTSUPP || err == -EINVAL;
	char ifname[IF_NAMESIZE] = "?";
	const char *remedy = "";
	uint8_t attached;
	bool busy = err == -EBUSY || err == -EEXIST ||
		    (err == -EINVAL && program_id(ifindex, &attached));

	if_indextoname(ifindex, ifname);
	/* Drivers do not agree on how to say that it is the MTU. */
	if (mode == DATAPLANE_NATIVE && !busy &&
	    (err == -ERANGE || (unsupported && interface_mtu(ifname) > ETH_DATA_LEN)))
		return explain_mtu(error, err, ifname);
	if (busy)
		remedy = " (another XDP program is there, which this kernel and libxdp cannot "
			 "share; ip link set dev ... xdp off removes it)";
	else if (mode == DATAPLANE_NATIVE && unsupported)
		remedy = " (the driver has no native XDP; mode: generic works everywhere, slower)";
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
	if (!err)
		err = load_set_sizes(dp, dp->shared_object);
	if (err)
		goto fail;
	program = xdp_program__from_bpf_obj(dp->shared_object, PROGRAM_SECTION);
	err = libxdp_get_error(program);
	if (err)
		goto fail;
	dp->shared = program;
	return 0;
fail:
	bpf_object__close(dp->shared_object);
	dp->shared_object = NULL;
	return err;
}

static int attach_alone(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode)
{
	uint32_t flags = mode == DATAPLANE_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

	return bpf_xdp_attach((int)ifindex, dataplane_program_fd(dp),
			      flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
}

/*
 * Behind libxdp's dispatcher, or alone. libxdp sees for itself if a kernel has no use for the
 * dispatcher, but not that since Linux 6.12 no program that moves the start of the packet may
 * be behind the one that it has before its version 1.5.5.
 */
static int attach_new(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode)
{
	uint8_t attached;
	int err = open_shared(dp);

	if (!err)
		err = xdp_program__attach(dp->shared, (int)ifindex, libxdp_mode(mode), 0);
	if (err == -EINVAL && !program_id(ifindex, &attached))
		return attach_alone(dp, ifindex, mode);
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

/* Alone on the interface: one program for the other, by the kernel's compare-and-swap. */
static int replace_alone(struct dataplane *dp, uint32_t ifindex, const struct attached *on)
{
	bool generic = xdp_multiprog__attach_mode(on->all) == XDP_MODE_SKB;
	uint32_t flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	DECLARE_LIBBPF_OPTS(bpf_xdp_attach_opts, options,
			    .old_prog_fd = xdp_program__fd(on->ours[0]));

	return bpf_xdp_attach(ifindex, dataplane_program_fd(dp), flags | XDP_FLAGS_REPLACE,
			      &options);
}

/*
 * Leave this version and nothing else of ours, without a moment with none. Behind the
 * dispatcher there is one with both: then the first decides, and what it passes is
 * counted twice.
 */
static int replace(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode,
		   struct attached *on)
{
	size_t old = 0;
	bool there = false;
	int err;

	for (size_t i = 0; i < on->count; i++) {
		if (!there && same_version(dp, on->ours[i]))
			there = true;
		else
			on->ours[old++] = on->ours[i];
	}
	on->count = old;
	if (there && !old)
		return 0;
	if (xdp_multiprog__is_legacy(on->all))
		return replace_alone(dp, ifindex, on);
	err = there ? 0 : attach_new(dp, ifindex, mode);
	return err ? err : detach_ours(ifindex, on);
}

/*
 * What is on @ifindex. libxdp is asked only if the kernel names another program than the
 * last time: libxdp 1.3.1 leaves a descriptor open at each look.
 *
 * Return: 0; -ENOENT if there is nothing of ours; -errno.
 */
static int look(struct dataplane *dp, uint32_t ifindex, struct seen *out)
{
	struct seen *seen = &dp->seen[ifindex % SEEN_MAX];
	uint8_t attached;
	uint32_t prog_id = program_id(ifindex, &attached);
	struct attached on;
	int err;

	if (!prog_id)
		return -ENOENT;
	if (seen->ifindex != ifindex || seen->prog_id != prog_id || seen->attached != attached) {
		err = find_ours(ifindex, dp->backends_id, &on);
		if (err && err != -ENOENT) {
			xdp_multiprog__close(on.all);
			return err;
		}
		*seen = (struct seen){
			.ifindex = ifindex,
			.prog_id = prog_id,
			.attached = attached,
			.ours = !err,
		};
		if (!err) {
			seen->current = on.count == 1 && same_version(dp, on.ours[0]);
			seen->how.shared = !xdp_multiprog__is_legacy(on.all);
			seen->how.mode = xdp_multiprog__attach_mode(on.all) == XDP_MODE_SKB
						 ? DATAPLANE_GENERIC
						 : DATAPLANE_NATIVE;
		}
		xdp_multiprog__close(on.all);
	}
	*out = *seen;
	return seen->ours ? 0 : -ENOENT;
}

int dataplane_attach(struct dataplane *dp, uint32_t ifindex, enum dataplane_mode mode,
		     struct dataplane_error *error)
{
	struct attached on;
	struct seen seen;
	int err;

	if (!look(dp, ifindex, &seen) && seen.current && seen.how.mode == mode)
		return 0;
	err = find_ours(ifindex, dp->backends_id, &on);
	if (!err && xdp_multiprog__attach_mode(on.all) != libxdp_mode(mode)) {
		/* The kernel has no step from one mode to the other: there is a gap. */
		err = detach_ours(ifindex, &on);
		if (!err)
			err = attach_new(dp, ifindex, mode);
	} else if (!err) {
		err = replace(dp, ifindex, mode, &on);
	} else if (err == -ENOENT) {
		err = attach_new(dp, ifindex, mode);
	}
	xdp_multiprog__close(on.all);
	return err ? explain_attach(error, err, ifindex, mode) : 0;
}

int dataplane_attachment(struct dataplane *dp, uint32_t ifindex, struct dataplane_attachment *out)
{
	struct seen seen;
	int err = look(dp, ifindex, &seen);

	if (!err)
		*out = seen.how;
	return err;
}

static int detach(uint32_t ifindex, uint32_t backends_id)
{
	struct attached on;
	int err = find_ours(ifindex, backends_id, &on);

	if (!err)
		err = detach_ours(ifindex, &on);
	xdp_multiprog__close(on.all);
	return err;
}

int dataplane_detach(struct dataplane *dp, uint32_t ifindex, struct dataplane_error *error)
{
	struct seen seen;
	int err = look(dp, ifindex, &seen);

	if (!err)
		err = detach(ifindex, dp->backends_id);
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

static int detach_everywhere(uint32_t backends_id, struct removal *removal,
			     struct dataplane_error *error)
{
	struct if_nameindex *all = if_nameindex();
	int err = 0;

	if (!all)
		return dataplane_fail(error, -errno, "cannot list the interfaces");
	for (struct if_nameindex *one = all; one->if_index; one++) {
		int result = detach(one->if_index, backends_id);

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
	uint32_t backends_id;
	int lock, err;

	if (access(pin_dir, F_OK))
		return errno == ENOENT ? 0 : dataplane_fail(error, -errno, "cannot reach the pins");
	lock = pins_lock(pin_dir, error);
	if (lock < 0)
		return lock;
	err = pins_map_id(pin_dir, "backends", &backends_id);
	if (!err)
		err = detach_everywhere(backends_id, &removal, error);
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
