/* stream_consumers: from the names of a group's consumers to the ids of their rows: an open-addressing table. */
#include <stdlib.h>

#include "ingest/stream_watch.h"
#include "sql/mem.h"

struct consumer_slot {
	struct bytes name;
	int64_t id;
};

struct consumer_index {
	size_t mask;
	struct consumer_slot slots[];
};

struct consumer_index *consumer_index_new(size_t count)
{
	struct consumer_index *index;
	size_t room = 16;

	while (room < count * 2)
		room *= 2;
	index = xalloc(sizeof(*index) + room * sizeof(*index->slots));
	index->mask = room - 1;
	return index;
}

static struct consumer_slot *slot_of(const struct consumer_index *index, struct bytes name)
{
	size_t at = (size_t)key_hash(name.at, name.size) & index->mask;

	while (index->slots[at].name.at && (index->slots[at].name.size != name.size ||
					    memcmp(index->slots[at].name.at, name.at, name.size)))
		at = (at + 1) & index->mask;
	return (struct consumer_slot *)&index->slots[at];
}

void consumer_index_add(struct consumer_index *index, struct bytes name, int64_t id)
{
	*slot_of(index, name) = (struct consumer_slot){ name, id };
}

int64_t consumer_index_find(const struct consumer_index *index, struct bytes name)
{
	const struct consumer_slot *slot = slot_of(index, name);

	return slot->name.at ? slot->id : UNKNOWN;
}

void consumer_index_free(struct consumer_index *index)
{
	free(index);
}
