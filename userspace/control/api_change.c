/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests that change something: edit a copy, then apply the copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/text.h"
#include "control/api.h"
#include "control/server.h"

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
	int err = control_apply(api->control, edited, moved, &error);

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
	struct config_error error = {};
	struct config_vip vip = {};
	struct config edited;
	json_t *refusal;

	if (text_parse_vip(text, &vip))
		return server_error("vip must be ADDRESS:PORT/PROTOCOL, got '%s'", text);
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
		return server_error("vip must be ADDRESS:PORT/PROTOCOL, got '%s'", text);
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
	const char *weight = api_text(request, "weight");

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
	double moved;

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

json_t *api_backend_weight(struct api *api, json_t *request)
{
	const char *name = api_text(request, "name"), *weight = api_text(request, "weight");
	char pool_name[CONFIG_NAME_MAX + 1];
	struct config_error error = {};
	uint32_t weight_milli;
	struct config edited;
	const char *pool;
	json_t *refusal;
	double moved;

	if (text_parse_weight(weight, &weight_milli))
		return server_error("weight must be 0 to 1000, got '%s'", weight);
	refusal = begin(api, &edited);
	if (refusal)
		return refusal;
	pool = pick_pool(&edited, request, true, &error);
	if (!pool || config_set_weight(&edited, pool, name, weight_milli, &error))
		return refuse(&edited, &error);
	snprintf(pool_name, sizeof(pool_name), "%s", pool);
	refusal = finish(api, &edited, &moved);
	return refusal ? refusal : backend_answer(api, pool_name, name, moved);
}

json_t *api_backend_remove(struct api *api, json_t *request)
{
	const char *name = api_text(request, "name");
	char pool_name[CONFIG_NAME_MAX + 1];
	struct config_error error = {};
	struct config edited;
	const char *pool;
	json_t *refusal;
	double moved;

	refusal = begin(api, &edited);
	if (refusal)
		return refusal;
	pool = pick_pool(&edited, request, true, &error);
	if (!pool)
		return refuse(&edited, &error);
	snprintf(pool_name, sizeof(pool_name), "%s", pool);
	if (config_remove_backend(&edited, pool_name, name, &error))
		return refuse(&edited, &error);
	refusal = finish(api, &edited, &moved);
	return refusal ? refusal
		       : server_result(json_pack("{s:s, s:s, s:f}", "pool", pool_name, "name", name,
						 "moved", moved));
}

json_t *api_reload(struct api *api, json_t *request)
{
	struct control_error error = {};
	struct config before = {};
	json_t *changes;

	(void)request;
	if (config_copy(&before, &api->control->running))
		return server_error("out of memory");
	if (control_reload(api->control, &error)) {
		config_release(&before);
		return server_error("%s", error.what);
	}
	changes = api_differences(&before, &api->control->running);
	config_release(&before);
	return server_result(json_pack("{s:o}", "changes", changes));
}

json_t *api_save(struct api *api, json_t *request)
{
	struct control_error error = {};

	(void)request;
	if (control_save(api->control, &error))
		return server_error("%s", error.what);
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
	if (control_down(api->control, note_removed, removed, &error) >= 0)
		return server_result(json_pack("{s:o}", "removed", removed));
	json_decref(removed);
	return server_error("%s", error.what);
}
