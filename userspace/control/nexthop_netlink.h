/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The four rtnetlink requests that next hops need, as structs: read a route, a link,
 * a neighbour; ask for a neighbour. No policy: what an answer means is nexthop.c's.
 *
 * One request is under way at a time, and the kernel answers it within the system
 * call; a socket that stays silent for a second is an error, so nothing here hangs.
 * Only for nexthop.c.
 */
#ifndef RINGLB_CONTROL_NEXTHOP_NETLINK_H
#define RINGLB_CONTROL_NEXTHOP_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct rtnl;

/* type is RTN_*; RTN_UNREACHABLE stands for every answer that there is no way. */
struct route {
	uint8_t type;
	bool encapsulated; /* the route adds headers of its own (mpls, seg6, ip) */
	uint32_t mtu;	   /* that it has or the kernel learned; 0: that of the link */
	uint32_t ifindex;
	struct config_address via; /* gateway, or the address itself when on-link */
};

/*
 * type is ARPHRD_*; mac is valid for ARPHRD_ETHER only. mtu is 0 if none is told. lower is the
 * interface below one that puts VLAN tags on, 0 for all others.
 */
struct link {
	uint16_t type;
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t lower;
};

/* state is NUD_*, flags NTF_*, ext_flags NTF_EXT_*, protocol RTPROT_*. */
struct neighbour {
	uint16_t state;
	uint8_t flags;
	uint8_t protocol; /* who set the entry up; 0 is not told */
	uint32_t ext_flags;
	bool has_mac;
	uint8_t mac[6];
};

/** rtnl_open() - open the request socket. Return: 0 or -errno; then *@out is left as it was. */
int rtnl_open(struct rtnl **out);

/** rtnl_close() - NULL is allowed */
void rtnl_close(struct rtnl *rtnl);

/**
 * route_read() - the route that a packet to @address would take now
 *
 * The kernel has chosen among several next hops already.
 *
 * Return: 0, also if there is no way; -EAFNOSUPPORT, -ETIMEDOUT, -EPROTO, -errno.
 */
int route_read(struct rtnl *rtnl, const struct config_address *address, struct route *route);

/** link_read() - Return: 0; -ENODEV, -ETIMEDOUT, -EPROTO, -errno. */
int link_read(struct rtnl *rtnl, uint32_t ifindex, struct link *link);

/** neighbour_read() - Return: 0; -ENOENT, -ENODEV, -ETIMEDOUT, -EPROTO, -errno. */
int neighbour_read(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
		   struct neighbour *neighbour);

/**
 * neighbour_use() - have the kernel resolve a neighbour (NTF_USE)
 * @nlm_flags: NLM_F_CREATE | NLM_F_EXCL for a new entry, 0 for an existing one
 * @wanted: flags (NTF_EXT_LEARNED) and ext_flags that the entry is to have: what
 *	is not given is cleared. A protocol of 0 leaves the entry's own.
 *
 * Keeps the MAC and the state of an existing entry, except that NUD_PERMANENT is
 * cleared (and its MAC is lost): the caller must not name a permanent entry.
 *
 * Return: 0; -EEXIST, -ENOENT, -ENODEV; -ENOBUFS if the neighbour table is full, which
 * NTF_EXT_LEARNED is exempt from; -EPERM, -ETIMEDOUT, -errno.
 */
int neighbour_use(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
		  uint16_t nlm_flags, const struct neighbour *wanted);

#endif
