/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Next hops over rtnetlink: through which interface and to which MAC address a
 * backend is reached, resolved and kept fresh.
 *
 * The kernel is asked to keep each neighbour that we watch resolved by itself
 * (NTF_EXT_MANAGED, Linux 5.16), so the entry stays fresh while the daemon is down.
 * Never blocks on the network: only on the kernel's own answers.
 */
#ifndef RINGLB_CONTROL_NEXTHOP_H
#define RINGLB_CONTROL_NEXTHOP_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

enum nexthop_state {
	NEXTHOP_RESOLVED,     /* all of struct nexthop_info is valid */
	NEXTHOP_RESOLVING,    /* route and interface are known, the MAC address is not (yet) */
	NEXTHOP_NO_ROUTE,     /* the kernel has no route, or one that discards */
	NEXTHOP_LOCAL,	      /* the address is this host's own */
	NEXTHOP_NOT_ETHERNET, /* out of an interface without MAC addresses, or encapsulated */
};

struct nexthop_info {
	enum nexthop_state state;
	uint32_t ifindex;
	uint32_t lower;		   /* what a VLAN interface puts its tags on; 0 if it is none */
	struct config_address via; /* gateway, or the address itself when on-link */
	uint8_t destination[6];	   /* MAC of @via */
	uint8_t source[6];	   /* MAC of the interface */
	uint16_t mtu;		   /* the smaller of the route's and the interface's; 0: unknown */
};

/** nexthop_state_text() - "up", "resolving"..., as `ringlb backend list` has it */
const char *nexthop_state_text(enum nexthop_state state);

struct nexthops;

/**
 * nexthops_open() - open the netlink sockets, subscribed to routes, neighbours and links
 * Return: 0 or -errno; then *@out is left as it was.
 */
int nexthops_open(struct nexthops **out);

/** nexthops_close() - close; the kernel keeps the managed neighbours. NULL is allowed. */
void nexthops_close(struct nexthops *nexthops);

/** nexthops_fd() - becomes readable when something may have changed; for poll() */
int nexthops_fd(const struct nexthops *nexthops);

/**
 * nexthops_drain() - read all that is waiting on nexthops_fd()
 *
 * Return: 1 if a route, neighbour or link changed (then resolve again what you
 * care about), 0 if nothing did; -errno. A receive buffer overrun counts as a change.
 */
int nexthops_drain(struct nexthops *nexthops);

/**
 * nexthops_resolve() - look an address up now
 * @info: filled whenever 0 is returned, whatever the state
 *
 * Asks the kernel for the route, and for the neighbour entry of its gateway (or
 * of the address itself). If that entry is missing, failed or not managed yet,
 * the kernel is asked to resolve it and to keep it; the answer comes as a later
 * change on nexthops_fd(). Costs three netlink round trips, one or two more if the
 * kernel has to be asked. Static (permanent) entries are used and never touched.
 *
 * Return: 0; -EAFNOSUPPORT, -EPERM, -ETIMEDOUT or another -errno, and then @info is
 * left as it was.
 */
int nexthops_resolve(struct nexthops *nexthops, const struct config_address *address,
		     struct nexthop_info *info);

/**
 * nexthops_forget() - let the kernel age a neighbour that nexthops_resolve() had it keep
 * @ifindex, @via: as in struct nexthop_info
 *
 * Its MAC address stays. An entry that another program has had the kernel keep is left
 * alone.
 *
 * Return: 0, also when there is no such entry any more; -errno.
 */
int nexthops_forget(struct nexthops *nexthops, uint32_t ifindex, const struct config_address *via);

#endif
