/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/lookup_outer.h"

#include <arpa/inet.h>
#include <string.h>

#include "config/text.h"
#include "control/control.h"

json_t *lookup_outer(const struct encap *encap, const struct lookup_query *query,
		     const struct config_pool *pool, const struct config_backend *backend)
{
	const struct config_address *to = &backend->address;
	const struct flow flow = control_flow(query);
	struct config_address from = {.family = to->family};
	char source[TEXT_ADDRESS_LEN], destination[TEXT_ADDRESS_LEN];
	struct dataplane_outer outer;
	json_t *object;

	if (pool->forward != CONFIG_IPIP && pool->forward != CONFIG_GUE)
		return NULL;
	outer = dataplane_outer(encap, &flow, control_endpoint(to, 0, 0).family);
	memcpy(from.bytes, outer.source, sizeof(from.bytes));
	object = json_pack("{s:s, s:s}", "source", text_address(&from, source), "destination",
			   text_address(to, destination));
	if (object && pool->forward == CONFIG_GUE) {
		json_object_set_new(object, "source_port", json_integer(ntohs(outer.port)));
		json_object_set_new(object, "destination_port", json_integer(pool->gue_port));
	}
	return object;
}
