/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long packets to backends may be, and for whom that is too little. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "control/control.h"

#define IPV4_HEADER_LEN 20
#define IPV6_HEADER_LEN 40
#define UDP_HEADER_LEN	8
#define IPV6_MTU_MIN	1280 /* RFC 8200, section 5 */

uint16_t control_mtu(const struct config_pool *pool, const struct nexthop_info *info)
{
	return pool->mtu && (!info->mtu || pool->mtu < info->mtu) ? pool->mtu : info->mtu;
}

uint32_t control_overhead(const struct config_pool *pool, const struct config_backend *backend)
{
	uint32_t len = backend->address.family == AF_INET6 ? IPV6_HEADER_LEN : IPV4_HEADER_LEN;

	if (pool->forward != CONFIG_IPIP && pool->forward != CONFIG_GUE)
		return 0;
	return pool->forward == CONFIG_GUE ? len + UDP_HEADER_LEN : len;
}

static bool has_ipv6_vip(const struct config *config, const struct config_pool *pool)
{
	for (size_t v = 0; v < config->n_vips; v++)
		if (config->vips[v].address.family == AF_INET6 &&
		    !strcmp(config->vips[v].pool, pool->name))
			return true;
	return false;
}

bool control_narrow(const struct control *control, size_t p, size_t b,
		    char line[CONTROL_NARROW_LEN])
{
	const struct control_pool *live = &control->pools[p];
	const struct config_pool *pool = &control->running.pools[p];
	const struct config_backend *backend = &pool->backends[b];
	uint16_t member = ring_find_member(live->ring, backend->name);
	uint32_t mtu = control_mtu(pool, &live->nexthops[member]);
	uint32_t least = IPV6_MTU_MIN + control_overhead(pool, backend);

	if (!mtu || mtu >= least || !has_ipv6_vip(&control->running, pool))
		return false;
	snprintf(line, CONTROL_NARROW_LEN,
		 "pool '%s': the way to backend '%s' has an MTU of %u, and its IPv6 VIPs need %u",
		 pool->name, backend->name, mtu, least);
	return true;
}

void control_watch_mtus(struct control *control, const char *by)
{
	char line[CONTROL_NARROW_LEN];
	size_t before = control->narrow;

	/* All are told again, if there are more: which ones are new is not kept. */
	for (int told = 0; told < 2; told++) {
		control->narrow = 0;
		for (size_t p = 0; p < control->running.n_pools; p++) {
			for (size_t b = 0; b < control->running.pools[p].n_backends; b++) {
				if (!control_narrow(control, p, b, line))
					continue;
				control->narrow++;
				if (told)
					control_note(control, CONTROL_WARNING, by, "%s", line);
			}
		}
		if (control->narrow <= before)
			return;
	}
}
