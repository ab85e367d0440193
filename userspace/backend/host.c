/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/host.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "backend/address.h"
#include "backend/sysctl.h"

struct reading {
	struct host *host;
	uint32_t ifindex;
	const struct record *record;
	int err;
};

/* A dump that was cut short shows a link twice. */
static void note_link(void *context, const struct netlink_link *link)
{
	struct reading *reading = context;
	struct host *host = reading->host;
	uint32_t i;

	for (i = 0; i < host->n_links; i++)
		if (host->links[i].ifindex == link->ifindex)
			break;
	if (i == HOST_LINKS_MAX) {
		reading->err = -ENOSPC;
		return;
	}
	host->links[i] = *link;
	if (i == host->n_links)
		host->n_links++;
	if (!strcmp(link->name, "lo"))
		host->lo = link->ifindex;
}

static void note(struct reading *reading, struct backend_address *set, uint32_t *len,
		 const struct backend_address *address)
{
	if (addresses_add(set, len, BACKEND_LOCALS_MAX, address))
		reading->err = -ENOSPC;
}

static void note_on_lo(struct reading *reading, struct backend_prefix prefix)
{
	struct host *host = reading->host;

	if (prefixes_add(host->on_lo, &host->n_on_lo, BACKEND_LOCALS_MAX, &prefix))
		reading->err = -ENOSPC;
}

static void note_local(void *context, uint32_t ifindex, const struct backend_prefix *prefix)
{
	struct reading *reading = context;

	if (ifindex == reading->host->lo)
		note_on_lo(reading, *prefix);
}

static void note_address(void *context, const struct netlink_address *address)
{
	struct reading *reading = context;
	struct host *host = reading->host;

	if (address->ifindex == host->lo)
		note_on_lo(reading, prefix_of(&address->address, address_bits(&address->address)));
	else
		note(reading, host->elsewhere, &host->n_elsewhere, &address->address);
	if (address->ifindex == reading->ifindex && address->address.family == 4)
		host->has_ipv4 = true;
	if (address_is_usable(&address->address) &&
	    !record_covers(reading->record, &address->address))
		note(reading, host->locals, &host->n_locals, &address->address);
}

int host_read(struct host *host, struct netlink *netlink, uint32_t ifindex,
	      const struct record *record, struct failure *failure)
{
	struct reading reading = {.host = host, .ifindex = ifindex, .record = record};
	int err;

	memset(host, 0, sizeof(*host));
	err = netlink_links(netlink, note_link, &reading);
	if (!err)
		err = netlink_addresses(netlink, note_address, &reading);
	if (!err)
		err = netlink_local_prefixes(netlink, note_local, &reading);
	if (!err)
		err = reading.err;
	if (err == -ENOSPC)
		return fail_with(failure, err,
				 "this host has more than %d interfaces or %d addresses",
				 HOST_LINKS_MAX, BACKEND_LOCALS_MAX);
	if (err)
		return fail_with(failure, err, "cannot list interfaces and addresses: %s",
				 strerror(-err));
	return 0;
}

const struct netlink_link *host_link(const struct host *host, uint32_t ifindex)
{
	for (uint32_t i = 0; i < host->n_links; i++)
		if (host->links[i].ifindex == ifindex)
			return &host->links[i];
	return NULL;
}

/* 1: answer only for addresses of that interface; 2: and to its subnet; 8: never. */
int host_arp_ignore(struct host_setting *setting)
{
	int err;

	sysctl_ipv4("all", "arp_ignore", setting->name);
	err = sysctl_read(setting->name, &setting->value);
	setting->fits = setting->value == 1 || setting->value == 2 || setting->value == 8;
	setting->wanted = 1;
	return err;
}

/* 2: never ask in the name of an address that is on another interface. */
int host_arp_announce(struct host_setting *setting)
{
	int err;

	sysctl_ipv4("all", "arp_announce", setting->name);
	err = sysctl_read(setting->name, &setting->value);
	setting->fits = setting->value == 2;
	setting->wanted = 2;
	return err;
}

/*
 * What counts is the larger of the two values: 0 off, 1 strict, 2 loose. Strict wants the
 * way back to lead through the same interface. Loose wants some way back, but without an
 * address on the interface the kernel treats it as strict.
 */
int host_rp_filter(const char *ifname, bool has_ipv4, struct host_setting *setting, bool *blocked)
{
	char all_name[SYSCTL_NAME_LEN];
	int all, err;

	err = sysctl_read(sysctl_ipv4("all", "rp_filter", all_name), &all);
	if (err)
		return err;
	err = sysctl_read(sysctl_ipv4(ifname, "rp_filter", setting->name), &setting->value);
	if (err)
		return err;
	if (has_ipv4) {
		setting->wanted = 2;
		setting->fits = setting->value == 2 || all == 2 || (!setting->value && !all);
	} else {
		setting->wanted = 0;
		setting->fits = !setting->value;
	}
	*blocked = !has_ipv4 && all;
	return 0;
}
