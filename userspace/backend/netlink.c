/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "backend/address.h"
#include "backend/netlink_request.h"

#define REPLY_BYTES_MAX 65536
#define REPLY_TIMEOUT_S 1
#define ATTEMPTS_MAX	5 /* of a dump during which something changed */

struct netlink {
	struct mnl_socket *socket;
	uint32_t port;
	uint32_t sequence;
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES_MAX];
};

int netlink_open(struct netlink **out)
{
	const struct timeval timeout = {.tv_sec = REPLY_TIMEOUT_S};
	struct netlink *netlink = calloc(1, sizeof(*netlink));
	int err;

	if (!netlink)
		return -ENOMEM;
	netlink->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!netlink->socket || mnl_socket_bind(netlink->socket, 0, MNL_SOCKET_AUTOPID) ||
	    setsockopt(mnl_socket_get_fd(netlink->socket), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout))) {
		err = -errno;
		netlink_close(netlink);
		return err;
	}
	netlink->port = mnl_socket_get_portid(netlink->socket);
	*out = netlink;
	return 0;
}

void netlink_close(struct netlink *netlink)
{
	if (!netlink)
		return;
	if (netlink->socket)
		mnl_socket_close(netlink->socket);
	free(netlink);
}

struct nlmsghdr *netlink_request(struct request *request, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(request->bytes);

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	return header;
}

int netlink_call(struct netlink *netlink, struct nlmsghdr *request, mnl_cb_t each, void *context)
{
	ssize_t received;
	int result;

	request->nlmsg_seq = ++netlink->sequence;
	if (mnl_socket_sendto(netlink->socket, request, request->nlmsg_len) < 0)
		return -errno;
	do {
		received = mnl_socket_recvfrom(netlink->socket, netlink->reply,
					       sizeof(netlink->reply));
		if (received < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		result = mnl_cb_run(netlink->reply, (size_t)received, request->nlmsg_seq,
				    netlink->port, each, context);
	} while (result > MNL_CB_STOP);
	return result < 0 ? -errno : 0;
}

int netlink_dump(struct netlink *netlink, struct nlmsghdr *request, mnl_cb_t each, void *context)
{
	int err = -EINTR;

	for (int i = 0; i < ATTEMPTS_MAX && err == -EINTR; i++)
		err = netlink_call(netlink, request, each, context);
	return err;
}

struct links {
	void (*each)(void *context, const struct netlink_link *link);
	void *context;
};

static int link_kind(const struct nlattr *attr, void *data)
{
	struct netlink_link *link = data;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
		snprintf(link->kind, sizeof(link->kind), "%.*s",
			 (int)mnl_attr_get_payload_len(attr), mnl_attr_get_str(attr));
	return MNL_CB_OK;
}

static int link_attr(const struct nlattr *attr, void *data)
{
	struct netlink_link *link = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		snprintf(link->name, sizeof(link->name), "%.*s",
			 (int)mnl_attr_get_payload_len(attr), mnl_attr_get_str(attr));
		break;
	case IFLA_MTU:
		link->mtu = mnl_attr_get_u32(attr);
		break;
	case IFLA_LINKINFO:
		mnl_attr_parse_nested(attr, link_kind, link);
		break;
	}
	return MNL_CB_OK;
}

static int link_message(const struct nlmsghdr *message, void *data)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(message);
	const struct links *links = data;
	struct netlink_link link = {
		.ifindex = (uint32_t)ifi->ifi_index,
		.flags = ifi->ifi_flags,
		.type = ifi->ifi_type,
	};

	if (mnl_attr_parse(message, sizeof(*ifi), link_attr, &link) < 0)
		return MNL_CB_ERROR;
	links->each(links->context, &link);
	return MNL_CB_OK;
}

int netlink_links(struct netlink *netlink,
		  void (*each)(void *context, const struct netlink_link *link), void *context)
{
	struct links links = {each, context};
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, RTM_GETLINK, NLM_F_DUMP);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(header, sizeof(*ifi));

	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_u32(header, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return netlink_dump(netlink, header, link_message, &links);
}

struct addresses {
	void (*each)(void *context, const struct netlink_address *address);
	void *context;
	const void *bytes;
};

/* Where the two differ, IFA_ADDRESS is the peer's; IPv6 has IFA_LOCAL only then. */
static int address_attr(const struct nlattr *attr, void *data)
{
	struct addresses *addresses = data;
	uint16_t type = mnl_attr_get_type(attr);

	if (type == IFA_LOCAL || (type == IFA_ADDRESS && !addresses->bytes))
		addresses->bytes = mnl_attr_get_payload(attr);
	return MNL_CB_OK;
}

static int address_message(const struct nlmsghdr *message, void *data)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(message);
	struct addresses *addresses = data;
	struct netlink_address address = {.ifindex = ifa->ifa_index, .scope = ifa->ifa_scope};

	addresses->bytes = NULL;
	if (mnl_attr_parse(message, sizeof(*ifa), address_attr, addresses) < 0)
		return MNL_CB_ERROR;
	if (!addresses->bytes || (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return MNL_CB_OK;
	address.address = address_from_bytes(ifa->ifa_family, addresses->bytes);
	addresses->each(addresses->context, &address);
	return MNL_CB_OK;
}

int netlink_addresses(struct netlink *netlink,
		      void (*each)(void *context, const struct netlink_address *address),
		      void *context)
{
	struct addresses addresses = {.each = each, .context = context};
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, RTM_GETADDR, NLM_F_DUMP);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(header, sizeof(*ifa));

	ifa->ifa_family = AF_UNSPEC;
	return netlink_dump(netlink, header, address_message, &addresses);
}

struct qdiscs {
	int ifindex;
	bool clsact;
};

static int qdisc_attr(const struct nlattr *attr, void *data)
{
	struct qdiscs *qdiscs = data;

	if (mnl_attr_get_type(attr) == TCA_KIND && !strcmp(mnl_attr_get_str(attr), "clsact"))
		qdiscs->clsact = true;
	return MNL_CB_OK;
}

/* The kernel shows those of all interfaces, whichever was asked for. */
static int qdisc_message(const struct nlmsghdr *message, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(message);
	const struct qdiscs *qdiscs = data;

	if (tcm->tcm_ifindex != qdiscs->ifindex)
		return MNL_CB_OK;
	return mnl_attr_parse(message, sizeof(*tcm), qdisc_attr, data);
}

int netlink_has_clsact(struct netlink *netlink, uint32_t ifindex)
{
	struct qdiscs qdiscs = {.ifindex = (int)ifindex};
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, RTM_GETQDISC, NLM_F_DUMP);
	struct tcmsg *tcm = mnl_nlmsg_put_extra_header(header, sizeof(*tcm));
	int err;

	tcm->tcm_ifindex = (int)ifindex;
	err = netlink_dump(netlink, header, qdisc_message, &qdiscs);
	return err ? err : qdiscs.clsact;
}

static struct nlmsghdr *clsact_request(struct request *request, uint16_t type, uint16_t flags,
				       uint32_t ifindex)
{
	struct nlmsghdr *header = netlink_request(request, type, NLM_F_ACK | flags);
	struct tcmsg *tcm = mnl_nlmsg_put_extra_header(header, sizeof(*tcm));

	tcm->tcm_ifindex = (int)ifindex;
	tcm->tcm_parent = TC_H_CLSACT;
	tcm->tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	mnl_attr_put_strz(header, TCA_KIND, "clsact");
	return header;
}

int netlink_add_clsact(struct netlink *netlink, uint32_t ifindex)
{
	struct request request;

	return netlink_call(
		netlink, clsact_request(&request, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, ifindex),
		NULL, NULL);
}

int netlink_remove_clsact(struct netlink *netlink, uint32_t ifindex)
{
	struct request request;

	return netlink_call(netlink, clsact_request(&request, RTM_DELQDISC, 0, ifindex), NULL,
			    NULL);
}

/* A classifier shows itself once without a handle, and once for each filter. */
static int filter_message(const struct nlmsghdr *message, void *data)
{
	const struct tcmsg *tcm = mnl_nlmsg_get_payload(message);

	if (tcm->tcm_handle)
		(*(int *)data)++;
	return MNL_CB_OK;
}

int netlink_count_filters(struct netlink *netlink, uint32_t ifindex)
{
	const uint32_t sides[] = {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS};
	int count = 0;

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		struct request request;
		struct nlmsghdr *header = netlink_request(&request, RTM_GETTFILTER, NLM_F_DUMP);
		struct tcmsg *tcm = mnl_nlmsg_put_extra_header(header, sizeof(*tcm));
		int before = count, err = -EINTR;

		tcm->tcm_ifindex = (int)ifindex;
		tcm->tcm_parent = TC_H_MAKE(TC_H_CLSACT, sides[i]);
		for (int attempt = 0; attempt < ATTEMPTS_MAX && err == -EINTR; attempt++) {
			count = before;
			err = netlink_call(netlink, header, filter_message, &count);
		}
		if (err)
			return err;
	}
	return count;
}

static int route_attr(const struct nlattr *attr, void *data)
{
	struct netlink_route *route = data;

	if (mnl_attr_get_type(attr) == RTA_OIF)
		route->ifindex = mnl_attr_get_u32(attr);
	return MNL_CB_OK;
}

/* There is one answer and nothing behind it. */
static int route_message(const struct nlmsghdr *message, void *data)
{
	if (mnl_attr_parse(message, sizeof(struct rtmsg), route_attr, data) < 0)
		return MNL_CB_ERROR;
	return MNL_CB_STOP;
}

int netlink_route(struct netlink *netlink, const struct backend_address *from,
		  const struct backend_address *to, struct netlink_route *route)
{
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, RTM_GETROUTE, 0);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(header, sizeof(*rtm));
	int err;

	rtm->rtm_family = (unsigned char)address_family(to);
	rtm->rtm_dst_len = address_bits(to);
	rtm->rtm_src_len = address_bits(from);
	mnl_attr_put(header, RTA_DST, address_bits(to) / 8, to->address);
	mnl_attr_put(header, RTA_SRC, address_bits(from) / 8, from->address);
	*route = (struct netlink_route){};
	err = netlink_call(netlink, header, route_message, route);
	/* No route, or one that discards: blackhole is EINVAL, prohibit EACCES. */
	if (err == -ENETUNREACH || err == -EHOSTUNREACH || err == -EINVAL || err == -EACCES)
		return 0;
	return err;
}
