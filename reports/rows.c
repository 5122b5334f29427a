/* rows: rows of the index as JSON. */
#include "reports/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/words.h"
#include "sql/db.h"
#include "sql/faultpoint.h"
#include "sql/keytext.h"
#include "sql/mem.h"
#include "sql/run.h"

int rows_prepare(sqlite3 *db, const char *sql, const struct row_keys *keys, sqlite3_stmt **stmt, struct trouble *t)
{
	if (db_prepare(db, sql, stmt, t) < 0)
		return -1;
	db_bind_int_named(*stmt, ":run", keys->run);
	db_bind_text_named(*stmt, ":pipeline", keys->pipeline);
	db_bind_text_named(*stmt, ":topic", keys->topic);
	db_bind_text_named(*stmt, ":role", keys->role);
	db_bind_text_named(*stmt, ":check", keys->check);
	return 0;
}

/* jansson has no memory left: let mem end the program, as it does for everybody else. */
static void json_short_of_memory(void)
{
	free(xgrow(NULL, SIZE_MAX, SIZE_MAX));
}

void json_put(json_t *object, const char *name, json_t *value)
{
	if (!value || json_object_set_new(object, name, value) < 0)
		json_short_of_memory();
}

void json_add(json_t *list, json_t *value)
{
	if (json_array_append_new(list, value) < 0)
		json_short_of_memory();
}

static json_t *text_value(const char *text, size_t length)
{
	json_t *value = json_stringn(text, length);
	char *safe;

	if (value)
		return value;
	safe = xalloc(KEYTEXT_ROOM(length));
	keytext_write(text, length, safe);
	value = json_string(safe);
	free(safe);
	return value;
}

static json_t *json_value(const char *text, size_t length)
{
	json_t *value = json_loadb(text, length, JSON_ALLOW_NUL, NULL);

	if (json_is_object(value) || json_is_array(value))
		return value;
	json_decref(value);
	value = json_object();
	json_put(value, "unreadable", text_value(text, length));
	return value;
}

static json_t *time_value(int64_t us)
{
	char text[WORDS_ROOM];

	return json_string(words_time(us, text));
}

/* JSON has no infinities. */
static json_t *real_value(double real)
{
	json_t *value = json_real(real);

	return value ? value : json_string(real > 0 ? "Infinity" : "-Infinity");
}

static json_t *column_value(sqlite3_stmt *stmt, int column, char kind)
{
	const char *bytes;
	size_t length;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL: return json_null();
	case SQLITE_INTEGER:
		if (kind == '?')
			return json_boolean(sqlite3_column_int64(stmt, column));
		return kind == '@' ? time_value(sqlite3_column_int64(stmt, column))
				   : json_integer(sqlite3_column_int64(stmt, column));
	case SQLITE_FLOAT: return real_value(sqlite3_column_double(stmt, column));
	default:
		bytes = sqlite3_column_blob(stmt, column);
		length = (size_t)sqlite3_column_bytes(stmt, column);
		return kind == '}' ? json_value(bytes ? bytes : "", length) : text_value(bytes ? bytes : "", length);
	}
}

json_t *rows_value(sqlite3_stmt *stmt, int column)
{
	return column_value(stmt, column, '\0');
}

json_t *rows_object(sqlite3_stmt *stmt, int columns)
{
	json_t *object = json_object();

	for (int i = 0; i < columns; i++) {
		char name[64];
		size_t length;
		char kind;

		snprintf(name, sizeof(name), "%s", sqlite3_column_name(stmt, i));
		length = strlen(name);
		kind = length && strchr("@?}", name[length - 1]) ? name[length - 1] : '\0';
		if (kind)
			name[length - (kind == '}' ? 2 : 1)] = '\0';
		json_put(object, name, column_value(stmt, i, kind));
	}
	return object;
}

json_t *rows_list(sqlite3 *db, const char *sql, const struct row_keys *keys, struct trouble *t)
{
	json_t *list = json_array();
	sqlite3_stmt *stmt;
	int more;

	if (rows_prepare(db, sql, keys, &stmt, t) < 0) {
		json_decref(list);
		return NULL;
	}
	while ((more = FAULT(REPORT_ROW) ? db_trouble(db, t, "read") : db_step(stmt, t)) > 0)
		json_add(list, rows_object(stmt, sqlite3_column_count(stmt)));
	sqlite3_finalize(stmt);
	if (more < 0) {
		json_decref(list);
		return NULL;
	}
	return list;
}

int rows_one(sqlite3 *db, const char *sql, const struct row_keys *keys, json_t **object, struct trouble *t)
{
	sqlite3_stmt *stmt;
	int more;

	*object = NULL;
	if (rows_prepare(db, sql, keys, &stmt, t) < 0)
		return -1;
	more = db_step(stmt, t);
	if (more > 0)
		*object = rows_object(stmt, sqlite3_column_count(stmt));
	sqlite3_finalize(stmt);
	return more;
}

void json_move(json_t *from, const char *name, json_t *to)
{
	json_t *value = json_object_get(from, name);

	json_put(to, name, value ? json_incref(value) : json_null());
	json_object_del(from, name);
}

int64_t json_int(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_integer(value) ? json_integer_value(value) : UNKNOWN;
}

const char *json_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

bool json_flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}
