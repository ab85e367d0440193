/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who listens on this host, as /proc/net tells. */
#ifndef RINGLB_BACKEND_SOCKETS_H
#define RINGLB_BACKEND_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/backend_abi.h"

/** sockets_serve() - does a TCP or UDP socket take what is sent to an address of @vip? */
bool sockets_serve(const struct backend_prefix *vip);

/** sockets_have_udp() - is a UDP socket bound to @port, the kernel's own included? */
bool sockets_have_udp(uint16_t port);

#endif
