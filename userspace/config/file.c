/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Models in files: reading one whole, replacing one in a single step. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/model.h"
#include "config/validate.h"

#define READ_BYTES 65536

/* Fill the error. Return: -@cause. */
static int file_error(struct config_error *error, const char *action, const char *path, int cause)
{
	const struct config_mark nowhere = {0};
	char quote[2 * CONFIG_QUOTE_LEN];

	config_quote_long(path, strlen(path), quote, sizeof(quote));
	config_error_set(error, nowhere, "cannot %s %s: %s", action, quote, strerror(cause));
	return -cause;
}

/*
 * Read to the end, or until there is more than config_read() takes. The size is
 * not asked for beforehand, as the file may be a pipe. Return: 0; -errno.
 */
static int read_whole(int fd, char **text, size_t *len_bytes)
{
	size_t len = 0, room = 0;
	char *bytes = NULL;
	ssize_t n = 1;
	int err = 0;

	while (!err && n && len <= CONFIG_FILE_MAX) {
		if (len == room) {
			char *more = realloc(bytes, room ? 2 * room : READ_BYTES);

			if (!more) {
				err = -ENOMEM;
				break;
			}
			room = room ? 2 * room : READ_BYTES;
			bytes = more;
		}
		n = read(fd, bytes + len, room - len);
		if (n >= 0)
			len += (size_t)n;
		else if (errno != EINTR)
			err = -errno;
	}
	if (err) {
		free(bytes);
		return err;
	}
	*text = bytes;
	*len_bytes = len;
	return 0;
}

int config_read_file(struct config *config, const char *path, struct config_error *error)
{
	size_t len_bytes;
	char *text;
	int fd, err;

	/* Without waiting: a pipe that nobody writes to would hold up whoever reads it. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return file_error(error, "open", path, errno);
	err = read_whole(fd, &text, &len_bytes);
	close(fd);
	if (err)
		return file_error(error, "read", path, -err);
	err = config_read(config, text, len_bytes, error);
	free(text);
	return err;
}

static int write_whole(int fd, const char *text, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = write(fd, text, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

/*
 * Write a temporary file and make it last. It takes over the owner and the mode
 * of the @old file, if there is one, before the seed is in it: a group that could
 * read the old file may be another than that of whoever replaces it.
 */
static int fill(int fd, const struct stat *old, const char *text, size_t len_bytes)
{
	struct stat now;
	int err;

	if (fstat(fd, &now))
		return -errno;
	if (old && (old->st_uid != now.st_uid || old->st_gid != now.st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid))
		return -errno;
	if (fchmod(fd, old ? old->st_mode & 07777 : 0600))
		return -errno;
	err = write_whole(fd, text, len_bytes);
	if (!err && fsync(fd))
		err = -errno;
	return err;
}

/* Put a file in the place of @path, which is no symlink, or leave that as it was. */
static int replace(const char *path, const struct stat *old, int directory, char *temporary,
		   const char *text, size_t len_bytes)
{
	int fd = mkostemp(temporary, O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = fill(fd, old, text, len_bytes);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temporary, path))
		err = -errno;
	if (err) {
		unlink(temporary);
		return err;
	}
	/* EINVAL: there are file systems whose directories cannot be synced, nor need be. */
	if (fsync(directory) && errno != EINVAL)
		return -errno;
	return 0;
}

/* Return: 0 or -errno of replace() and of what has to be opened for it. */
static int replace_in_directory(const char *path, const struct stat *old, const char *text,
				size_t len_bytes)
{
	char copy[PATH_MAX], temporary[PATH_MAX];
	const char *name;
	int directory, err;

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, path, strlen(path) + 1);
	name = dirname(copy);
	if (snprintf(temporary, sizeof(temporary), "%s/.ringlb.XXXXXX", name) >= PATH_MAX)
		return -ENAMETOOLONG;
	/* Opened first, as little should be left to fail after the rename. */
	directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return -errno;
	err = replace(path, old, directory, temporary, text, len_bytes);
	close(directory);
	return err;
}

/* The file that a path leads to, to be freed by the caller. Return: 0; -errno. */
static int resolve(const char *path, char **file, struct config_error *error)
{
	struct stat link;

	*file = realpath(path, NULL);
	if (*file)
		return 0;
	if (errno != ENOENT)
		return file_error(error, "write", path, errno);
	/* A new file is fine, but a symlink to nothing would be overwritten itself. */
	if (!lstat(path, &link))
		return file_error(error, "follow the symlink", path, ENOENT);
	*file = strdup(path);
	return *file ? 0 : file_error(error, "write", path, ENOMEM);
}

int config_write_file(const struct config *config, const char *path, struct config_error *error)
{
	char *file = NULL, *text = NULL;
	struct stat old;
	size_t len_bytes;
	bool exists;
	int err;

	err = config_validate(config, NULL, error);
	if (err == -EINVAL)
		return err;
	if (!err)
		err = config_format(config, &text, &len_bytes);
	if (err)
		return file_error(error, "write", path, -err);
	err = resolve(path, &file, error);
	if (err)
		goto out;

	exists = !stat(file, &old);
	if (exists && S_ISDIR(old.st_mode))
		err = -EISDIR;
	else if (exists && !S_ISREG(old.st_mode))
		err = -ENOTSUP; /* a device or a pipe cannot be replaced in one step */
	else
		err = replace_in_directory(file, exists ? &old : NULL, text, len_bytes);
	if (err)
		file_error(error, "write", path, -err);
out:
	free(file);
	free(text);
	return err;
}
