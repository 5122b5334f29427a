/* The looks of step 2: how often each is made, and in which order. */
#include "ingest/looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARTITIONS = 2, WORDS = 512 };

/* A cluster that writes down what it is asked. */
struct asked {
	struct source base;
	char words[WORDS];
};

static void note(struct source *source, const char *what, const char *of)
{
	struct asked *asked = (struct asked *)source;
	size_t size = strlen(asked->words);

	snprintf(asked->words + size, WORDS - size, "%s %s\n", what, of);
}

static int offsets(struct source *source, enum offset_kind kind, struct offset_query *queries, size_t count,
		   struct trouble *t)
{
	(void)t;
	assert_int_equal(count, PARTITIONS);
	note(source, kind == OFFSET_LOG_START ? "start" : "end", queries[0].topic);
	for (size_t i = 0; i < count; i++)
		queries[i].offset = kind == OFFSET_LOG_START ? 3 : 9;
	return 0;
}

static int commits(struct source *source, const char *group, struct offset_query *queries, size_t count,
		   struct trouble *t)
{
	(void)t;
	(void)count;
	note(source, group, queries[0].topic);
	return 0;
}

static int group(struct source *source, const char *name, struct group_look *look, struct trouble *t)
{
	(void)t;
	(void)look;
	note(source, "group", name);
	return 0;
}

static void test_each_look_is_made_once(void **state)
{
	static const struct source_ops ops = { .offsets = offsets, .commits = commits, .group = group };
	struct asked asked = { .base.ops = &ops };
	struct topic_history histories[] = { { .topic = (char[]){ "orders" }, .partitions = PARTITIONS },
					     { .topic = (char[]){ "dlq" }, .partitions = PARTITIONS } };
	struct cluster cluster = { .source = &asked.base, .histories = histories, .count = 2 };
	struct subject subjects[] = { { .history = 0, .role = ROLE_SOURCE }, { .history = 1, .role = ROLE_DLQ } };
	struct pipeline_config pipeline = { .group = (char[]){ "g" } };
	struct lane lane = { .pipeline = &pipeline, .cluster = &cluster, .subjects = subjects, .count = 2 };
	struct plan plan = { 0 };
	struct trouble t = { 0 };

	(void)state;
	assert_int_equal(looks_before_sampling(&plan, &lane, &t), 0);
	assert_string_equal(asked.words, "start orders\nend orders\nstart dlq\ng orders\nend dlq\ngroup g\n");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(subjects[i].looks[1].log_start.value, 3);
		assert_int_equal(subjects[i].looks[1].high_watermark.value, 9);
		free(subjects[i].looks);
		free(subjects[i].keyed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_look_is_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
