/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ringlb-backend has changed on this host, so that it can be put back: one file in
 * the state directory. A change is written there before it is made. What the file names
 * may therefore not have happened yet, and whoever puts it back must not mind.
 *
 * The file speaks of one boot and one network namespace.
 */
#ifndef RINGLB_BACKEND_RECORD_H
#define RINGLB_BACKEND_RECORD_H

#include <net/if.h>

#include "backend/backend.h"

#define RECORD_INTERFACES_MAX 32

/* A sysctl: put @before back if it still is what we @set. */
struct change {
	bool made;
	int before;
	int set;
};

/**
 * struct record_interface
 * @egress_ifindex: where the MSS is clamped; 0 if nowhere
 * @clsact: the queueing discipline there is ours
 */
struct record_interface {
	char name[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t egress_ifindex;
	bool clsact;
	struct change rp_filter;
	struct attach_options options;
};

/**
 * struct record - it is big: not for the stack
 * @added: VIPs that were not on lo before
 */
struct record {
	uint32_t n_interfaces;
	struct record_interface interfaces[RECORD_INTERFACES_MAX];
	uint32_t n_added;
	struct backend_prefix added[BACKEND_VIPS_MAX];
	struct change arp_ignore;
	struct change arp_announce;
};

/**
 * record_lock() - keep all others from changing what is recorded
 *
 * Makes the directory if there is none, and waits for whoever holds the lock.
 *
 * Return: a descriptor to close, or -errno
 */
int record_lock(const char *dir, struct failure *failure);

/**
 * record_read() - an empty record if there is no file, or one from before the last boot
 *
 * Return: 0; -EXDEV if it is that of another network namespace; -errno
 */
int record_read(const char *dir, struct record *record, struct failure *failure);

/** record_write() - in one step; an empty record removes the file. Return: 0, -errno */
int record_write(const char *dir, const struct record *record, struct failure *failure);

/**
 * record_find() - what is recorded of the interface that is called @ifname now
 * @ifindex: 0 if there is no such interface
 *
 * An interface is found by its number, as it may have been renamed, or else by its name.
 */
struct record_interface *record_find(struct record *record, const char *ifname, uint32_t ifindex);

/** record_forget() - take out an entry of @record */
void record_forget(struct record *record, struct record_interface *entry);

/** record_uses_vip() - does an interface of @record need @vip? */
bool record_uses_vip(const struct record *record, const struct backend_prefix *vip);

/** record_covers() - is @address in a VIP that an interface of @record has? */
bool record_covers(const struct record *record, const struct backend_address *address);

/** record_has_ipv4() - does an interface of @record have an IPv4 VIP? */
bool record_has_ipv4(const struct record *record);

#endif
