/*
 * check_table: a table of worlds, what to break in them, and what the checks must say before and after.
 */
#ifndef TESTS_UNIT_CHECK_TABLE_H
#define TESTS_UNIT_CHECK_TABLE_H

#include "check_said.h"

struct row {
	const char *name;
	void (*earlier)(struct world *w); /* an earlier run; NULL: none */
	void (*make)(struct world *w);
	void (*spoil)(struct world *w);
	const char *healthy; /* said before the world is broken */
	const char *words;
};

#define REBASED_M                                                                                                     \
	"fence-rebased info orders/5@1 $M: The records of key $M stand in 2 legal partitions; by their times it was " \
	"rebased 1 time, "                                                                                            \
	"and its fence is at home in partition 5.\n"
#define DELETED_M                                                                                                     \
	"fence-rebased info orders/5@1 $M: The records of key $M stand in 2 legal partitions; by their times it was " \
	"rebased 0 times, "                                                                                           \
	"and its fence is at home in partition 5.\n"
#define WAITS_N                                                                                                        \
	"fence-rebased info orders/1@2 $N: The fence of key $N waits at 2 in partition 1; its next record will be in " \
	"partition 5 and rebase it.\n"
#define RESIZED WAITS_N REBASED_M

/* Words with $A ... replaced by keys. The caller frees. */
static inline char *filled(const char *words)
{
	const char *const keys[] = { ['A' - 'A'] = A, ['B' - 'A'] = B, ['C' - 'A'] = C, ['D' - 'A'] = D,
				     ['L' - 'A'] = L, ['M' - 'A'] = M, ['N' - 'A'] = N, ['S' - 'A'] = S };
	char *text = xstrdup("");

	while (*words) {
		size_t plain_size = strcspn(words, "$");
		bool mark = words[plain_size] == '$';
		char *longer = xprintf("%s%.*s%s", text, (int)plain_size, words,
				       mark ? keys[words[plain_size + 1] - 'A'] : "");

		free(text);
		text = longer;
		words += plain_size + (mark ? 2 : 0);
	}
	return text;
}

static int failures;

static inline void expect(const struct row *row, void (*spoil)(struct world *), const char *words)
{
	struct world *w = world_new(), *before = world_new();
	struct fixture fx;
	char *want = filled(words), *got;

	row->make(w);
	spoil(w);
	fixture_open(&fx);
	if (row->earlier) {
		row->earlier(before);
		fixture_add(&fx, before);
	}
	fixture_add(&fx, w);
	analyze(&fx);
	got = said(&fx);
	if (strcmp(got, want) != 0) {
		print_error("%s:\nsaid:\n%swanted:\n%s", row->name, got, want);
		failures++;
	}
	free(got);
	free(want);
	fixture_close(&fx);
	world_free(w);
	world_free(before);
}

static inline void expect_all(const struct row *rows, size_t count)
{
	name_keys();
	for (size_t i = 0; i < count; i++) {
		expect(&rows[i], nothing, rows[i].healthy);
		expect(&rows[i], rows[i].spoil, rows[i].words);
	}
	assert_int_equal(failures, 0);
}

#endif
