/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/differences.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/quic.h"
#include "config/text.h"

#define LINE_LEN 384 /* two names, two endpoints and words */

struct report {
	void (*line)(void *context, const char *text);
	void *context;
};

__attribute__((format(printf, 2, 3))) static void note(const struct report *report,
						       const char *format, ...)
{
	char text[LINE_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	report->line(report->context, text);
}

static const struct config_interface *find_interface(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_interfaces; i++)
		if (!strcmp(config->interfaces[i].name, name))
			return &config->interfaces[i];
	return NULL;
}

static void compare_interfaces(const struct report *report, const struct config *before,
			       const struct config *after)
{
	for (size_t i = 0; i < before->n_interfaces; i++)
		if (!find_interface(after, before->interfaces[i].name))
			note(report, "removed interface '%s'", before->interfaces[i].name);
	for (size_t i = 0; i < after->n_interfaces; i++) {
		const struct config_interface *now = &after->interfaces[i];
		const struct config_interface *was = find_interface(before, now->name);

		if (!was)
			note(report, "added interface '%s'", now->name);
		else if (was->mode != now->mode)
			note(report, "changed interface '%s': %s to %s", now->name,
			     text_mode(was->mode), text_mode(now->mode));
	}
}

static void compare_sizes(const struct report *report, const struct config_flows *before,
			  const struct config_flows *after)
{
	const struct {
		const char *name;
		uint32_t was, now;
	} sizes[] = {
		{"established", before->established, after->established},
		{"remembered", before->remembered, after->remembered},
		{"embryonic", before->embryonic, after->embryonic},
		{"other", before->other, after->other},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].was != sizes[i].now)
			note(report,
			     "changed flows.%s: %u to %u entries, once 'ringlb down' and a start "
			     "make it anew",
			     sizes[i].name, sizes[i].was, sizes[i].now);
}

static void compare_times(const struct report *report, const struct config_flows *before,
			  const struct config_flows *after)
{
	const struct {
		const char *name;
		uint32_t was_ms, now_ms;
	} times[] = {
		{"learn_tcp", before->learn_tcp_ms, after->learn_tcp_ms},
		{"learn_other", before->learn_other_ms, after->learn_other_ms},
		{"idle_tcp", before->idle_tcp_ms, after->idle_tcp_ms},
		{"idle_other", before->idle_other_ms, after->idle_other_ms},
		{"opening", before->opening_ms, after->opening_ms},
		{"closing", before->closing_ms, after->closing_ms},
	};
	char was[TEXT_DURATION_LEN], now[TEXT_DURATION_LEN];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].was_ms != times[i].now_ms)
			note(report, "changed flows.%s: %s to %s", times[i].name,
			     text_duration(times[i].was_ms, was),
			     text_duration(times[i].now_ms, now));
}

typedef int (*comparison)(const void *a, const void *b);

static int compare_indirect(const void *a, const void *b, void *compare)
{
	const void *const *x = a, *const *y = b;

	return (*(comparison *)compare)(*x, *y);
}

/* Pointers to all items, ascending, and a NULL. Return: NULL without memory. */
static const void **sort(const void *items, size_t n, size_t item_bytes, comparison compare)
{
	const void **sorted = calloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = (const char *)items + i * item_bytes;
	if (sorted && n)
		qsort_r(sorted, n, sizeof(*sorted), compare_indirect, &compare);
	return sorted;
}

/* A list before and after, and what to do with two of the same name; NULL: there is none. */
struct pairing {
	const void *before, *after;
	size_t n_before, n_after, item_bytes;
	comparison compare;
	void (*pair)(const struct report *report, const void *context, const void *was,
		     const void *now);
	const void *context;
};

static int compare_lists(const struct report *report, const struct pairing *lists)
{
	const void **olds = sort(lists->before, lists->n_before, lists->item_bytes, lists->compare);
	const void **news = sort(lists->after, lists->n_after, lists->item_bytes, lists->compare);
	const void **was = olds, **now = news;
	int err = olds && news ? 0 : -ENOMEM;

	while (!err && (*was || *now)) {
		int order = !*was ? 1 : !*now ? -1 : lists->compare(*was, *now);

		lists->pair(report, lists->context, order <= 0 ? *was : NULL,
			    order >= 0 ? *now : NULL);
		was += order <= 0;
		now += order >= 0;
	}
	free(olds);
	free(news);
	return err;
}

static bool same_endpoint(const struct config_backend *a, const struct config_backend *b)
{
	return a->port == b->port && a->address.family == b->address.family &&
	       !memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

static void compare_drains(const struct report *report, const char *pool,
			   const struct config_backend *was, const struct config_backend *now)
{
	if (was->drain == now->drain && was->drain_until_s == now->drain_until_s)
		return;
	if (now->drain == CONFIG_NO_DRAIN)
		note(report, "undrained backend '%s' of pool '%s'", now->name, pool);
	else if (was->drain == now->drain)
		note(report, "changed timeout of draining backend '%s' of pool '%s'", now->name,
		     pool);
	else
		note(report, "draining backend '%s' of pool '%s'%s", now->name, pool,
		     now->drain == CONFIG_DRAIN_REMOVE ? ", to be removed" : "");
}

static int compare_names(const void *a, const void *b)
{
	const struct config_backend *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void compare_backend(const struct report *report, const void *context, const void *before,
			    const void *after)
{
	const struct config_backend *was = before, *now = after;
	char was_text[TEXT_ENDPOINT_LEN], now_text[TEXT_ENDPOINT_LEN];
	char quic[CONFIG_QUIC_TEXT_LEN];
	const char *pool = context;

	if (!now) {
		note(report, "removed backend '%s' from pool '%s'", was->name, pool);
		return;
	}
	if (!was) {
		note(report, "added backend '%s' to pool '%s'%s", now->name, pool,
		     now->drain == CONFIG_NO_DRAIN ? "" : ", draining");
		return;
	}
	compare_drains(report, pool, was, now);
	if (!same_endpoint(was, now))
		note(report, "changed address of backend '%s' of pool '%s': %s to %s", now->name,
		     pool, text_endpoint(&was->address, was->port, was_text),
		     text_endpoint(&now->address, now->port, now_text));
	if (!config_quic_equal(was->quic_ids, now->quic_ids))
		note(report, "changed QUIC id of backend '%s' of pool '%s' to %s", now->name, pool,
		     config_quic_given(now->quic_ids) ? config_quic_text(now->quic_ids, quic)
						      : "none");
	if (was->weight_milli != now->weight_milli)
		note(report, "changed weight of backend '%s' of pool '%s': %s to %s", now->name,
		     pool, text_weight(was->weight_milli, was_text),
		     text_weight(now->weight_milli, now_text));
}

static int compare_backends(const struct report *report, const struct config_pool *before,
			    const struct config_pool *after)
{
	const struct pairing lists = {
		.before = before->backends,
		.after = after->backends,
		.n_before = before->n_backends,
		.n_after = after->n_backends,
		.item_bytes = sizeof(*after->backends),
		.compare = compare_names,
		.pair = compare_backend,
		.context = after->name,
	};

	return compare_lists(report, &lists);
}

/* How the arcs are dealt out. Cells and epsilon of 0 are those of another placement. */
static void compare_placements(const struct report *report, const struct config_pool *was,
			       const struct config_pool *now)
{
	char was_text[TEXT_WEIGHT_LEN], now_text[TEXT_WEIGHT_LEN];

	if (was->placement != now->placement) {
		note(report, "changed placement of pool '%s': %s to %s", now->name,
		     text_placement(was->placement), text_placement(now->placement));
		return;
	}
	if (was->vnodes != now->vnodes)
		note(report, "changed vnodes of pool '%s': %u to %u", now->name, was->vnodes,
		     now->vnodes);
	if (was->cells != now->cells)
		note(report, "changed cells of pool '%s': %u to %u", now->name, was->cells,
		     now->cells);
	if (was->epsilon_milli != now->epsilon_milli)
		note(report, "changed epsilon of pool '%s': %s to %s", now->name,
		     text_weight(was->epsilon_milli, was_text),
		     text_weight(now->epsilon_milli, now_text));
}

static void compare_loads(const struct report *report, const struct config_pool *was,
			  const struct config_pool *now)
{
	char was_text[TEXT_WEIGHT_LEN], now_text[TEXT_WEIGHT_LEN];
	char was_time[TEXT_DURATION_LEN], now_time[TEXT_DURATION_LEN];

	if (was->load_cap_milli != now->load_cap_milli)
		note(report, "changed load_cap of pool '%s': %s to %s", now->name,
		     was->load_cap_milli ? text_weight(was->load_cap_milli, was_text) : "none",
		     now->load_cap_milli ? text_weight(now->load_cap_milli, now_text) : "none");
	if (was->load_cap_milli && now->load_cap_milli &&
	    was->load_interval_ms != now->load_interval_ms)
		note(report, "changed load_interval of pool '%s': %s to %s", now->name,
		     text_duration(was->load_interval_ms, was_time),
		     text_duration(now->load_interval_ms, now_time));
}

static void compare_forwards(const struct report *report, const struct config_pool *was,
			     const struct config_pool *now)
{
	if (was->forward != now->forward)
		note(report, "changed forward of pool '%s': %s to %s", now->name,
		     text_forward(was->forward), text_forward(now->forward));
	if (was->forward != CONFIG_GUE || now->forward != CONFIG_GUE)
		return;
	if (was->gue_port != now->gue_port)
		note(report, "changed gue_port of pool '%s': %d to %d", now->name, was->gue_port,
		     now->gue_port);
	if (was->gue_checksum != now->gue_checksum)
		note(report, "changed gue_checksum of pool '%s': %s to %s", now->name,
		     text_gue_checksum(was->gue_checksum), text_gue_checksum(now->gue_checksum));
}

/* A number that may be left out, which is 0. */
static void compare_option(const struct report *report, const char *pool, const char *field,
			   unsigned int was, unsigned int now)
{
	char was_text[16] = "none", now_text[16] = "none";

	if (was == now)
		return;
	if (was)
		snprintf(was_text, sizeof(was_text), "%u", was);
	if (now)
		snprintf(now_text, sizeof(now_text), "%u", now);
	note(report, "changed %s of pool '%s': %s to %s", field, pool, was_text, now_text);
}

static int compare_pools(const struct report *report, const struct config *before,
			 const struct config *after)
{
	int err = 0;

	for (size_t p = 0; p < before->n_pools; p++)
		if (!config_find_pool(after, before->pools[p].name))
			note(report, "removed pool '%s'", before->pools[p].name);
	for (size_t p = 0; p < after->n_pools && !err; p++) {
		const struct config_pool *now = &after->pools[p];
		const struct config_pool *was = config_find_pool(before, now->name);

		if (!was) {
			note(report, "added pool '%s'", now->name);
			continue;
		}
		compare_placements(report, was, now);
		compare_loads(report, was, now);
		compare_forwards(report, was, now);
		compare_option(report, now->name, "mtu", was->mtu, now->mtu);
		compare_option(report, now->name, "mss_clamp", was->mss_clamp, now->mss_clamp);
		if (was->panic != now->panic)
			note(report, "changed panic of pool '%s': %s to %s", now->name,
			     text_panic(was->panic), text_panic(now->panic));
		if (!config_check_equal(&was->check, &now->check))
			note(report, "changed health check of pool '%s'", now->name);
		err = compare_backends(report, was, now);
	}
	return err;
}

static int compare_keys(const void *a, const void *b)
{
	const struct config_vip *x = a, *y = b;
	size_t len_bytes = x->address.family == AF_INET6 ? 16 : 4;

	if (x->address.family != y->address.family)
		return x->address.family - y->address.family;
	if (x->protocol != y->protocol)
		return x->protocol - y->protocol;
	if (x->port != y->port)
		return x->port - y->port;
	if (x->port_last != y->port_last)
		return x->port_last - y->port_last;
	if (x->prefix_len != y->prefix_len)
		return x->prefix_len - y->prefix_len;
	return memcmp(x->address.bytes, y->address.bytes, len_bytes);
}

static void compare_vip(const struct report *report, const void *context, const void *before,
			const void *after)
{
	const struct config_vip *was = before, *now = after;
	char text[TEXT_ENDPOINT_LEN];

	(void)context;
	text_vip(now ? now : was, text);
	if (!now)
		note(report, "removed vip %s", text);
	else if (!was)
		note(report, "added vip %s with pool '%s'", text, now->pool);
	if (now && was && strcmp(was->pool, now->pool) != 0)
		note(report, "changed pool of vip %s: '%s' to '%s'", text, was->pool, now->pool);
	if (now && was && was->hash != now->hash)
		note(report, "changed hash of vip %s: %s to %s", text, text_hash(was->hash),
		     text_hash(now->hash));
}

static int compare_vips(const struct report *report, const struct config *before,
			const struct config *after)
{
	const struct pairing lists = {
		.before = before->vips,
		.after = after->vips,
		.n_before = before->n_vips,
		.n_after = after->n_vips,
		.item_bytes = sizeof(*after->vips),
		.compare = compare_keys,
		.pair = compare_vip,
	};

	return compare_lists(report, &lists);
}

static void compare_source(const struct report *report, const char *field,
			   const struct config_prefix *was, const struct config_prefix *now)
{
	char before[TEXT_PREFIX_LEN], after[TEXT_PREFIX_LEN];

	if (memcmp(was, now, sizeof(*now)) != 0)
		note(report, "changed encap.%s: %s to %s", field, text_network(was, before),
		     text_network(now, after));
}

static void compare_encap(const struct report *report, const struct config_encap *was,
			  const struct config_encap *now)
{
	compare_source(report, "source_ipv4", &was->source_ipv4, &now->source_ipv4);
	compare_source(report, "source_ipv6", &was->source_ipv6, &now->source_ipv6);
}

int differences_list(const struct config *before, const struct config *after,
		     void (*line)(void *context, const char *text), void *context)
{
	const struct report report = {line, context};
	int err;

	if (before->seed != after->seed)
		note(&report, "changed seed: every flow is hashed anew");
	compare_encap(&report, &before->encap, &after->encap);
	compare_sizes(&report, &before->flows, &after->flows);
	compare_times(&report, &before->flows, &after->flows);
	compare_interfaces(&report, before, after);
	err = compare_pools(&report, before, after);
	return err ? err : compare_vips(&report, before, after);
}
