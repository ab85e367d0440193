/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/change.h"
#include "control/control.h"
#include "control/differences.h"
#include "control/leftovers.h"
#include "control/state.h"

#define LINE_LEN 512

int control_fail(struct control_error *error, int err, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->what, sizeof(error->what), format, arguments);
	va_end(arguments);
	return err;
}

void control_note(const struct control *control, enum control_note what, const char *by,
		  const char *format, ...)
{
	char line[LINE_LEN];
	va_list arguments;

	if (!control->options.note)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	control->options.note(control->options.note_context, what, by, line);
}

/* "PATH:LINE: WHAT", or without the line where there is none. */
static int file_fail(struct control_error *error, int err, const char *path,
		     const struct config_error *why)
{
	if (why->line)
		return control_fail(error, err, "%s:%zu: %s", path, why->line, why->what);
	return control_fail(error, err, "%s: %s", path, why->what);
}

static int read_file(const char *path, struct config *config, uint64_t *digest,
		     struct control_error *error)
{
	struct config_error why = {};
	int err = config_read_file(config, path, &why);

	if (err)
		return file_fail(error, err, path, &why);
	err = state_digest(path, digest);
	if (!err)
		return 0;
	config_release(config);
	return control_fail(error, err, "cannot read '%s': %s", path, strerror(-err));
}

struct control_pool *control_find_pool(const struct control *control, const char *name)
{
	for (size_t p = 0; p < control->n_pools; p++)
		if (!strcmp(control->pools[p].name, name))
			return &control->pools[p];
	return NULL;
}

static void copy_address(__be32 to[4], const struct config_address *address)
{
	memset(to, 0, 16);
	memcpy(to, address->bytes, address->family == AF_INET6 ? 16 : 4);
}

struct flow control_flow(const struct lookup_query *query)
{
	struct flow flow = {
		.source_port = htons(query->source_port),
		.destination_port = htons(query->destination_port),
		.protocol = query->protocol,
		.family = query->destination.family == AF_INET6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
	};

	copy_address(flow.source, &query->source);
	copy_address(flow.destination, &query->destination);
	return flow;
}

/* Ones for the bits of @prefix from @from_bit on that are not given. */
static __be32 hosts_of(const struct config_prefix *prefix, unsigned int from_bit)
{
	unsigned int given = prefix->len > from_bit ? prefix->len - from_bit : 0;

	return given >= 32 ? 0 : htonl(UINT32_MAX >> given);
}

struct encap control_encap(const struct config *config)
{
	const struct config_prefix *ipv4 = &config->encap.source_ipv4;
	const struct config_prefix *ipv6 = &config->encap.source_ipv6;
	struct encap encap = {
		.seed = config->seed,
		.hosts_ipv4 = hosts_of(ipv4, 0),
		.hosts_ipv6 = {hosts_of(ipv6, 64), hosts_of(ipv6, 96)},
	};

	memcpy(&encap.source_ipv4, ipv4->address.bytes, sizeof(encap.source_ipv4));
	memcpy(encap.source_ipv6, ipv6->address.bytes, sizeof(encap.source_ipv6));
	return encap;
}

/*
 * Keep on disk what is about to be live, before it is: a daemon that is killed
 * right after comes back with what it had accepted.
 */
static int keep_state(struct control *control, const struct config *next, bool changed,
		      struct control_error *error)
{
	struct config_error why = {};
	int err;

	if (changed) {
		err = state_write(control->options.state_dir, control->file_digest, next, &why);
		if (err)
			return control_fail(error, err, "cannot keep the change: %s", why.what);
		/* Changes to an earlier file would come back with that file. */
		state_drop(control->options.state_dir, &control->file_digest);
		return 0;
	}
	err = state_drop(control->options.state_dir, NULL);
	control->dropped += err > 0;
	return err < 0 ? control_fail(error, err, "cannot clear '%s': %s",
				      control->options.state_dir, strerror(-err))
		       : 0;
}

/* A commit that failed half way: write the running configuration again. */
static void roll_back(struct control *control)
{
	struct control_error ignored;
	struct change change;

	/* At a start there is nothing to go back to: what was taken over stays. */
	if (!control->pools)
		return;
	if (!change_prepare(&change, control, &control->running, &ignored) &&
	    !change_commit(&change, &ignored))
		change_clean(&change);
	change_release(&change);
	keep_state(control, &control->running, control->changed, &ignored);
}

struct source {
	const struct control *control;
	const char *by;
};

static void note_difference(void *context, const char *line)
{
	const struct source *source = context;

	control_note(source->control, CONTROL_CHANGED, source->by, "%s", line);
}

/* Nothing is told of a start: all would be new. */
static void note_differences(const struct control *control, const struct config *next,
			     const char *by)
{
	struct source source = {control, by};

	if (control->pools)
		differences_list(&control->running, next, note_difference, &source);
}

/*
 * @changed: @next differs from the configuration file. On failure the state on
 * disk and the data plane are put back to the running configuration.
 */
static int apply(struct control *control, struct config *next, bool changed, const char *by,
		 double *moved, struct control_error *error)
{
	struct change change;
	int err = change_prepare(&change, control, next, error);

	if (!err && moved && change_moved(&change, moved))
		err = control_fail(error, -ENOMEM, "out of memory");
	if (!err)
		err = keep_state(control, next, changed, error);
	if (!err) {
		err = change_commit(&change, error);
		if (err)
			roll_back(control);
	}
	if (!err) {
		/* What was remembered belongs to arcs that are no more. */
		if (change.reseeded)
			dataplane_forget_flows(control->dp);
		change_clean(&change);
		note_differences(control, next, by);
		change_adopt(&change);
		config_release(&control->running);
		control->running = *next;
		control->changed = changed;
		control->generation++;
		control_watch_mtus(control, by);
		change.next = &control->running;
		*next = (struct config){};
	}
	change_release(&change);
	return err;
}

int control_apply(struct control *control, struct config *next, const char *by, double *moved,
		  struct control_error *error)
{
	return apply(control, next, !config_equal(next, &control->filed), by, moved, error);
}

int control_refresh_rings(struct control *control, struct control_error *error)
{
	struct config same = {};
	int err;

	if (config_copy(&same, &control->running))
		err = control_fail(error, -ENOMEM, "out of memory");
	else
		err = control_apply(control, &same, "health", NULL, error);
	control->stale = err != 0;
	config_release(&same);
	return err;
}

int control_reload(struct control *control, const char *by, struct control_error *error)
{
	struct config next = {}, filed = {}, filed_before = control->filed;
	uint64_t digest = 0, digest_before = control->file_digest;
	int err = read_file(control->config_path, &filed, &digest, error);

	if (err)
		return err;
	if (config_copy(&next, &filed) || control_drain_leftovers(&next, &control->running)) {
		config_release(&next);
		config_release(&filed);
		return control_fail(error, -ENOMEM, "out of memory");
	}
	control->file_digest = digest;
	control->filed = filed;
	err = control_apply(control, &next, by, NULL, error);
	if (err) {
		control->file_digest = digest_before;
		control->filed = filed_before;
		filed_before = filed;
	}
	config_release(&filed_before);
	config_release(&next);
	return err;
}

int control_save(struct control *control, struct control_error *error)
{
	struct config_error why = {};
	struct config filed = {};
	uint64_t digest = 0;
	int err = config_copy(&filed, &control->running);

	if (!err)
		err = config_write_file(&control->running, control->config_path, &why);
	if (!err)
		err = state_digest(control->config_path, &digest);
	if (err) {
		config_release(&filed);
		return control_fail(error, err, "cannot write '%s': %s", control->config_path,
				    why.what[0] ? why.what : strerror(-err));
	}
	control->file_digest = digest;
	config_release(&control->filed);
	control->filed = filed;
	control->changed = false;
	/* What is left there belongs to a file that is no more; nobody will read it. */
	state_drop(control->options.state_dir, NULL);
	return 0;
}

/* The file, or the live changes that were made on top of it. */
static int read_wanted(struct control *control, struct config *config, struct control_error *error)
{
	struct config_error why = {};
	int err = read_file(control->config_path, &control->filed, &control->file_digest, error);

	if (err)
		return err;
	err = state_read(control->options.state_dir, control->file_digest, config, &why);
	if (err == -ENOENT)
		err = config_copy(config, &control->filed);
	return err ? file_fail(error, err, control->options.state_dir, &why) : 0;
}

static int open_kernel(struct control *control, struct control_error *error)
{
	const struct config_flows *flows = &control->filed.flows;
	const struct dataplane_sizes sizes = {
		.established = flows->established,
		.remembered = flows->remembered,
		.embryonic = flows->embryonic,
		.other = flows->other,
	};
	struct dataplane_error why;
	int err = dataplane_open_sized(&control->dp, control->options.pin_dir, &sizes, &why);

	if (err)
		return control_fail(error, err, "%s", why.what);
	err = nexthops_open(&control->nexthops);
	if (err)
		return control_fail(error, err, "cannot open netlink: %s", strerror(-err));
	err = control_read_ids(control);
	return err ? control_fail(error, err, "out of memory") : 0;
}

/* Close after a failed start. Pins that nothing was live in are of this attempt: remove them. */
static void discard(struct control *control)
{
	bool unused = control->dp && !control->pool_ids.len && !control->vip_ids.len;
	const char *pin_dir = control->options.pin_dir;
	struct dataplane_error ignored;

	control_close(control);
	if (unused)
		dataplane_remove(pin_dir, NULL, NULL, &ignored);
}

int control_open(struct control **out, const struct control_options *options,
		 struct control_error *error)
{
	struct control *control = calloc(1, sizeof(*control));
	struct config wanted = {};
	int err;

	if (!control)
		return control_fail(error, -ENOMEM, "out of memory");
	control->options = *options;
	snprintf(control->config_path, sizeof(control->config_path), "%s", options->config_path);
	err = read_wanted(control, &wanted, error);
	if (!err)
		err = open_kernel(control, error);
	if (!err)
		err = control_apply(control, &wanted, "start", NULL, error);
	config_release(&wanted);
	if (err) {
		discard(control);
		return err;
	}
	*out = control;
	return 0;
}

void control_close(struct control *control)
{
	if (!control)
		return;
	control_pools_free(control->pools, control->n_pools);
	ids_release(&control->pool_ids);
	ids_release(&control->backend_ids);
	ids_release(&control->vip_ids);
	config_release(&control->running);
	config_release(&control->filed);
	nexthops_close(control->nexthops);
	dataplane_close(control->dp);
	free(control);
}

int control_down(struct control *control, void (*removed)(void *context, const char *line),
		 void *context, struct control_error *error)
{
	struct dataplane_error why;
	int err;

	change_forget(control->nexthops, control->pools, control->n_pools, NULL, 0);
	/* The directory's lock is ours; let go of it for the removal. */
	dataplane_close(control->dp);
	control->dp = NULL;
	err = dataplane_remove(control->options.pin_dir, removed, context, &why);
	if (err < 0)
		return control_fail(error, err, "%s", why.what);
	return err;
}
