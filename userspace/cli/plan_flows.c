/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/plan_flows.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/client.h"
#include "cli/values.h"

static int ask_remembered(const struct cli_options *options, const char *pool, int64_t *remembered)
{
	json_t *request = json_pack("{s:s, s:s}", "command", "backend.list", "pool", pool);
	char why[CLIENT_ERROR_LEN] = "out of memory";
	json_t *backends = NULL;

	if (!request || client_ask(options->socket, CLIENT_TIMEOUT_S, request, &backends, why)) {
		json_decref(request);
		cli_error("%s", why);
		return CLI_FAILED;
	}
	json_decref(request);
	*remembered = 0;
	for (size_t i = 0; i < json_array_size(backends); i++)
		*remembered += answer_integer(json_array_get(backends, i), "flows");
	json_decref(backends);
	return CLI_DONE;
}

int plan_flows_read(struct plan_flows *flows, const struct cli_options *options, const char *pool)
{
	bool live = !options->config && !options->servers && !options->points;

	*flows = (struct plan_flows){.remembered = -1};
	if (!value_read_number("flows", options->flows, 1, UINT32_MAX, &flows->given))
		return CLI_USAGE;
	return live ? ask_remembered(options, pool, &flows->remembered) : CLI_DONE;
}

void plan_flows_print(const struct plan_flows *flows, double moved)
{
	if (flows->given)
		printf("flows      about %.0f of %" PRIu64 " would be tracked while arcs move\n",
		       moved * (double)flows->given, flows->given);
	if (flows->remembered < 0)
		return;
	if (!flows->given)
		printf("flows      %.4f %% of the live ones would be tracked; how many those are "
		       "is not known: nothing is stored in settled arcs (--flows N)\n",
		       100 * moved);
	printf("remembered %" PRId64 " flows, now, in arcs that move already\n", flows->remembered);
}

void plan_flows_json(const struct plan_flows *flows, double moved, json_t *object)
{
	if (flows->given)
		json_object_set_new(object, "flows_tracked",
				    json_integer((json_int_t)(moved * (double)flows->given + 0.5)));
	if (flows->remembered >= 0)
		json_object_set_new(object, "flows_remembered", json_integer(flows->remembered));
}
