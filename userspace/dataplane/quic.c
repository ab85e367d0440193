/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

int dataplane_match_quic(struct dataplane *dp, const struct dataplane_match *match,
			 const uint8_t *cid, size_t len, uint32_t *backend)
{
	struct quic_id key = {.pool = (uint16_t)match->pool};
	struct quic_backend named;
	const struct backend *live;

	if (!len)
		return QUIC_UNROUTABLE;
	key.config = QUIC_CONFIG(cid[0]);
	key.len = QUIC_LEN(match->quic, key.config);
	if (!key.len || key.len >= len)
		return QUIC_UNROUTABLE;
	memcpy(key.octets, cid + 1, key.len);
	if (bpf_map_lookup_elem(bpf_map__fd(dp->skeleton->maps.quic_ids), &key, &named))
		return errno == ENOENT ? QUIC_UNKNOWN : -errno;
	live = dataplane_get_backend(dp, named.backend);
	if (!live || !live->forward || !(live->takes & BACKEND_TAKES_OLD) ||
	    live->incarnation != named.incarnation)
		return QUIC_GONE;
	*backend = named.backend;
	return QUIC_ID;
}
