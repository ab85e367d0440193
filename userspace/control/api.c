/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdbool.h>
#include <string.h>

#include "control/api.h"
#include "control/server.h"

#define MEMBERS_MAX 5

/* Members are text. A name that ends with '?' may be missing. */
struct api_command {
	const char *name;
	const char *members[MEMBERS_MAX];
	json_t *(*handle)(struct api *api, json_t *request);
};

static const struct api_command commands[] = {
	{"status", {}, api_status},
	{"vip.list", {}, api_vip_list},
	{"vip.add", {"vip", "pool", "hash?"}, api_vip_add},
	{"vip.remove", {"vip"}, api_vip_remove},
	{"pool.list", {}, api_pool_list},
	{"backend.list", {"pool?"}, api_backend_list},
	{"backend.add", {"pool?", "name", "address", "weight?", "quic_id?"}, api_backend_add},
	{"backend.remove", {"pool?", "name", "now?", "timeout?"}, api_backend_remove},
	{"backend.drain", {"pool?", "name", "timeout?"}, api_backend_drain},
	{"backend.undrain", {"pool?", "name"}, api_backend_undrain},
	{"backend.weight", {"pool?", "name", "weight"}, api_backend_weight},
	{"config", {}, api_config},
	{"lookup", {"protocol", "source", "destination", "quic_cid?"}, api_lookup},
	{"why", {"protocol", "source", "destination", "quic_cid?"}, api_why},
	{"stats", {}, api_stats},
	{"reload", {}, api_reload},
	{"save", {}, api_save},
	{"down", {}, api_down},
};

const char *api_text(json_t *request, const char *name)
{
	return json_string_value(json_object_get(request, name));
}

static const struct api_command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static bool is_member(const char *member, const char *name)
{
	size_t len = strcspn(member, "?");

	return strlen(name) == len && !strncmp(member, name, len);
}

static bool is_known(const struct api_command *command, const char *name)
{
	if (!strcmp(name, "command"))
		return true;
	for (int i = 0; i < MEMBERS_MAX && command->members[i]; i++)
		if (is_member(command->members[i], name))
			return true;
	return false;
}

/* NULL, or the answer that says what is wrong with the request's members. */
static json_t *check_members(const struct api_command *command, json_t *request)
{
	const char *name;
	json_t *value;

	json_object_foreach(request, name, value)
	{
		if (!is_known(command, name))
			return server_error("%s: unknown member '%s'", command->name, name);
		if (!json_is_string(value))
			return server_error("%s: '%s' must be text", command->name, name);
	}
	for (int i = 0; i < MEMBERS_MAX && command->members[i]; i++) {
		name = command->members[i];
		if (!strchr(name, '?') && !json_object_get(request, name))
			return server_error("%s: '%s' is missing", command->name, name);
	}
	return NULL;
}

void api_note(struct api *api, enum control_note what, const char *line)
{
	json_array_append_new(what == CONTROL_CHANGED ? api->changes : api->warnings,
			      json_string(line));
}

/* Handle it, with a place for its notes. */
static json_t *handle(struct api *api, const struct api_command *command, json_t *request)
{
	json_t *answer, *result;

	api->command = command->name;
	api->changes = json_array();
	api->warnings = json_array();
	answer = command->handle(api, request);
	result = json_object_get(answer, "result");
	if (json_array_size(api->warnings) && json_is_object(result))
		json_object_set(result, "warnings", api->warnings);
	json_decref(api->changes);
	json_decref(api->warnings);
	api->changes = api->warnings = NULL;
	return answer;
}

json_t *api_handle(void *context, json_t *request)
{
	const char *name = api_text(request, "command");
	const struct api_command *command;
	json_t *refusal;

	if (!name)
		return server_error("'command' is missing");
	command = find_command(name);
	if (!command)
		return server_error("unknown command '%s'", name);
	refusal = check_members(command, request);
	return refusal ? refusal : handle(context, command, request);
}
