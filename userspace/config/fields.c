/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHERE_LEN (CONFIG_PLACE_LEN + 8)

struct mapping {
	yaml_document_t *document;
	const yaml_node_t *node;
	const struct config_place *place;
	const struct config_field *fields;
	size_t n_fields;
	struct config_error *error;
};

/* " in pools[0]" or " at the top level": to follow the name of a field. */
static const char *where(const struct mapping *mapping, char out[WHERE_LEN])
{
	char path[CONFIG_PLACE_LEN];

	if (mapping->place->section == CONFIG_ROOT && !mapping->place->field)
		return " at the top level";
	snprintf(out, WHERE_LEN, " in %s", config_place_path(mapping->place, path));
	return out;
}

static const char *field_path(const struct mapping *mapping, const struct config_field *field,
			      char out[CONFIG_PLACE_LEN])
{
	struct config_place place = *mapping->place;
	char nested[CONFIG_PLACE_LEN];

	if (place.field) {
		snprintf(nested, sizeof(nested), "%s.%s", place.field, field->name);
		place.field = nested;
	} else {
		place.field = field->name;
	}
	return config_place_path(&place, out);
}

/* Find the field that a key names. Return: its index, or -EINVAL with the error filled. */
static int field_find(const struct mapping *mapping, const yaml_node_t *key)
{
	char at[WHERE_LEN], quote[CONFIG_QUOTE_LEN], hint[CONFIG_HINT_LEN];
	const char *name = (const char *)key->data.scalar.value;
	struct config_guess guess = {.word = name};

	if (key->type != YAML_SCALAR_NODE)
		return config_error_set(mapping->error, config_node_mark(key),
					"a field's name%s must be a single value, got %s",
					where(mapping, at), config_node_kind(key));
	for (size_t i = 0; i < mapping->n_fields; i++) {
		if (!strcmp(mapping->fields[i].name, name) &&
		    strlen(name) == key->data.scalar.length)
			return (int)i;
		config_guess_offer(&guess, mapping->fields[i].name);
	}
	return config_error_set(mapping->error, config_node_mark(key), "unknown field %s%s%s",
				config_quote(name, key->data.scalar.length, quote),
				where(mapping, at), config_guess_hint(&guess, hint));
}

static int value_read(const struct mapping *mapping, const struct config_field *field,
		      const yaml_node_t *node, void *out)
{
	char path[CONFIG_PLACE_LEN], quote[CONFIG_QUOTE_LEN];
	const char *hint = NULL, *text;

	if (node->type != YAML_SCALAR_NODE)
		return config_error_set(mapping->error, config_node_mark(node),
					"%s must be a single value, got %s",
					field_path(mapping, field, path), config_node_kind(node));
	text = (const char *)node->data.scalar.value;
	if (strlen(text) == node->data.scalar.length &&
	    !field->parse(text, (char *)out + field->offset))
		return 0;
	if (field->secret)
		return config_error_set(mapping->error, config_node_mark(node), "%s %s",
					field_path(mapping, field, path), field->must);
	if (field->hint)
		hint = field->hint(text);
	return config_error_set(mapping->error, config_node_mark(node), "%s %s, got %s%s%s%s",
				field_path(mapping, field, path), field->must,
				config_quote(text, node->data.scalar.length, quote),
				hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
}

static int list_read(const struct mapping *mapping, const struct config_field *field,
		     yaml_node_t *node, yaml_node_t **list)
{
	char path[CONFIG_PLACE_LEN];

	*list = NULL;
	if (config_node_is_null(node))
		return 0;
	if (node->type != YAML_SEQUENCE_NODE)
		return config_error_set(mapping->error, config_node_mark(node),
					"%s must be a list, got %s",
					field_path(mapping, field, path), config_node_kind(node));
	if (config_node_length(node))
		*list = node;
	return 0;
}

static int pairs_read(const struct mapping *mapping, void *out, yaml_node_t **nodes,
		      const yaml_node_t **keys)
{
	const yaml_node_pair_t *pair = mapping->node->data.mapping.pairs.start;
	const yaml_node_pair_t *end = mapping->node->data.mapping.pairs.top;
	char at[WHERE_LEN];

	for (; pair < end; pair++) {
		const yaml_node_t *key = yaml_document_get_node(mapping->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(mapping->document, pair->value);
		int i = field_find(mapping, key), err = 0;

		if (i < 0)
			return i;
		if (keys[i])
			return config_error_set(mapping->error, config_node_mark(key),
						"field '%s' is given twice%s (first at line %zu)",
						mapping->fields[i].name, where(mapping, at),
						config_node_mark(keys[i]).line);
		keys[i] = key;
		if (mapping->fields[i].parse)
			err = value_read(mapping, &mapping->fields[i], value, out);
		else if (mapping->fields[i].mapping)
			nodes[i] = value;
		else
			err = list_read(mapping, &mapping->fields[i], value, &nodes[i]);
		if (err)
			return err;
	}
	return 0;
}

int config_fields_read(yaml_document_t *document, const yaml_node_t *node,
		       const struct config_place *place, const struct config_field *fields,
		       size_t n_fields, void *out, yaml_node_t **nodes, struct config_error *error)
{
	const struct mapping mapping = {document, node, place, fields, n_fields, error};
	const yaml_node_t *keys[CONFIG_FIELDS_MAX] = {NULL};
	yaml_node_t *found[CONFIG_FIELDS_MAX] = {NULL};
	char path[CONFIG_PLACE_LEN], at[WHERE_LEN];
	int err;

	if (node->type != YAML_MAPPING_NODE)
		return config_error_set(error, config_node_mark(node),
					"%s must be a mapping, got %s",
					config_place_path(place, path), config_node_kind(node));
	err = pairs_read(&mapping, out, found, keys);
	if (err)
		return err;
	if (nodes)
		memcpy(nodes, found, n_fields * sizeof(*nodes));
	for (size_t i = 0; i < n_fields; i++)
		if (fields[i].required && !keys[i])
			return config_error_set(error, config_node_mark(node),
						"missing required field '%s'%s", fields[i].name,
						where(&mapping, at));
	return 0;
}
