/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of the control socket, docs/api.md, in terms of a struct control. */
#ifndef RINGLB_CONTROL_API_H
#define RINGLB_CONTROL_API_H

#include <jansson.h>

#include "control/control.h"
#include "control/health.h"

/**
 * struct api - what requests act on
 * @started: CLOCK_MONOTONIC seconds
 * @health: what the checks of the backends found
 * @done: set by `down`: the daemon is to exit once the answer is sent
 * @command: the one that is being handled
 * @changes, @warnings: arrays of its notes; NULL between requests
 */
struct api {
	struct control *control;
	const struct health *health;
	int64_t started;
	bool done;
	const char *command;
	json_t *changes;
	json_t *warnings;
};

/** api_handle() - a server_handler; @context is a struct api */
json_t *api_handle(void *context, json_t *request);

/** api_note() - a note of the control, for the answer to the request at hand, if any */
void api_note(struct api *api, enum control_note what, const char *line);

/*
 * Requests, one each. @request has passed the check of its members: those of the
 * command are there and are text. Each returns a whole answer.
 */
json_t *api_status(struct api *api, json_t *request);
json_t *api_vip_list(struct api *api, json_t *request);
json_t *api_vip_add(struct api *api, json_t *request);
json_t *api_vip_remove(struct api *api, json_t *request);
json_t *api_pool_list(struct api *api, json_t *request);
json_t *api_backend_list(struct api *api, json_t *request);
json_t *api_backend_add(struct api *api, json_t *request);
json_t *api_backend_remove(struct api *api, json_t *request);
json_t *api_backend_drain(struct api *api, json_t *request);
json_t *api_backend_undrain(struct api *api, json_t *request);
json_t *api_backend_weight(struct api *api, json_t *request);
json_t *api_config(struct api *api, json_t *request);
json_t *api_lookup(struct api *api, json_t *request);
json_t *api_why(struct api *api, json_t *request);
json_t *api_stats(struct api *api, json_t *request);
json_t *api_reload(struct api *api, json_t *request);
json_t *api_save(struct api *api, json_t *request);
json_t *api_down(struct api *api, json_t *request);

/* Objects of docs/api.md; new references, NULL without memory. */
json_t *api_vip(struct api *api, const struct config_vip *vip);
json_t *api_backend(struct api *api, const struct config_pool *pool, size_t index);
json_t *api_vips(struct api *api);
json_t *api_backends(struct api *api, const struct config_pool *only);

/* Add the members `state`, `interface` and `mac` of a live backend to @object. */
void api_set_place(json_t *object, const struct control_pool *live, uint16_t member,
		   const struct config_backend *backend);

/* Seconds from @now_ms to @until_ms, rounded up; 0 if that is over. */
json_int_t api_left_s(int64_t until_ms, int64_t now_ms);

/* What moves in a pool; null if nothing does. */
json_t *api_moving(const struct control_pool *live);

/* Loads of the backends of a pool that has a load_cap; null if it has none. */
json_t *api_load(const struct control_pool *live);

/* True while a backend that gets no new flows waits for its old ones. */
bool api_is_draining(const struct control_pool *live, uint16_t member,
		     const struct config_backend *backend);

/* What a backend that drains, or has drained, still has of the moving arcs; else null. */
json_t *api_drain(const struct control_pool *live, uint16_t member,
		  const struct config_backend *backend);

/* All backends that are draining. */
json_t *api_draining(const struct control *control);

/* The text of member @name, or NULL. */
const char *api_text(json_t *request, const char *name);

#endif
