/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/magic.h>

#include "dataplane/state.h"

int dataplane_fail(struct dataplane_error *error, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->what, sizeof(error->what), format, arguments);
	va_end(arguments);
	return err;
}

int pins_lock(const char *pin_dir, struct dataplane_error *error)
{
	struct statfs fs;
	int fd, err;

	if (strlen(pin_dir) >= sizeof(((struct dataplane *)0)->pin_dir))
		return dataplane_fail(error, -ENAMETOOLONG, "pin directory name is too long");
	if (mkdir(pin_dir, 0700) && errno != EEXIST) {
		err = -errno;
		return dataplane_fail(error, err,
				      "cannot create '%s': %s (is the bpf file system there? "
				      "mount -t bpf bpf /sys/fs/bpf)",
				      pin_dir, strerror(-err));
	}
	fd = open(pin_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		return dataplane_fail(error, err, "cannot open '%s': %s", pin_dir, strerror(-err));
	}
	if (fstatfs(fd, &fs) || (unsigned long)fs.f_type != BPF_FS_MAGIC) {
		close(fd);
		rmdir(pin_dir);
		return dataplane_fail(error, -ENODEV,
				      "'%s' is not on a bpf file system (mount -t bpf bpf "
				      "/sys/fs/bpf)",
				      pin_dir);
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return dataplane_fail(error, err, "'%s' is in use by another ringlbd", pin_dir);
	}
	return fd;
}

/*
 * libbpf refuses to reuse a devmap, as the kernel adds a flag (BPF_F_RDONLY_PROG) to
 * it that the program's definition may not have; so hand it over by descriptor.
 */
static int reuse_devmap(struct bpf_map *map, const char *path)
{
	int fd = bpf_obj_get(path), err;

	if (fd < 0)
		return -errno;
	err = bpf_map__reuse_fd(map, fd); /* takes a duplicate */
	close(fd);
	return err;
}

int pins_assign(struct bpf_object *object, const char *pin_dir)
{
	char path[PIN_PATH_LEN];
	struct bpf_map *map;
	int err;

	bpf_object__for_each_map(map, object)
	{
		if (bpf_map__is_internal(map))
			continue;
		snprintf(path, sizeof(path), "%s/%s", pin_dir, bpf_map__name(map));
		if (bpf_map__type(map) == BPF_MAP_TYPE_DEVMAP_HASH && !reuse_devmap(map, path))
			continue;
		err = bpf_map__set_pin_path(map, path);
		if (err)
			return err;
	}
	return 0;
}

int pins_map_id(const char *pin_dir, const char *name, uint32_t *id)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);
	char path[PIN_PATH_LEN];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", pin_dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	err = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
	close(fd);
	if (!err)
		*id = info.id;
	return err;
}

int pins_remove(const char *pin_dir)
{
	char path[PIN_PATH_LEN];
	struct dirent *entry;
	int count = 0, err = 0;
	DIR *dir = opendir(pin_dir);

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", pin_dir, entry->d_name);
		if (unlink(path))
			err = -errno;
		else
			count++;
	}
	closedir(dir);
	if (!err && rmdir(pin_dir))
		err = -errno;
	return err ? err : count;
}
