/*
 * config_yaml: libyaml's events become nodes. libyaml is asked for events and not for a document, which would lose
 * repeated keys.
 */
#include "ingest/config_yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sql/mem.h"

struct anchor {
	char *name;
	struct node *node; /* NULL until the node is whole */
};

struct builder {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	struct tree *tree;
	struct anchor *anchors;
	size_t anchor_count;
	size_t merged;      /* entries that merging has copied */
	const char *name;
	struct trouble *t;
};

static int line_of(const struct builder *b)
{
	return (int)b->event.start_mark.line + 1;
}

static int syntax_trouble(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "no YAML";

	if (p->error == YAML_READER_ERROR)
		return trouble_set(b->t, "%s: at byte %zu: %s", b->name, p->problem_offset + 1, problem);
	return trouble_set(b->t, "%s:%zu:%zu: %s%s%s", b->name, p->problem_mark.line + 1, p->problem_mark.column + 1,
			   p->context ? p->context : "", p->context ? ": " : "", problem);
}

/* The next event replaces the current one. 0 or -1. */
static int advance(struct builder *b)
{
	yaml_event_delete(&b->event);
	memset(&b->event, 0, sizeof(b->event));
	return yaml_parser_parse(&b->parser, &b->event) ? 0 : syntax_trouble(b);
}

static struct node *new_node(struct builder *b, enum node_kind kind)
{
	struct node *node;

	if (b->tree->count >= YAML_NODES_MAX) {
		trouble_set(b->t, "%s:%d: more than %d values", b->name, line_of(b), YAML_NODES_MAX);
		return NULL;
	}
	node = xalloc(sizeof(*node));
	node->kind = kind;
	node->line = line_of(b);
	b->tree->nodes = xgrow(b->tree->nodes, b->tree->count + 1, sizeof(*b->tree->nodes));
	b->tree->nodes[b->tree->count++] = node;
	return node;
}

/* --- anchors ------------------------------------------------------------------------------------------------------ */

static size_t open_anchor(struct builder *b, const yaml_char_t *name)
{
	b->anchors = xgrow(b->anchors, b->anchor_count + 1, sizeof(*b->anchors));
	b->anchors[b->anchor_count] = (struct anchor){ .name = xstrdup((const char *)name) };
	return b->anchor_count++;
}

/* A later anchor of the same name hides an earlier one. */
static struct node *follow_alias(struct builder *b)
{
	const char *name = (const char *)b->event.data.alias.anchor;

	for (size_t i = b->anchor_count; i-- > 0;) {
		if (strcmp(b->anchors[i].name, name))
			continue;
		if (!b->anchors[i].node)
			trouble_set(b->t, "%s:%d: *%s stands inside what it names", b->name, line_of(b), name);
		return b->anchors[i].node;
	}
	trouble_set(b->t, "%s:%d: *%s names nothing above", b->name, line_of(b), name);
	return NULL;
}

/* --- scalars and lists -------------------------------------------------------------------------------------------- */

static bool is_null(const char *text)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(text, words[i]))
			return true;
	}
	return false;
}

static struct node *build_scalar(struct builder *b)
{
	const char *text = (const char *)b->event.data.scalar.value;
	size_t length = b->event.data.scalar.length;
	bool plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	struct node *node;

	if (memchr(text, 0, length)) {
		trouble_set(b->t, "%s:%d: a NUL character", b->name, line_of(b));
		return NULL;
	}
	node = new_node(b, plain && is_null(text) ? NODE_NULL : NODE_TEXT);
	if (!node)
		return NULL;
	node->plain = plain;
	node->text = xstrdup(text);
	return node;
}

static struct node *build(struct builder *b, int depth);

static struct node *build_list(struct builder *b, int depth)
{
	struct node *list = new_node(b, NODE_LIST);

	for (;;) {
		struct node *item;

		if (!list || advance(b) < 0)
			return NULL;
		if (b->event.type == YAML_SEQUENCE_END_EVENT)
			return list;
		item = build(b, depth);
		if (!item)
			return NULL;
		list->items = xgrow(list->items, list->count + 1, sizeof(*list->items));
		list->items[list->count++] = item;
	}
}

/* --- mappings ----------------------------------------------------------------------------------------------------- */

static void add_entry(struct node *map, const struct node *key, struct node *value)
{
	map->entries = xgrow(map->entries, map->count + 1, sizeof(*map->entries));
	map->entries[map->count++] = (struct node_entry){ key, value };
}

/* The entries of from that map lacks. */
static int merge_map(struct builder *b, struct node *map, const struct node *from)
{
	if (from->kind != NODE_MAP)
		return trouble_set(b->t, "%s:%d: << merges mappings alone", b->name, from->line);
	b->merged += from->count;
	if (b->merged > YAML_NODES_MAX)
		return trouble_set(b->t, "%s:%d: more than %d merged entries", b->name, map->line, YAML_NODES_MAX);
	for (size_t i = 0; i < from->count; i++) {
		if (!node_find(map, from->entries[i].key->text))
			add_entry(map, from->entries[i].key, from->entries[i].value);
	}
	return 0;
}

/* Done when the mapping is whole, because its own entries win wherever they stand. */
static int merge(struct builder *b, struct node *map, const struct node *from)
{
	if (!from)
		return 0;
	if (from->kind != NODE_LIST)
		return merge_map(b, map, from);
	for (size_t i = 0; i < from->count; i++) {
		if (merge_map(b, map, from->items[i]) < 0)
			return -1;
	}
	return 0;
}

static struct node *build_key(struct builder *b, const struct node *map)
{
	const struct node *first = NULL;
	struct node *key;

	if (b->event.type != YAML_SCALAR_EVENT || b->event.data.scalar.tag || b->event.data.scalar.anchor) {
		trouble_set(b->t, "%s:%d: a key must be a plain text", b->name, line_of(b));
		return NULL;
	}
	key = build_scalar(b);
	if (!key)
		return NULL;
	key->is_key = true;
	for (size_t i = 0; i < map->count && !first; i++) {
		if (!strcmp(map->entries[i].key->text, key->text))
			first = map->entries[i].key;
	}
	if (first) {
		trouble_set(b->t, "%s:%d: key '%.100s' is given a second time; the first is in line %d", b->name,
			    key->line, key->text, first->line);
		return NULL;
	}
	return key;
}

static struct node *build_map(struct builder *b, int depth)
{
	struct node *map = new_node(b, NODE_MAP), *merged = NULL;

	for (;;) {
		struct node *key, *value;
		bool is_merge;

		if (!map || advance(b) < 0)
			return NULL;
		if (b->event.type == YAML_MAPPING_END_EVENT)
			return merge(b, map, merged) < 0 ? NULL : map;
		key = build_key(b, map);
		if (!key || advance(b) < 0)
			return NULL;
		value = build(b, depth);
		if (!value)
			return NULL;
		is_merge = key->plain && !strcmp(key->text, "<<");
		if (is_merge && merged) {
			trouble_set(b->t, "%s:%d: key '<<' is given a second time; a list merges several", b->name,
				    key->line);
			return NULL;
		}
		if (is_merge)
			merged = value;
		else
			add_entry(map, key, value);
	}
}

/* --- documents ---------------------------------------------------------------------------------------------------- */

/* Anchor and tag of the current event; *tag is NULL where the event has no tag. */
static const yaml_char_t *anchor_of(const yaml_event_t *e, const yaml_char_t **tag)
{
	if (e->type == YAML_SCALAR_EVENT) {
		*tag = e->data.scalar.tag;
		return e->data.scalar.anchor;
	}
	if (e->type == YAML_SEQUENCE_START_EVENT) {
		*tag = e->data.sequence_start.tag;
		return e->data.sequence_start.anchor;
	}
	*tag = e->data.mapping_start.tag;
	return e->data.mapping_start.anchor;
}

/* The node that begins with the current event. NULL with trouble. */
static struct node *build(struct builder *b, int depth)
{
	const yaml_char_t *tag, *anchor;
	size_t slot = SIZE_MAX;
	struct node *node;

	if (b->event.type == YAML_ALIAS_EVENT)
		return follow_alias(b);
	anchor = anchor_of(&b->event, &tag);
	if (tag) {
		trouble_set(b->t, "%s:%d: tags have no meaning here: %.100s", b->name, line_of(b), (const char *)tag);
		return NULL;
	}
	if (depth >= YAML_DEPTH_MAX) {
		trouble_set(b->t, "%s:%d: nested more than %d deep", b->name, line_of(b), YAML_DEPTH_MAX);
		return NULL;
	}
	if (anchor)
		slot = open_anchor(b, anchor);
	if (b->event.type == YAML_SCALAR_EVENT)
		node = build_scalar(b);
	else if (b->event.type == YAML_SEQUENCE_START_EVENT)
		node = build_list(b, depth + 1);
	else
		node = build_map(b, depth + 1);
	if (slot != SIZE_MAX)
		b->anchors[slot].node = node;
	return node;
}

static int build_document(struct builder *b)
{
	if (advance(b) < 0 || advance(b) < 0) /* the stream's start, then the document's */
		return -1;
	if (b->event.type == YAML_STREAM_END_EVENT)
		return trouble_set(b->t, "%s: the file is empty", b->name);
	if (advance(b) < 0)
		return -1;
	b->tree->root = build(b, 0);
	if (!b->tree->root || advance(b) < 0 || advance(b) < 0) /* the document's end, then the stream's */
		return -1;
	if (b->event.type != YAML_STREAM_END_EVENT)
		return trouble_set(b->t, "%s:%d: a second document begins; one file holds one", b->name, line_of(b));
	return 0;
}

struct tree *tree_parse(const char *name, const char *text, size_t size, struct trouble *t)
{
	struct builder b = { .name = name, .t = t, .tree = xalloc(sizeof(*b.tree)) };
	int status;

	if (!yaml_parser_initialize(&b.parser)) {
		trouble_set(t, "%s: cannot start the YAML parser", name);
		tree_free(b.tree);
		return NULL;
	}
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, size);
	status = build_document(&b);
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	for (size_t i = 0; i < b.anchor_count; i++)
		free(b.anchors[i].name);
	free(b.anchors);
	if (status < 0) {
		tree_free(b.tree);
		return NULL;
	}
	return b.tree;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->count; i++) {
		struct node *node = tree->nodes[i];

		free(node->text);
		free(node->written);
		free(node->items);
		free(node->entries);
		free(node);
	}
	free(tree->nodes);
	free(tree);
}

struct node *node_find(const struct node *node, const char *key)
{
	for (size_t i = 0; node && node->kind == NODE_MAP && i < node->count; i++) {
		if (!strcmp(node->entries[i].key->text, key))
			return node->entries[i].value;
	}
	return NULL;
}
