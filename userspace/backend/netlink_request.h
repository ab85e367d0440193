/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests and their answers. Used by netlink.c and netlink_vip.c only. */
#ifndef RINGLB_BACKEND_NETLINK_REQUEST_H
#define RINGLB_BACKEND_NETLINK_REQUEST_H

#include <libmnl/libmnl.h>

#include "backend/netlink.h"

#define REQUEST_BYTES_MAX 256

struct request {
	_Alignas(struct nlmsghdr) char bytes[REQUEST_BYTES_MAX];
};

/** netlink_request() - begin one. Return: its header, in @request */
struct nlmsghdr *netlink_request(struct request *request, uint16_t type, uint16_t flags);

/**
 * netlink_call() - send a request and show @each its answers, up to the acknowledgement
 *
 * Return: 0, -errno
 */
int netlink_call(struct netlink *netlink, struct nlmsghdr *request, mnl_cb_t each, void *context);

/**
 * netlink_dump() - the same up to the end of a dump
 *
 * What one shows before it is cut short is shown again: @each must not mind.
 *
 * Return: 0, -errno
 */
int netlink_dump(struct netlink *netlink, struct nlmsghdr *request, mnl_cb_t each, void *context);

#endif
