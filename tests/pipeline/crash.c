/* Crash points: places in the worker where it may end at once, as a machine does that loses power. */
#include "crash.h"

#include <unistd.h>

#include "util.h"

bool crash_due(struct crash *c, enum crash_point point)
{
	if (c->probability > 0 && prng_chance(&c->prng, c->probability))
		return true;
	return c->point == point && ++c->passed == c->at;
}

void crash_pass(struct crash *c, enum crash_point point)
{
	static const char *const names[] = { "never", "partial", "redis", "produce", "commit" };

	if (!crash_due(c, point))
		return;
	warn("crash after %s", names[point]);
	_exit(CRASH_EXIT);
}
