/* mem: the one place that ends the program when memory is gone. */
#include "sql/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *xneed(void *memory)
{
	static const char words[] = "fencepost: out of memory\n";

	if (!memory) {
		if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
			_exit(1);
		_exit(1);
	}
	return memory;
}

void *xalloc(size_t size)
{
	return xneed(calloc(1, size ? size : 1));
}

void *xarray(size_t count, size_t size)
{
	return xneed(calloc(count ? count : 1, size ? size : 1));
}

void *xgrow(void *old, size_t count, size_t size)
{
	return xneed(reallocarray(old, count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return xneed(strdup(text));
}

void *xmemdup(const void *bytes, size_t size)
{
	void *copy = xneed(malloc(size ? size : 1));

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

char *xprintf(const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return xneed(length < 0 ? NULL : text);
}
