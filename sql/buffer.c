/* buffer: grows by half, so that adding stays cheap. */
#include "sql/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "sql/mem.h"

void buffer_clear(struct buffer *b)
{
	b->size = 0;
}

void buffer_add(struct buffer *b, const void *bytes, size_t size)
{
	if (!size)
		return;
	if (size > b->room - b->size) {
		b->room = b->room + size + b->room / 2 + 32;
		b->data = xgrow(b->data, b->room, 1);
	}
	memcpy(b->data + b->size, bytes, size);
	b->size += size;
}

void buffer_release(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ 0 };
}
