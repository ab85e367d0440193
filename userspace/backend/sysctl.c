/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SYSCTL_ROOT	"/proc/sys/"
#define SYSCTL_PATH_LEN (SYSCTL_NAME_LEN + sizeof(SYSCTL_ROOT))

const char *sysctl_ipv4(const char *ifname, const char *setting, char out[SYSCTL_NAME_LEN])
{
	snprintf(out, SYSCTL_NAME_LEN, "net/ipv4/conf/%s/%s", ifname, setting);
	return out;
}

int sysctl_read(const char *name, int *value)
{
	char path[SYSCTL_PATH_LEN];
	FILE *file;
	int err = 0;

	snprintf(path, sizeof(path), SYSCTL_ROOT "%s", name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (fscanf(file, "%d", value) != 1)
		err = -EINVAL;
	fclose(file);
	return err;
}

int sysctl_write(const char *name, int value)
{
	char path[SYSCTL_PATH_LEN], text[16];
	int len = snprintf(text, sizeof(text), "%d\n", value), fd, err = 0;

	snprintf(path, sizeof(path), SYSCTL_ROOT "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)len) < 0)
		err = -errno;
	close(fd);
	return err;
}
