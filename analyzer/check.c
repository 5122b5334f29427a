/* check: subjects, then findings, then what came out for each scope. */
#include "analyzer/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/findingid.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/mem.h"
#include "sql/runlog.h"
#include "sql_data.h"

enum { STATEMENTS = 3, FINDINGS_MOST = 1000000 };
enum { SUBJECTS, FINDINGS, TOTALS }; /* the statements */

/* What came out for one scope: a pipeline, or another subject of the check's kind. */
struct outcome {
	char *scope;
	bool applies; /* the first statement had a row */
	int64_t examined, found, kept;
};

struct job {
	const struct run *run;
	sqlite3 *db;
	const struct check *check;
	int64_t ordinal, most; /* findings kept at most */
	struct outcome *outcomes;
	size_t outcome_n;
	sqlite3_stmt *stmt[STATEMENTS];
};

/* The columns that the statements must have. */
static const char *const subject_columns[] = { "pipeline", "reason", "n", NULL };
static const char *const total_columns[] = { "pipeline", "n", NULL };

/* Columns of the second statement, those that go into a finding as they are first. */
#define FINDING_COLUMNS(X)                                                                                          \
	X(PIPELINE, "pipeline", 1)                                                                                  \
	X(TOPIC, "topic", 1)                                                                                        \
	X(PARTITION, "partition", 1) X(OFFSET, "offset", 1) X(KEY, "key", 1) X(REDIS_KEY, "redis_key", 1)           \
		X(IDENTITY, "identity", 1) X(DETAIL, "detail", 1) X(EVIDENCE, "evidence", 1) X(STREAM, "stream", 0) \
			X(GRP, "grp", 0) X(CONSUMER, "consumer", 0) X(ENTRY, "entry", 0) X(REMEDY, "remedy", 0)     \
				X(SEVERITY, "severity", 0)

#define COLUMN_ENUM(name, word, needed) COLUMN_##name,
enum { FINDING_COLUMNS(COLUMN_ENUM) COLUMNS };
#define COLUMN_ENTRY(name, word, needed) { word, needed },
static const struct {
	const char *name;
	bool needed;
} finding_columns[COLUMNS] = { FINDING_COLUMNS(COLUMN_ENTRY) };

static int column_of(sqlite3_stmt *stmt, const char *name)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (strcmp(sqlite3_column_name(stmt, i), name) == 0)
			return i;
	return -1;
}

static int need_columns(const struct job *job, int which, const char *const *names, struct trouble *t)
{
	for (; *names; names++)
		if (column_of(job->stmt[which], *names) < 0)
			return trouble_set(t, "statement %d has no column \"%s\"", which + 1, *names);
	return 0;
}

static int need_finding_columns(const struct job *job, struct trouble *t)
{
	for (int i = 0; i < COLUMNS; i++)
		if (finding_columns[i].needed && column_of(job->stmt[FINDINGS], finding_columns[i].name) < 0)
			return trouble_set(t, "statement 2 has no column \"%s\"", finding_columns[i].name);
	return 0;
}

/* sqlite3_stmt_readonly says yes to BEGIN and COMMIT too: those have no columns. */
static int prepare_one(struct job *job, const char **sql, int n, struct trouble *t)
{
	sqlite3_stmt *stmt = NULL;

	while (**sql && !stmt) {
		if (sqlite3_prepare_v2(job->db, *sql, -1, &stmt, sql) != SQLITE_OK)
			return trouble_set(t, "statement %d: %s", n + 1, sqlite3_errmsg(job->db));
	}
	if (!stmt)
		return 0;
	if (n < STATEMENTS)
		job->stmt[n] = stmt;
	if (n < STATEMENTS && sqlite3_stmt_readonly(stmt) && sqlite3_column_count(stmt) > 0) {
		db_bind_int_named(stmt, ":run", job->run->id);
		return 1;
	}
	if (n >= STATEMENTS)
		sqlite3_finalize(stmt);
	return trouble_set(t, n < STATEMENTS ? "statement %d does more than read" : "has more than %d statements",
			   n < STATEMENTS ? n + 1 : n);
}

static int prepare(struct job *job, struct trouble *t)
{
	const char *sql = job->check->sql;
	int n = 0, more;

	while ((more = prepare_one(job, &sql, n, t)) > 0)
		n++;
	if (more < 0)
		return -1;
	if (n < 2)
		return trouble_set(t, "has %d %s; a check has one for its subjects and one for its findings", n,
				   n == 1 ? "statement" : "statements");
	if (need_columns(job, SUBJECTS, subject_columns, t) < 0 || need_finding_columns(job, t) < 0)
		return -1;
	return job->stmt[TOTALS] ? need_columns(job, TOTALS, total_columns, t) : 0;
}

static int load_outcomes(struct job *job, struct trouble *t)
{
	sqlite3_stmt *rows = db_query(job->db, sql_queries_check_scopes, job->run->id, t);
	int more;

	db_bind_text(rows, 2, job->check->subject);
	while ((more = db_step(rows, t)) > 0) {
		job->outcomes = xgrow(job->outcomes, job->outcome_n + 1, sizeof(*job->outcomes));
		job->outcomes[job->outcome_n++] = (struct outcome){ .scope = db_text_dup(rows, 0) };
	}
	sqlite3_finalize(rows);
	return more;
}

/* A count; NULL, text and the like are mistakes of the check that would read as none. */
static int count_of(sqlite3_stmt *row, int64_t *n, struct trouble *t)
{
	int at = column_of(row, "n");

	*n = sqlite3_column_int64(row, at);
	if (sqlite3_column_type(row, at) != SQLITE_INTEGER || *n < 0)
		return trouble_set(t, "gives an n that is no count");
	return 0;
}

/* The outcome of the row's scope, or NULL with words. */
static struct outcome *outcome_of(const struct job *job, sqlite3_stmt *row, struct trouble *t)
{
	const char *scope = (const char *)sqlite3_column_text(row, column_of(row, "pipeline"));

	for (size_t i = 0; scope && i < job->outcome_n; i++)
		if (strcmp(job->outcomes[i].scope, scope) == 0)
			return &job->outcomes[i];
	trouble_set(t, "speaks of a %s \"%s\" that the run does not have", job->check->subject, scope ? scope : "NULL");
	return NULL;
}

static int add_unverifiable(const struct job *job, const struct outcome *outcome, const char *reason, int64_t n,
			    struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(job->db, sql_queries_check_unverifiable, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, job->run->id);
	db_bind_text(stmt, 2, outcome->scope);
	db_bind_text(stmt, 3, job->check->name);
	db_bind_text(stmt, 4, reason);
	db_bind_int(stmt, 5, n);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static int read_subject(struct job *job, sqlite3_stmt *row, struct trouble *t)
{
	struct outcome *outcome = outcome_of(job, row, t);
	const char *reason = (const char *)sqlite3_column_text(row, column_of(row, "reason"));
	int64_t n;

	if (!outcome || count_of(row, &n, t) < 0)
		return -1;
	outcome->applies = true;
	if (!reason) {
		outcome->examined += n;
		return 0;
	}
	return n ? add_unverifiable(job, outcome, reason, n, t) : 0;
}

static int read_subjects(struct job *job, struct trouble *t)
{
	int more;

	while ((more = FAULT(CHECK_SUBJECT) ? db_trouble(job->db, t, "read") : db_step(job->stmt[SUBJECTS], t)) > 0)
		if (read_subject(job, job->stmt[SUBJECTS], t) < 0)
			return -1;
	return more;
}

/* A finding row: where each column is; -1: the statement does not have it. */
struct finding {
	sqlite3_stmt *row;
	int at[COLUMNS];
};

static const char *text_of(const struct finding *f, int column)
{
	return f->at[column] < 0 ? NULL : (const char *)sqlite3_column_text(f->row, f->at[column]);
}

/* The parts that make a finding the same one: numbers as decimal text, keys as bytes. */
static void make_id(const struct job *job, const struct finding *f, char id[FINDINGID_ROOM])
{
	static const int parts[] = { COLUMN_PIPELINE,  COLUMN_TOPIC,    COLUMN_PARTITION, COLUMN_KEY,
				     COLUMN_REDIS_KEY, COLUMN_IDENTITY, COLUMN_OFFSET,    COLUMN_STREAM,
				     COLUMN_GRP,       COLUMN_CONSUMER, COLUMN_ENTRY };
	struct findingid hash;

	findingid_begin(&hash);
	findingid_add(&hash, job->check->name, strlen(job->check->name));
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		int at = f->at[parts[i]];
		bool null = at < 0 || sqlite3_column_type(f->row, at) == SQLITE_NULL;
		const void *bytes = null ? NULL : sqlite3_column_blob(f->row, at);

		findingid_add(&hash,
			      null    ? NULL
			      : bytes ? bytes
				      : "",
			      null ? 0 : (size_t)sqlite3_column_bytes(f->row, at));
	}
	findingid_end(&hash, id);
}

/* How grave, from 0; -1: no severity. */
static int gravity(const char *word)
{
	static const char *const words[] = { "info", "warning", "error" };

	for (int i = 0; i < 3; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

static int insert(const struct job *job, const struct outcome *outcome, const struct finding *f, sqlite3_stmt *to,
		  struct trouble *t)
{
	static const int copied[] = { COLUMN_TOPIC,     COLUMN_PARTITION, COLUMN_OFFSET,  COLUMN_KEY,
				      COLUMN_REDIS_KEY, COLUMN_STREAM,    COLUMN_GRP,     COLUMN_CONSUMER,
				      COLUMN_ENTRY,     COLUMN_DETAIL,    COLUMN_EVIDENCE };
	const char *severity = text_of(f, COLUMN_SEVERITY), *remedy = text_of(f, COLUMN_REMEDY),
		   *evidence = text_of(f, COLUMN_EVIDENCE);
	char id[FINDINGID_ROOM];

	if (!text_of(f, COLUMN_DETAIL) || !evidence || evidence[0] != '{')
		return trouble_set(t, "gives a finding without detail, or whose evidence is no JSON object");
	if (severity && gravity(severity) < 0)
		return trouble_set(t, "gives a finding of severity \"%s\"; valid: info, warning, error", severity);
	if (severity && gravity(severity) > gravity(job->check->severity)) /* findings count as of the check's */
		return trouble_set(t, "is of severity %s and gives a finding of %s", job->check->severity, severity);
	make_id(job, f, id);
	db_bind_int(to, 1, job->run->id);
	db_bind_text(to, 2, job->check->name);
	db_bind_text(to, 3, outcome->scope);
	db_bind_int(to, 4, outcome->kept);
	db_bind_text(to, 5, id);
	db_bind_text(to, 6, severity ? severity : job->check->severity);
	for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++)
		if (f->at[copied[i]] >= 0)
			sqlite3_bind_value(to, 7 + (int)i, sqlite3_column_value(f->row, f->at[copied[i]]));
	db_bind_text(to, 18, remedy ? remedy : job->check->remedy);
	return FAULT(FINDING_WRITE) ? db_trouble(job->db, t, "write") : db_run(to, t);
}

static int read_findings(struct job *job, sqlite3_stmt *to, struct trouble *t)
{
	struct finding f = { .row = job->stmt[FINDINGS] };
	int64_t kept = 0;
	int more;

	for (int i = 0; i < COLUMNS; i++)
		f.at[i] = column_of(f.row, finding_columns[i].name);
	while ((more = FAULT(CHECK_FINDING) ? db_trouble(job->db, t, "read") : db_step(f.row, t)) > 0) {
		struct outcome *outcome = outcome_of(job, f.row, t);

		if (!outcome)
			return -1;
		if (kept < job->most) {
			if (insert(job, outcome, &f, to, t) < 0)
				return -1;
			outcome->kept++;
			kept++;
		}
		outcome->found++;
	}
	return more;
}

static int read_totals(struct job *job, struct trouble *t)
{
	sqlite3_stmt *rows = job->stmt[TOTALS];
	int more = 0;

	while (rows && (more = db_step(rows, t)) > 0) {
		struct outcome *outcome = outcome_of(job, rows, t);
		int64_t n;

		if (!outcome || count_of(rows, &n, t) < 0)
			return -1;
		if (n < outcome->found)
			return trouble_set(t, "counts %lld findings, and gives more", (long long)n);
		outcome->found = n;
	}
	return more;
}

static int read_all(struct job *job, struct trouble *t)
{
	sqlite3_stmt *to;
	int result;

	if (prepare(job, t) < 0 || read_subjects(job, t) < 0)
		return -1;
	if (db_prepare(job->db, sql_queries_check_finding, &to, t) < 0)
		return -1;
	result = read_findings(job, to, t);
	sqlite3_finalize(to);
	return result < 0 ? -1 : read_totals(job, t);
}

/* Where all subjects are unverifiable nothing was examined: that is no pass. */
static const char *status_of(const struct outcome *outcome, bool failed)
{
	if (failed)
		return "error";
	if (outcome->found)
		return "fail";
	if (!outcome->applies)
		return "skip";
	return outcome->examined ? "pass" : "empty";
}

static int write_outcome(const struct job *job, const struct outcome *outcome, const struct trouble *why,
			 struct trouble *t)
{
	sqlite3_stmt *stmt;
	int result;

	if (db_prepare(job->db, sql_queries_check_result, &stmt, t) < 0)
		return -1;
	db_bind_int(stmt, 1, job->run->id);
	db_bind_text(stmt, 2, outcome->scope);
	db_bind_text(stmt, 3, job->check->name);
	db_bind_int(stmt, 4, job->ordinal);
	db_bind_text(stmt, 5, job->check->severity);
	db_bind_text(stmt, 6, job->check->title);
	db_bind_text(stmt, 7, status_of(outcome, why));
	db_bind_int(stmt, 8, why ? 0 : outcome->examined);
	db_bind_int(stmt, 9, why ? 0 : outcome->found);
	db_bind_int(stmt, 10, why ? 0 : outcome->kept);
	db_bind_text(stmt, 11, why ? why->text : NULL);
	result = db_run(stmt, t);
	sqlite3_finalize(stmt);
	return result;
}

static int write_outcomes(const struct job *job, const struct trouble *why, struct trouble *t)
{
	struct run_gap gap = { .stage = "check", .partition = UNKNOWN };

	for (size_t i = 0; i < job->outcome_n; i++)
		if (write_outcome(job, &job->outcomes[i], why, t) < 0)
			return -1;
	return why ? run_trouble(job->run, job->db, &gap, why, t) : 0;
}

static int read_findings_most(struct job *job, struct trouble *t)
{
	sqlite3_stmt *stmt = db_query(job->db, sql_queries_check_max_findings, job->run->id, t);
	int more = db_step(stmt, t);

	job->most = more > 0 ? sqlite3_column_int64(stmt, 0) : FINDINGS_MOST;
	sqlite3_finalize(stmt);
	return more < 0 ? -1 : 0;
}

int check_run(const struct run *run, sqlite3 *db, const struct check *check, int64_t ordinal, struct trouble *t)
{
	struct job job = { .run = run, .db = db, .check = check, .ordinal = ordinal };
	struct trouble why = { 0 };
	bool failed = false;
	int result = load_outcomes(&job, t);

	if (result == 0)
		result = read_findings_most(&job, t);
	if (result == 0)
		result = db_script(db, "SAVEPOINT one_check", t);
	if (result == 0)
		failed = read_all(&job, &why) < 0;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(job.stmt[i]);
	if (failed)
		trouble_wrap(&why, "check %s", check->file);
	if (result == 0 && failed)
		result = db_script(db, "ROLLBACK TO one_check", t);
	if (result == 0)
		result = db_script(db, "RELEASE one_check", t);
	if (result == 0)
		result = write_outcomes(&job, failed ? &why : NULL, t);
	for (size_t i = 0; i < job.outcome_n; i++)
		free(job.outcomes[i].scope);
	free(job.outcomes);
	return result;
}
