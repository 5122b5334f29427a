/* stories: as lines, and as JSON. */
#include "stories.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyzer/analyzer.h"
#include "sql/keytext.h"
#include "sql/mem.h"

enum { TIME_ROOM = 32 };

struct stories {
	const struct options *o;
	int64_t shown;
	bool unfit; /* a text that JSON cannot hold */
};

/* RFC 3339 with milliseconds. Producers choose record times: one that is none is its number. */
static void write_time(int64_t ms, char *out)
{
	int64_t day_ms = ms % 1000 < 0 ? ms % 1000 + 1000 : ms % 1000;
	time_t seconds = (time_t)((ms - day_ms) / 1000);
	struct tm tm;
	char text[TIME_ROOM];

	if (ms < 0 || !gmtime_r(&seconds, &tm) || tm.tm_year > 9999 - 1900 ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(out, TIME_ROOM, "%lld", (long long)ms);
	else
		snprintf(out, TIME_ROOM, "%.19s.%03dZ", text, (int)day_ms);
}

static void show_text(const struct rebase_story *story)
{
	char *key = xalloc(KEYTEXT_ROOM(story->key_size)), time[TIME_ROOM];

	keytext_write(story->key, story->key_size, key);
	printf("rebase  %s  %s  %s  home %d", story->pipeline, story->topic, key, (int)story->home);
	if (story->fence_offset != UNKNOWN)
		printf("  fence %lld/%lld", (long long)story->fence_partition, (long long)story->fence_offset);
	putchar('\n');
	for (size_t i = 0; i < story->count; i++) {
		const struct story_record *r = &story->records[i];

		write_time(r->ms, time);
		printf("        %s  %d/%-12lld %s\n", time, (int)r->partition, (long long)r->offset, r->verdict);
	}
	free(key);
}

static json_t *number(int64_t value)
{
	return value == UNKNOWN ? json_null() : json_integer(value);
}

static bool show_json(const struct rebase_story *story)
{
	json_t *records = json_array(), *object;
	json_t *text = json_stringn(story->key, story->key_size); /* NULL: no UTF-8 */
	char *hex = xalloc(KEYHEX_ROOM(story->key_size)), time[TIME_ROOM];

	keyhex_write(story->key, story->key_size, hex);
	for (size_t i = 0; i < story->count; i++) {
		const struct story_record *r = &story->records[i];

		write_time(r->ms, time);
		json_array_append_new(records, json_pack("{s:i, s:I, s:s, s:I, s:s}", "partition", (int)r->partition,
							 "offset", (json_int_t)r->offset, "time", time, "time_ms",
							 (json_int_t)r->ms, "verdict", r->verdict));
	}
	object = json_pack("{s:s, s:s, s:o, s:s, s:i, s:o, s:o, s:o}", "pipeline", story->pipeline, "topic",
			   story->topic, "key", text ? text : json_null(), "key_hex", hex,
			   "home", (int)story->home, "fence_partition", number(story->fence_partition), "fence_offset",
			   number(story->fence_offset), "records", records);
	free(hex);
	if (!object)
		return false;
	json_dumpf(object, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(object);
	return true;
}

static void show(void *context, const struct rebase_story *story)
{
	struct stories *stories = context;

	stories->shown++;
	if (stories->o->json)
		stories->unfit = !show_json(story) || stories->unfit;
	else
		show_text(story);
}

int stories_show(const struct options *o, const struct run *run, sqlite3 *db, struct trouble *t)
{
	struct stories stories = { .o = o };
	int64_t keys;

	if (rebase_stories(run, db, o->explain_rebases, show, &stories, &keys, t) < 0)
		return -1;
	if (stories.unfit)
		return trouble_set(t, "a name is not written in UTF-8, which JSON needs");
	if (!o->json)
		printf("rebases told of %lld of %lld sampled keys that moved, or will\n", (long long)stories.shown,
		       (long long)keys);
	return 0;
}
