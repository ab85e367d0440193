/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/nexthop_netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define REQUEST_BYTES_MAX   256
#define REPLY_BYTES_MAX	    32768 /* an RTM_NEWLINK without VFs and statistics has 1 to 3 KB */
#define REPLY_TIMEOUT_S	    1
#define REPLIES_SKIPPED_MAX 16 /* late answers to requests that were given up */

struct rtnl {
	struct mnl_socket *socket;
	uint32_t sequence;
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES_MAX];
};

struct request {
	_Alignas(struct nlmsghdr) char bytes[REQUEST_BYTES_MAX];
};

int rtnl_open(struct rtnl **out)
{
	const struct timeval timeout = {.tv_sec = REPLY_TIMEOUT_S};
	struct rtnl *rtnl;
	int err;

	rtnl = calloc(1, sizeof(*rtnl));
	if (!rtnl)
		return -ENOMEM;
	rtnl->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!rtnl->socket || mnl_socket_bind(rtnl->socket, 0, MNL_SOCKET_AUTOPID) ||
	    setsockopt(mnl_socket_get_fd(rtnl->socket), SOL_SOCKET, SO_RCVTIMEO, &timeout,
		       sizeof(timeout))) {
		err = -errno;
		rtnl_close(rtnl);
		return err;
	}
	*out = rtnl;
	return 0;
}

void rtnl_close(struct rtnl *rtnl)
{
	if (!rtnl)
		return;
	if (rtnl->socket)
		mnl_socket_close(rtnl->socket);
	free(rtnl);
}

static size_t family_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0;
}

/* What the kernel said to the request: 0 with *@reply set (NULL for a plain ack), or -errno. */
static int reply_read(const struct nlmsghdr *message, uint16_t type, const struct nlmsghdr **reply)
{
	const struct nlmsgerr *error;

	if (message->nlmsg_type == NLMSG_ERROR) {
		if (mnl_nlmsg_get_payload_len(message) < sizeof(error->error))
			return -EPROTO;
		error = mnl_nlmsg_get_payload(message);
		if (error->error == 0 && type != NLMSG_ERROR)
			return -EPROTO;
		*reply = NULL;
		return error->error > 0 ? -EPROTO : error->error;
	}
	if (message->nlmsg_type != type)
		return -EPROTO;
	*reply = message;
	return 0;
}

/*
 * Send @request and find its answer, which stays in rtnl->reply until the next call.
 * @type: message type of the answer, NLMSG_ERROR if only an acknowledgement is due.
 */
static int rtnl_call(struct rtnl *rtnl, struct nlmsghdr *request, uint16_t type,
		     const struct nlmsghdr **reply)
{
	const struct nlmsghdr *message;
	ssize_t received;
	int left;

	request->nlmsg_seq = ++rtnl->sequence;
	if (mnl_socket_sendto(rtnl->socket, request, request->nlmsg_len) < 0)
		return -errno;
	for (int skipped = 0; skipped < REPLIES_SKIPPED_MAX; skipped++) {
		received = mnl_socket_recvfrom(rtnl->socket, rtnl->reply, sizeof(rtnl->reply));
		if (received < 0 && errno == EINTR)
			continue;
		if (received < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		left = (int)received;
		for (message = (const struct nlmsghdr *)rtnl->reply; mnl_nlmsg_ok(message, left);
		     message = mnl_nlmsg_next(message, &left))
			if (message->nlmsg_seq == request->nlmsg_seq)
				return reply_read(message, type, reply);
	}
	return -ETIMEDOUT;
}

static struct nlmsghdr *request_init(struct request *request, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(request->bytes);

	header->nlmsg_type = type;
	header->nlmsg_flags = NLM_F_REQUEST | flags;
	return header;
}

static int attr_read(const struct nlattr *attr, void *out, size_t len_bytes)
{
	if (mnl_attr_get_payload_len(attr) < len_bytes)
		return -EPROTO;
	memcpy(out, mnl_attr_get_payload(attr), len_bytes);
	return 0;
}

static int attr_read_address(const struct nlattr *attr, uint8_t family,
			     struct config_address *address)
{
	size_t len_bytes = family_bytes(family);

	if (!len_bytes)
		return -EPROTO;
	memset(address, 0, sizeof(*address));
	address->family = family;
	return attr_read(attr, address->bytes, len_bytes);
}

/* An IPv4 route through an IPv6 gateway (RFC 5549) names the gateway's family too. */
static int attr_read_via(const struct nlattr *attr, struct config_address *address)
{
	const struct rtvia *via = mnl_attr_get_payload(attr);
	size_t len_bytes;

	if (mnl_attr_get_payload_len(attr) < sizeof(*via))
		return -EPROTO;
	len_bytes = family_bytes((uint8_t)via->rtvia_family);
	if (!len_bytes || mnl_attr_get_payload_len(attr) < sizeof(*via) + len_bytes)
		return -EPROTO;
	memset(address, 0, sizeof(*address));
	address->family = (uint8_t)via->rtvia_family;
	memcpy(address->bytes, via->rtvia_addr, len_bytes);
	return 0;
}

struct route_parse {
	uint8_t family;
	struct route *route;
};

static int metric_attr(const struct nlattr *attr, void *data)
{
	struct route *route = data;

	if (mnl_attr_get_type(attr) == RTAX_MTU && attr_read(attr, &route->mtu, sizeof(route->mtu)))
		return MNL_CB_ERROR;
	return MNL_CB_OK;
}

static int route_attr(const struct nlattr *attr, void *data)
{
	const struct route_parse *parse = data;
	struct route *route = parse->route;
	int err = 0;

	switch (mnl_attr_get_type(attr)) {
	case RTA_OIF:
		err = attr_read(attr, &route->ifindex, sizeof(route->ifindex));
		break;
	case RTA_GATEWAY:
		err = attr_read_address(attr, parse->family, &route->via);
		break;
	case RTA_VIA:
		err = attr_read_via(attr, &route->via);
		break;
	case RTA_ENCAP_TYPE:
		route->encapsulated = true;
		break;
	case RTA_METRICS:
		return mnl_attr_parse_nested(attr, metric_attr, route);
	}
	return err ? MNL_CB_ERROR : MNL_CB_OK;
}

static int route_parse(const struct nlmsghdr *reply, const struct config_address *address,
		       struct route *route)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(reply);
	struct route found;
	struct route_parse parse = {.route = &found};

	if (mnl_nlmsg_get_payload_len(reply) < sizeof(*rtm))
		return -EPROTO;
	parse.family = rtm->rtm_family;
	found = (struct route){.type = rtm->rtm_type, .via = *address};
	if (mnl_attr_parse(reply, sizeof(*rtm), route_attr, &parse) < 0)
		return -EPROTO;
	*route = found;
	return 0;
}

/*
 * The kernel answers a look-up that ends in no route or in a discarding one with an
 * error: blackhole is EINVAL, prohibit EACCES. The request is well-formed, so EINVAL
 * has no other meaning here.
 */
static bool errno_means_no_way(int err)
{
	return err == -ENETUNREACH || err == -EHOSTUNREACH || err == -EACCES || err == -EINVAL;
}

int route_read(struct rtnl *rtnl, const struct config_address *address, struct route *route)
{
	size_t len_bytes = family_bytes(address->family);
	const struct nlmsghdr *reply;
	struct request request;
	struct nlmsghdr *header;
	struct rtmsg *rtm;
	int err;

	if (!len_bytes)
		return -EAFNOSUPPORT;
	header = request_init(&request, RTM_GETROUTE, 0);
	rtm = mnl_nlmsg_put_extra_header(header, sizeof(*rtm));
	rtm->rtm_family = address->family;
	rtm->rtm_dst_len = (unsigned char)(len_bytes * 8);
	mnl_attr_put(header, RTA_DST, len_bytes, address->bytes);
	err = rtnl_call(rtnl, header, RTM_NEWROUTE, &reply);
	if (errno_means_no_way(err)) {
		*route = (struct route){.type = RTN_UNREACHABLE};
		return 0;
	}
	return err ? err : route_parse(reply, address, route);
}

struct link_parse {
	bool has_mac;
	uint8_t mac[6];
	bool is_vlan;
	bool foreign; /* lower is in another network namespace */
	uint32_t mtu;
	uint32_t lower;
};

static int link_info_attr(const struct nlattr *attr, void *data)
{
	struct link_parse *parse = data;

	if (mnl_attr_get_type(attr) == IFLA_INFO_KIND && mnl_attr_get_payload_len(attr) > 4)
		parse->is_vlan = !memcmp(mnl_attr_get_payload(attr), "vlan", 5);
	return MNL_CB_OK;
}

static int link_attr(const struct nlattr *attr, void *data)
{
	struct link_parse *parse = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_ADDRESS:
		parse->has_mac = !attr_read(attr, parse->mac, sizeof(parse->mac));
		break;
	case IFLA_MTU:
		if (attr_read(attr, &parse->mtu, sizeof(parse->mtu)))
			parse->mtu = 0;
		break;
	case IFLA_LINK:
		if (attr_read(attr, &parse->lower, sizeof(parse->lower)))
			parse->lower = 0;
		break;
	case IFLA_LINK_NETNSID:
		parse->foreign = true;
		break;
	case IFLA_LINKINFO:
		return mnl_attr_parse_nested(attr, link_info_attr, parse);
	}
	return MNL_CB_OK;
}

static int link_parse(const struct nlmsghdr *reply, struct link *link)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(reply);
	struct link_parse parse = {.has_mac = false};

	if (mnl_nlmsg_get_payload_len(reply) < sizeof(*ifi) ||
	    mnl_attr_parse(reply, sizeof(*ifi), link_attr, &parse) < 0)
		return -EPROTO;
	if (ifi->ifi_type == ARPHRD_ETHER && !parse.has_mac)
		return -EPROTO;
	link->type = ifi->ifi_type;
	memcpy(link->mac, parse.mac, sizeof(link->mac));
	link->mtu = parse.mtu;
	link->lower = parse.is_vlan && !parse.foreign ? parse.lower : 0;
	return 0;
}

int link_read(struct rtnl *rtnl, uint32_t ifindex, struct link *link)
{
	const struct nlmsghdr *reply;
	struct request request;
	struct nlmsghdr *header;
	struct ifinfomsg *ifi;
	int err;

	header = request_init(&request, RTM_GETLINK, 0);
	ifi = mnl_nlmsg_put_extra_header(header, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	mnl_attr_put_u32(header, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	err = rtnl_call(rtnl, header, RTM_NEWLINK, &reply);
	return err ? err : link_parse(reply, link);
}

static int neighbour_attr(const struct nlattr *attr, void *data)
{
	struct neighbour *neighbour = data;
	int err = 0;

	switch (mnl_attr_get_type(attr)) {
	case NDA_LLADDR:
		err = attr_read(attr, neighbour->mac, sizeof(neighbour->mac));
		neighbour->has_mac = !err;
		break;
	case NDA_PROTOCOL:
		err = attr_read(attr, &neighbour->protocol, sizeof(neighbour->protocol));
		break;
	case NDA_FLAGS_EXT:
		err = attr_read(attr, &neighbour->ext_flags, sizeof(neighbour->ext_flags));
		break;
	}
	return err ? MNL_CB_ERROR : MNL_CB_OK;
}

static int neighbour_parse(const struct nlmsghdr *reply, struct neighbour *neighbour)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(reply);
	struct neighbour found;

	if (mnl_nlmsg_get_payload_len(reply) < sizeof(*ndm))
		return -EPROTO;
	found = (struct neighbour){.state = ndm->ndm_state, .flags = ndm->ndm_flags};
	if (mnl_attr_parse(reply, sizeof(*ndm), neighbour_attr, &found) < 0)
		return -EPROTO;
	*neighbour = found;
	return 0;
}

static struct nlmsghdr *neighbour_request(struct request *request, uint16_t type, uint16_t flags,
					  uint32_t ifindex, const struct config_address *via)
{
	struct nlmsghdr *header = request_init(request, type, flags);
	struct ndmsg *ndm = mnl_nlmsg_put_extra_header(header, sizeof(*ndm));

	ndm->ndm_family = via->family;
	ndm->ndm_ifindex = (int)ifindex;
	mnl_attr_put(header, NDA_DST, family_bytes(via->family), via->bytes);
	return header;
}

int neighbour_read(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
		   struct neighbour *neighbour)
{
	const struct nlmsghdr *reply;
	struct request request;
	struct nlmsghdr *header;
	int err;

	if (!family_bytes(via->family))
		return -EAFNOSUPPORT;
	header = neighbour_request(&request, RTM_GETNEIGH, 0, ifindex, via);
	err = rtnl_call(rtnl, header, RTM_NEWNEIGH, &reply);
	return err ? err : neighbour_parse(reply, neighbour);
}

int neighbour_use(struct rtnl *rtnl, uint32_t ifindex, const struct config_address *via,
		  uint16_t nlm_flags, const struct neighbour *wanted)
{
	const struct nlmsghdr *reply;
	struct request request;
	struct nlmsghdr *header;
	struct ndmsg *ndm;

	if (!family_bytes(via->family))
		return -EAFNOSUPPORT;
	header = neighbour_request(&request, RTM_NEWNEIGH, NLM_F_ACK | nlm_flags, ifindex, via);
	ndm = mnl_nlmsg_get_payload(header);
	ndm->ndm_flags = NTF_USE | wanted->flags;
	if (wanted->ext_flags)
		mnl_attr_put_u32(header, NDA_FLAGS_EXT, wanted->ext_flags);
	if (wanted->protocol)
		mnl_attr_put_u8(header, NDA_PROTOCOL, wanted->protocol);
	return rtnl_call(rtnl, header, NLMSG_ERROR, &reply);
}
