/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "control/down.h"
#include "control/nexthop.h"
#include "dataplane/dataplane.h"

static void forget_backend(struct nexthops *nexthops, const struct backend *backend)
{
	struct config_address address = {
		.family = backend->family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET,
	};
	struct nexthop_info info;

	memcpy(address.bytes, backend->address, sizeof(address.bytes));
	if (nexthops_resolve(nexthops, &address, &info))
		return;
	if (info.state == NEXTHOP_RESOLVED || info.state == NEXTHOP_RESOLVING)
		nexthops_forget(nexthops, info.ifindex, &info.via);
}

/* The neighbours that the kernel was asked to keep are those of the live backends. */
static void forget_neighbours(struct dataplane *dp)
{
	struct nexthops *nexthops;
	struct label_key key = {};
	struct label label;

	if (nexthops_open(&nexthops))
		return;
	while (!dataplane_next_label(dp, &key, &label))
		if (key.kind == LABEL_BACKEND)
			forget_backend(nexthops, dataplane_get_backend(dp, key.id));
	nexthops_close(nexthops);
}

int control_down_offline(const char *pin_dir, void (*report)(void *context, const char *line),
			 void *context, char error[DOWN_ERROR_LEN])
{
	struct dataplane_error why = {};
	struct dataplane *dp;
	int err;

	if (access(pin_dir, F_OK) && errno == ENOENT)
		return 0;
	/* Maps of another version cannot be read, but can be removed all the same. */
	err = dataplane_open(&dp, pin_dir, &why);
	if (!err) {
		forget_neighbours(dp);
		dataplane_close(dp);
	}
	if (err != -EBUSY)
		err = dataplane_remove(pin_dir, report, context, &why);
	if (err < 0)
		snprintf(error, DOWN_ERROR_LEN, "%s", why.what);
	return err;
}
