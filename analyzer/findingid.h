/*
 * findingid: the name by which a finding is the same one in the next run: XXH3-128 over the check, the subject and the
 * offsets that matter.
 */
#ifndef ANALYZER_FINDINGID_H
#define ANALYZER_FINDINGID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

struct findingid {
	XXH3_state_t state;
};

enum { FINDINGID_ROOM = 33 };

void findingid_begin(struct findingid *id);
/* One part, told from its neighbours by its length; bytes NULL: none, which is not the same as an empty one. */
void findingid_add(struct findingid *id, const void *bytes, size_t size);
/* Lower-case hex and a NUL. */
void findingid_end(struct findingid *id, char text[FINDINGID_ROOM]);

#endif
