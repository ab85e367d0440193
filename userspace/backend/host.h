/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this host looks like to ringlb-backend: its links, whose addresses are where, and
 * which of its settings stand in the way. Reads only.
 */
#ifndef RINGLB_BACKEND_HOST_H
#define RINGLB_BACKEND_HOST_H

#include "backend/backend.h"
#include "backend/netlink.h"
#include "backend/record.h"

#define HOST_LINKS_MAX 1024

/**
 * struct host
 * @on_lo: addresses of the interface lo, and prefixes that routes make local there, sorted
 * @elsewhere: those of all others, sorted
 * @locals: where packets for this host may be tunnelled to: all but loopback, link-local
 *	and VIPs, which host_read() is told
 * @has_ipv4: the interface that host_read() was asked about has an IPv4 address
 */
struct host {
	uint32_t lo;
	uint32_t n_links;
	struct netlink_link links[HOST_LINKS_MAX];
	uint32_t n_on_lo;
	struct backend_prefix on_lo[BACKEND_LOCALS_MAX];
	uint32_t n_elsewhere;
	struct backend_address elsewhere[BACKEND_LOCALS_MAX];
	uint32_t n_locals;
	struct backend_address locals[BACKEND_LOCALS_MAX];
	bool has_ipv4;
};

/**
 * host_read() - look at links and addresses
 * @ifindex: of the interface in question
 * @record: addresses that are VIPs there are nobody's tunnel end
 *
 * Return: 0; -ENOSPC if this host has more than fits; -errno
 */
int host_read(struct host *host, struct netlink *netlink, uint32_t ifindex,
	      const struct record *record, struct failure *failure);

/** host_link() - Return: NULL if there is none */
const struct netlink_link *host_link(const struct host *host, uint32_t ifindex);

/**
 * struct host_setting - a sysctl and what it should be
 * @fits: it is good enough
 * @wanted: what to set it to if not
 */
struct host_setting {
	char name[80];
	int value;
	int wanted;
	bool fits;
};

/**
 * host_arp_ignore(), host_arp_announce() - with these, nobody learns of VIPs by ARP
 *
 * They are set for all interfaces, as an address on lo is answered for on each of them.
 *
 * Return: 0, -errno
 */
int host_arp_ignore(struct host_setting *setting);
int host_arp_announce(struct host_setting *setting);

/**
 * host_rp_filter() - packets of clients must not be dropped for where they came in
 * @has_ipv4: if the interface has no IPv4 address, even loose filtering drops them
 * @blocked: receives whether the setting for all interfaces forbids what is wanted here
 *
 * Return: 0, -errno
 */
int host_rp_filter(const char *ifname, bool has_ipv4, struct host_setting *setting, bool *blocked);

#endif
