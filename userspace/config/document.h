/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * YAML text -> a tree of nodes that know their line. Used inside config/ only;
 * knows nothing of the model, but bounds what a file may ask for: nesting,
 * nodes, anchors. The size of a tree is linear in its text.
 */
#ifndef RINGLB_CONFIG_DOCUMENT_H
#define RINGLB_CONFIG_DOCUMENT_H

#include <yaml.h>

#include "config/error.h"

/**
 * config_document_load() - parse YAML text
 * @document: receives the tree, which has a root; yaml_document_delete() it
 * @text: UTF-8, @len_bytes long
 *
 * An alias is the same node as its anchor, so the tree may have cycles: walk it
 * to a fixed depth. Tags, directives but %YAML, and a second document are refused.
 *
 * Return: 0; -EINVAL with @error filled; -ENOMEM. On error there is nothing to delete.
 */
int config_document_load(yaml_document_t *document, const char *text, size_t len_bytes,
			 struct config_error *error);

/* Where a node begins; the anchor's place if the node was reached by an alias. */
struct config_mark config_node_mark(const yaml_node_t *node);

/* What kind of node it is, in words: "a list". */
const char *config_node_kind(const yaml_node_t *node);

/* True for a value that was left out or is an unquoted ~ or null. */
bool config_node_is_null(const yaml_node_t *node);

/* Number of items of a list. */
size_t config_node_length(const yaml_node_t *list);

/* Item @i of a list. */
yaml_node_t *config_node_item(yaml_document_t *document, const yaml_node_t *list, size_t i);

/* A mapping's value of the scalar key @name, or NULL. */
yaml_node_t *config_node_value(yaml_document_t *document, const yaml_node_t *mapping,
			       const char *name);

/*
 * The value of a path such as "check.port", or the innermost node on the way to it
 * that there is, which may be @mapping itself. @path may be NULL.
 */
const yaml_node_t *config_node_inner(yaml_document_t *document, const yaml_node_t *mapping,
				     const char *path);

#endif
