/* trouble: the words of what went wrong. */
#include "sql/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void mark_cut(struct trouble *t, int length)
{
	if (length >= (int)sizeof(t->text))
		memcpy(t->text + sizeof(t->text) - 4, "...", 4);
}

int trouble_set(struct trouble *t, const char *format, ...)
{
	va_list args;

	if (!t)
		return -1;
	va_start(args, format);
	mark_cut(t, vsnprintf(t->text, sizeof(t->text), format, args));
	va_end(args);
	return -1;
}

int trouble_wrap(struct trouble *t, const char *format, ...)
{
	char reason[sizeof(t->text)], doing[sizeof(t->text)];
	va_list args;

	if (!t)
		return -1;
	memcpy(reason, t->text, sizeof(reason));
	va_start(args, format);
	vsnprintf(doing, sizeof(doing), format, args);
	va_end(args);
	return trouble_set(t, "%s: %s", doing, reason);
}
