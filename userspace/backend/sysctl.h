/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings of the kernel below /proc/sys, one whole number each. */
#ifndef RINGLB_BACKEND_SYSCTL_H
#define RINGLB_BACKEND_SYSCTL_H

#define SYSCTL_NAME_LEN 80

/**
 * sysctl_ipv4() - name of a setting of an interface, "all" being one
 *
 * With slashes, as dots may be part of an interface's name; sysctl(8) knows both.
 *
 * Return: @out
 */
const char *sysctl_ipv4(const char *ifname, const char *setting, char out[SYSCTL_NAME_LEN]);

/** sysctl_read() - Return: 0, -errno */
int sysctl_read(const char *name, int *value);
int sysctl_write(const char *name, int value);

#endif
