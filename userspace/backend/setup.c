/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/setup.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/address.h"
#include "backend/host.h"
#include "backend/record.h"
#include "backend/sysctl.h"
#include "backend/undo.h"

/**
 * struct setup - one attach or detach under way
 * @before: what was recorded when we came
 * @after: what will be
 * @entry: ours, in @after
 */
struct setup {
	const char *state_dir;
	int lock_fd;
	struct netlink *netlink;
	struct record *before;
	struct record *after;
	struct record_interface *entry;
	struct host *host;
	struct setup_notes *notes;
	struct failure *failure;
};

static void setup_close(struct setup *setup)
{
	free(setup->before);
	free(setup->after);
	free(setup->host);
	netlink_close(setup->netlink);
	if (setup->lock_fd >= 0)
		close(setup->lock_fd);
}

static int setup_open(struct setup *setup)
{
	int err;

	setup->notes->len = 0;
	setup->before = malloc(sizeof(*setup->before));
	setup->after = malloc(sizeof(*setup->after));
	setup->host = malloc(sizeof(*setup->host));
	if (!setup->before || !setup->after || !setup->host)
		return fail_with(setup->failure, -ENOMEM, "out of memory");
	err = netlink_open(&setup->netlink);
	if (err)
		return fail_with(setup->failure, err, "cannot reach the kernel over netlink: %s",
				 strerror(-err));
	setup->lock_fd = record_lock(setup->state_dir, setup->failure);
	if (setup->lock_fd < 0)
		return setup->lock_fd;
	err = record_read(setup->state_dir, setup->before, setup->failure);
	if (!err)
		*setup->after = *setup->before;
	return err;
}

/* What differs first, for a message. */
static const char *difference(const struct attach_options *was, const struct attach_options *is)
{
	if (was->mode != is->mode)
		return "--mode";
	if (was->gue_port != is->gue_port)
		return "--gue-port";
	if (was->mss != is->mss)
		return "--mss-clamp";
	if (strcmp(was->egress, is->egress) != 0)
		return "--egress";
	if (was->n_vips != is->n_vips || memcmp(was->vips, is->vips, sizeof(is->vips)) != 0)
		return "--vip";
	if (was->n_from != is->n_from || memcmp(was->from, is->from, sizeof(is->from)) != 0)
		return "--from";
	return NULL;
}

/* Of what interfaces share, keep what those that are left need. */
static void keep_what_is_needed(struct record *record)
{
	uint32_t n = record->n_added;

	record->n_added = 0;
	for (uint32_t i = 0; i < n; i++)
		if (record_uses_vip(record, &record->added[i]))
			record->added[record->n_added++] = record->added[i];
	if (record_has_ipv4(record))
		return;
	record->arp_ignore = (struct change){};
	record->arp_announce = (struct change){};
}

/* Undo what only @entry of setup->after needs, and then forget it. */
static int detach(struct setup *setup, struct record_interface *entry)
{
	int err;

	record_forget(setup->after, entry);
	keep_what_is_needed(setup->after);
	err = undo_record(setup->before, setup->after, setup->netlink, setup->notes,
			  setup->failure);
	if (!err)
		err = record_write(setup->state_dir, setup->after, setup->failure);
	if (!err)
		*setup->before = *setup->after;
	return err;
}

/* An interface that had this name and is gone: what was done for it goes first. */
static int detach_gone(struct setup *setup, const char *ifname, uint32_t ifindex)
{
	struct record_interface *entry = record_find(setup->after, ifname, ifindex);

	return entry && entry->ifindex != ifindex ? detach(setup, entry) : 0;
}

static int check_link(struct setup *setup, const char *ifname, uint32_t ifindex)
{
	const struct netlink_link *link = host_link(setup->host, ifindex);

	if (!link)
		return fail_with(setup->failure, -ENODEV, "there is no interface '%s'", ifname);
	if (link->type != ARPHRD_ETHER)
		return fail_with(setup->failure, -EINVAL,
				 "'%s' is no Ethernet interface: only frames can be looked at",
				 ifname);
	return 0;
}

/* The interface where SYN-ACKs leave must exist, and be clamped for one only. */
static int choose_egress(struct setup *setup, const char *ifname, uint32_t ifindex,
			 const struct attach_options *options, uint32_t *egress)
{
	const char *name = options->egress[0] ? options->egress : ifname;

	*egress = 0;
	if (!options->mss)
		return 0;
	*egress = options->egress[0] ? if_nametoindex(options->egress) : ifindex;
	if (!*egress)
		return fail_with(setup->failure, -ENODEV, "--egress: there is no interface '%s'",
				 name);
	for (uint32_t i = 0; i < setup->before->n_interfaces; i++) {
		const struct record_interface *other = &setup->before->interfaces[i];

		if (other->ifindex != ifindex && other->egress_ifindex == *egress)
			return fail_with(
				setup->failure, -EBUSY,
				"SYN-ACKs that leave by '%s' have their MSS lowered for '%s' "
				"already",
				name, other->name);
	}
	return 0;
}

static int find_or_add_entry(struct setup *setup, const char *ifname, uint32_t ifindex,
			     const struct attach_options *options)
{
	struct record_interface *entry;
	const char *what;

	entry = record_find(setup->after, ifname, ifindex);
	if (!entry) {
		if (setup->after->n_interfaces == RECORD_INTERFACES_MAX)
			return fail_with(setup->failure, -ENOSPC, "more than %d interfaces",
					 RECORD_INTERFACES_MAX);
		entry = &setup->after->interfaces[setup->after->n_interfaces++];
		*entry = (struct record_interface){.ifindex = ifindex, .options = *options};
	}
	setup->entry = entry;
	what = difference(&entry->options, options);
	if (what)
		return fail_with(setup->failure, -EEXIST,
				 "'%s' is attached with another %s: ringlb-backend detach %s first",
				 ifname, what, ifname);
	snprintf(entry->name, sizeof(entry->name), "%s", ifname);
	return 0;
}

/* Note what a setting has to become. What was before it is only noted once. */
static void plan_change(struct change *change, const struct host_setting *setting)
{
	if (setting->fits)
		return;
	if (!change->made)
		change->before = setting->value;
	change->made = true;
	change->set = setting->wanted;
}

static int plan_sysctls(struct setup *setup)
{
	const struct attach_options *options = &setup->entry->options;
	struct host_setting setting;
	bool blocked = false;
	int err;

	if (!prefixes_have_family(options->vips, options->n_vips, 4))
		return 0;
	err = host_arp_ignore(&setting);
	if (!err) {
		plan_change(&setup->after->arp_ignore, &setting);
		err = host_arp_announce(&setting);
	}
	if (!err) {
		plan_change(&setup->after->arp_announce, &setting);
		err = host_rp_filter(setup->entry->name, setup->host->has_ipv4, &setting, &blocked);
	}
	if (err)
		return fail_with(setup->failure, err, "cannot read '%s': %s", setting.name,
				 strerror(-err));
	plan_change(&setup->entry->rp_filter, &setting);
	if (blocked)
		setup_note(setup->notes,
			   "'%s' has no IPv4 address: unless the way back to a client leads "
			   "through it, its packets are dropped (sysctl -w "
			   "net.ipv4.conf.all.rp_filter=0)",
			   setup->entry->name);
	return 0;
}

static int plan_vips(struct setup *setup)
{
	const struct attach_options *options = &setup->entry->options;

	for (uint32_t i = 0; i < options->n_vips; i++) {
		const struct backend_prefix *vip = &options->vips[i];

		if (prefixes_have(setup->host->on_lo, setup->host->n_on_lo, vip))
			continue;
		if (prefixes_add(setup->after->added, &setup->after->n_added, BACKEND_VIPS_MAX,
				 vip))
			return fail_with(setup->failure, -ENOSPC, "more than %d VIPs on this host",
					 BACKEND_VIPS_MAX);
	}
	return 0;
}

static int plan_clsact(struct setup *setup)
{
	int there;

	if (!setup->entry->egress_ifindex)
		return 0;
	there = netlink_has_clsact(setup->netlink, setup->entry->egress_ifindex);
	if (there < 0)
		return fail_with(setup->failure, there, "cannot list queueing disciplines: %s",
				 strerror(-there));
	if (!there)
		setup->entry->clsact = true;
	return 0;
}

static int plan(struct setup *setup, const char *ifname, const struct attach_options *options)
{
	uint32_t ifindex = if_nametoindex(ifname), egress = 0;
	int err;

	if (!ifindex)
		return fail_with(setup->failure, -ENODEV, "there is no interface '%s'", ifname);
	err = detach_gone(setup, ifname, ifindex);
	if (!err)
		err = choose_egress(setup, ifname, ifindex, options, &egress);
	if (!err)
		err = find_or_add_entry(setup, ifname, ifindex, options);
	if (!err)
		err = host_read(setup->host, setup->netlink, ifindex, setup->after, setup->failure);
	if (!err)
		err = check_link(setup, ifname, ifindex);
	if (err)
		return err;
	setup->entry->egress_ifindex = egress;
	err = plan_sysctls(setup);
	if (!err)
		err = plan_vips(setup);
	return err ? err : plan_clsact(setup);
}

static int apply_change(struct setup *setup, const char *ifname, const char *what,
			const struct change *change)
{
	char name[SYSCTL_NAME_LEN];
	int value, err;

	if (!change->made)
		return 0;
	err = sysctl_read(sysctl_ipv4(ifname, what, name), &value);
	if (!err && value != change->set)
		err = sysctl_write(name, change->set);
	if (err)
		return fail_with(setup->failure, err, "cannot set '%s' to %d: %s", name,
				 change->set, strerror(-err));
	return 0;
}

static int apply_vips(struct setup *setup)
{
	const struct record *after = setup->after;
	char text[ADDRESS_TEXT_LEN];

	for (uint32_t i = 0; i < after->n_added; i++) {
		const struct backend_prefix *vip = &after->added[i];
		int err = netlink_add_vip(setup->netlink, setup->host->lo, vip);

		if (err && err != -EEXIST)
			return fail_with(setup->failure, err, "cannot add '%s' to lo: %s%s",
					 prefix_text(vip, text), strerror(-err),
					 vip->address.family == 6 && err == -EACCES
						 ? " (is net/ipv6/conf/lo/disable_ipv6 1?)"
						 : "");
	}
	return 0;
}

static int apply_clsact(struct setup *setup)
{
	int err;

	if (!setup->entry->egress_ifindex)
		return 0;
	err = netlink_add_clsact(setup->netlink, setup->entry->egress_ifindex);
	if (err && err != -EEXIST)
		return fail_with(setup->failure, err, "cannot add clsact for --mss-clamp: %s",
				 strerror(-err));
	return 0;
}

/* The host stops answering ARP for VIPs before it has one. */
static int apply(struct setup *setup)
{
	const struct record_interface *entry = setup->entry;
	const struct program_place place = {entry->ifindex, entry->egress_ifindex};
	char note[PROGRAM_NOTE_LEN] = "";
	int err;

	err = apply_change(setup, "all", "arp_ignore", &setup->after->arp_ignore);
	if (!err)
		err = apply_change(setup, "all", "arp_announce", &setup->after->arp_announce);
	if (!err)
		err = apply_change(setup, entry->name, "rp_filter", &entry->rp_filter);
	if (!err)
		err = apply_vips(setup);
	if (!err)
		err = apply_clsact(setup);
	if (!err)
		err = program_attach(&place, &entry->options, setup->host->locals,
				     setup->host->n_locals, note, setup->failure);
	if (!err && note[0])
		setup_note(setup->notes, "%s", note);
	return err;
}

/*
 * Back to what was recorded when we came. What this cannot undo stays recorded, and so does
 * what was mended of an interface that was attached before.
 */
static void roll_back(struct setup *setup)
{
	struct failure ignored;

	if (setup->before->n_interfaces == setup->after->n_interfaces)
		return;
	if (!undo_record(setup->after, setup->before, setup->netlink, setup->notes, &ignored))
		record_write(setup->state_dir, setup->before, &ignored);
}

int setup_attach(const char *state_dir, const char *ifname, const struct attach_options *options,
		 struct setup_notes *notes, struct failure *failure)
{
	struct setup setup = {
		.state_dir = state_dir,
		.lock_fd = -1,
		.notes = notes,
		.failure = failure,
	};
	int err = setup_open(&setup);

	if (!err)
		err = plan(&setup, ifname, options);
	if (!err)
		err = record_write(state_dir, setup.after, failure);
	if (!err) {
		err = apply(&setup);
		if (err)
			roll_back(&setup);
	}
	setup_close(&setup);
	return err;
}

static int detach_named(struct setup *setup, const char *ifname)
{
	uint32_t ifindex = if_nametoindex(ifname);
	struct record_interface *entry = record_find(setup->after, ifname, ifindex);
	char current[IF_NAMESIZE];

	if (!entry)
		return fail_with(setup->failure, -ENOENT, "'%s' is not attached%s", ifname,
				 ifindex ? "" : ", and there is no such interface");
	if (!if_indextoname(entry->ifindex, current))
		setup_note(setup->notes, "'%s' is gone: the rest was put back", entry->name);
	return detach(setup, entry);
}

int setup_detach(const char *state_dir, const char *ifname, struct setup_notes *notes,
		 struct failure *failure)
{
	struct setup setup = {
		.state_dir = state_dir,
		.lock_fd = -1,
		.notes = notes,
		.failure = failure,
	};
	int err = setup_open(&setup);

	if (!err)
		err = detach_named(&setup, ifname);
	setup_close(&setup);
	return err;
}
