/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

/* Refuse maps of another layout before libbpf could take them for ours. */
static int check_layout(const char *pin_dir, bool *fresh, struct dataplane_error *error)
{
	uint32_t key = 0, version = 0;
	char path[PIN_PATH_LEN];
	int fd, err;

	snprintf(path, sizeof(path), "%s/layout", pin_dir);
	fd = bpf_obj_get(path);
	*fresh = fd < 0 && errno == ENOENT;
	if (*fresh)
		return 0;
	if (fd < 0) {
		err = -errno;
		return dataplane_fail(error, err, "cannot open '%s': %s", path, strerror(-err));
	}
	err = bpf_map_lookup_elem(fd, &key, &version) ? -errno : 0;
	close(fd);
	if (!err && version == RINGLB_ABI_VERSION)
		return 0;
	return dataplane_fail(error, -EPROTO,
			      "the maps in '%s' have layout %u, this ringlbd needs %u "
			      "(`ringlb down` removes them; traffic stops until the next start)",
			      pin_dir, version, RINGLB_ABI_VERSION);
}

/* A pinned table keeps its size, or libbpf would refuse to reuse it. */
static int set_size(struct dataplane *dp, struct bpf_map *map, uint32_t entries)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	char path[PIN_PATH_LEN];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dp->pin_dir, bpf_map__name(map));
	fd = bpf_obj_get(path);
	if (fd >= 0) {
		if (!bpf_obj_get_info_by_fd(fd, &info, &len))
			entries = info.max_entries;
		close(fd);
	}
	return bpf_map__set_max_entries(map, entries);
}

/* All objects that share the pinned tables must know their sizes. */
int load_set_sizes(struct dataplane *dp, struct bpf_object *object)
{
	const struct {
		const char *name;
		uint32_t entries;
	} tables[] = {
		{"flows", dp->sizes.established},
		{"old_flows", dp->sizes.remembered},
		{"embryos", dp->sizes.embryonic},
		{"other_flows", dp->sizes.other},
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, tables[i].name);

		err = map ? set_size(dp, map, tables[i].entries) : -ENOENT;
	}
	return err;
}

static int load_skeleton(struct dataplane *dp, struct dataplane_error *error)
{
	int err;

	dp->skeleton = ringlb_bpf__open();
	if (!dp->skeleton) {
		err = -errno;
		return dataplane_fail(error, err, "cannot open the BPF object: %s", strerror(-err));
	}
	err = pins_assign(dp->skeleton->obj, dp->pin_dir);
	if (!err)
		err = load_set_sizes(dp, dp->skeleton->obj);
	if (!err)
		err = ringlb_bpf__load(dp->skeleton);
	if (!err)
		return 0;
	return dataplane_fail(error, err,
			      "cannot load the XDP program: %s (ringlb needs Linux 6.1 or later, "
			      "root, and maps in '%s' of the same version; --verbose shows more)",
			      strerror(-err), dp->pin_dir);
}

/* The layout is written last: maps without it are a load that did not finish. */
static int adopt_maps(struct dataplane *dp, struct dataplane_error *error)
{
	uint32_t key = 0, version = RINGLB_ABI_VERSION;
	size_t len = BACKENDS_MAX * sizeof(struct backend);
	void *mapped;
	int err;

	mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(dp->skeleton->maps.backends), 0);
	if (mapped == MAP_FAILED) {
		err = -errno;
		return dataplane_fail(error, err, "cannot map the backends: %s", strerror(-err));
	}
	dp->backends = mapped;
	err = rings_adopt(dp);
	if (!err)
		err = front_adopt(dp);
	if (!err)
		err = pins_map_id(dp->pin_dir, "backends", &dp->backends_id);
	if (!err)
		err = bpf_map_update_elem(bpf_map__fd(dp->skeleton->maps.layout), &key, &version,
					  BPF_ANY);
	if (err)
		return dataplane_fail(error, err, "cannot use the maps in '%s': %s", dp->pin_dir,
				      strerror(-err));
	return 0;
}

/* A former load that did not finish left maps without a layout: start afresh. */
static int drop_unfinished(const char *pin_dir)
{
	int err = pins_remove(pin_dir);

	if (err < 0)
		return err;
	return mkdir(pin_dir, 0700) ? -errno : 0;
}

static int prepare_pins(struct dataplane *dp, bool *fresh, struct dataplane_error *error)
{
	int err;

	dp->lock_fd = pins_lock(dp->pin_dir, error);
	if (dp->lock_fd < 0)
		return dp->lock_fd;
	err = check_layout(dp->pin_dir, fresh, error);
	if (err || !*fresh)
		return err;
	/* The lock goes with the directory, so take it again on the new one. */
	err = drop_unfinished(dp->pin_dir);
	close(dp->lock_fd);
	dp->lock_fd = -1;
	if (err)
		return dataplane_fail(error, err, "cannot clear '%s': %s", dp->pin_dir,
				      strerror(-err));
	dp->lock_fd = pins_lock(dp->pin_dir, error);
	return dp->lock_fd < 0 ? dp->lock_fd : 0;
}

int dataplane_open(struct dataplane **out, const char *pin_dir, struct dataplane_error *error)
{
	const struct dataplane_sizes sizes = {
		.established = FLOWS_MAX_DEFAULT,
		.remembered = FLOWS_MAX_DEFAULT,
		.embryonic = EMBRYOS_MAX_DEFAULT,
		.other = FLOWS_MAX_DEFAULT,
	};

	return dataplane_open_sized(out, pin_dir, &sizes, error);
}

int dataplane_open_sized(struct dataplane **out, const char *pin_dir,
			 const struct dataplane_sizes *sizes, struct dataplane_error *error)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));
	bool fresh = false;
	int err;

	if (!dp)
		return dataplane_fail(error, -ENOMEM, "out of memory");
	dp->lock_fd = -1;
	dp->sizes = *sizes;
	dp->cpus = libbpf_num_possible_cpus();
	snprintf(dp->pin_dir, sizeof(dp->pin_dir), "%s", pin_dir);
	err = prepare_pins(dp, &fresh, error);
	if (err)
		goto fail;
	err = load_skeleton(dp, error);
	if (!err)
		err = adopt_maps(dp, error);
	if (!err && !fresh)
		rings_drop_stale(dp);
	if (err) {
		if (fresh)
			pins_remove(dp->pin_dir);
		goto fail;
	}
	*out = dp;
	return 0;
fail:
	dataplane_close(dp);
	return err;
}

void dataplane_close(struct dataplane *dp)
{
	if (!dp)
		return;
	if (dp->backends)
		munmap(dp->backends, BACKENDS_MAX * sizeof(struct backend));
	front_let_go(dp);
	rings_let_go(dp);
	ring_buffer__free(dp->held_ring);
	xdp_program__close(dp->shared);
	bpf_object__close(dp->shared_object);
	ringlb_bpf__destroy(dp->skeleton);
	if (dp->lock_fd >= 0)
		close(dp->lock_fd);
	free(dp);
}

int dataplane_program_fd(const struct dataplane *dp)
{
	return bpf_program__fd(dp->skeleton->progs.ringlb);
}
