/* config_section: a mapping of the file against the table of its keys; which words an unknown key gets. */
#include "ingest/config_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/template.h"
#include "sql/keytext.h"
#include "sql/mem.h"

enum { SHOWN_MAX = 60, NEAR_MAX = 48 };

int reader_bad(const struct reader *r, int line, const char *format, ...)
{
	char words[sizeof(r->t->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	return trouble_set(r->t, "%s:%d: %s%s%s", r->name, line, r->where ? r->where : "", r->where ? ": " : "", words);
}

/* The value as the file has it, in quotes, short and safe on a screen. out has room for KEYTEXT_ROOM(SHOWN_MAX) + 8. */
static void show(const struct node *value, char *out)
{
	const char *text = value->written ? value->written : value->text;
	size_t length = text ? strlen(text) : 0;

	if (value->kind == NODE_LIST || value->kind == NODE_MAP) {
		strcpy(out, value->kind == NODE_LIST ? "a list" : "a mapping");
		return;
	}
	if (value->kind == NODE_NULL) {
		strcpy(out, "nothing");
		return;
	}
	out[0] = '\'';
	keytext_write(text, length < SHOWN_MAX ? length : SHOWN_MAX, out + 1);
	strcat(out, length > SHOWN_MAX ? "...'" : "'");
}

int reader_bad_value(const struct reader *r, const struct rule *rule, const struct node *value, const char *words)
{
	char shown[KEYTEXT_ROOM(SHOWN_MAX) + 8];

	show(value, shown);
	return reader_bad(r, value->line, "%s: %s: %s", rule->key, shown, words);
}

/* --- unknown keys ------------------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, deletions and replacements from a to b; SIZE_MAX where one is long. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAR_MAX + 1], length = strlen(b);

	if (strlen(a) > NEAR_MAX || length > NEAR_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t above = row[j];

			row[j] = least(diagonal + (a[i - 1] != b[j - 1]), least(above, row[j - 1]) + 1);
			diagonal = above;
		}
	}
	return row[length];
}

/* The nearest key that a slip of the finger explains; NULL where none is near. */
static const char *nearest(const struct section *section, const char *key)
{
	size_t best = strlen(key) / 3 + 1;
	const char *found = NULL;

	for (size_t i = 0; i < section->count; i++) {
		size_t d = distance(key, section->rules[i].key);

		if (d <= best && (!found || d < best)) {
			best = d;
			found = section->rules[i].key;
		}
	}
	return found;
}

static int unknown_key(const struct reader *r, const struct section *section, const struct node *key)
{
	const char *near = nearest(section, key->text);
	char shown[KEYTEXT_ROOM(SHOWN_MAX) + 8];
	struct buffer valid = { 0 };

	show(&(struct node){ .kind = NODE_TEXT, .text = key->text }, shown);
	for (size_t i = 0; i < section->count; i++) {
		buffer_add(&valid, i ? ", " : "", i ? 2 : 0);
		buffer_add(&valid, section->rules[i].key, strlen(section->rules[i].key));
	}
	buffer_add(&valid, "", 1);
	trouble_set(r->t, "%s:%d: unknown key %s %s%s;%s%s%s valid: %s", r->name, key->line, shown,
		    r->where ? "in " : "at the top level", r->where ? r->where : "", near ? " did you mean '" : "",
		    near ? near : "", near ? "'?" : "", valid.data);
	buffer_release(&valid);
	return -1;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const struct rule *find_rule(const struct section *section, const char *key)
{
	for (size_t i = 0; i < section->count; i++) {
		if (!strcmp(section->rules[i].key, key))
			return &section->rules[i];
	}
	return NULL;
}

static int read_absent(const struct reader *r, const struct rule *rule, int line, void *into)
{
	char text[64];
	struct node value = { .kind = NODE_TEXT, .line = line, .plain = true, .text = text };

	if (rule->required)
		return reader_bad(r, line, "%s is missing: %s", rule->key, rule->type);
	if (!rule->standard)
		return 0;
	snprintf(text, sizeof(text), "%s", rule->standard);
	return rule->read(r, rule, &value, into);
}

int section_read(const struct reader *r, const struct section *section, const struct node *map, int line, void *into)
{
	size_t entries = map && map->kind == NODE_MAP ? map->count : 0;

	if (map && map->kind != NODE_MAP && map->kind != NODE_NULL)
		return reader_bad(r, map->line, "must be a mapping, a 'key: value' a line");
	for (size_t i = 0; i < entries; i++) {
		if (!find_rule(section, map->entries[i].key->text))
			return unknown_key(r, section, map->entries[i].key);
	}
	for (size_t i = 0; i < entries; i++) {
		const struct rule *rule = find_rule(section, map->entries[i].key->text);

		if (rule->read(r, rule, map->entries[i].value, into) < 0)
			return -1;
	}
	for (size_t i = 0; i < section->count; i++) {
		if (!node_find(map, section->rules[i].key) && read_absent(r, &section->rules[i], line, into) < 0)
			return -1;
	}
	return 0;
}

bool config_key_at(size_t i, struct config_key *key)
{
	static const struct section *const sections[] = { &config_top_section, &config_redis_section,
							  &config_pipeline_section, &config_stream_section };

	for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); i -= sections[s++]->count) {
		const struct rule *rule;

		if (i >= sections[s]->count)
			continue;
		rule = &sections[s]->rules[i];
		*key = (struct config_key){ .section = sections[s]->name, .key = rule->key, .type = rule->type };
		key->literal = !rule->required && rule->standard;
		key->standard = rule->required ? "required" : rule->standard ? rule->standard : rule->otherwise;
		return true;
	}
	return false;
}
