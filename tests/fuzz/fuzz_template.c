/*
 * Random templates, topics and keys: whatever compiles must map record keys to Redis keys and back without loss, and
 * what it says of prefixes and globs must hold. A fixed number of rounds from a fixed seed; an argument gives
 * another number.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/template.h"

enum { ROUNDS = 1000000, TEXT_MAX = 64, KEY_MAX = 24 };

static uint64_t seed = 0x853c49e6748fea9b;

static uint64_t next(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

static void need(bool holds, const char *claim, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_template: '%s': not so: %s\n", text, claim);
	abort();
}

/* Pieces of templates, well formed or not. */
static void random_text(char *out)
{
	static const char *const pieces[] = { "{key}", "{topic}", "{partition}", "{{", "}}", "{",    "}",   "s",
					      ":",     "*",	  "[a]",	 "\\", "?",  "\x80", "key", "{ke" };
	size_t count = next(7);

	out[0] = 0;
	for (size_t i = 0; i < count; i++)
		strcat(out, pieces[next(sizeof(pieces) / sizeof(pieces[0]))]);
}

static size_t random_key(uint8_t *out)
{
	static const char letters[] = "0123456789abcdef-=AZ\"\\nu{}:s*";
	static const size_t sizes[] = { 4, 8, 16 };
	size_t size = next(3) ? next(KEY_MAX) : sizes[next(3)];
	bool any = next(2);

	for (size_t i = 0; i < size; i++)
		out[i] = any ? (uint8_t)next(256) : (uint8_t)letters[next(sizeof(letters) - 1)];
	return size;
}

static bool same(const struct buffer *b, const void *bytes, size_t size)
{
	return b->size == size && (!size || !memcmp(b->data, bytes, size));
}

static void check_globs(const struct key_template *t, const char *topic, const struct buffer *redis)
{
	size_t prefix_size, match_size;
	char *prefix = template_prefix(t, topic, &prefix_size), *match = template_match(t, topic, &match_size);
	const char *text = template_text(t);

	need(prefix_size <= redis->size && (!prefix_size || !memcmp(prefix, redis->data, prefix_size)),
	     "the prefix begins the key", text);
	need(strlen(match) == match_size, "the glob has no NUL", text);
	if (!memchr(redis->data, 0, redis->size - 1))
		need(!fnmatch(match, (char *)redis->data, 0), "the glob fits the key", text);
	free(prefix);
	free(match);
}

/* Record key -> Redis key -> record key, then any bytes -> record key -> the same bytes. */
static void check_ways(const struct key_template *t, const char *topic, struct buffer *redis, struct buffer *key)
{
	enum key_format format = (enum key_format)next(KEY_FORMAT_COUNT);
	const char *text = template_text(t);
	size_t prefix = key_format_prefix(format), size;
	uint8_t bytes[KEY_PREFIX_MOST + KEY_MAX] = { 0 };

	/* The prefix that a key of the format has; what is parsed has none. */
	if (prefix == KEY_PREFIX_MOST)
		bytes[0] = 3;
	size = prefix + random_key(bytes + prefix);

	if (template_render(t, format, topic, bytes, size, redis) && template_has_key(t)) {
		need(template_parse(t, format, topic, redis->data, redis->size, key), "a rendered key parses", text);
		need(same(key, bytes + prefix, size - prefix), "to the key that was rendered", text);
		buffer_add(redis, "", 1);
		check_globs(t, topic, redis);
	}
	if (template_parse(t, format, topic, bytes + prefix, size - prefix, key)) {
		struct buffer whole = { 0 };

		buffer_add(&whole, bytes, prefix);
		buffer_add(&whole, key->data, key->size);
		need(template_render(t, format, topic, whole.data, whole.size, redis), "a parsed key renders", text);
		need(same(redis, bytes + prefix, size - prefix), "to the bytes that were parsed", text);
		buffer_release(&whole);
	}
}

int main(int argc, char **argv)
{
	static const char *const topics[] = { "orders", "a*b", "", "s:" };
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, compiled = 0;
	struct buffer redis = { 0 }, key = { 0 };

	for (long i = 0; i < rounds; i++) {
		struct trouble trouble = { "" };
		char text[2 * TEXT_MAX];
		struct key_template *t;

		random_text(text);
		t = template_new(text, &trouble);
		need(!t == !!trouble.text[0], "trouble has words, and success none", text);
		if (!t)
			continue;
		compiled++;
		need(!strcmp(template_text(t), text), "the text is kept", text);
		check_ways(t, topics[next(4)], &redis, &key);
		template_render_partition(t, "orders", 7, &redis);
		template_free(t);
	}
	buffer_release(&redis);
	buffer_release(&key);
	printf("fuzz_template: %ld templates, %ld compiled\n", rounds, compiled);
	return 0;
}
