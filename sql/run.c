/* run: the notes that stages hand to main. */
#include "sql/run.h"

#include <stdarg.h>
#include <stdio.h>

void run_note(const struct run *run, const char *format, ...)
{
	char line[2048];
	va_list args;

	if (!run->note)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	run->note(run->context, line);
}
