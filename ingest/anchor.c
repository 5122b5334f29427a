/* anchor: a small state machine a partition, driven in rounds of probes over all of them. */
#include "ingest/anchor.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/evidence.h"
#include "sql/chunk_scan.h"
#include "sql/mem.h"

enum phase { WALKING, BISECTING, DONE };

struct anchor {
	const struct topic_history *topic;
	struct topic_part *part;
	struct divergences *found;
	enum phase phase;
	int64_t low;   /* nothing below can be compared */
	int64_t high;  /* walking: windows end here; bisecting: nothing at or above matters */
	int64_t width; /* of the next window */
	int anchors;
	int64_t differs; /* lowest offset where a different record was seen; UNKNOWN */
	char *evidence;  /* of it */
};

/* One look at all partitions that are still open. */
struct round {
	struct anchor **anchors;
	struct probe *probes;
	size_t count;
};

void divergences_release(struct divergences *found)
{
	for (size_t i = 0; i < found->count; i++)
		free(found->items[i].evidence);
	free(found->items);
	*found = (struct divergences){ 0 };
}

static void add(struct divergences *found, struct divergence divergence)
{
	found->items = xgrow(found->items, found->count + 1, sizeof(*found->items));
	found->items[found->count++] = divergence;
}

/* --- comparing --------------------------------------------------------------------------------------------------- */

/* The first committed record that the index has in [start, end): 1, 0 none, -1. Borrowed from the scan. */
static int indexed(struct chunk_scan *scan, const struct anchor *a, int64_t start, int64_t end, struct record *out,
		   struct trouble *t)
{
	struct chunk_place place = { a->topic->incarnation_id, a->part->partition, CHUNK_COMMITTED };
	struct chunk_part part;
	int more;

	chunk_scan_range(scan, place, start, end);
	more = chunk_scan_next(scan, &part, t);
	if (more > 0) {
		const struct chunk_view *v = part.view;
		size_t i = part.from;

		*out = (struct record){
			.offset = v->offset[i],
			.timestamp_ms = v->timestamp_ms[i],
			.key = v->key_bytes + v->key_at[i],
			.key_size = v->flags[i] & RECORD_NULL_KEY ? -1 : (int32_t)(v->key_at[i + 1] - v->key_at[i]),
			.value_size = v->value_size[i],
			.value_hash = v->value_hash[i],
		};
	}
	return more;
}

static bool alike(const struct record *a, const struct record *b)
{
	return a->offset == b->offset && a->timestamp_ms == b->timestamp_ms && a->key_size == b->key_size &&
	       a->value_size == b->value_size && a->value_hash == b->value_hash &&
	       (a->key_size <= 0 || memcmp(a->key, b->key, (size_t)a->key_size) == 0);
}

/*
 * Compares what a probe found with the index: 1 alike, 0 different (then it becomes the lowest different record),
 * -1.
 */
static int compare(struct chunk_scan *scan, struct anchor *a, const struct record *read, struct trouble *t)
{
	struct record ours;
	int more = indexed(scan, a, read->offset, read->offset + 1, &ours, t);

	if (more < 0)
		return -1;
	if (more > 0 && alike(&ours, read))
		return 1;
	a->differs = read->offset;
	free(a->evidence);
	a->evidence = evidence_differs(more > 0 ? &ours : NULL, read);
	return 0;
}

/* --- the state machine ------------------------------------------------------------------------------------------- */

static bool fell(const struct topic_part *part)
{
	return part->high_watermark != UNKNOWN && part->high_watermark < part->next;
}

static struct anchor begin(const struct topic_history *topic, struct topic_part *part, struct divergences *found)
{
	struct anchor a = { .topic = topic, .part = part, .found = found, .width = 1, .differs = UNKNOWN };

	a.low = part->first > part->log_start ? part->first : part->log_start;
	a.high = part->next < part->end ? part->next : part->end;
	a.phase = a.low < a.high ? WALKING : DONE;
	return a;
}

static struct probe next_probe(const struct anchor *a)
{
	struct probe probe = { .topic = a->topic->topic, .partition = a->part->partition, .limit = a->high };

	if (a->phase == WALKING)
		probe.offset = a->high - a->low > a->width ? a->high - a->width : a->low;
	else
		probe.offset = a->low + (a->high - a->low) / 2;
	return probe;
}

/* Below the different record, down to where the walk could not compare any more. */
static void begin_bisection(struct anchor *a)
{
	a->phase = BISECTING;
	a->high = a->differs;
}

static void walk(struct anchor *a, const struct probe *probe, int like)
{
	if (probe->found && !like) {
		begin_bisection(a);
	} else {
		a->anchors += probe->found;
		a->high = probe->offset;
		a->width *= 2;
		if (a->anchors == ANCHORS_ENOUGH)
			a->phase = DONE;
	}
	if (a->low >= a->high)
		a->phase = DONE;
}

static void bisect(struct anchor *a, const struct probe *probe, int like)
{
	if (probe->found && like)
		a->low = probe->record.offset + 1;
	else
		a->high = probe->offset;
	if (a->low >= a->high)
		a->phase = DONE;
}

static void digest(struct chunk_scan *scan, struct anchor *a, struct probe *probe)
{
	int like = 0;

	if (probe->trouble.text[0])
		a->part->trouble = probe->trouble;
	else if (probe->found)
		like = compare(scan, a, &probe->record, &a->part->trouble);
	free(probe->key_copy);
	if (a->part->trouble.text[0]) {
		trouble_wrap(&a->part->trouble, "comparing with the index");
		a->phase = DONE;
	} else if (a->phase == WALKING) {
		walk(a, probe, like);
	} else {
		bisect(a, probe, like);
	}
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

static size_t gather(struct round *round, struct anchor *anchors, size_t count, enum isolation isolation)
{
	round->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (anchors[i].phase == DONE || anchors[i].topic->isolation != isolation)
			continue;
		round->anchors[round->count] = &anchors[i];
		round->probes[round->count++] = next_probe(&anchors[i]);
	}
	return round->count;
}

static void run_rounds(struct source *source, sqlite3 *db, struct anchor *anchors, size_t count,
		       enum isolation isolation)
{
	unsigned columns = CHUNK_TIMESTAMP | CHUNK_KEY | CHUNK_VALUE_SIZE | CHUNK_VALUE_HASH | CHUNK_FLAGS;
	struct chunk_scan *scan = chunk_scan_new(db, columns);
	struct round round = { .anchors = xarray(count, sizeof(struct anchor *)),
			       .probes = xarray(count, sizeof(struct probe)) };

	while (gather(&round, anchors, count, isolation) > 0) {
		struct trouble trouble = { 0 };
		int result = source->ops->probe(source, isolation, round.probes, round.count, &trouble);

		for (size_t i = 0; i < round.count; i++) {
			if (result < 0)
				round.probes[i].trouble = trouble;
			digest(scan, round.anchors[i], &round.probes[i]);
		}
	}
	free(round.probes);
	free(round.anchors);
	chunk_scan_free(scan);
}

/* What the part's walk has shown. */
static void conclude(sqlite3 *db, struct anchor *a)
{
	struct divergence divergence = {
		.partition = a->part->partition, .differs = true, .offset = a->differs, .evidence = a->evidence
	};

	if (a->part->trouble.text[0]) {
		free(a->evidence);
		return;
	}
	a->part->verified = true;
	if (a->differs == UNKNOWN && fell(a->part)) {
		struct chunk_scan *scan = chunk_scan_new(db, CHUNK_ALWAYS);
		struct record lost;
		int more = indexed(scan, a, a->part->high_watermark, a->part->next, &lost, NULL);

		divergence.differs = false;
		divergence.offset = a->part->high_watermark;
		divergence.evidence = evidence_fell(a->part->next, a->part->high_watermark, more > 0 ? &lost : NULL);
		chunk_scan_free(scan);
	}
	if (divergence.evidence)
		add(a->found, divergence);
}

/* Parts that can be looked at: the index has something, and the broker has said where the log is. */
static bool comparable(struct topic_part *part)
{
	if (part->next == UNKNOWN) {
		part->verified = true;
		return false;
	}
	return !part->trouble.text[0] && part->log_start != UNKNOWN && part->end != UNKNOWN &&
	       part->high_watermark != UNKNOWN;
}

void anchor_check(const struct run *run, struct source *source, sqlite3 *db, struct topic_history *topics, size_t count,
		  struct divergences *found)
{
	struct anchor *anchors = NULL;
	size_t n = 0;

	(void)run;
	for (size_t i = 0; i < count; i++)
		for (int32_t j = 0; j < topics[i].partitions; j++) {
			if (!comparable(&topics[i].parts[j]))
				continue;
			anchors = xgrow(anchors, n + 1, sizeof(*anchors));
			anchors[n++] = begin(&topics[i], &topics[i].parts[j], &found[i]);
		}
	run_rounds(source, db, anchors, n, ISOLATION_READ_COMMITTED);
	run_rounds(source, db, anchors, n, ISOLATION_READ_UNCOMMITTED);
	for (size_t i = 0; i < n; i++)
		conclude(db, &anchors[i]);
	free(anchors);
}
