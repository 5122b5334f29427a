/*
 * faultpoint: which faults are armed, and how often each was passed. This is state of the whole process; test builds
 * alone have it.
 */
#include "sql/faultpoint.h"

#ifdef FENCEPOST_FAULTS

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NEVER = 0, ALWAYS = -1 };

/* Set before any thread is started, but for the counts. */
static struct {
	long nth; /* NEVER, ALWAYS, or the pass that fails */
	bool may_miss;
	atomic_long passes;
	atomic_bool fired;
} faults[FAULT_POINT_COUNT];

static const char *const words_of[] = {
#define WORD(id, word, what) word,
	FAULT_POINTS(WORD)
#undef WORD
};

bool fault_fires(enum fault_point point)
{
	long pass = atomic_fetch_add(&faults[point].passes, 1) + 1;

	if (faults[point].nth != ALWAYS && faults[point].nth != pass)
		return false;
	atomic_store(&faults[point].fired, true);
	return true;
}

/* One "word[:N][?]" of size characters. */
static int arm_one(const char *text, size_t size, struct trouble *t)
{
	size_t word = strcspn(text, ":?,");
	bool may_miss = text[size - 1] == '?';
	long nth = ALWAYS;
	char *end = NULL;

	if (text[word] == ':') {
		nth = strtol(text + word + 1, &end, 10);
		if (nth < 1 || end != text + size - may_miss)
			return trouble_set(t, "FENCEPOST_FAULT: %.*s: give a number from 1 after the colon", (int)size,
					   text);
	}
	for (int i = 0; i < FAULT_POINT_COUNT; i++) {
		if (strlen(words_of[i]) != word || memcmp(words_of[i], text, word))
			continue;
		faults[i].nth = nth;
		faults[i].may_miss = may_miss;
		return 0;
	}
	return trouble_set(t, "FENCEPOST_FAULT: there is no fault %.*s", (int)word, text);
}

int fault_arm(const char *words, struct trouble *t)
{
	for (const char *at = words; *at;) {
		size_t size = strcspn(at, ",");

		if (!size || arm_one(at, size, t) < 0)
			return size ? -1 : trouble_set(t, "FENCEPOST_FAULT: a fault without a name");
		at += size + (at[size] == ',');
	}
	return 0;
}

bool fault_missed(int *at, bool *should, struct trouble *t)
{
	for (; *at < FAULT_POINT_COUNT; ++*at) {
		if (faults[*at].nth == NEVER || atomic_load(&faults[*at].fired))
			continue;
		*should = !faults[*at].may_miss;
		trouble_set(t, "fault %s never fired: it was passed %ld times", words_of[*at],
			    atomic_load(&faults[*at].passes));
		++*at;
		return true;
	}
	return false;
}

#else

/* A file must hold something. */
_Static_assert(FAULT_POINT_COUNT > 0, "the list is not empty");

#endif
