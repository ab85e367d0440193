/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/record_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/address.h"

#define RECORD_VERSION 1

static json_t *prefixes_to_json(const struct backend_prefix *prefixes, uint32_t len)
{
	json_t *array = json_array();
	char text[ADDRESS_TEXT_LEN];

	for (uint32_t i = 0; i < len; i++)
		json_array_append_new(array, json_string(prefix_text(&prefixes[i], text)));
	return array;
}

json_t *options_to_json(const struct attach_options *options)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:o, s:o}", "mode", mode_name(options->mode),
			 "gue_port", options->gue_port, "mss", options->mss, "egress",
			 options->egress, "vips", prefixes_to_json(options->vips, options->n_vips),
			 "from", prefixes_to_json(options->from, options->n_from));
}

static json_t *change_to_json(const struct change *change)
{
	if (!change->made)
		return json_null();
	return json_pack("{s:i, s:i}", "before", change->before, "set", change->set);
}

static json_t *interface_to_json(const struct record_interface *entry)
{
	return json_pack("{s:s, s:I, s:I, s:b, s:o, s:o}", "name", entry->name, "ifindex",
			 (json_int_t)entry->ifindex, "egress_ifindex",
			 (json_int_t)entry->egress_ifindex, "clsact", entry->clsact, "rp_filter",
			 change_to_json(&entry->rp_filter), "options",
			 options_to_json(&entry->options));
}

json_t *record_to_json(const struct record *record)
{
	json_t *interfaces = json_array();

	for (uint32_t i = 0; i < record->n_interfaces; i++)
		if (json_array_append_new(interfaces, interface_to_json(&record->interfaces[i]))) {
			json_decref(interfaces);
			return NULL;
		}
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", RECORD_VERSION, "interfaces",
			 interfaces, "vips_added", prefixes_to_json(record->added, record->n_added),
			 "arp_ignore", change_to_json(&record->arp_ignore), "arp_announce",
			 change_to_json(&record->arp_announce));
}

static int prefixes_from_json(const json_t *array, struct backend_prefix *set, uint32_t *len,
			      size_t max)
{
	struct backend_prefix prefix;
	size_t i;
	json_t *item;

	if (!json_is_array(array))
		return -EINVAL;
	json_array_foreach(array, i, item)
	{
		if (!json_is_string(item) || prefix_parse(json_string_value(item), &prefix) ||
		    prefixes_add(set, len, max, &prefix))
			return -EINVAL;
	}
	return 0;
}

static int mode_from_name(const char *name, uint32_t *mode)
{
	for (*mode = MODE_TUNNEL; *mode <= MODE_DR; (*mode)++)
		if (!strcmp(name, mode_name(*mode)))
			return 0;
	return -EINVAL;
}

static int name_copy(char out[IF_NAMESIZE], const char *name)
{
	memset(out, 0, IF_NAMESIZE);
	return snprintf(out, IF_NAMESIZE, "%s", name) < IF_NAMESIZE ? 0 : -EINVAL;
}

static int options_from_json(json_t *root, struct attach_options *options)
{
	const char *mode, *egress;
	json_t *vips, *from;
	int gue_port, mss;

	if (json_unpack(root, "{s:s, s:i, s:i, s:s, s:o, s:o}", "mode", &mode, "gue_port",
			&gue_port, "mss", &mss, "egress", &egress, "vips", &vips, "from", &from))
		return -EINVAL;
	if (gue_port < 0 || gue_port > UINT16_MAX || mss < 0 || mss > UINT16_MAX)
		return -EINVAL;
	options->gue_port = (uint16_t)gue_port;
	options->mss = (uint16_t)mss;
	if (mode_from_name(mode, &options->mode) || name_copy(options->egress, egress) ||
	    prefixes_from_json(vips, options->vips, &options->n_vips, BACKEND_VIPS_MAX))
		return -EINVAL;
	return prefixes_from_json(from, options->from, &options->n_from, BACKEND_FROM_MAX);
}

static int change_from_json(json_t *root, struct change *change)
{
	if (json_is_null(root))
		return 0;
	change->made = true;
	return json_unpack(root, "{s:i, s:i}", "before", &change->before, "set", &change->set)
		       ? -EINVAL
		       : 0;
}

static int interface_from_json(json_t *root, struct record_interface *entry)
{
	json_int_t ifindex, egress_ifindex;
	json_t *rp_filter, *options;
	const char *name;
	int clsact;

	if (json_unpack(root, "{s:s, s:I, s:I, s:b, s:o, s:o}", "name", &name, "ifindex", &ifindex,
			"egress_ifindex", &egress_ifindex, "clsact", &clsact, "rp_filter",
			&rp_filter, "options", &options))
		return -EINVAL;
	if (ifindex < 1 || ifindex > INT32_MAX || egress_ifindex < 0 ||
	    egress_ifindex > INT32_MAX || name_copy(entry->name, name))
		return -EINVAL;
	entry->ifindex = (uint32_t)ifindex;
	entry->egress_ifindex = (uint32_t)egress_ifindex;
	entry->clsact = clsact;
	if (change_from_json(rp_filter, &entry->rp_filter))
		return -EINVAL;
	return options_from_json(options, &entry->options);
}

int record_from_json(json_t *root, struct record *record)
{
	json_t *interfaces, *added, *arp_ignore, *arp_announce, *item;
	int version;
	size_t i;

	if (json_unpack(root, "{s:i, s:o, s:o, s:o, s:o}", "version", &version, "interfaces",
			&interfaces, "vips_added", &added, "arp_ignore", &arp_ignore,
			"arp_announce", &arp_announce))
		return -EINVAL;
	if (version != RECORD_VERSION || !json_is_array(interfaces) ||
	    json_array_size(interfaces) > RECORD_INTERFACES_MAX)
		return -EINVAL;
	json_array_foreach(interfaces, i, item)
	{
		if (interface_from_json(item, &record->interfaces[i]))
			return -EINVAL;
		record->n_interfaces++;
	}
	if (prefixes_from_json(added, record->added, &record->n_added, BACKEND_VIPS_MAX) ||
	    change_from_json(arp_ignore, &record->arp_ignore))
		return -EINVAL;
	return change_from_json(arp_announce, &record->arp_announce);
}
