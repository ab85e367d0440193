/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which VIP a packet is for: of the longest prefix that has its protocol and port, and
 * there the one with the fewest ports. Pure functions of a model.
 *
 * VIPs of one address and one port come before all others, so whoever looks for those
 * first needs only the longest prefix of the rest, if each has a list of what the
 * shorter ones have too. config_list_vips() makes these lists.
 */
#ifndef RINGLB_CONFIG_MATCH_H
#define RINGLB_CONFIG_MATCH_H

#include "config/config.h"

/* Ports and ranges of a prefix, with those of the shorter prefixes that cover it. */
#define CONFIG_RANGES_MAX 16

/**
 * struct config_vip_list - the VIPs that the packets to a prefix may have
 * @own: one of those that have this very prefix, and the list's protocol
 * @vips: the first that has a packet's port is the packet's. One that could never be
 *	the first is left out
 */
struct config_vip_list {
	const struct config_vip *own;
	const struct config_vip *vips[CONFIG_RANGES_MAX];
	size_t n;
};

/**
 * struct config_vip_fault - why there is no list for a prefix
 * @vip: the VIP that is one too many, or that overlaps @other in part
 * @other: NULL if it is one too many
 */
struct config_vip_fault {
	const struct config_vip *vip;
	const struct config_vip *other;
};

/**
 * config_list_vips() - a list for each prefix and protocol
 * @lists: receives an array to free(), with pointers into @config; ascending by
 *	protocol, address and prefix. Made of all VIPs but those with one address and
 *	one port
 * @fault: of several, the first in the order of the model; NULL if the model is valid
 *
 * Return: 0; -EINVAL with @fault filled; -ENOMEM. On error @lists is left as it was.
 */
int config_list_vips(const struct config *config, struct config_vip_list **lists, size_t *n_lists,
		     struct config_vip_fault *fault);

/**
 * config_match_vip() - the VIP of a packet, or NULL; looks at each
 * @port: host byte order
 */
const struct config_vip *config_match_vip(const struct config *config,
					  const struct config_address *address, uint8_t protocol,
					  uint16_t port);

/* Bits of the VIP's prefix: all that its address has if it is no prefix. */
unsigned int config_vip_bits(const struct config_vip *vip);

/* The first and the last of its ports: any is 0 to 65535. */
uint16_t config_vip_first(const struct config_vip *vip);
uint16_t config_vip_last(const struct config_vip *vip);

/* True if it has one address and one port. */
bool config_vip_is_exact(const struct config_vip *vip);

/* True if the VIP's prefix has @address. */
bool config_vip_has_address(const struct config_vip *vip, const struct config_address *address);

/* @address with all bits from @bits on zero. */
struct config_address config_address_cut(const struct config_address *address, unsigned int bits);

#endif
