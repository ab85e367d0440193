/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How loaded backends are, and what they lend for it. */
#include <stdlib.h>

#include "control/api.h"
#include "control/load.h"

static json_t *backend_load(const char *name, const struct load_status *status, int64_t now_ms)
{
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:o}", "name", name, "packets_per_s",
			 status->packets_per_s, "of_mean", status->of_mean, "spilled_out",
			 status->lent, "spilled_in", status->borrowed, "since_s",
			 status->since_ms
				 ? json_integer((json_int_t)(now_ms - status->since_ms) / 1000)
				 : json_null());
}

json_t *api_load(const struct control_pool *live)
{
	size_t n = live->pure->n_members;
	int64_t now_ms = control_now_ms();
	struct load_status *status;
	json_t *list = json_array();
	double total = 0, spilled = 0;

	if (!live->load.members) {
		json_decref(list);
		return json_null();
	}
	status = calloc(n + 1, sizeof(*status));
	if (status)
		total = load_status(live, status);
	for (size_t m = 0; status && total >= 0 && m < n; m++) {
		spilled += status[m].lent;
		json_array_append_new(
			list, backend_load(live->pure->members[m].name, &status[m], now_ms));
	}
	free(status);
	return json_pack("{s:f, s:f, s:f, s:f, s:o}", "cap", live->load.cap, "interval_s",
			 live->load.interval_ms / 1e3, "packets_per_s", total, "spilled", spilled,
			 "backends", list);
}
