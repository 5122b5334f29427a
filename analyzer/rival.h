/*
 * rival: one hypothesis of attribute held against keys, one by one.
 */
#ifndef ANALYZER_RIVAL_H
#define ANALYZER_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/attribute.h"
#include "analyzer/hypotheses.h"

/* What a rival is held against. All borrowed but taken. */
struct rival_scene {
	struct hypotheses_keys keys;
	const struct key_bytes *sampled; /* keys of the topic, wherever they are */
	size_t sampled_n;
	int32_t partitions;
	const struct attribute_placement *placed; /* which the keys do not obey: the pipeline's own, earlier causes */
	size_t placed_n;
	int32_t *taken; /* [sampled][placed]: where these put the sampled keys */
};

/* Fills in taken, which the caller frees, of a scene that is complete but for it. */
void rival_scene_prepare(struct rival_scene *scene);

struct rival {
	struct attribute_placement at;
	double score;  /* the caller's */
	int32_t *said; /* where it puts each key of the scene; -1: nowhere. Owned, */
	bool *hit;     /* and whether the key was seen there; owned */
};

/* Holds a placement against all keys. Release it. */
struct rival rival_of(const struct rival_scene *scene, const struct attribute_placement *at, double score);
void rival_release(struct rival *rival);

/* The score of attribute.h: m of r keys, 0 < q <= 1. */
double rival_score(double m, double r, double q);

/*
 * The score of a rival to be accepted, among the keys that without does not explain (NULL: all of them). Of a part of
 * the key only distinct parts count; keys that it cannot place do not.
 */
double rival_evidence(const struct rival_scene *scene, const struct rival *rival, const struct rival *without);

#endif
