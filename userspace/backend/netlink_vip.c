/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* VIPs on an interface: addresses, and prefixes that routes make local there. */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "backend/address.h"
#include "backend/netlink_request.h"

static struct nlmsghdr *address_request(struct request *request, uint16_t type, uint16_t flags,
					uint32_t ifindex, const struct backend_address *address)
{
	struct nlmsghdr *header = netlink_request(request, type, NLM_F_ACK | flags);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(header, sizeof(*ifa));
	size_t len_bytes = address_bits(address) / 8;

	ifa->ifa_family = (uint8_t)address_family(address);
	ifa->ifa_prefixlen = address_bits(address);
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	ifa->ifa_index = ifindex;
	mnl_attr_put(header, IFA_LOCAL, len_bytes, address->address);
	mnl_attr_put(header, IFA_ADDRESS, len_bytes, address->address);
	return header;
}

static int add_address(struct netlink *netlink, uint32_t ifindex,
		       const struct backend_address *address)
{
	const struct ifa_cacheinfo deprecated = {.ifa_valid = UINT32_MAX};
	struct request request;
	struct nlmsghdr *header =
		address_request(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, address);
	struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(header);

	if (address->family == 6) {
		ifa->ifa_flags = IFA_F_NODAD;
		mnl_attr_put(header, IFA_CACHEINFO, sizeof(deprecated), &deprecated);
	}
	return netlink_call(netlink, header, NULL, NULL);
}

/* As `ip route add local PREFIX dev` has it. */
static int change_local(struct netlink *netlink, uint16_t type, uint16_t flags, uint32_t ifindex,
			const struct backend_prefix *prefix)
{
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, type, NLM_F_ACK | flags);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(header, sizeof(*rtm));

	rtm->rtm_family = (unsigned char)address_family(&prefix->address);
	rtm->rtm_dst_len = prefix_bits(prefix);
	rtm->rtm_table = RT_TABLE_LOCAL;
	rtm->rtm_protocol = RTPROT_BOOT;
	rtm->rtm_scope = RT_SCOPE_HOST;
	rtm->rtm_type = RTN_LOCAL;
	mnl_attr_put(header, RTA_DST, address_bits(&prefix->address) / 8, prefix->address.address);
	mnl_attr_put_u32(header, RTA_OIF, ifindex);
	return netlink_call(netlink, header, NULL, NULL);
}

int netlink_add_vip(struct netlink *netlink, uint32_t ifindex, const struct backend_prefix *vip)
{
	if (prefix_is_address(vip))
		return add_address(netlink, ifindex, &vip->address);
	return change_local(netlink, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, ifindex, vip);
}

int netlink_remove_vip(struct netlink *netlink, uint32_t ifindex, const struct backend_prefix *vip)
{
	struct request request;
	int err;

	if (prefix_is_address(vip))
		return netlink_call(
			netlink, address_request(&request, RTM_DELADDR, 0, ifindex, &vip->address),
			NULL, NULL);
	err = change_local(netlink, RTM_DELROUTE, 0, ifindex, vip);
	return err == -ESRCH ? -EADDRNOTAVAIL : err;
}

struct locals {
	void (*each)(void *context, uint32_t ifindex, const struct backend_prefix *prefix);
	void *context;
};

struct local {
	const struct rtmsg *rtm;
	uint32_t ifindex;
	struct backend_address address;
};

static int local_attr(const struct nlattr *attr, void *data)
{
	struct local *local = data;

	if (mnl_attr_get_type(attr) == RTA_OIF)
		local->ifindex = mnl_attr_get_u32(attr);
	else if (mnl_attr_get_type(attr) == RTA_DST)
		local->address =
			address_from_bytes(local->rtm->rtm_family, mnl_attr_get_payload(attr));
	return MNL_CB_OK;
}

/* Addresses have such routes too, which are theirs. */
static int local_message(const struct nlmsghdr *message, void *data)
{
	struct local local = {.rtm = mnl_nlmsg_get_payload(message)};
	const struct locals *locals = data;
	struct backend_prefix prefix;

	if (local.rtm->rtm_type != RTN_LOCAL ||
	    (local.rtm->rtm_family != AF_INET && local.rtm->rtm_family != AF_INET6) ||
	    mnl_attr_parse(message, sizeof(*local.rtm), local_attr, &local) < 0)
		return MNL_CB_OK;
	prefix = prefix_of(&local.address, local.rtm->rtm_dst_len);
	if (local.address.family && !prefix_is_address(&prefix))
		locals->each(locals->context, local.ifindex, &prefix);
	return MNL_CB_OK;
}

int netlink_local_prefixes(struct netlink *netlink,
			   void (*each)(void *context, uint32_t ifindex,
					const struct backend_prefix *prefix),
			   void *context)
{
	struct locals locals = {each, context};
	struct request request;
	struct nlmsghdr *header = netlink_request(&request, RTM_GETROUTE, NLM_F_DUMP);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(header, sizeof(*rtm));

	rtm->rtm_family = AF_UNSPEC;
	return netlink_dump(netlink, header, local_message, &locals);
}
