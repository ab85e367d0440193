/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "control/state.h"

#define STATE_PATTERN  "running-*.yaml"
#define STATE_PATH_LEN (CONTROL_PATH_MAX + 32)

static void state_path(char out[STATE_PATH_LEN], const char *state_dir, uint64_t digest)
{
	snprintf(out, STATE_PATH_LEN, "%s/running-%016llx.yaml", state_dir,
		 (unsigned long long)digest);
}

int state_digest(const char *path, uint64_t *digest)
{
	XXH64_state_t *hash = XXH64_createState();
	FILE *file = fopen(path, "re");
	int err = !hash ? -ENOMEM : !file ? -errno : 0;
	char buffer[16384];

	if (!err) {
		XXH64_reset(hash, 0);
		while (!feof(file) && !ferror(file))
			XXH64_update(hash, buffer, fread(buffer, 1, sizeof(buffer), file));
		err = ferror(file) ? -EIO : 0;
	}
	if (!err)
		*digest = XXH64_digest(hash);
	if (file)
		fclose(file);
	XXH64_freeState(hash);
	return err;
}

int state_read(const char *state_dir, uint64_t digest, struct config *config,
	       struct config_error *error)
{
	char path[STATE_PATH_LEN];

	state_path(path, state_dir, digest);
	if (access(path, F_OK))
		return -errno;
	return config_read_file(config, path, error);
}

int state_write(const char *state_dir, uint64_t digest, const struct config *config,
		struct config_error *error)
{
	char path[STATE_PATH_LEN];

	if (mkdir(state_dir, 0700) && errno != EEXIST) {
		int err = -errno;

		snprintf(error->what, sizeof(error->what), "cannot create '%s': %s", state_dir,
			 strerror(-err));
		return err;
	}
	state_path(path, state_dir, digest);
	return config_write_file(config, path, error);
}

int state_drop(const char *state_dir, const uint64_t *keep)
{
	char kept[STATE_PATH_LEN] = "";
	DIR *dir = opendir(state_dir);
	struct dirent *entry;
	int count = 0, err = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	if (keep)
		state_path(kept, state_dir, *keep);
	while ((entry = readdir(dir))) {
		char path[STATE_PATH_LEN + NAME_MAX];

		if (fnmatch(STATE_PATTERN, entry->d_name, 0))
			continue;
		snprintf(path, sizeof(path), "%s/%s", state_dir, entry->d_name);
		if (!strcmp(path, kept))
			continue;
		if (unlink(path))
			err = -errno;
		else
			count++;
	}
	closedir(dir);
	return err ? err : count;
}
