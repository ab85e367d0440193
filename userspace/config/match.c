/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "config/model.h"

/* Prefixes within each other: no two of them have the same length. */
#define DEPTH_MAX 129

static unsigned int address_bits(const struct config_address *address)
{
	return address->family == AF_INET ? 32 : 128;
}

unsigned int config_vip_bits(const struct config_vip *vip)
{
	return vip->prefix_len ? vip->prefix_len : address_bits(&vip->address);
}

uint16_t config_vip_first(const struct config_vip *vip)
{
	return vip->port;
}

uint16_t config_vip_last(const struct config_vip *vip)
{
	if (vip->port_last)
		return vip->port_last;
	return vip->port ? vip->port : UINT16_MAX;
}

bool config_vip_is_exact(const struct config_vip *vip)
{
	return !vip->prefix_len && vip->port && !vip->port_last;
}

struct config_address config_address_cut(const struct config_address *address, unsigned int bits)
{
	struct config_address cut = {.family = address->family};

	memcpy(cut.bytes, address->bytes, bits / 8);
	if (bits % 8)
		cut.bytes[bits / 8] = (uint8_t)(address->bytes[bits / 8] & 0xff00 >> bits % 8);
	return cut;
}

bool config_vip_has_address(const struct config_vip *vip, const struct config_address *address)
{
	struct config_address cut;

	if (address->family != vip->address.family)
		return false;
	cut = config_address_cut(address, config_vip_bits(vip));
	return !config_address_compare(&cut, &vip->address);
}

static uint16_t width_of(const struct config_vip *vip)
{
	return config_vip_last(vip) - config_vip_first(vip);
}

const struct config_vip *config_match_vip(const struct config *config,
					  const struct config_address *address, uint8_t protocol,
					  uint16_t port)
{
	const struct config_vip *best = NULL;

	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_vip *vip = &config->vips[i];

		if (vip->protocol != protocol || !config_vip_has_address(vip, address) ||
		    port < config_vip_first(vip) || port > config_vip_last(vip))
			continue;
		if (!best || config_vip_bits(vip) > config_vip_bits(best) ||
		    (config_vip_bits(vip) == config_vip_bits(best) &&
		     width_of(vip) < width_of(best)))
			best = vip;
	}
	return best;
}

/* By protocol, then as addresses and prefixes lie within each other. */
static int compare_prefix(const struct config_vip *a, const struct config_vip *b)
{
	int order = a->protocol - b->protocol;

	if (!order)
		order = config_address_compare(&a->address, &b->address);
	return order ? order : (int)config_vip_bits(a) - (int)config_vip_bits(b);
}

/* Of one prefix, the order of precedence. */
static int compare_vips(const void *a, const void *b)
{
	const struct config_vip *x = *(const struct config_vip *const *)a;
	const struct config_vip *y = *(const struct config_vip *const *)b;
	int order = compare_prefix(x, y);

	if (!order)
		order = width_of(x) - width_of(y);
	if (!order)
		order = x->port - y->port;
	return order ? order : (x < y ? -1 : x > y);
}

static bool has_ports(const struct config_vip *vip, const struct config_vip *of)
{
	return config_vip_first(vip) <= config_vip_first(of) &&
	       config_vip_last(of) <= config_vip_last(vip);
}

static bool overlap(const struct config_vip *a, const struct config_vip *b)
{
	return config_vip_first(a) <= config_vip_last(b) &&
	       config_vip_first(b) <= config_vip_last(a);
}

static void note_fault(struct config_vip_fault *fault, const struct config_vip *vip,
		       const struct config_vip *other)
{
	if (other && other > vip) {
		note_fault(fault, other, vip);
		return;
	}
	if (!fault->vip || vip < fault->vip)
		*fault = (struct config_vip_fault){vip, other};
}

/* Append @vip unless one before it has all of its ports. Return: false if there is no room. */
static bool list_append(struct config_vip_list *list, const struct config_vip *vip)
{
	for (size_t i = 0; i < list->n; i++)
		if (has_ports(list->vips[i], vip))
			return true;
	if (list->n == CONFIG_RANGES_MAX)
		return false;
	list->vips[list->n++] = vip;
	return true;
}

/* The @n VIPs of one prefix, and behind them what @parent has, if there is one. */
static void list_fill(struct config_vip_list *list, const struct config_vip *const *own, size_t n,
		      const struct config_vip_list *parent, struct config_vip_fault *fault)
{
	*list = (struct config_vip_list){.own = own[0]};
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < list->n; j++)
			if (overlap(list->vips[j], own[i]) && !has_ports(own[i], list->vips[j]))
				note_fault(fault, own[i], list->vips[j]);
		if (!list_append(list, own[i]))
			note_fault(fault, own[i], NULL);
	}
	for (size_t i = 0; parent && i < parent->n; i++)
		if (!list_append(list, parent->vips[i]))
			note_fault(fault, own[n - 1], NULL);
}

/*
 * One pass over sorted VIPs: a prefix comes right behind those that cover it, of which
 * the innermost is its parent.
 */
static size_t lists_fill(struct config_vip_list *lists, const struct config_vip *const *sorted,
			 size_t n, struct config_vip_fault *fault)
{
	const struct config_vip_list *covering[DEPTH_MAX];
	size_t depth = 0, n_lists = 0;

	for (size_t i = 0, same = 0; i < n; i += same) {
		struct config_vip_list *list = &lists[n_lists++];

		for (same = 1; i + same < n && !compare_prefix(sorted[i], sorted[i + same]);)
			same++;
		while (depth &&
		       (covering[depth - 1]->own->protocol != sorted[i]->protocol ||
			!config_vip_has_address(covering[depth - 1]->own, &sorted[i]->address)))
			depth--;
		list_fill(list, &sorted[i], same, depth ? covering[depth - 1] : NULL, fault);
		covering[depth++] = list;
	}
	return n_lists;
}

int config_list_vips(const struct config *config, struct config_vip_list **lists, size_t *n_lists,
		     struct config_vip_fault *fault)
{
	const struct config_vip **sorted = calloc(config->n_vips + 1, sizeof(*sorted));
	struct config_vip_list *filled = calloc(config->n_vips + 1, sizeof(*filled));
	struct config_vip_fault found = {0};
	size_t n = 0;
	int err = sorted && filled ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < config->n_vips; i++)
		if (!config_vip_is_exact(&config->vips[i]))
			sorted[n++] = &config->vips[i];
	if (!err) {
		qsort(sorted, n, sizeof(*sorted), compare_vips);
		n = lists_fill(filled, sorted, n, &found);
		err = found.vip ? -EINVAL : 0;
	}
	free(sorted);
	if (err) {
		free(filled);
		if (err == -EINVAL && fault)
			*fault = found;
		return err;
	}
	*lists = filled;
	*n_lists = n;
	return 0;
}
