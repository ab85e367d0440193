/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/offline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int offline_read(struct config *config, const char *path, struct config_error *error)
{
	int err;

	*error = (struct config_error){0};
	err = config_read_file(config, path, error);
	if (!err)
		return 0;
	if (!error->what[0])
		snprintf(error->what, sizeof(error->what), "cannot read '%s': %s", path,
			 strerror(-err));
	if (err != -EINVAL) /* the file could not be read: the reason names it */
		cli_error("%s", error->what);
	else if (error->line)
		fprintf(stderr, "%s:%zu: %s\n", path, error->line, error->what);
	else
		fprintf(stderr, "%s: %s\n", path, error->what);
	return err;
}
