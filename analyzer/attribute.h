/*
 * attribute: from keys that were seen off their home, which placement put them there: a partitioner over a part of the
 * key, modulo a partition count. Or that it cannot be said.
 *
 * A hypothesis h says: a share w of the keys was placed by h, the rest by something that has nothing to do with it. Of
 * r keys, m are where h puts them. Two measures, both the greatest over w of a likelihood ratio, as its logarithm:
 *
 *     score     m ln(m / rq) + (r - m) ln((r - m) / r(1 - q)), where m > rq; else 0
 *
 * - To accept h at all, q is what h would hit by luck, the greatest of: 1 / min(n, count of h), as a good hash does,
 *   whatever the partitions are; how often what it says of one key is where another one was seen; and of all partitions
 *   where keys of the topic can be off home and unexplained, those where h puts them. It is accepted above
 *   ln(H / ALPHA), H the number of all that were tried; where every key matches that is Bonferroni's bound,
 *   r >= ln(H / ALPHA) / ln(1 / q). Of a part of the key only distinct parts count.
 * - To compare hypotheses, q = 1 / n for all of them. Those that come within ln(1 / ALPHA) of the best accepted one are
 *   its rivals, unless it is accepted once more among the keys that they do not explain: then they are other causes,
 *   or none.
 *
 * Keys that a hypothesis cannot place (too short, no UTF-8) are not among its r.
 *
 * Rivals that put every key seen, off home and elsewhere, into the same partition are one class: nothing that was seen
 * can tell them apart. One class is an answer; several are named, and nothing is chosen.
 *
 * What a cause explains is taken away, and the rest is looked at again. In the end each cause is given its share of all
 * keys by expectation maximisation over the causes found and one that places by chance.
 */
#ifndef ANALYZER_ATTRIBUTE_H
#define ANALYZER_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/placer.h"

#define ATTRIBUTE_ALPHA 1e-6

enum {
	ATTRIBUTE_CAUSES = 8,
	ATTRIBUTE_LEAST = 4,     /* fewer keys than these say nothing */
	ATTRIBUTE_SAMPLE = 2048, /* keys that hypotheses are held against, at most */
	ATTRIBUTE_MEMBERS = 64,  /* placements of a cause that are kept, at most */
	ATTRIBUTE_NONE = 255     /* a label: no cause */
};

struct attribute_seen {
	struct key_bytes key;
	int32_t partition;
};

/* All borrowed. */
struct attribute_input {
	const struct attribute_seen *seen; /* off home, none empty; the first ones are looked at first, so in an order
	                                    * that has nothing to do with the placement, such as that of a hash */
	size_t seen_n;
	const struct key_bytes *sampled; /* keys of the topic, wherever they are; few thousands do */
	size_t sampled_n;
	int32_t partitions;   /* the topic's present count, 2 or more; fewer give no cause */
	const int32_t *known; /* counts that the topic is known to have had */
	size_t known_n;
	struct placer own; /* by which the keys should be placed */
};

struct attribute_placement {
	struct placer placer;
	int32_t partitions;
	uint32_t class; /* from 0; the same for those that agree on all keys seen */
};

struct attribute_cause {
	/*
	 * The one that explains most, by which it was decided what the cause explains; then the simplest first: the
	 * whole key, the present count, then known ones, the own placer, the order of the list.
	 */
	struct attribute_placement *placements;
	size_t placement_n;
	size_t more;       /* placements that were not kept */
	size_t classes;    /* 1: the answer; more: any of them */
	size_t left;       /* keys that no earlier cause explains, */
	size_t explained;  /* and those of them that this one does */
	double share;      /* of all keys seen, estimated: those that several causes explain are shared out, and those
	                    * that it explains by luck are not counted */
	size_t tested;     /* keys that hypotheses were held against */
	size_t hypotheses; /* H */
};

/* Zero it; release it. */
struct attribute_result {
	struct attribute_cause cause[ATTRIBUTE_CAUSES];
	size_t n;
	uint8_t *label;            /* for each of seen: index of its cause, or ATTRIBUTE_NONE */
	size_t left;               /* keys without a cause */
	size_t tested, hypotheses; /* of the last look, which accepted nothing; 0: there was none */
	size_t needed;             /* keys: fewer than these cannot give an answer */
};

/* Always the same answer to the same input. */
void attribute(const struct attribute_input *in, struct attribute_result *out);
void attribute_release(struct attribute_result *out);

#endif
