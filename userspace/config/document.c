/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * yaml_parser_load() would build the tree too, but it compares each anchor with
 * all before it and builds whatever a file asks for. Composing the tree from the
 * parser's events costs the same and can stop early.
 */
#include "config/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The schema is 5 deep. The largest model has about 630,000 nodes. */
#define DEPTH_MAX   16
#define NODES_MAX   (1U << 20)
#define ANCHORS_MAX 256

struct anchor {
	char *name;
	int node;
};

/* A list or mapping whose end has not come yet; key is a mapping's key that waits for its value. */
struct level {
	int node;
	int key;
	bool is_mapping;
};

struct composer {
	yaml_document_t *document;
	yaml_parser_t *parser;
	struct config_error *error;
	struct level levels[DEPTH_MAX];
	size_t depth;
	size_t n_nodes;
	struct anchor anchors[ANCHORS_MAX];
	size_t n_anchors;
	size_t n_documents;
};

static struct config_mark mark_of(yaml_mark_t mark)
{
	return (struct config_mark){mark.line + 1, mark.column + 1};
}

static bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

/* The parser counts lines only as far as it has scanned, which is less than it has read. */
static struct config_mark mark_of_offset(const char *text, size_t len_bytes, size_t offset)
{
	struct config_mark mark = {1, 1};

	for (size_t i = 0; i < offset && i < len_bytes; i++) {
		/* A CR LF counts once, at its LF. */
		if (text[i] == '\r' && i + 1 < len_bytes && text[i + 1] == '\n')
			continue;
		mark.column++;
		if (is_break(text[i]))
			mark = (struct config_mark){mark.line + 1, 1};
	}
	return mark;
}

/* The usual reason why a file that looks right is none. */
static const char *tab_hint(const char *text, size_t len_bytes, size_t line)
{
	const char *at = text, *end = text + len_bytes;

	for (; line > 1 && at; line--) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	for (; at && at < end && (*at == ' ' || *at == '\t'); at++)
		if (*at == '\t')
			return " (the line is indented with a tab, use spaces)";
	return "";
}

/* What libyaml found wrong, in terms of the text. */
static int syntax_error(const yaml_parser_t *parser, const char *text, size_t len_bytes,
			struct config_error *error)
{
	size_t offset = parser->problem_offset;
	const char *problem = parser->problem ? parser->problem : "unknown error";
	struct config_mark mark;

	switch (parser->error) {
	case YAML_MEMORY_ERROR:
		return -ENOMEM;
	case YAML_READER_ERROR:
		mark = mark_of_offset(text, len_bytes, offset);
		if (offset < len_bytes)
			return config_error_set(error, mark, "not YAML: %s (byte 0x%02x)", problem,
						(unsigned char)text[offset]);
		return config_error_set(error, mark, "not YAML: %s", problem);
	default:
		break;
	}
	mark = mark_of(parser->problem_mark);
	return config_error_set(error, mark, "not YAML: %s%s%s%s", problem,
				parser->context ? " " : "", parser->context ? parser->context : "",
				tab_hint(text, len_bytes, mark.line));
}

/* Hang a node into the list or mapping that is open, if any. */
static int node_attach(struct composer *composer, int node)
{
	struct level *level;

	if (!composer->depth)
		return 0;
	level = &composer->levels[composer->depth - 1];
	if (!level->is_mapping)
		return yaml_document_append_sequence_item(composer->document, level->node, node)
			       ? 0
			       : -ENOMEM;
	if (!level->key) {
		level->key = node;
		return 0;
	}
	if (!yaml_document_append_mapping_pair(composer->document, level->node, level->key, node))
		return -ENOMEM;
	level->key = 0;
	return 0;
}

static int anchor_add(struct composer *composer, const yaml_event_t *event, const yaml_char_t *name,
		      int node)
{
	struct anchor *anchor = &composer->anchors[composer->n_anchors];

	if (!name)
		return 0;
	if (composer->n_anchors == ANCHORS_MAX)
		return config_error_set(composer->error, mark_of(event->start_mark),
					"more than %d anchors", ANCHORS_MAX);
	anchor->name = strdup((const char *)name);
	if (!anchor->name)
		return -ENOMEM;
	anchor->node = node;
	composer->n_anchors++;
	return 0;
}

static int alias_attach(struct composer *composer, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	char quote[CONFIG_QUOTE_LEN];

	/* A name that is used again means its latest node. */
	for (size_t i = composer->n_anchors; i-- > 0;)
		if (!strcmp(composer->anchors[i].name, name))
			return node_attach(composer, composer->anchors[i].node);
	return config_error_set(composer->error, mark_of(event->start_mark),
				"alias %s has no anchor before it",
				config_quote(name, strlen(name), quote));
}

static int node_add(struct composer *composer, const yaml_event_t *event, const yaml_char_t *anchor,
		    const yaml_char_t *tag, int node)
{
	char quote[CONFIG_QUOTE_LEN];
	int err;

	if (!node)
		return -ENOMEM;
	yaml_document_get_node(composer->document, node)->start_mark = event->start_mark;
	if (tag)
		return config_error_set(
			composer->error, mark_of(event->start_mark),
			"YAML tags have no meaning here, remove %s",
			config_quote((const char *)tag, strlen((const char *)tag), quote));
	err = anchor_add(composer, event, anchor, node);
	return err ? err : node_attach(composer, node);
}

static int level_open(struct composer *composer, const yaml_event_t *event,
		      const yaml_char_t *anchor, const yaml_char_t *tag, int node)
{
	int err = node_add(composer, event, anchor, tag, node);

	if (err)
		return err;
	if (composer->depth >= DEPTH_MAX)
		return config_error_set(composer->error, mark_of(event->start_mark),
					"nested more than %d deep", DEPTH_MAX);
	composer->levels[composer->depth++] = (struct level){
		.node = node,
		.is_mapping = event->type == YAML_MAPPING_START_EVENT,
	};
	return 0;
}

static int event_take(struct composer *composer, const yaml_event_t *event)
{
	yaml_document_t *document = composer->document;
	int node;

	if (composer->n_nodes++ == NODES_MAX)
		return config_error_set(composer->error, mark_of(event->start_mark),
					"more values than any valid file has");
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (composer->n_documents++)
			return config_error_set(
				composer->error, mark_of(event->start_mark),
				"a second YAML document begins, but a file holds one only");
		return 0;
	case YAML_ALIAS_EVENT:
		return alias_attach(composer, event);
	case YAML_SCALAR_EVENT:
		node = yaml_document_add_scalar(document, NULL, event->data.scalar.value,
						(int)event->data.scalar.length,
						event->data.scalar.style);
		return node_add(composer, event, event->data.scalar.anchor, event->data.scalar.tag,
				node);
	case YAML_SEQUENCE_START_EVENT:
		node = yaml_document_add_sequence(document, NULL, event->data.sequence_start.style);
		return level_open(composer, event, event->data.sequence_start.anchor,
				  event->data.sequence_start.tag, node);
	case YAML_MAPPING_START_EVENT:
		node = yaml_document_add_mapping(document, NULL, event->data.mapping_start.style);
		return level_open(composer, event, event->data.mapping_start.anchor,
				  event->data.mapping_start.tag, node);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		composer->depth--;
		return 0;
	default:
		return 0;
	}
}

/*
 * libyaml compares each %TAG directive with all before it, in one call that
 * cannot be stopped. As tags are refused anyway, so are these, beforehand.
 */
static int refuse_tag_directives(const char *text, size_t len_bytes, struct config_error *error)
{
	static const char directive[] = "%TAG";
	const char *end = text + len_bytes;

	for (const char *at = text; at < end;) {
		at = memmem(at, (size_t)(end - at), directive, strlen(directive));
		if (!at)
			break;
		if (at == text || is_break(at[-1]))
			return config_error_set(
				error, mark_of_offset(text, len_bytes, (size_t)(at - text)),
				"YAML tags have no meaning here, remove the %%TAG directive");
		at += strlen(directive);
	}
	return 0;
}

static int compose(struct composer *composer, const char *text, size_t len_bytes)
{
	bool ended = false;
	int err = 0;

	while (!err && !ended) {
		yaml_event_t event;

		if (!yaml_parser_parse(composer->parser, &event))
			return syntax_error(composer->parser, text, len_bytes, composer->error);
		ended = event.type == YAML_STREAM_END_EVENT;
		err = event_take(composer, &event);
		yaml_event_delete(&event);
	}
	return err;
}

int config_document_load(yaml_document_t *document, const char *text, size_t len_bytes,
			 struct config_error *error)
{
	static const char mark[] = "\xef\xbb\xbf";
	yaml_parser_t parser;
	struct composer composer = {.document = document, .parser = &parser, .error = error};
	const yaml_node_t *root;
	int err;

	/* The parser skips this mark only where it may guess the encoding. */
	if (len_bytes >= strlen(mark) && !memcmp(text, mark, strlen(mark))) {
		text += strlen(mark);
		len_bytes -= strlen(mark);
	}
	err = refuse_tag_directives(text, len_bytes, error);
	if (err)
		return err;
	if (!yaml_document_initialize(document, NULL, NULL, NULL, 1, 1))
		return -ENOMEM;
	if (!yaml_parser_initialize(&parser)) {
		yaml_document_delete(document);
		return -ENOMEM;
	}
	/* Without this a file could say that it is UTF-16. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len_bytes);

	err = compose(&composer, text, len_bytes);
	root = yaml_document_get_root_node(document);
	if (!err && (!root || config_node_is_null(root)))
		err = config_error_set(error, (struct config_mark){1, 1}, "the file is empty");

	for (size_t i = 0; i < composer.n_anchors; i++)
		free(composer.anchors[i].name);
	yaml_parser_delete(&parser);
	if (err)
		yaml_document_delete(document);
	return err;
}

struct config_mark config_node_mark(const yaml_node_t *node)
{
	return mark_of(node->start_mark);
}

const char *config_node_kind(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SEQUENCE_NODE:
		return "a list";
	case YAML_MAPPING_NODE:
		return "a mapping";
	default:
		return "a single value";
	}
}

bool config_node_is_null(const yaml_node_t *node)
{
	const char *value;

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	value = (const char *)node->data.scalar.value;
	return !*value || !strcmp(value, "~") || !strcmp(value, "null");
}

size_t config_node_length(const yaml_node_t *list)
{
	return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

yaml_node_t *config_node_item(yaml_document_t *document, const yaml_node_t *list, size_t i)
{
	return yaml_document_get_node(document, list->data.sequence.items.start[i]);
}

yaml_node_t *config_node_value(yaml_document_t *document, const yaml_node_t *mapping,
			       const char *name)
{
	const yaml_node_pair_t *pair;

	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++) {
		const yaml_node_t *key = yaml_document_get_node(document, pair->key);

		if (key->type == YAML_SCALAR_NODE &&
		    !strcmp((const char *)key->data.scalar.value, name))
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

const yaml_node_t *config_node_inner(yaml_document_t *document, const yaml_node_t *mapping,
				     const char *path)
{
	const yaml_node_t *inner = mapping;
	char name[CONFIG_PLACE_LEN];

	while (path && *path && inner) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		mapping = inner;
		inner = config_node_value(document, mapping, name);
		path += len + (path[len] == '.');
	}
	return inner ? inner : mapping;
}
