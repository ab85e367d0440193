/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What becomes of one kind of a flow's packets: the entries of `cases` in the answer to `why`. */
#ifndef RINGLB_CONTROL_WHY_H
#define RINGLB_CONTROL_WHY_H

#include "control/api_lookup.h"

/**
 * why_case() - packets to a VIP
 * @memory: what is remembered of the flow
 * @packet: "any", "syn" or "later"
 * @opens: they open a flow
 */
json_t *why_case(struct api *api, const struct api_lookup *lookup,
		 const struct dataplane_memory *memory, const char *packet, bool opens);

/** why_not_vip(), why_reply() - packets that are for no VIP, and those of nat backends */
json_t *why_not_vip(struct api *api, const struct api_lookup *lookup);
json_t *why_reply(struct api *api);

#endif
