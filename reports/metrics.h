/*
 * metrics: a summary in Prometheus' text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/),
 * for node_exporter's textfile collector. Every sample has the label config: the config file as named.
 */
#ifndef REPORTS_METRICS_H
#define REPORTS_METRICS_H

#include <jansson.h>
#include <sqlite3.h>

#include "reports/outfile.h"
#include "sql/trouble.h"

/*
 * Writes the metrics of a summary. Of the index it asks only for the newest complete run up to the summary's. 0 or -1.

 */
int metrics_write(sqlite3 *db, const json_t *summary, struct outfile *out, struct trouble *t);

/* Writes the metrics of a run that nothing is known of but that it did not complete. */
void metrics_write_failed(const char *config, struct outfile *out);

#endif
