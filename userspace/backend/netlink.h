/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ringlb-backend asks and tells the kernel over rtnetlink: links, addresses, queueing
 * disciplines, routes. One request at a time; a socket that stays silent for a second is
 * an error, so nothing here hangs.
 */
#ifndef RINGLB_BACKEND_NETLINK_H
#define RINGLB_BACKEND_NETLINK_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/backend_abi.h"

struct netlink;

/* type is ARPHRD_*, flags IFF_*; kind is empty for hardware. */
struct netlink_link {
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t flags;
	uint16_t type;
	char name[IF_NAMESIZE];
	char kind[16];
};

struct netlink_address {
	uint32_t ifindex;
	uint8_t scope; /* RT_SCOPE_* */
	struct backend_address address;
};

/* ifindex 0: there is no way */
struct netlink_route {
	uint32_t ifindex;
};

/** netlink_open() - Return: 0, -errno */
int netlink_open(struct netlink **out);
void netlink_close(struct netlink *netlink);

/**
 * netlink_links(), netlink_addresses() - show @each all there are
 *
 * @each must not use @netlink. Its argument lives for the call only.
 *
 * Return: 0, -errno
 */
int netlink_links(struct netlink *netlink,
		  void (*each)(void *context, const struct netlink_link *link), void *context);
int netlink_addresses(struct netlink *netlink,
		      void (*each)(void *context, const struct netlink_address *address),
		      void *context);

/**
 * netlink_add_vip() - give an interface an address that stands for itself alone, or have a
 *	route make a prefix local there
 *
 * An IPv6 address skips duplicate address detection, as several hosts have it on purpose,
 * and counts as deprecated, so that no connection of this host starts from it.
 *
 * Return: 0; -EEXIST; -EACCES if IPv6 is switched off there; -errno
 */
int netlink_add_vip(struct netlink *netlink, uint32_t ifindex, const struct backend_prefix *vip);

/** netlink_remove_vip() - Return: 0; -EADDRNOTAVAIL if it is not there; -errno */
int netlink_remove_vip(struct netlink *netlink, uint32_t ifindex, const struct backend_prefix *vip);

/** netlink_local_prefixes() - the same of prefixes that routes make local */
int netlink_local_prefixes(struct netlink *netlink,
			   void (*each)(void *context, uint32_t ifindex,
					const struct backend_prefix *prefix),
			   void *context);

/** netlink_has_clsact() - Return: 1, 0, -errno */
int netlink_has_clsact(struct netlink *netlink, uint32_t ifindex);

/**
 * netlink_add_clsact(), netlink_remove_clsact() - all filters go with it
 *
 * Return: 0, -EEXIST, -errno
 */
int netlink_add_clsact(struct netlink *netlink, uint32_t ifindex);
int netlink_remove_clsact(struct netlink *netlink, uint32_t ifindex);

/** netlink_count_filters() - of clsact, on both its sides. Return: how many, or -errno */
int netlink_count_filters(struct netlink *netlink, uint32_t ifindex);

/** netlink_route() - the way of a packet @from this host. Return: 0, -errno */
int netlink_route(struct netlink *netlink, const struct backend_address *from,
		  const struct backend_address *to, struct netlink_route *route);

#endif
