/* A growing run of bytes that is reused from call to call. Zero-initialise; free data with free(). */
#ifndef SQL_BUFFER_H
#define SQL_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t size, room;
};

void buffer_clear(struct buffer *b);
void buffer_add(struct buffer *b, const void *bytes, size_t size);
void buffer_release(struct buffer *b);

#endif
