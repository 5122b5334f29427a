/*
 * config_yaml: one YAML document as a tree of typed nodes that know where they stand, over libyaml.
 *
 * Anchors and aliases share nodes; "<<" merges mappings as YAML 1.1 does. Refused, with file:line: tags, a second
 * document, repeated keys, keys that are no text, NUL characters, aliases into themselves, more than YAML_DEPTH_MAX
 * levels or YAML_NODES_MAX nodes.
 */
#ifndef INGEST_CONFIG_YAML_H
#define INGEST_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "sql/trouble.h"

enum { YAML_DEPTH_MAX = 16, YAML_NODES_MAX = 100000 };

enum node_kind {
	NODE_NULL, /* nothing, ~ or null, without quotes */
	NODE_TEXT,
	NODE_LIST,
	NODE_MAP,
};

struct node;

struct node_entry {
	const struct node *key; /* NODE_TEXT, or NODE_NULL with the text as it is written */
	struct node *value;
};

struct node {
	enum node_kind kind;
	int line;                   /* from 1 */
	bool plain;                 /* text without quotes */
	bool is_key;
	char *text;                 /* of NODE_TEXT and NODE_NULL */
	char *written; /* what the file says, where text is what that stands for (an environment variable); else NULL */
	size_t count;               /* items or entries */
	struct node **items;        /* of NODE_LIST */
	struct node_entry *entries; /* of NODE_MAP */
};

/* Owns all nodes. */
struct tree {
	struct node *root;
	struct node **nodes;
	size_t count;
};

/* Parses text[0..size); name is the file's, for words. NULL with t filled; the caller frees. */
struct tree *tree_parse(const char *name, const char *text, size_t size, struct trouble *t);
void tree_free(struct tree *tree);

/* The value of a key of a mapping; NULL where there is none, or node is no mapping or NULL. */
struct node *node_find(const struct node *node, const char *key);

#endif
