/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/undo.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/address.h"
#include "backend/program.h"
#include "backend/sysctl.h"

void setup_note(struct setup_notes *notes, const char *format, ...)
{
	va_list arguments;

	if (notes->len == SETUP_NOTES_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(notes->lines[notes->len++], SETUP_NOTE_LEN, format, arguments);
	va_end(arguments);
}

/* Where the first failure is kept, and how far we are in any case. */
struct undo {
	struct netlink *netlink;
	struct setup_notes *notes;
	struct failure *failure;
	int err;
};

static void undo_failed(struct undo *undo, int err, const char *what, const char *subject)
{
	if (undo->err)
		return;
	undo->err = err;
	failure_set(undo->failure, "cannot %s '%s': %s", what, subject, strerror(-err));
}

static void undo_sysctl(struct undo *undo, const char *name, const struct change *change)
{
	int value, err = sysctl_read(name, &value);

	/* It went with its interface. */
	if (err == -ENOENT)
		return;
	if (err) {
		undo_failed(undo, err, "read", name);
		return;
	}
	if (value == change->before)
		return;
	if (value != change->set) {
		setup_note(undo->notes,
			   "%s is left at %d, as somebody changed it since (before: %d)", name,
			   value, change->before);
		return;
	}
	err = sysctl_write(name, change->before);
	if (err)
		undo_failed(undo, err, "put back", name);
}

static void undo_rp_filter(struct undo *undo, const struct record_interface *entry)
{
	char name[SYSCTL_NAME_LEN], ifname[IF_NAMESIZE];

	if (entry->rp_filter.made && if_indextoname(entry->ifindex, ifname))
		undo_sysctl(undo, sysctl_ipv4(ifname, "rp_filter", name), &entry->rp_filter);
}

/* Filters of others would go with it. */
static void undo_clsact(struct undo *undo, const struct record_interface *entry)
{
	char ifname[IF_NAMESIZE];
	int count, err;

	if (!entry->clsact || !if_indextoname(entry->egress_ifindex, ifname) ||
	    netlink_has_clsact(undo->netlink, entry->egress_ifindex) != 1)
		return;
	count = netlink_count_filters(undo->netlink, entry->egress_ifindex);
	if (count > 0) {
		setup_note(undo->notes, "clsact stays on '%s': others have filters there", ifname);
		return;
	}
	err = count < 0 ? count : netlink_remove_clsact(undo->netlink, entry->egress_ifindex);
	if (err)
		undo_failed(undo, err, "remove clsact from", ifname);
}

static void undo_interface(struct undo *undo, const struct record_interface *entry)
{
	struct program_place place = {};
	char ifname[IF_NAMESIZE];
	struct failure failure;
	int err;

	/* Either may be gone, and what was on it with it. */
	if (if_indextoname(entry->ifindex, ifname))
		place.ifindex = entry->ifindex;
	if (if_indextoname(entry->egress_ifindex, ifname))
		place.egress_ifindex = entry->egress_ifindex;
	err = program_detach(&place, &failure);
	if (err && !undo->err) {
		undo->err = err;
		*undo->failure = failure;
	}
	undo_clsact(undo, entry);
}

static bool has_interface(const struct record *record, const struct record_interface *entry)
{
	for (uint32_t i = 0; i < record->n_interfaces; i++)
		if (record->interfaces[i].ifindex == entry->ifindex)
			return true;
	return false;
}

static void undo_vip(struct undo *undo, const struct backend_prefix *vip)
{
	char text[ADDRESS_TEXT_LEN];
	int err = netlink_remove_vip(undo->netlink, if_nametoindex("lo"), vip);

	if (err && err != -EADDRNOTAVAIL)
		undo_failed(undo, err, "remove from lo", prefix_text(vip, text));
}

/* Packets stop first; the settings that hide VIPs from ARP go once no VIP is left. */
int undo_record(const struct record *was, const struct record *is, struct netlink *netlink,
		struct setup_notes *notes, struct failure *failure)
{
	struct undo undo = {.netlink = netlink, .notes = notes, .failure = failure};
	char name[SYSCTL_NAME_LEN];

	for (uint32_t i = 0; i < was->n_interfaces; i++)
		if (!has_interface(is, &was->interfaces[i]))
			undo_interface(&undo, &was->interfaces[i]);
	for (uint32_t i = 0; i < was->n_added; i++)
		if (!prefixes_have(is->added, is->n_added, &was->added[i]))
			undo_vip(&undo, &was->added[i]);
	for (uint32_t i = 0; i < was->n_interfaces; i++)
		if (!has_interface(is, &was->interfaces[i]))
			undo_rp_filter(&undo, &was->interfaces[i]);
	if (was->arp_announce.made && !is->arp_announce.made)
		undo_sysctl(&undo, sysctl_ipv4("all", "arp_announce", name), &was->arp_announce);
	if (was->arp_ignore.made && !is->arp_ignore.made)
		undo_sysctl(&undo, sysctl_ipv4("all", "arp_ignore", name), &was->arp_ignore);
	return undo.err;
}
