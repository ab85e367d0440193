/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/validate.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/check.h"
#include "config/mtu.h"
#include "config/placement.h"
#include "config/quic.h"
#include "config/text.h"
#include "config/vip.h"

int config_refuse(const struct config_validation *check, const struct config_place *place,
		  const char *format, ...)
{
	char subject[CONFIG_PLACE_LEN], reason[sizeof(check->error->what)];
	struct config_mark mark = {0};
	const char *separator = " ";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	if (check->text) {
		mark = check->text->mark(check->text->context, place);
		config_place_path(place, subject);
	} else {
		config_place_name(place, check->config, subject);
	}
	/* The whole model has no name. */
	if (!*subject)
		separator = "";
	return config_error_set(check->error, mark, "%s%s%s", subject, separator, reason);
}

const char *config_first(const struct config_validation *check, const struct config_place *place,
			 char out[CONFIG_FIRST_LEN])
{
	char name[CONFIG_PLACE_LEN];

	if (check->text)
		snprintf(out, CONFIG_FIRST_LEN, "first at line %zu",
			 check->text->mark(check->text->context, place).line);
	else
		snprintf(out, CONFIG_FIRST_LEN, "first by %s",
			 config_place_name(place, check->config, name));
	return out;
}

/* @name fills an array of @size bytes, and need not end in it. */
static int refuse_name(const struct config_validation *check, struct config_place place,
		       const char *name, size_t size, const char *must)
{
	char quote[CONFIG_QUOTE_LEN];

	place.field = "name";
	return config_refuse(check, &place, "%s, got %s", must,
			     config_quote(name, strnlen(name, size), quote));
}

static int check_count(const struct config_validation *check, const char *field, size_t n,
		       size_t max)
{
	const struct config_place place = {.section = CONFIG_ROOT, .field = field};

	if (n > max)
		return config_refuse(check, &place, "must have at most %zu entries, got %zu", max,
				     n);
	return 0;
}

static int check_interfaces(const struct config_validation *check)
{
	const struct config *config = check->config;
	struct config_place place = {.section = CONFIG_ROOT, .field = "interfaces"};

	if (!config->n_interfaces)
		return config_refuse(check, &place, "must have at least one entry");
	place = (struct config_place){.section = CONFIG_INTERFACE};
	for (; place.index < config->n_interfaces; place.index++) {
		const struct config_interface *interface = &config->interfaces[place.index];

		if (!config_interface_name_valid(interface->name))
			return refuse_name(check, place, interface->name, sizeof(interface->name),
					   CONFIG_MUST_INTERFACE);
		if (interface->mode != CONFIG_NATIVE && interface->mode != CONFIG_GENERIC) {
			place.field = "mode";
			return config_refuse(check, &place, CONFIG_MUST_MODE);
		}
	}
	return check_count(check, "interfaces", config->n_interfaces, CONFIG_INTERFACES_MAX);
}

static const char *article_forward(enum config_forward forward)
{
	return forward == CONFIG_IPIP ? "an ipip" : forward == CONFIG_GUE ? "a gue" : "a dr";
}

static int check_backend(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.pool];
	const struct config_backend *backend = &pool->backends[place.index];
	char weight[TEXT_WEIGHT_LEN];
	int err;

	if (!text_is_name(backend->name))
		return refuse_name(check, place, backend->name, sizeof(backend->name),
				   CONFIG_MUST_NAME);
	err = config_address_validate(check, place, &backend->address);
	if (err)
		return err;
	if (backend->port && pool->forward != CONFIG_NAT) {
		place.field = "port";
		return config_refuse(check, &place,
				     "must be left out, got '%d' (%s pool cannot rewrite ports)",
				     backend->port, article_forward(pool->forward));
	}
	if (*backend->rack && !text_is_name(backend->rack)) {
		place.field = "rack";
		return config_refuse(check, &place, CONFIG_MUST_NAME);
	}
	if (backend->weight_milli > CONFIG_WEIGHT_MAX) {
		place.field = "weight";
		return config_refuse(check, &place, CONFIG_MUST_WEIGHT ", got '%s'",
				     text_weight(backend->weight_milli, weight));
	}
	return 0;
}

/* As ring_build() counts: round(vnodes * weight), and at least one if there is any weight. */
static uint64_t positions_of(const struct config_pool *pool)
{
	uint64_t sum = 0;

	if (pool->placement == CONFIG_CAPPED)
		return pool->cells;
	for (size_t i = 0; i < pool->n_backends; i++) {
		uint64_t weight = pool->backends[i].weight_milli;
		uint64_t n = (pool->vnodes * weight + CONFIG_WEIGHT_ONE / 2) / CONFIG_WEIGHT_ONE;

		sum += weight && !n ? 1 : n;
	}
	return sum;
}

static int check_gue(const struct config_validation *check, struct config_place place,
		     const struct config_pool *pool)
{
	if (pool->forward == CONFIG_GUE) {
		place.field = "gue_port";
		if (!pool->gue_port)
			return config_refuse(check, &place, CONFIG_MUST_GUE_PORT);
		place.field = "gue_checksum";
		if (pool->gue_checksum != CONFIG_GUE_ZERO && pool->gue_checksum != CONFIG_GUE_FULL)
			return config_refuse(check, &place, CONFIG_MUST_CHECKSUM);
		return 0;
	}
	if (!pool->gue_port && pool->gue_checksum == CONFIG_GUE_NONE)
		return 0;
	place.field = pool->gue_port ? "gue_port" : "gue_checksum";
	return config_refuse(check, &place, "is for gue, and this is %s pool: leave it out",
			     pool->forward == CONFIG_NAT ? "a nat"
							 : article_forward(pool->forward));
}

static int check_pool(const struct config_validation *check, struct config_place place)
{
	const struct config_pool *pool = &check->config->pools[place.index];
	struct config_place item = {.section = CONFIG_BACKEND, .pool = place.index};
	uint64_t positions;
	int err = 0;

	if (!text_is_name(pool->name))
		return refuse_name(check, place, pool->name, sizeof(pool->name), CONFIG_MUST_NAME);
	if (pool->forward < CONFIG_DR || pool->forward > CONFIG_GUE) {
		place.field = "forward";
		return config_refuse(check, &place, CONFIG_MUST_FORWARD);
	}
	err = check_gue(check, place, pool);
	if (err)
		return err;
	if (pool->vnodes < 1 || pool->vnodes > CONFIG_POSITIONS_MAX) {
		place.field = "vnodes";
		return config_refuse(check, &place, CONFIG_MUST_VNODES ", got '%u'", pool->vnodes);
	}
	if (pool->panic != CONFIG_PANIC_ALL && pool->panic != CONFIG_PANIC_NONE) {
		place.field = "panic";
		return config_refuse(check, &place, CONFIG_MUST_PANIC);
	}
	for (; !err && item.index < pool->n_backends; item.index++)
		err = check_backend(check, item);
	if (!err)
		err = config_mtu_validate(check, place);
	if (!err)
		err = config_placement_validate(check, place);
	if (!err)
		err = config_check_validate(check, place.index);
	if (err)
		return err;
	positions = positions_of(pool);
	if (positions > CONFIG_POSITIONS_MAX)
		return config_refuse(check, &place,
				     "has %" PRIu64 " positions (vnodes times weight, summed), "
				     "at most %u fit; lower vnodes or the weights",
				     positions, CONFIG_POSITIONS_MAX);
	return 0;
}

static int check_pools(const struct config_validation *check)
{
	const struct config *config = check->config;
	struct config_place place = {.section = CONFIG_POOL};
	const struct config_place nowhere = {.section = CONFIG_ROOT};
	size_t n_backends = 0;
	int err = check_count(check, "pools", config->n_pools, CONFIG_POOLS_MAX);

	for (size_t i = 0; i < config->n_pools; i++)
		n_backends += config->pools[i].n_backends;
	if (!err && n_backends > CONFIG_BACKENDS_MAX)
		return config_refuse(check, &nowhere, "%zu backends over all pools, at most %d fit",
				     n_backends, CONFIG_BACKENDS_MAX);
	for (; !err && place.index < config->n_pools; place.index++)
		err = check_pool(check, place);
	return err;
}

static int check_vips(const struct config_validation *check)
{
	int err = check_count(check, "vips", check->config->n_vips, CONFIG_VIPS_MAX);

	for (size_t i = 0; !err && i < check->config->n_vips; i++)
		err = config_vip_validate(check, i);
	return err;
}

int config_validate(const struct config *config, const struct config_text *text,
		    struct config_error *error)
{
	struct config_validation check = {.config = config, .text = text, .error = error};
	int err;

	/* One too many, as calloc(0) may return NULL. */
	check.vip_pools = calloc(config->n_vips + 1, sizeof(*check.vip_pools));
	if (!check.vip_pools)
		return -ENOMEM;
	err = check_interfaces(&check);
	if (!err)
		err = check_pools(&check);
	if (!err)
		err = check_vips(&check);
	if (!err)
		err = config_check_unique(&check);
	if (!err)
		err = config_check_quic(&check);
	if (!err)
		err = config_check_nat(&check);
	free(check.vip_pools);
	return err;
}
