/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What rtnetlink's answers mean for a next hop, and which neighbour entries are ours
 * to touch.
 *
 * How the kernel treats RTM_NEWNEIGH with NTF_USE, and with NTF_EXT_MANAGED:
 * - MAC and state of the entry stay, the flags become those of the request: what it
 *   does not repeat of "managed", NTF_EXT_LEARNED and other extended flags is cleared;
 * - NUD_PERMANENT is cleared and the static MAC is lost. Nothing in the request can
 *   prevent that, so an entry is read first and static ones are left alone;
 * - a change of the flags is notified, repeating them is not: asking again because of
 *   a change on the monitor socket comes to rest;
 * - a managed entry is looked at every 5 s (net.ipv4.neigh.default.interval_probe_time_ms):
 *   stale ones are probed, failed ones tried again. It goes when the link goes down;
 * - without NTF_EXT_LEARNED an entry counts towards gc_thresh3 (1024 in the host, all
 *   namespaces together), where creating one fails, and a failed one is collected from
 *   gc_thresh2 (512) on, managed or not. Ours have the flag, as backends may be
 *   many; the kernel updates such entries like any other;
 * - before Linux 5.16 NDA_FLAGS_EXT is skipped in silence and NTF_USE alone remains.
 */
#include "control/nexthop.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "control/nexthop_netlink.h"

#define CHANGE_BYTES_MAX     32768
#define CHANGES_QUEUED_BYTES (1 << 20) /* the kernel doubles it: about 2000 changes */
#define CHANGES_AT_ONCE_MAX  4096
#define KEEP_ATTEMPTS_MAX    3
#define VLAN_TAGS_MAX	     2 /* that the XDP program steps over */

/*
 * Mark on the entries whose flags we set (NDA_PROTOCOL, "proto 114" in ip neigh), so that
 * forgetting, also after a restart, never takes away what somebody else has asked for.
 * Not among the RTPROT_ values that are given out.
 */
#define NEIGHBOUR_PROTOCOL 114

#define NUD_RESOLVED (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)
#define NUD_STATIC   (NUD_PERMANENT | NUD_NOARP)

struct nexthops {
	struct rtnl *rtnl;
	struct mnl_socket *monitor;
	_Alignas(struct nlmsghdr) char change[CHANGE_BYTES_MAX];
};

static int monitor_subscribe(int fd)
{
	static const int groups[] = {
		RTNLGRP_LINK,	    RTNLGRP_NEIGH,     RTNLGRP_IPV4_ROUTE,
		RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
	};
	const int nexthop_objects = RTNLGRP_NEXTHOP;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			       sizeof(groups[i])))
			return -errno;
	/* Routes may share a next hop object, whose change is not always told as theirs. */
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nexthop_objects,
		       sizeof(nexthop_objects)) &&
	    errno != EINVAL) /* Linux before 5.3 has none */
		return -errno;
	return 0;
}

static int monitor_open(struct mnl_socket **out)
{
	const int queued_bytes = CHANGES_QUEUED_BYTES;
	struct mnl_socket *monitor;
	int fd, err;

	monitor = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!monitor)
		return -errno;
	fd = mnl_socket_get_fd(monitor);
	/* FORCE goes past net.core.rmem_max. A smaller queue only overruns earlier. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queued_bytes, sizeof(queued_bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queued_bytes, sizeof(queued_bytes));
	err = mnl_socket_bind(monitor, 0, MNL_SOCKET_AUTOPID) ? -errno : monitor_subscribe(fd);
	if (err) {
		mnl_socket_close(monitor);
		return err;
	}
	*out = monitor;
	return 0;
}

int nexthops_open(struct nexthops **out)
{
	struct nexthops *nexthops;
	int err;

	nexthops = calloc(1, sizeof(*nexthops));
	if (!nexthops)
		return -ENOMEM;
	err = monitor_open(&nexthops->monitor);
	if (!err)
		err = rtnl_open(&nexthops->rtnl);
	if (err) {
		nexthops_close(nexthops);
		return err;
	}
	*out = nexthops;
	return 0;
}

void nexthops_close(struct nexthops *nexthops)
{
	if (!nexthops)
		return;
	rtnl_close(nexthops->rtnl);
	if (nexthops->monitor)
		mnl_socket_close(nexthops->monitor);
	free(nexthops);
}

int nexthops_fd(const struct nexthops *nexthops)
{
	return mnl_socket_get_fd(nexthops->monitor);
}

/* A bridge reports its forwarding table and its ports on the same groups. */
static bool change_matters(const struct nlmsghdr *message)
{
	const struct ifinfomsg *ifi;
	const struct ndmsg *ndm;

	switch (message->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		ndm = mnl_nlmsg_get_payload(message);
		return mnl_nlmsg_get_payload_len(message) >= sizeof(*ndm) &&
		       (ndm->ndm_family == AF_INET || ndm->ndm_family == AF_INET6);
	case RTM_NEWLINK:
	case RTM_DELLINK:
		ifi = mnl_nlmsg_get_payload(message);
		return mnl_nlmsg_get_payload_len(message) >= sizeof(*ifi) &&
		       ifi->ifi_family == AF_UNSPEC;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_NEWRULE:
	case RTM_DELRULE:
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		return true;
	default:
		return false;
	}
}

int nexthops_drain(struct nexthops *nexthops)
{
	const struct nlmsghdr *message;
	int changed = 0;
	ssize_t received;
	int left;

	/* Bounded: what arrives faster than it is read leaves the descriptor readable. */
	for (int i = 0; i < CHANGES_AT_ONCE_MAX; i++) {
		received = mnl_socket_recvfrom(nexthops->monitor, nexthops->change,
					       sizeof(nexthops->change));
		if (received < 0) {
			if (errno == EAGAIN)
				break;
			/* ENOBUFS: queue overrun; ENOSPC: longer than the buffer. */
			if (errno != EINTR && errno != ENOBUFS && errno != ENOSPC)
				return -errno;
			changed |= errno != EINTR;
			continue;
		}
		left = (int)received;
		for (message = (const struct nlmsghdr *)nexthops->change;
		     mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left))
			changed |= change_matters(message);
	}
	return changed;
}

static bool neighbour_is_resolved(const struct neighbour *neighbour)
{
	return (neighbour->state & NUD_RESOLVED) && neighbour->has_mac;
}

static bool neighbour_is_kept(const struct neighbour *neighbour)
{
	if (neighbour->state & NUD_STATIC)
		return true;
	return (neighbour->ext_flags & NTF_EXT_MANAGED) &&
	       (neighbour->state & (NUD_RESOLVED | NUD_INCOMPLETE));
}

/* True if nobody but the kernel's own resolution has set the entry up. */
static bool neighbour_is_free(const struct neighbour *neighbour)
{
	return !(neighbour->ext_flags & NTF_EXT_MANAGED) && !(neighbour->flags & NTF_EXT_LEARNED) &&
	       (neighbour->protocol == RTPROT_UNSPEC || neighbour->protocol == RTPROT_KERNEL);
}

/* Ask for the entry @current, which becomes managed if the kernel can do that. */
static int neighbour_manage(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
			    uint16_t nlm_flags, const struct neighbour *current)
{
	struct neighbour wanted = {
		.flags = current->flags & NTF_EXT_LEARNED,
		.ext_flags = current->ext_flags | NTF_EXT_MANAGED,
	};
	int err;

	if (neighbour_is_free(current)) {
		wanted.flags |= NTF_EXT_LEARNED;
		wanted.protocol = NEIGHBOUR_PROTOCOL;
	}
	err = neighbour_use(rtnl, ifindex, via, nlm_flags, &wanted);
	if (err != -EINVAL && err != -EOPNOTSUPP)
		return err;
	wanted.ext_flags = current->ext_flags;
	return neighbour_use(rtnl, ifindex, via, nlm_flags, &wanted);
}

/*
 * Read the neighbour and see to it that the kernel keeps it. Another process, the
 * kernel's garbage collection or a link that goes down may add or remove the entry in
 * between; if that happens again and again it counts as unresolved.
 */
static int neighbour_keep(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
			  struct neighbour *neighbour)
{
	static const struct neighbour none;
	int err;

	for (int i = 0; i < KEEP_ATTEMPTS_MAX; i++) {
		err = neighbour_read(rtnl, ifindex, via, neighbour);
		if (err == -ENOENT) {
			err = neighbour_manage(rtnl, ifindex, via, NLM_F_CREATE | NLM_F_EXCL,
					       &none);
			if (err && err != -EEXIST)
				return err;
			/*
			 * Read what became of it: an interface without ARP has the
			 * answer already, and no notification will follow.
			 */
			continue;
		}
		if (err || neighbour_is_kept(neighbour))
			return err;
		err = neighbour_manage(rtnl, ifindex, via, 0, neighbour);
		if (err != -ENOENT)
			return err;
	}
	*neighbour = none;
	return 0;
}

/* The state as far as the route alone tells; NEXTHOP_RESOLVING if it is usable. */
static enum nexthop_state route_state(const struct route *route)
{
	switch (route->type) {
	case RTN_LOCAL:
	case RTN_ANYCAST: /* this host answers to it */
		return NEXTHOP_LOCAL;
	case RTN_UNICAST:
		/* A packet that goes out without the route's own encapsulation is lost. */
		return route->encapsulated ? NEXTHOP_NOT_ETHERNET : NEXTHOP_RESOLVING;
	default: /* discarded; broadcast and multicast name no single backend */
		return NEXTHOP_NO_ROUTE;
	}
}

/* The interface below all that put VLAN tags on, from @lower on. */
static int lowest(struct rtnl *rtnl, uint32_t *lower)
{
	struct link link = {};
	int err;

	for (int tags = 1; tags < VLAN_TAGS_MAX; tags++) {
		err = link_read(rtnl, *lower, &link);
		if (err)
			return err;
		if (!link.lower)
			return 0;
		*lower = link.lower;
	}
	return 0;
}

/* No IP packet is longer than 65,535 bytes, whatever the interface could do. */
static uint16_t smaller_mtu(uint32_t of_route, uint32_t of_link)
{
	uint32_t mtu = of_route && (!of_link || of_route < of_link) ? of_route : of_link;

	return mtu < UINT16_MAX ? (uint16_t)mtu : UINT16_MAX;
}

/* Fill @found from the interface and the neighbour. */
static int nexthop_look_up(struct rtnl *rtnl, uint32_t route_mtu, struct nexthop_info *found)
{
	struct neighbour neighbour;
	struct link link;
	int err;

	err = link_read(rtnl, found->ifindex, &link);
	if (err)
		return err;
	if (link.type != ARPHRD_ETHER) {
		found->state = NEXTHOP_NOT_ETHERNET;
		return 0;
	}
	memcpy(found->source, link.mac, sizeof(found->source));
	found->mtu = smaller_mtu(route_mtu, link.mtu);
	found->lower = link.lower;
	if (found->lower)
		err = lowest(rtnl, &found->lower);
	if (err)
		return err;
	err = neighbour_keep(rtnl, found->ifindex, &found->via, &neighbour);
	if (err)
		return err;
	if (neighbour_is_resolved(&neighbour)) {
		found->state = NEXTHOP_RESOLVED;
		memcpy(found->destination, neighbour.mac, sizeof(found->destination));
	}
	return 0;
}

int nexthops_resolve(struct nexthops *nexthops, const struct config_address *address,
		     struct nexthop_info *info)
{
	struct nexthop_info found;
	struct route route;
	int err;

	err = route_read(nexthops->rtnl, address, &route);
	if (err)
		return err;
	found = (struct nexthop_info){
		.state = route_state(&route),
		.ifindex = route.ifindex,
		.via = route.via,
	};
	if (found.state == NEXTHOP_RESOLVING) {
		err = nexthop_look_up(nexthops->rtnl, route.mtu, &found);
		/* The interface went after the route was read, and that is a change to come. */
		if (err == -ENODEV) {
			found = (struct nexthop_info){.state = NEXTHOP_NO_ROUTE};
			err = 0;
		}
		if (err)
			return err;
	}
	*info = found;
	return 0;
}

int nexthops_forget(struct nexthops *nexthops, uint32_t ifindex, const struct config_address *via)
{
	struct neighbour neighbour, wanted;
	int err;

	err = neighbour_read(nexthops->rtnl, ifindex, via, &neighbour);
	if (err == -ENOENT || err == -ENODEV)
		return 0;
	if (err)
		return err;
	if (neighbour.protocol != NEIGHBOUR_PROTOCOL || (neighbour.state & NUD_PERMANENT))
		return 0;
	/*
	 * Back to an ordinary entry, which ages when nobody uses it; removing it would
	 * cost the host's own connections a resolution. The mark can't be set to 0.
	 */
	wanted = (struct neighbour){
		.ext_flags = neighbour.ext_flags & ~(uint32_t)NTF_EXT_MANAGED,
		.protocol = RTPROT_KERNEL,
	};
	err = neighbour_use(nexthops->rtnl, ifindex, via, 0, &wanted);
	return err == -ENOENT || err == -ENODEV ? 0 : err;
}

const char *nexthop_state_text(enum nexthop_state state)
{
	static const char *const texts[] = {
		[NEXTHOP_RESOLVED] = "up",
		[NEXTHOP_RESOLVING] = "resolving",
		[NEXTHOP_NO_ROUTE] = "no-route",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_NOT_ETHERNET] = "not-ethernet",
	};

	return texts[state];
}
