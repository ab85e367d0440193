/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/mtu.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "config/text.h"

/* What every host takes, and every link of IPv6. Source: RFC 791, RFC 8200, RFC 9293. */
#define MTU_MIN	     576
#define MTU_MIN_IPV6 1280
#define MSS_MIN	     536
#define MSS_MAX	     65495 /* what is left of 65,535 behind IPv4 and TCP headers */

static int parse_between(const char *text, uint16_t least, uint16_t most, uint16_t *out)
{
	uint16_t number;

	if (text_parse_port(text, &number) || number < least || number > most)
		return -EINVAL;
	*out = number;
	return 0;
}

int config_mtu_parse(const char *text, void *out)
{
	return parse_between(text, MTU_MIN, UINT16_MAX, out);
}

int config_mss_parse(const char *text, void *out)
{
	return parse_between(text, MSS_MIN, MSS_MAX, out);
}

static bool carries_ipv6(const struct config *config, const struct config_pool *pool)
{
	for (size_t b = 0; b < pool->n_backends; b++)
		if (pool->backends[b].address.family == AF_INET6)
			return true;
	for (size_t v = 0; v < config->n_vips; v++)
		if (config->vips[v].address.family == AF_INET6 &&
		    !strcmp(config->vips[v].pool, pool->name))
			return true;
	return false;
}

int config_mtu_validate(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.index];

	place.field = "mtu";
	if (pool->mtu && pool->mtu < MTU_MIN)
		return config_refuse(check, &place, CONFIG_MUST_MTU ", got '%u'", pool->mtu);
	if (pool->mtu && pool->mtu < MTU_MIN_IPV6 && carries_ipv6(check->config, pool))
		return config_refuse(check, &place,
				     "must be 1280 to 65535 with IPv6 among its backends and VIPs, "
				     "got '%u'",
				     pool->mtu);
	place.field = "mss_clamp";
	if (pool->mss_clamp && (pool->mss_clamp < MSS_MIN || pool->mss_clamp > MSS_MAX))
		return config_refuse(check, &place, CONFIG_MUST_MSS ", got '%u'", pool->mss_clamp);
	return 0;
}
