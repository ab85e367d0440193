/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/address.h"
#include "backend/sockets.h"

/* Bytes of headers. The packet inside is the client's, of up to 1500 bytes. */
#define CLIENT_MTU	1500
#define IPV4_LEN	20
#define IPV6_LEN	40
#define TCP_LEN		20
#define UDP_LEN		8
#define OUTER_LEN(mode) (IPV6_LEN + (mode_takes_gue(mode) ? UDP_LEN : 0))

#define REMEDY_LEN 160

struct check {
	struct report *report;
	struct netlink *netlink;
	const struct record_interface *entry;
	const struct host *host;
	struct failure *failure;
	char again[REMEDY_LEN]; /* the command that mends what is missing */
};

static void check_link(const struct check *check)
{
	const struct netlink_link *link = host_link(check->host, check->entry->ifindex);
	char remedy[REMEDY_LEN];

	if (link->flags & IFF_UP)
		return;
	snprintf(remedy, sizeof(remedy), "ip link set dev %s up", link->name);
	report_problem(check->report, remedy, "the interface is down");
}

static bool is_elsewhere(const struct host *host, const struct backend_prefix *vip)
{
	for (uint32_t i = 0; i < host->n_elsewhere; i++)
		if (prefix_covers(vip, &host->elsewhere[i]))
			return true;
	return false;
}

static void check_vips(const struct check *check)
{
	const struct attach_options *options = &check->entry->options;
	const struct host *host = check->host;
	char text[ADDRESS_TEXT_LEN];

	for (uint32_t i = 0; i < options->n_vips; i++) {
		const struct backend_prefix *vip = &options->vips[i];

		prefix_text(vip, text);
		if (!prefixes_have(host->on_lo, host->n_on_lo, vip))
			report_problem(check->report, check->again, "VIP %s is not on lo", text);
		if (is_elsewhere(host, vip))
			report_problem(check->report, "a VIP belongs on lo alone",
				       "VIP %s is on another interface, which tells the network so",
				       text);
		else if (!sockets_serve(vip))
			report_hint(check->report, NULL, "no service listens on VIP %s", text);
	}
}

static void report_setting(const struct check *check, const struct host_setting *setting,
			   const char *why)
{
	char remedy[REMEDY_LEN];

	snprintf(remedy, sizeof(remedy), "sysctl -w %s=%d", setting->name, setting->wanted);
	report_problem(check->report, remedy, "%s is %d: %s", setting->name, setting->value, why);
}

static int check_settings(const struct check *check)
{
	const struct record_interface *entry = check->entry;
	struct host_setting setting;
	bool blocked = false;
	int err;

	if (!prefixes_have_family(entry->options.vips, entry->options.n_vips, 4))
		return 0;
	err = host_arp_ignore(&setting);
	if (!err && !setting.fits)
		report_setting(check, &setting, "this host answers ARP requests for its VIPs");
	if (!err)
		err = host_arp_announce(&setting);
	if (!err && !setting.fits)
		report_setting(check, &setting, "this host names its VIPs in ARP requests");
	if (!err)
		err = host_rp_filter(check->report->ifname, check->host->has_ipv4, &setting,
				     &blocked);
	if (!err && !setting.fits)
		report_setting(check, &setting, "packets of clients may be dropped here");
	if (!err && blocked)
		report_hint(check->report, "sysctl -w net/ipv4/conf/all/rp_filter=0",
			    "the interface has no IPv4 address: the kernel drops packets of "
			    "clients to which no way leads through it");
	if (err)
		failure_set(check->failure, "cannot read '%s': %s", setting.name, strerror(-err));
	return err;
}

static bool has_all(const struct backend_address *set, uint32_t len,
		    const struct backend_address *wanted, uint32_t n_wanted)
{
	for (uint32_t i = 0; i < n_wanted; i++)
		if (!addresses_have(set, len, &wanted[i]))
			return false;
	return true;
}

static void check_facts(const struct check *check, const struct program_facts *facts)
{
	const struct attach_options *options = &check->entry->options;
	const struct host *host = check->host;

	if (facts->n_vips != options->n_vips ||
	    memcmp(facts->vips, options->vips, facts->n_vips * sizeof(facts->vips[0])) != 0)
		report_problem(check->report, "detach and attach again",
			       "the program does not know the same VIPs as the record");
	if (options->mode != MODE_DR &&
	    !has_all(facts->locals, facts->n_locals, host->locals, host->n_locals))
		report_problem(check->report, check->again,
			       "this host has addresses that the program does not know yet");
	check_counts(check->report, check->entry, facts);
}

static int check_programs(const struct check *check)
{
	const struct record_interface *entry = check->entry;
	const struct program_place place = {entry->ifindex, entry->egress_ifindex};
	bool wants_xdp = entry->options.mode != MODE_DR, wants_clamp = entry->egress_ifindex;
	struct program_facts *facts;
	struct program_seen seen;
	int err = program_look(&place, &seen, check->failure);

	if (err)
		return err;
	if (wants_xdp && !seen.xdp)
		report_problem(check->report, check->again, "the XDP program is not attached");
	if (wants_clamp && !seen.clamp)
		report_problem(check->report, check->again,
			       "the tc program that lowers the MSS is not attached");
	if (!seen.current)
		report_problem(check->report, check->again,
			       "the programs are those of another version");
	if (seen.xdp && seen.generic)
		report_hint(check->report, NULL,
			    "the XDP program runs in generic mode, which is slower");
	if (!seen.xdp && !seen.clamp)
		return 0;
	facts = malloc(sizeof(*facts));
	if (!facts)
		return fail_with(check->failure, -ENOMEM, "out of memory");
	err = program_read(&place, facts, check->failure);
	if (!err)
		check_facts(check, facts);
	free(facts);
	return err;
}

/* What a client's segment may have inside, so that with all headers it fits. */
static void check_mss(const struct check *check)
{
	const struct attach_options *options = &check->entry->options;
	const struct netlink_link *link = host_link(check->host, check->entry->ifindex);
	uint32_t outer = OUTER_LEN(options->mode), inner, fits;
	char remedy[REMEDY_LEN];

	if (options->mode == MODE_DR || link->mtu >= CLIENT_MTU + outer)
		return;
	inner = (prefixes_have_family(options->vips, options->n_vips, 6) ? IPV6_LEN : IPV4_LEN) +
		TCP_LEN;
	if (link->mtu <= outer + inner)
		return;
	fits = link->mtu - outer - inner;
	snprintf(remedy, sizeof(remedy),
		 "--mss-clamp %u, or an MTU of %u all the way from the load balancer", fits,
		 CLIENT_MTU + outer);
	if (!options->mss)
		report_hint(check->report, remedy,
			    "with an MTU of %u, full segments of clients do not fit with %u bytes "
			    "of headers around them",
			    link->mtu, outer);
	else if (options->mss > fits)
		report_hint(check->report, remedy,
			    "with an MTU of %u, an MSS of %u may not fit with all headers",
			    link->mtu, options->mss);
}

/* Any address of the world will do to ask for the way; these are for documentation. */
static int check_way_back(const struct check *check)
{
	const struct attach_options *options = &check->entry->options;
	const char *const clients[] = {"198.51.100.1", "2001:db8:ffff::1"};
	struct backend_address client;
	struct netlink_route route;
	char text[ADDRESS_TEXT_LEN];

	for (uint32_t i = 0; i < options->n_vips; i++) {
		const struct backend_prefix *vip = &options->vips[i];
		int err = address_parse(clients[vip->address.family == 6], &client);

		if (!err && prefixes_have(check->host->on_lo, check->host->n_on_lo, vip)) {
			err = netlink_route(check->netlink, &vip->address, &client, &route);
			if (!err && !route.ifindex)
				report_hint(check->report,
					    "a default route, perhaps by ip rule from the VIP",
					    "no way back to clients from VIP %s",
					    prefix_text(vip, text));
			else if (!err && check->entry->egress_ifindex &&
				 route.ifindex != check->entry->egress_ifindex)
				report_hint(check->report, "--egress",
					    "answers of VIP %s leave by another interface than the "
					    "one where the MSS is lowered",
					    prefix_text(vip, text));
		}
		if (err)
			return fail_with(check->failure, err, "cannot look up a route: %s",
					 strerror(-err));
	}
	return 0;
}

/* What the program leaves to the kernel gets in by these, whatever --from says. */
static void check_rivals(const struct check *check)
{
	static const char *const kinds[] = {"ipip", "ip6tnl", "sit"};
	const struct attach_options *options = &check->entry->options;
	const struct host *host = check->host;
	char remedy[REMEDY_LEN];

	if (options->mode == MODE_DR)
		return;
	for (uint32_t i = 0; i < host->n_links; i++) {
		const struct netlink_link *link = &host->links[i];

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			if (strcmp(link->kind, kinds[k]) != 0 || !(link->flags & IFF_UP))
				continue;
			snprintf(remedy, sizeof(remedy), "ip link set dev %s down", link->name);
			report_hint(check->report, remedy,
				    "'%s' (%s) is up: what the program leaves to the kernel may "
				    "get to the VIPs through it",
				    link->name, link->kind);
		}
	}
	if (mode_takes_gue(options->mode) && sockets_have_udp(options->gue_port))
		report_hint(check->report, "ip fou show, ss -lun",
			    "a socket or fou has UDP port %u too: it gets what the program leaves",
			    options->gue_port);
}

static int check_all(const struct check *check)
{
	int err;

	check_link(check);
	check_vips(check);
	err = check_settings(check);
	if (!err)
		err = check_programs(check);
	if (err)
		return err;
	check_mss(check);
	check_rivals(check);
	return check_way_back(check);
}

int check_interface(struct report *report, struct netlink *netlink, const struct record *record,
		    const struct record_interface *entry, struct failure *failure)
{
	struct host *host = malloc(sizeof(*host));
	struct check check = {
		.report = report,
		.netlink = netlink,
		.entry = entry,
		.host = host,
		.failure = failure,
	};
	char remedy[REMEDY_LEN];
	int err;

	if (!host)
		return fail_with(failure, -ENOMEM, "out of memory");
	err = host_read(host, netlink, entry->ifindex, record, failure);
	if (err)
		goto out;
	if (!host_link(host, entry->ifindex)) {
		snprintf(report->ifname, sizeof(report->ifname), "%s", entry->name);
		snprintf(remedy, sizeof(remedy), "ringlb-backend detach %s puts back the rest",
			 entry->name);
		report_problem(report, remedy, "the interface is gone");
		goto out;
	}
	snprintf(report->ifname, sizeof(report->ifname), "%s",
		 host_link(host, entry->ifindex)->name);
	snprintf(check.again, sizeof(check.again), "ringlb-backend attach %s", report->ifname);
	err = check_all(&check);
out:
	free(host);
	return err;
}
