/* checklist: fencepost checks [NAME]. */
#include "checklist.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/analyzer.h"

struct shown {
	const struct options *o;
	int count;
	bool unfit; /* a text that JSON cannot hold */
};

static bool show_json(const struct check_text *check)
{
	json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "check", check->name, "severity",
				check->severity, "title", check->title, "claim", check->claim, "unverifiable",
				check->unverifiable, "remedy", check->remedy, "sql", check->sql);

	if (!row)
		return false;
	json_dumpf(row, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(row);
	return true;
}

static void show(void *context, const struct check_text *check)
{
	struct shown *shown = context;
	const struct options *o = shown->o;

	if (o->argument_count > 0 && strcmp(o->arguments[0], check->name) != 0)
		return;
	shown->count++;
	if (o->json)
		shown->unfit = !show_json(check) || shown->unfit;
	else if (o->argument_count == 0)
		printf("%-24s %-8s %s\n", check->name, check->severity, check->title);
	else
		printf("%s (%s): %s\n\nclaim: %s\n\nunverifiable: %s\n\nremedy: %s\n\n%s", check->name, check->severity,
		       check->title, check->claim, check->unverifiable, check->remedy, check->sql);
}

int checklist_show(const struct options *o, struct trouble *t)
{
	struct shown shown = { .o = o };

	if (analyzer_checks(o->checks, show, &shown, t) < 0)
		return -1;
	if (shown.unfit)
		return trouble_set(t, "a check is not written in UTF-8, which JSON needs");
	if (shown.count == 0)
		return trouble_set(t, "%s: no such check; fencepost checks lists them", o->arguments[0]);
	return 0;
}
