/* stream_name_index: from names to numbers: an open-addressing table. */
#include <stdlib.h>

#include "ingest/stream_watch.h"
#include "sql/mem.h"

struct name_slot {
	struct bytes name;
	int64_t id;
};

struct name_index {
	size_t mask;
	struct name_slot slots[];
};

struct name_index *name_index_new(size_t count)
{
	struct name_index *index;
	size_t room = 16;

	while (room < count * 2)
		room *= 2;
	index = xalloc(sizeof(*index) + room * sizeof(*index->slots));
	index->mask = room - 1;
	return index;
}

static struct name_slot *slot_of(const struct name_index *index, struct bytes name)
{
	size_t at = (size_t)key_hash(name.at, name.size) & index->mask;

	while (index->slots[at].name.at &&
	       (index->slots[at].name.size != name.size || memcmp(index->slots[at].name.at, name.at, name.size)))
		at = (at + 1) & index->mask;
	return (struct name_slot *)&index->slots[at];
}

void name_index_add(struct name_index *index, struct bytes name, int64_t id)
{
	*slot_of(index, name) = (struct name_slot){ name, id };
}

int64_t name_index_find(const struct name_index *index, struct bytes name)
{
	const struct name_slot *slot = slot_of(index, name);

	return slot->name.at ? slot->id : UNKNOWN;
}

void name_index_free(struct name_index *index)
{
	free(index);
}
