/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "backend/address.h"
#include "backend/record_json.h"

#define RECORD_NAME    "state.json"
#define RECORD_NEW     ".state.json.new"
#define BOOT_ID_PATH   "/proc/sys/kernel/random/boot_id"
#define NAMESPACE_PATH "/proc/self/ns/net"
#define BOOT_ID_LEN    64

static int boot_id(char out[BOOT_ID_LEN])
{
	FILE *file = fopen(BOOT_ID_PATH, "re");
	int err = 0;

	if (!file)
		return -errno;
	if (!fgets(out, BOOT_ID_LEN, file))
		err = -EIO;
	fclose(file);
	out[strcspn(out, "\n")] = '\0';
	return err;
}

static int namespace_id(json_int_t *id)
{
	struct stat status;

	if (stat(NAMESPACE_PATH, &status))
		return -errno;
	*id = (json_int_t)status.st_ino;
	return 0;
}

int record_lock(const char *dir, struct failure *failure)
{
	int fd, err;

	if (mkdir(dir, 0755) && errno != EEXIST) {
		err = -errno;
		return fail_with(failure, err, "cannot create '%s': %s", dir, strerror(-err));
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return fail_with(failure, err, "cannot lock '%s': %s", dir, strerror(-err));
	}
	/* Of somebody who had the lock and was killed. */
	unlinkat(fd, RECORD_NEW, 0);
	return fd;
}

/* Does the file speak of this boot? Another namespace is an error, as changes are undone here. */
static int check_origin(const json_t *root, const char *path, bool *current,
			struct failure *failure)
{
	const char *boot = json_string_value(json_object_get(root, "boot"));
	json_int_t id = json_integer_value(json_object_get(root, "namespace"));
	char now[BOOT_ID_LEN];
	json_int_t here = 0;
	int err = boot_id(now);

	if (!err)
		err = namespace_id(&here);
	if (err)
		return fail_with(failure, err, "cannot tell one boot from another: %s",
				 strerror(-err));
	*current = boot && !strcmp(boot, now);
	if (*current && id != here)
		return fail_with(failure, -EXDEV,
				 "'%s' is of another network namespace: use a directory of its own "
				 "for each (--state DIR)",
				 path);
	return 0;
}

int record_read(const char *dir, struct record *record, struct failure *failure)
{
	json_error_t error;
	char path[PATH_MAX];
	bool current = false;
	json_t *root;
	int err;

	memset(record, 0, sizeof(*record));
	snprintf(path, sizeof(path), "%s/" RECORD_NAME, dir);
	if (access(path, F_OK)) {
		err = -errno;
		if (err == -ENOENT)
			return 0;
		return fail_with(failure, err, "cannot read '%s': %s", path, strerror(-err));
	}
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return fail_with(failure, -EINVAL, "cannot read '%s': %s", path, error.text);
	err = check_origin(root, path, &current, failure);
	if (!err && current && record_from_json(root, record)) {
		memset(record, 0, sizeof(*record));
		err = fail_with(failure, -EINVAL,
				"'%s' is damaged: undo by hand what it names, then remove it",
				path);
	}
	json_decref(root);
	return err;
}

/* A reader sees the old file or the new one; so does the next boot after a crash. */
static int replace_file(const char *dir, const char *path, const char *text)
{
	char temporary[PATH_MAX];
	size_t len = strlen(text);
	int fd, err = 0;

	snprintf(temporary, sizeof(temporary), "%s/" RECORD_NEW, dir);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < len && !err;) {
		ssize_t written = write(fd, text + done, len - done);

		if (written < 0)
			err = -errno;
		else
			done += (size_t)written;
	}
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

static int write_json(const char *dir, const char *path, const struct record *record)
{
	char boot[BOOT_ID_LEN], *text = NULL;
	json_t *root = record_to_json(record);
	json_int_t here = 0;
	int err = root ? boot_id(boot) : -ENOMEM;

	if (!err)
		err = namespace_id(&here);
	if (!err && (json_object_set_new(root, "boot", json_string(boot)) ||
		     json_object_set_new(root, "namespace", json_integer(here))))
		err = -ENOMEM;
	if (!err) {
		text = json_dumps(root, JSON_INDENT(2));
		err = text ? replace_file(dir, path, text) : -ENOMEM;
	}
	free(text);
	json_decref(root);
	return err;
}

int record_write(const char *dir, const struct record *record, struct failure *failure)
{
	char path[PATH_MAX];
	int err = 0;

	snprintf(path, sizeof(path), "%s/" RECORD_NAME, dir);
	if (record->n_interfaces)
		err = write_json(dir, path, record);
	else if (unlink(path) && errno != ENOENT)
		err = -errno;
	return err ? fail_with(failure, err, "cannot write '%s': %s", path, strerror(-err)) : 0;
}

struct record_interface *record_find(struct record *record, const char *ifname, uint32_t ifindex)
{
	for (uint32_t i = 0; ifindex && i < record->n_interfaces; i++)
		if (record->interfaces[i].ifindex == ifindex)
			return &record->interfaces[i];
	for (uint32_t i = 0; i < record->n_interfaces; i++)
		if (!strcmp(record->interfaces[i].name, ifname))
			return &record->interfaces[i];
	return NULL;
}

void record_forget(struct record *record, struct record_interface *entry)
{
	size_t after = (size_t)(record->interfaces + record->n_interfaces - entry) - 1;

	memmove(entry, entry + 1, after * sizeof(*entry));
	record->n_interfaces--;
}

bool record_uses_vip(const struct record *record, const struct backend_prefix *vip)
{
	for (uint32_t i = 0; i < record->n_interfaces; i++) {
		const struct attach_options *options = &record->interfaces[i].options;

		if (prefixes_have(options->vips, options->n_vips, vip))
			return true;
	}
	return false;
}

bool record_covers(const struct record *record, const struct backend_address *address)
{
	for (uint32_t i = 0; i < record->n_interfaces; i++) {
		const struct attach_options *options = &record->interfaces[i].options;

		for (uint32_t v = 0; v < options->n_vips; v++)
			if (prefix_covers(&options->vips[v], address))
				return true;
	}
	return false;
}

bool record_has_ipv4(const struct record *record)
{
	for (uint32_t i = 0; i < record->n_interfaces; i++) {
		const struct attach_options *options = &record->interfaces[i].options;

		if (prefixes_have_family(options->vips, options->n_vips, 4))
			return true;
	}
	return false;
}
