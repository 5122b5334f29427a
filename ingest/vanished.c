/* vanished: topics that a pattern should match and does not. */
#include "ingest/vanished.h"

#include <regex.h>
#include <string.h>

#include "sql/db.h"
#include "sql_data.h"

static bool is_matched(const struct pipeline_config *pipeline, const char *topic)
{
	for (size_t i = 0; i < pipeline->topic_count; i++) {
		regex_t regex;
		bool matched;

		if (pipeline->topics[i][0] != '^' ||
		    regcomp(&regex, pipeline->topics[i], REG_EXTENDED | REG_NOSUB) != 0)
			continue;
		matched = regexec(&regex, topic, 0, NULL, 0) == 0;
		regfree(&regex);
		if (matched)
			return true;
	}
	return false;
}

static bool is_there(const struct lane *lane, const char *topic)
{
	for (size_t i = 0; i < lane->count; i++)
		if (lane->subjects[i].role == ROLE_SOURCE &&
		    strcmp(subject_history(lane, &lane->subjects[i])->topic, topic) == 0)
			return true;
	return false;
}

static int tell(struct plan *plan, const struct lane *lane, sqlite3_stmt *row, struct trouble *t)
{
	const char *topic = (const char *)sqlite3_column_text(row, 0);
	struct trouble what = { 0 };

	if (is_there(lane, topic) || !is_matched(lane->pipeline, topic))
		return 0;
	trouble_set(&what,
		    "topic %s, which run %lld looked at, is not there any more: deleted, or hidden from this user",
		    topic, (long long)db_int(row, 1));
	return plan_trouble(plan, "replay", lane, NULL, UNKNOWN, &what, t);
}

int vanished_topics(struct plan *plan, struct lane *lane, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	if (lane->lost)
		return 0;
	if (db_prepare(plan->db, sql_queries_plan_topics_before, &stmt, t) < 0)
		return -1;
	db_bind_text(stmt, 1, lane->pipeline->name);
	db_bind_int(stmt, 2, plan->run->id);
	while ((more = db_step(stmt, t)) > 0)
		if (tell(plan, lane, stmt, t) < 0) {
			more = -1;
			break;
		}
	sqlite3_finalize(stmt);
	return more;
}
