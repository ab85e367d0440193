/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "backend.skel.h"
#include "backend/address.h"
#include "backend/hooks.h"

#define CPUS_MAX 4096

static struct backend_bpf *open_skeleton(const struct attach_options *options, bool clamp)
{
	struct backend_bpf *skeleton = backend_bpf__open();
	/* The kernel does not write there, but the compiler has it const. */
	struct backend_settings *settings;

	if (!skeleton)
		return NULL;
	settings = (struct backend_settings *)(uintptr_t)&skeleton->rodata->settings;
	*settings = (struct backend_settings){
		.gue_port = options->gue_port,
		.mss = options->mss,
		.ipip = mode_takes_ipip(options->mode),
		.gue = mode_takes_gue(options->mode),
		.from = options->n_from > 0,
	};
	bpf_program__set_autoload(skeleton->progs.ringlb_backend, options->mode != MODE_DR);
	bpf_program__set_autoload(skeleton->progs.ringlb_clamp, clamp);
	return skeleton;
}

/* The tag of a program is a digest of its instructions, whatever its settings. */
static bool has_tag(const struct bpf_program *program, const uint8_t tag[BPF_TAG_SIZE])
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len) &&
	       !memcmp(info.tag, tag, sizeof(info.tag));
}

static int are_current(const struct hook_program *xdp, const struct hook_program *clamp,
		       bool *current)
{
	const struct attach_options options = {.mode = MODE_TUNNEL};
	struct backend_bpf *skeleton = open_skeleton(&options, true);
	int err;

	if (!skeleton)
		return -errno;
	err = backend_bpf__load(skeleton);
	if (!err)
		*current = (xdp->fd < 0 || has_tag(skeleton->progs.ringlb_backend, xdp->tag)) &&
			   (clamp->fd < 0 || has_tag(skeleton->progs.ringlb_clamp, clamp->tag));
	backend_bpf__destroy(skeleton);
	return err;
}

struct found {
	struct hook_program xdp;
	struct hook_program clamp;
};

static void found_release(struct found *found)
{
	if (found->xdp.fd >= 0)
		close(found->xdp.fd);
	if (found->clamp.fd >= 0)
		close(found->clamp.fd);
}

/* What is not there has a descriptor of -1. */
static int find(const struct program_place *place, struct found *found, struct failure *failure)
{
	int err;

	*found = (struct found){{.fd = -1}, {.fd = -1}};
	err = xdp_find(place->ifindex, &found->xdp);
	if (err == -ENOENT)
		err = 0;
	if (!err && place->egress_ifindex) {
		err = clamp_find_program(place->egress_ifindex, &found->clamp);
		if (err == -ENOENT)
			err = 0;
	}
	if (!err)
		return 0;
	found_release(found);
	return fail_with(failure, err, "cannot see which programs are attached: %s",
			 strerror(-err));
}

static int look(const struct found *found, struct program_seen *seen, struct failure *failure)
{
	int err;

	*seen = (struct program_seen){
		.xdp = found->xdp.fd >= 0,
		.generic = found->xdp.generic,
		.shared = found->xdp.shared,
		.clamp = found->clamp.fd >= 0,
		.current = true,
	};
	if (!seen->xdp && !seen->clamp)
		return 0;
	err = are_current(&found->xdp, &found->clamp, &seen->current);
	if (err)
		return fail_with(failure, err, "cannot load the programs to compare: %s",
				 strerror(-err));
	return 0;
}

int program_look(const struct program_place *place, struct program_seen *seen,
		 struct failure *failure)
{
	struct found found;
	int err = find(place, &found, failure);

	if (err)
		return err;
	err = look(&found, seen, failure);
	found_release(&found);
	return err;
}

/* All keys of a map, each of @size bytes, into a sorted set. */
static int read_keys(int fd, void *set, uint32_t *len, size_t max, size_t size)
{
	unsigned char key[sizeof(struct backend_prefix)];
	void *previous = NULL;

	*len = 0;
	while (!bpf_map_get_next_key(fd, previous, key)) {
		if (set_add(set, len, max, key, size))
			return -ENOSPC;
		previous = key;
	}
	return errno == ENOENT ? 0 : -errno;
}

static int write_keys(int fd, const void *set, uint32_t len, size_t size)
{
	const unsigned char *key = set;
	const uint32_t value = 1;

	for (uint32_t i = 0; i < len; i++, key += size)
		if (bpf_map_update_elem(fd, key, &value, BPF_ANY))
			return -errno;
	return 0;
}

/* Make what a running program knows of this host's addresses equal to @set. */
static int update_locals(int program_fd, const struct backend_address *set, uint32_t len)
{
	struct backend_address before[BACKEND_LOCALS_MAX];
	uint32_t n_before;
	int fd = hook_map(program_fd, "backend_locals"), err;

	if (fd < 0)
		return fd;
	err = read_keys(fd, before, &n_before, BACKEND_LOCALS_MAX, sizeof(before[0]));
	for (uint32_t i = 0; !err && i < n_before; i++)
		if (!addresses_have(set, len, &before[i]) && bpf_map_delete_elem(fd, &before[i]))
			err = -errno;
	if (!err)
		err = write_keys(fd, set, len, sizeof(set[0]));
	close(fd);
	return err;
}

static int fill_maps(struct backend_bpf *skeleton, const struct attach_options *options,
		     const struct backend_address *locals, uint32_t n_locals)
{
	int err = write_keys(bpf_map__fd(skeleton->maps.backend_vips), options->vips,
			     options->n_vips, sizeof(options->vips[0]));

	if (!err)
		err = write_keys(bpf_map__fd(skeleton->maps.backend_locals), locals, n_locals,
				 sizeof(locals[0]));
	if (!err)
		err = write_keys(bpf_map__fd(skeleton->maps.backend_from), options->from,
				 options->n_from, sizeof(options->from[0]));
	return err;
}

/* One way to attach. */
struct way {
	bool generic;
	bool shared;
};

static bool is_final(int err)
{
	return err == -EPERM || err == -ENODEV || err == -ENOMEM;
}

static void explain_way(char note[PROGRAM_NOTE_LEN], const struct way *way, int native_err,
			int shared_err)
{
	const char *why = native_err == -ERANGE ? "the MTU is too large for native XDP here"
						: "the driver has no native XDP for this program";

	note[0] = '\0';
	if (way->generic && native_err)
		snprintf(note, PROGRAM_NOTE_LEN, "generic XDP, which is slower: %s (%s)", why,
			 strerror(-native_err));
	else if (!way->shared && shared_err)
		snprintf(note, PROGRAM_NOTE_LEN,
			 "no other XDP program fits beside it: libxdp cannot share it here (%s)",
			 strerror(-shared_err));
}

/*
 * Native rather than generic, shared rather than alone. libxdp gives up sharing by itself
 * where the kernel has no means for it; but kernels that mind what becomes of packet
 * pointers refuse a program that shortens frames only once it is loaded.
 *
 * @skeleton: receives what was loaded
 */
static int attach_xdp(const struct program_place *place, const struct attach_options *options,
		      struct backend_bpf **skeleton, char note[PROGRAM_NOTE_LEN],
		      struct failure *failure)
{
	static const struct way ways[] = {
		{.shared = true},
		{.shared = false},
		{.shared = true, .generic = true},
		{.shared = false, .generic = true},
	};
	int err = -EINVAL, native_err = 0, shared_err = 0;
	bool generic, busy = xdp_mode_of(place->ifindex, &generic);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !is_final(err); i++) {
		if (busy && (ways[i].generic != generic || !ways[i].shared))
			continue;
		*skeleton = open_skeleton(options, place->egress_ifindex != 0);
		if (!*skeleton)
			return fail_with(failure, -errno, "cannot open the programs");
		err = xdp_attach(*skeleton, place->ifindex, ways[i].shared, ways[i].generic);
		if (!err) {
			explain_way(note, &ways[i], native_err, shared_err);
			return 0;
		}
		backend_bpf__destroy(*skeleton);
		*skeleton = NULL;
		if (ways[i].shared)
			shared_err = err;
		if (!ways[i].generic)
			native_err = err;
	}
	return fail_with(
		failure, err, "cannot attach the XDP program: %s%s", strerror(-err),
		busy ? " (another XDP program is there that cannot be shared; ip link set dev "
		       "... xdp off removes it)"
		     : "");
}

static int load_clamp_alone(const struct attach_options *options, struct backend_bpf **skeleton,
			    struct failure *failure)
{
	int err;

	*skeleton = open_skeleton(options, true);
	err = *skeleton ? backend_bpf__load(*skeleton) : -errno;
	if (err)
		return fail_with(failure, err, "cannot load the programs: %s (Linux 6.1 or later?)",
				 strerror(-err));
	return 0;
}

static int attach_new(const struct program_place *place, const struct attach_options *options,
		      const struct backend_address *locals, uint32_t n_locals,
		      char note[PROGRAM_NOTE_LEN], struct failure *failure)
{
	struct backend_bpf *skeleton = NULL;
	int err = options->mode == MODE_DR ? load_clamp_alone(options, &skeleton, failure)
					   : attach_xdp(place, options, &skeleton, note, failure);

	if (err)
		goto out;
	err = fill_maps(skeleton, options, locals, n_locals);
	if (err) {
		failure_set(failure, "cannot fill the maps: %s", strerror(-err));
		goto out;
	}
	if (!place->egress_ifindex)
		goto out;
	err = clamp_attach(place->egress_ifindex, bpf_program__fd(skeleton->progs.ringlb_clamp));
	if (err)
		failure_set(failure, "cannot attach the tc program that lowers the MSS: %s",
			    strerror(-err));
out:
	backend_bpf__destroy(skeleton);
	return err;
}

int program_attach(const struct program_place *place, const struct attach_options *options,
		   const struct backend_address *locals, uint32_t n_locals,
		   char note[PROGRAM_NOTE_LEN], struct failure *failure)
{
	bool wants_xdp = options->mode != MODE_DR, wants_clamp = place->egress_ifindex;
	struct program_seen seen = {};
	struct failure ignored;
	struct found found;
	int err = find(place, &found, failure);

	note[0] = '\0';
	if (err)
		return err;
	err = look(&found, &seen, failure);
	if (!err && seen.current && seen.xdp == wants_xdp && seen.clamp == wants_clamp) {
		if (wants_xdp)
			err = update_locals(found.xdp.fd, locals, n_locals);
		found_release(&found);
		return err ? fail_with(failure, err, "cannot update the maps: %s", strerror(-err))
			   : 0;
	}
	found_release(&found);
	if (!err)
		err = program_detach(place, failure);
	if (!err && (wants_xdp || wants_clamp)) {
		err = attach_new(place, options, locals, n_locals, note, failure);
		if (err)
			program_detach(place, &ignored);
	}
	return err;
}

int program_detach(const struct program_place *place, struct failure *failure)
{
	int err = place->ifindex ? xdp_detach(place->ifindex) : 0;

	if (err && err != -ENOENT)
		return fail_with(failure, err, "cannot detach the XDP program: %s", strerror(-err));
	if (!place->egress_ifindex)
		return 0;
	err = clamp_detach(place->egress_ifindex);
	if (err && err != -ENOENT)
		return fail_with(failure, err, "cannot detach the tc program: %s", strerror(-err));
	return 0;
}

static int read_counts(int program_fd, uint64_t counts[BACKEND_VERDICT_COUNT])
{
	static uint64_t values[CPUS_MAX];
	int cpus = libbpf_num_possible_cpus(), err = 0;
	int fd = hook_map(program_fd, "backend_counts");

	if (fd < 0)
		return fd;
	if (cpus < 0 || cpus > CPUS_MAX)
		err = -E2BIG;
	for (uint32_t i = 0; !err && i < BACKEND_VERDICT_COUNT; i++) {
		if (bpf_map_lookup_elem(fd, &i, values))
			err = -errno;
		counts[i] = 0;
		for (int cpu = 0; !err && cpu < cpus; cpu++)
			counts[i] += values[cpu];
	}
	close(fd);
	return err;
}

static int read_set(int program_fd, const char *name, void *set, uint32_t *len, size_t max,
		    size_t size)
{
	int fd = hook_map(program_fd, name), err;

	if (fd < 0)
		return fd;
	err = read_keys(fd, set, len, max, size);
	close(fd);
	return err;
}

static int read_port(int program_fd, uint32_t *port)
{
	int fd = hook_map(program_fd, "backend_port"), err = 0;
	uint32_t key = 0;

	if (fd < 0)
		return fd;
	if (bpf_map_lookup_elem(fd, &key, port))
		err = -errno;
	close(fd);
	return err;
}

int program_read(const struct program_place *place, struct program_facts *facts,
		 struct failure *failure)
{
	struct found found;
	int fd, err = find(place, &found, failure);

	if (err)
		return err;
	memset(facts, 0, sizeof(*facts));
	fd = found.xdp.fd >= 0 ? found.xdp.fd : found.clamp.fd;
	if (fd < 0)
		return fail_with(failure, -ENOENT, "no program is attached");
	err = read_counts(fd, facts->counts);
	if (!err)
		err = read_set(fd, "backend_vips", facts->vips, &facts->n_vips, BACKEND_VIPS_MAX,
			       sizeof(facts->vips[0]));
	/* The clamp alone has neither. */
	if (!err && found.xdp.fd >= 0)
		err = read_set(fd, "backend_locals", facts->locals, &facts->n_locals,
			       BACKEND_LOCALS_MAX, sizeof(facts->locals[0]));
	if (!err && found.xdp.fd >= 0)
		err = read_port(fd, &facts->other_port);
	found_release(&found);
	return err ? fail_with(failure, err, "cannot read the maps: %s", strerror(-err)) : 0;
}
