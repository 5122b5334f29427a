/* template: a compiled template is a list of parts; rendering joins them, parsing peels them off both ends. */
#include "ingest/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

enum part_kind { PART_LITERAL, PART_KEY, PART_TOPIC, PART_PARTITION };

static const char *const marks[] = { [PART_KEY] = "key", [PART_TOPIC] = "topic", [PART_PARTITION] = "partition" };

struct part {
	enum part_kind kind;
	struct buffer literal;
};

struct key_template {
	char *text;
	struct part *parts;
	size_t count;
};

/* --- compiling ---------------------------------------------------------------------------------------------------- */

static bool has(const struct key_template *template, enum part_kind kind)
{
	for (size_t i = 0; i < template->count; i++) {
		if (template->parts[i].kind == kind)
			return true;
	}
	return false;
}

static struct part *add_part(struct key_template *template, enum part_kind kind)
{
	template->parts = xgrow(template->parts, template->count + 1, sizeof(*template->parts));
	template->parts[template->count] = (struct part){ .kind = kind };
	return &template->parts[template->count++];
}

static void add_literal(struct key_template *template, char c)
{
	struct part *last = template->count ? &template->parts[template->count - 1] : NULL;

	if (!last || last->kind != PART_LITERAL)
		last = add_part(template, PART_LITERAL);
	buffer_add(&last->literal, &c, 1);
}

/* The mark at text, which begins with '{'. Its length, or 0 where it is none. */
static size_t mark_at(const char *text, enum part_kind *kind)
{
	for (size_t i = PART_KEY; i <= PART_PARTITION; i++) {
		size_t length = strlen(marks[i]);

		if (!strncmp(text + 1, marks[i], length) && text[length + 1] == '}') {
			*kind = (enum part_kind)i;
			return length + 2;
		}
	}
	return 0;
}

/* Compiles what stands at text[at]. Its length, or 0 with t filled. */
static size_t compile_at(struct key_template *template, const char *text, size_t at, struct trouble *t)
{
	char c = text[at];
	enum part_kind kind;
	size_t length;

	if ((c == '{' || c == '}') && text[at + 1] == c) {
		add_literal(template, c);
		return 2;
	}
	if (c != '{' && c != '}') {
		add_literal(template, c);
		return 1;
	}
	length = c == '{' ? mark_at(text + at, &kind) : 0;
	if (!length) {
		trouble_set(
			t,
			"at character %zu: a brace that begins no mark; valid: {key}, {topic}, {partition}; {{ and "
			"}} for braces",
			at + 1);
		return 0;
	}
	if (kind == PART_KEY && has(template, PART_KEY)) {
		trouble_set(t, "at character %zu: {key} a second time", at + 1);
		return 0;
	}
	add_part(template, kind);
	return length;
}

struct key_template *template_new(const char *text, struct trouble *t)
{
	struct key_template *template = xalloc(sizeof(*template));
	size_t length;

	template->text = xstrdup(text);
	for (size_t at = 0; text[at]; at += length) {
		length = compile_at(template, text, at, t);
		if (!length)
			goto fail;
	}
	if (!template->count) {
		trouble_set(t, "an empty template");
		goto fail;
	}
	if (has(template, PART_KEY) && has(template, PART_PARTITION)) {
		trouble_set(t, "{key} and {partition} in one template");
		goto fail;
	}
	return template;
fail:
	template_free(template);
	return NULL;
}

void template_free(struct key_template *template)
{
	if (!template)
		return;
	for (size_t i = 0; i < template->count; i++)
		buffer_release(&template->parts[i].literal);
	free(template->parts);
	free(template->text);
	free(template);
}

const char *template_text(const struct key_template *template)
{
	return template->text;
}

bool template_has_topic(const struct key_template *template)
{
	return has(template, PART_TOPIC);
}

bool template_has_key(const struct key_template *template)
{
	return has(template, PART_KEY);
}

bool template_has_partition(const struct key_template *template)
{
	return has(template, PART_PARTITION);
}

/* --- prefix and glob ---------------------------------------------------------------------------------------------- */

/* A run of bytes that somebody else owns. */
struct bytes {
	const void *data;
	size_t size;
};

/* The bytes of a literal or {topic}. */
static struct bytes fixed_bytes(const struct part *part, const char *topic)
{
	if (part->kind == PART_TOPIC)
		return (struct bytes){ topic, strlen(topic) };
	return (struct bytes){ part->literal.data, part->literal.size };
}

static bool is_fixed(const struct part *part)
{
	return part->kind == PART_LITERAL || part->kind == PART_TOPIC;
}

/* Ends with a NUL that does not count and hands the memory over. */
static char *take(struct buffer *b, size_t *size)
{
	*size = b->size;
	buffer_add(b, "", 1);
	return (char *)b->data;
}

char *template_prefix(const struct key_template *template, const char *topic, size_t *size)
{
	struct buffer out = { 0 };

	for (size_t i = 0; i < template->count && is_fixed(&template->parts[i]); i++) {
		struct bytes b = fixed_bytes(&template->parts[i], topic);

		buffer_add(&out, b.data, b.size);
	}
	return take(&out, size);
}

static void add_escaped(struct buffer *out, struct bytes b)
{
	const char *text = b.data;

	for (size_t i = 0; i < b.size; i++) {
		if (text[i] && strchr("*?[]\\", text[i]))
			buffer_add(out, "\\", 1);
		buffer_add(out, text + i, 1);
	}
}

char *template_match(const struct key_template *template, const char *topic, size_t *size)
{
	struct buffer out = { 0 };

	for (size_t i = 0; i < template->count; i++) {
		if (is_fixed(&template->parts[i]))
			add_escaped(&out, fixed_bytes(&template->parts[i], topic));
		else
			buffer_add(&out, "*", 1);
	}
	return take(&out, size);
}

/* --- rendering and parsing ---------------------------------------------------------------------------------------- */

int template_render(const struct key_template *template, enum key_format format, const char *topic, const void *key,
		    size_t key_size, struct buffer *out)
{
	buffer_clear(out);
	for (size_t i = 0; i < template->count; i++) {
		const struct part *part = &template->parts[i];
		struct bytes b;

		if (part->kind == PART_PARTITION ||
		    (part->kind == PART_KEY && !keyformat_render(format, key, key_size, out)))
			return 0;
		if (part->kind == PART_KEY)
			continue;
		b = fixed_bytes(part, topic);
		buffer_add(out, b.data, b.size);
	}
	return 1;
}

void template_render_partition(const struct key_template *template, const char *topic, int32_t partition,
			       struct buffer *out)
{
	char number[16];
	int length = snprintf(number, sizeof(number), "%d", (int)partition);

	buffer_clear(out);
	for (size_t i = 0; i < template->count; i++) {
		const struct part *part = &template->parts[i];
		struct bytes b = { number, (size_t)length };

		if (is_fixed(part))
			b = fixed_bytes(part, topic);
		else if (part->kind == PART_KEY)
			continue;
		buffer_add(out, b.data, b.size);
	}
}

int template_parse(const struct key_template *template, enum key_format format, const char *topic,
		   const void *redis_key, size_t redis_key_size, struct buffer *out)
{
	const uint8_t *text = redis_key;
	size_t first = 0, last = template->count, at = 0, end = redis_key_size;

	buffer_clear(out);
	for (; first < last && is_fixed(&template->parts[first]); first++) {
		struct bytes b = fixed_bytes(&template->parts[first], topic);

		if (b.size > end - at || memcmp(text + at, b.data, b.size))
			return 0;
		at += b.size;
	}
	for (; last > first && is_fixed(&template->parts[last - 1]); last--) {
		struct bytes b = fixed_bytes(&template->parts[last - 1], topic);

		if (b.size > end - at || memcmp(text + end - b.size, b.data, b.size))
			return 0;
		end -= b.size;
	}
	if (last != first + 1 || template->parts[first].kind != PART_KEY)
		return 0;
	return keyformat_parse(format, text + at, end - at, out);
}
