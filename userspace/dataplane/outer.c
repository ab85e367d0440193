/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>

#include <bpf/bpf.h>

#include "bpf/outer.h"
#include "dataplane/state.h"
#include "ringlb.skel.h"

int dataplane_get_encap(struct dataplane *dp, struct encap *encap)
{
	uint32_t key = 0;

	return bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.encap), &key, encap) ? -errno : 0;
}

struct dataplane_outer dataplane_outer(const struct encap *encap, const struct flow *flow,
				       uint8_t family)
{
	uint64_t hash = outer_hash(encap, flow);
	struct dataplane_outer outer = {.port = htons(outer_port(hash))};

	if (family == ENDPOINT_IPV6)
		outer_source_ipv6(encap, hash, outer.source);
	else
		outer.source[0] = outer_source_ipv4(encap, hash);
	return outer;
}
