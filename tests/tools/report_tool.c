/*
 * report_tool: the reports of an index that a test made.
 *
 *     report_tool INDEX new                  makes an empty index
 *     report_tool INDEX write RUN DIR        prints "clean complete" and the like
 *     report_tool INDEX print RUN            the text; json instead of print: summary.json; looked: what was looked at
 *     report_tool INDEX metrics RUN FILE
 *     report_tool INDEX failed CONFIG FILE   the metrics of a run without an index
 *     report_tool INDEX query SQL            read-only; query-json likewise
 *     report_tool INDEX runs                 read-only; runs-json likewise
 *
 * Its clock always shows the same time. It takes LC_ALL from the environment, as a program that uses locales would.
 */
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/reports.h"
#include "sql/index.h"

static int64_t still(void *context)
{
	(void)context;
	return INT64_C(1796005800000000);
}

static int report(const struct run *run, sqlite3 *db, char **args, struct trouble *t)
{
	static const char *const words[] = { "clean", "findings", "incomplete" };
	struct report_result result;
	const char *command = args[0];

	if (strcmp(command, "new") == 0)
		return 0;
	if (strcmp(command, "write") == 0) {
		if (reports_write(run, db, args[2], &result, t) < 0)
			return -1;
		printf("%s %s\n", words[result.status], result.complete ? "complete" : "incomplete");
		return 0;
	}
	if (strcmp(command, "looked") == 0)
		return reports_looked(run, db, false, stdout, t);
	if (strcmp(command, "metrics") == 0)
		return reports_metrics(run, db, false, args[2], t);
	if (strcmp(command, "failed") == 0)
		return reports_metrics_failed(run, args[1], args[2], t);
	return reports_print(run, db, strcmp(command, "json") == 0, stdout, t);
}

static int look(const struct run *run, sqlite3 *db, char **args, struct trouble *t)
{
	bool json = strstr(args[0], "-json");

	return args[0][0] == 'q' ? reports_query(run, db, args[1], json, stdout, t)
				 : reports_runs(run, db, json, stdout, t);
}

int main(int argc, char **argv)
{
	static atomic_int stop;
	struct run run = { .wall_us = still, .tick_us = still, .stop = &stop };
	struct index index = { .lock = -1 };
	struct trouble t = { 0 };
	bool reads = argc > 2 && (argv[2][0] == 'q' || strncmp(argv[2], "runs", 4) == 0);
	int result = -1;

	setlocale(LC_ALL, "");
	if (argc < 3)
		return 64;
	if (argc > 3)
		run.id = strtoll(argv[3], NULL, 10);
	if ((reads ? index_open_read(&run, argv[1], &index, &t) : index_open_write(&run, argv[1], 0, &index, &t)) ==
	    INDEX_OPEN)
		result = reads ? look(&run, index.db, argv + 2, &t) : report(&run, index.db, argv + 2, &t);
	index_close(&index);
	if (result < 0)
		fprintf(stderr, "report_tool: %s\n", t.text);
	return result < 0;
}
