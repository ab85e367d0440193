/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that change something: edit a copy, then apply the copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/quic.h"
#include "config/text.h"
#include "control/api.h"
#include "control/log.h"
#include "control/notify.h"
#include "control/server.h"

#define API_MUST_VIP "vip must be ADDRESS[/PREFIX]:PORT[-PORT]/PROTOCOL"

/* NULL, or the refusal. On success @edited is a copy of the running configuration. */
static json_t *begin(struct api *api, struct config *edited)
{
	*edited = (struct config){};
	return config_copy(edited, &api->control->running) ? server_error("out of memory") : NULL;
}

/* Apply @edited and free it. NULL, or the refusal. */
static json_t *finish(struct api *api, struct config *edited, double *moved)
{
	struct control_error error = {};
	int err = control_apply(api->control, edited, api->command, moved, &error);

	config_release(edited);
	return err ? server_error("%s", error.what) : NULL;
}

static json_t *refuse(struct config *edited, const struct config_error *error)
{
	config_release(edited);
	return server_error("%s", error->what[0] ? error->what : "out of memory");
}

json_t *api_vip_add(struct api *api, json_t *request)
{
	const char *text = api_text(request, "vip"), *pool = api_text(request, "pool");
	const char *hash = api_text(request, "hash");
	struct config_error error = {};
	struct config_vip vip = {};
	struct config edited;
	json_t *refusal;

	if (text_parse_vip(text, &vip))
		return server_error(API_MUST_VIP ", got '%s'", text);
	if (hash && text_parse_hash(hash, &vip.hash))
		return server_error("hash must be 5-tuple, source or source-port-less, got '%s'",
				    hash);
	if (strlen(pool) > CONFIG_NAME_MAX)
		return server_error("there is no pool '%s'", pool);
	snprintf(vip.pool, sizeof(vip.pool), "%s", pool);
	refusal = begin(api, &edited);
	if (refusal)
		return refusal;
	if (config_add_vip(&edited, &vip, &error))
		return refuse(&edited, &error);
	refusal = finish(api, &edited, NULL);
	return refusal ? refusal : server_result(api_vip(api, &vip));
}

json_t *api_vip_remove(struct api *api, json_t *request)
{
	const char *text = api_text(request, "vip");
	struct config_error error = {};
	struct config_vip vip = {}, *live;
	struct config edited;
	json_t *refusal, *object;

	if (text_parse_vip(text, &vip))
		return server_error(API_MUST_VIP ", got '%s'", text);
	refusal = begin(api, &edited);
	if (refusal)
		return refusal;
	if (config_remove_vip(&edited, &vip, &error))
		return refuse(&edited, &error);
	live = config_find_vip(&api->control->running, &vip);
	object = api_vip(api, live);
	refusal = finish(api, &edited, NULL);
	if (!refusal)
		return server_result(object);
	json_decref(object);
	return refusal;
}

/* The name of the pool that a request means, in @edited; NULL with @error filled. */
static const char *pick_pool(struct config *edited, json_t *request, bool existing,
			     struct config_error *error)
{
	struct config_pool *pool = NULL;

	if (config_pick_pool(edited, api_text(request, "pool"),
			     existing ? api_text(request, "name") : NULL, &pool, error))
		return NULL;
	return pool->name;
}

/* The answer for a backend that is live now. */
static json_t *backend_answer(struct api *api, const char *pool_name, const char *name,
			      double moved)
{
	const struct config_pool *pool = config_find_pool(&api->control->running, pool_name);
	const struct config_backend *backend = config_find_backend(pool, name);
	json_t *object = api_backend(api, pool, (size_t)(backend - pool->backends));

	if (object)
		json_object_set_new(object, "moved", json_real(moved));
	return object ? server_result(object) : server_error("out of memory");
}

static json_t *parse_backend(json_t *request, struct config_backend *backend)
{
	const char *name = api_text(request, "name"), *address = api_text(request, "address");
	const char *weight = api_text(request, "weight"), *quic = api_text(request, "quic_id");

	backend->weight_milli = CONFIG_WEIGHT_ONE;
	if (!text_is_name(name))
		return server_error("name must be 1 to %d letters, digits, '.', '_' or '-', "
				    "got '%s'",
				    CONFIG_NAME_MAX, name);
	snprintf(backend->name, sizeof(backend->name), "%s", name);
	if (text_parse_endpoint(address, &backend->address, &backend->port))
		return server_error("address must be ADDRESS or ADDRESS:PORT, got '%s'", address);
	if (weight && text_parse_weight(weight, &backend->weight_milli))
		return server_error("weight must be 0 to 1000, got '%s'", weight);
	if (quic && config_quic_parse(quic, backend->quic_ids))
		return server_error("quic_id " CONFIG_MUST_QUIC ", got '%s'", quic);
	return NULL;
}

json_t *api_backend_add(struct api *api, json_t *request)
{
	char pool_name[CONFIG_NAME_MAX + 1];
	struct config_backend backend = {};
	struct config_error error = {};
	json_t *refusal = parse_backend(request, &backend);
	struct config edited;
	const char *pool;
	double moved = 0;

	if (!refusal)
		refusal = begin(api, &edited);
	if (refusal)
		return refusal;
	pool = pick_pool(&edited, request, false, &error);
	if (!pool || config_add_backend(&edited, pool, &backend, &error))
		return refuse(&edited, &error);
	snprintf(pool_name, sizeof(pool_name), "%s", pool);
	refusal = finish(api, &edited, &moved);
	return refusal ? refusal : backend_answer(api, pool_name, backend.name, moved);
}

/* One edit of a backend that is there, and what it needs. */
struct backend_edit {
	uint32_t weight_milli;
	enum config_drain drain;
	uint64_t until_s;
	int (*edit)(struct config *config, const char *pool, const char *name,
		    const struct backend_edit *edit, struct config_error *error);
};

static int edit_weight(struct config *config, const char *pool, const char *name,
		       const struct backend_edit *edit, struct config_error *error)
{
	return config_set_weight(config, pool, name, edit->weight_milli, error);
}

static int edit_drain(struct config *config, const char *pool, const char *name,
		      const struct backend_edit *edit, struct config_error *error)
{
	return config_set_drain(config, pool, name, edit->drain, edit->until_s, error);
}

static int edit_remove(struct config *config, const char *pool, const char *name,
		       const struct backend_edit *edit, struct config_error *error)
{
	(void)edit;
	return config_remove_backend(config, pool, name, error);
}

/* Nobody is left: that is no reason to refuse, but to say so. */
static void warn_if_none(struct api *api, const char *pool_name)
{
	const struct control_pool *live = control_find_pool(api->control, pool_name);

	for (size_t m = 0; m < live->ring->n_members; m++)
		if (live->takes[m] & BACKEND_TAKES_NEW)
			return;
	control_note(api->control, CONTROL_WARNING, api->command,
		     "pool '%s' has no backend that takes new flows: they are dropped", pool_name);
}

/* Make the edit and apply it. @pool_name receives the pool. NULL, or the refusal. */
static json_t *edit_backend(struct api *api, json_t *request, const struct backend_edit *edit,
			    char pool_name[CONFIG_NAME_MAX + 1], double *moved)
{
	struct config_error error = {};
	struct config edited;
	const char *pool;
	json_t *refusal = begin(api, &edited);

	if (refusal)
		return refusal;
	pool = pick_pool(&edited, request, true, &error);
	if (!pool)
		return refuse(&edited, &error);
	snprintf(pool_name, CONFIG_NAME_MAX + 1, "%s", pool);
	if (edit->edit(&edited, pool_name, api_text(request, "name"), edit, &error))
		return refuse(&edited, &error);
	refusal = finish(api, &edited, moved);
	if (!refusal)
		warn_if_none(api, pool_name);
	return refusal;
}

/* The edit, answered with the backend as it is now. */
static json_t *edit_and_show(struct api *api, json_t *request, const struct backend_edit *edit)
{
	char pool_name[CONFIG_NAME_MAX + 1];
	double moved = 0;
	json_t *refusal = edit_backend(api, request, edit, pool_name, &moved);

	return refusal ? refusal : backend_answer(api, pool_name, api_text(request, "name"), moved);
}

json_t *api_backend_weight(struct api *api, json_t *request)
{
	struct backend_edit edit = {.edit = edit_weight};
	const char *weight = api_text(request, "weight");

	if (text_parse_weight(weight, &edit.weight_milli))
		return server_error("weight must be 0 to 1000, got '%s'", weight);
	return edit_and_show(api, request, &edit);
}

/* NULL, or the refusal of the request's timeout. Without one a drain has no end. */
static json_t *parse_timeout(json_t *request, uint64_t *until_s)
{
	const char *timeout = api_text(request, "timeout");
	uint32_t timeout_ms;

	*until_s = 0;
	if (!timeout)
		return NULL;
	if (text_parse_duration_ms(timeout, &timeout_ms))
		return server_error("timeout must be a duration such as 30s, 10m or 1h, got '%s'",
				    timeout);
	*until_s = (uint64_t)time(NULL) + (timeout_ms + 999) / 1000;
	return NULL;
}

json_t *api_backend_drain(struct api *api, json_t *request)
{
	struct backend_edit edit = {.edit = edit_drain, .drain = CONFIG_DRAIN_KEEP};
	json_t *refusal = parse_timeout(request, &edit.until_s);

	return refusal ? refusal : edit_and_show(api, request, &edit);
}

json_t *api_backend_undrain(struct api *api, json_t *request)
{
	const struct backend_edit edit = {.edit = edit_drain, .drain = CONFIG_NO_DRAIN};
	const struct config *running = &api->control->running;
	const char *name = api_text(request, "name");
	const struct config_backend *backend;
	struct config_error ignored;
	struct config_pool *pool;

	/* What is wrong with the request is for the edit to say. */
	if (!config_pick_pool(running, api_text(request, "pool"), name, &pool, &ignored)) {
		backend = config_find_backend(pool, name);
		if (backend && backend->drain == CONFIG_NO_DRAIN)
			control_note(api->control, CONTROL_WARNING, api->command,
				     "backend '%s' of pool '%s' was not draining", name,
				     pool->name);
	}
	return edit_and_show(api, request, &edit);
}

static json_t *remove_now(struct api *api, json_t *request)
{
	const struct backend_edit edit = {.edit = edit_remove};
	char pool_name[CONFIG_NAME_MAX + 1];
	double moved = 0;
	json_t *refusal = edit_backend(api, request, &edit, pool_name, &moved);

	return refusal ? refusal
		       : server_result(json_pack("{s:s, s:s, s:f}", "pool", pool_name, "name",
						 api_text(request, "name"), "moved", moved));
}

json_t *api_backend_remove(struct api *api, json_t *request)
{
	struct backend_edit edit = {.edit = edit_drain, .drain = CONFIG_DRAIN_REMOVE};
	json_t *refusal = parse_timeout(request, &edit.until_s);

	if (refusal)
		return refusal;
	if (api_text(request, "now") && api_text(request, "timeout"))
		return server_error("now and timeout exclude each other");
	return api_text(request, "now") ? remove_now(api, request)
					: edit_and_show(api, request, &edit);
}

json_t *api_reload(struct api *api, json_t *request)
{
	struct control_error error = {};

	(void)request;
	if (notify_reload(api->control, api->command, &error))
		return server_error("%s", error.what);
	log_event(EVENT_RELOADED, LOG_FIELDS({"by", api->command}), "reloaded '%s'",
		  api->control->config_path);
	return server_result(json_pack("{s:O}", "changes", api->changes));
}

json_t *api_save(struct api *api, json_t *request)
{
	struct control_error error = {};

	(void)request;
	if (control_save(api->control, &error))
		return server_error("%s", error.what);
	control_note(api->control, CONTROL_CHANGED, api->command, "wrote '%s'",
		     api->control->config_path);
	return server_result(json_pack("{s:s}", "config", api->control->config_path));
}

static void note_removed(void *context, const char *line)
{
	json_array_append_new(context, json_string(line));
}

json_t *api_down(struct api *api, json_t *request)
{
	struct control_error error = {};
	json_t *removed = json_array();

	(void)request;
	api->done = true;
	if (control_down(api->control, note_removed, removed, &error) >= 0) {
		control_note(api->control, CONTROL_CHANGED, api->command,
			     "took everything out of the kernel");
		return server_result(json_pack("{s:o}", "removed", removed));
	}
	json_decref(removed);
	return server_error("%s", error.what);
}
