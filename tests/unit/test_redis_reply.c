/* Replies, errors and commands of Redis, without a server. */
#include "ingest/redis_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ingest/redis_conn.h"
#include "ingest/redis_rate.h"
#include "ingest/redis_seen.h"
#include "reading.h"

static redisReply *read_all(struct reading *r, const char *bytes, size_t size)
{
	void *reply = NULL;

	assert_int_equal(redisReaderFeed(r->reader, bytes, size), REDIS_OK);
	assert_int_equal(redisReaderGetReply(r->reader, &reply), REDIS_OK);
	assert_non_null(reply);
	return reply;
}

#define READ(r, literal) read_all(r, literal, sizeof(literal) - 1)

static void assert_text(const redisReply *reply, const void *text, size_t size)
{
	struct bytes b = reply_bytes(reply);

	assert_non_null(b.at);
	assert_int_equal(b.size, size);
	assert_memory_equal(b.at, text, size);
}

static void test_shapes(void **state)
{
	struct reading *r = *state;
	redisReply *reply = READ(r, "*4\r\n$3\r\na\0b\r\n$-1\r\n:-2\r\n*2\r\n+OK\r\n$0\r\n\r\n");

	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, 4);
	assert_text(reply->element[0], "a\0b", 3);
	assert_int_equal(reply->element[1]->type, REDIS_REPLY_NIL);
	assert_null(reply_bytes(reply->element[1]).at);
	assert_int_equal(reply->element[2]->type, REDIS_REPLY_INTEGER);
	assert_int_equal(reply->element[2]->integer, -2);
	assert_int_equal(reply->element[3]->elements, 2);
	assert_int_equal(reply->element[3]->element[0]->type, REDIS_REPLY_STATUS);
	assert_text(reply->element[3]->element[1], "", 0);
	assert_int_equal(READ(r, "*-1\r\n")->type, REDIS_REPLY_NIL);
	assert_int_equal(READ(r, "*0\r\n")->elements, 0);
	assert_int_equal(reply_fault(READ(r, "+LOADING is fine\r\n")), REDIS_FAULT_NONE);
}

/* Many and large replies, in pieces of every size; the arena is given back and used again. */
static void test_pieces(void **state)
{
	struct reading *r = *state;
	size_t large = 700000;
	char *text = xarray(large + 64, 1);
	int head = snprintf(text, 64, "*2\r\n$%zu\r\n", large);

	memset(text + head, 'x', large);
	memcpy(text + head + large, "\r\n:7\r\n", 6);
	for (size_t piece = 1; piece < 300000; piece = piece * 7 + 1000) {
		redisReply *reply = NULL;

		for (int times = 0; times < 3; times++) {
			void *got = NULL;

			for (size_t at = 0; at < (size_t)head + large + 6; at += piece) {
				size_t left = (size_t)head + large + 6 - at;

				assert_null(got);
				redisReaderFeed(r->reader, text + at, left < piece ? left : piece);
				assert_int_equal(redisReaderGetReply(r->reader, &got), REDIS_OK);
			}
			reply = got;
			assert_non_null(reply);
			assert_text(reply->element[0], text + head, large);
			assert_int_equal(reply->element[1]->integer, 7);
		}
		reply_arena_reset(r->arena);
	}
	free(text);
}

static void test_faults(void **state)
{
	struct reading *r = *state;
	static const struct {
		const char *said;
		enum redis_fault fault;
		const char *words;
	} cases[] = {
		{ "-LOADING Redis is loading\r\n", REDIS_FAULT_AGAIN, "not ready" },
		{ "-BUSY Redis is busy\r\n", REDIS_FAULT_AGAIN, "BUSY" },
		{ "-MASTERDOWN Link\r\n", REDIS_FAULT_AGAIN, "MASTERDOWN" },
		{ "-WRONGTYPE Operation\r\n", REDIS_FAULT_WRONG_TYPE, "WRONGTYPE" },
		{ "-NOPERM this user\r\n", REDIS_FAULT_NO_PERMISSION,
		  "user aud may not run HMGET: NOPERM this user; an auditor needs: ACL SETUSER aud on" },
		{ "-NOAUTH Authentication required.\r\n", REDIS_FAULT_NO_AUTH, "REDISCLI_AUTH" },
		{ "-WRONGPASS invalid username-password pair\r\n", REDIS_FAULT_WRONG_PASSWORD,
		  "wrong password for user aud" },
		{ "-ERR invalid password\r\n", REDIS_FAULT_WRONG_PASSWORD, "wrong password" },
		{ "-ERR Client sent AUTH, but no password is set\r\n", REDIS_FAULT_NO_PASSWORD_SET, "has none" },
		{ "-MOVED 3999 127.0.0.1:6381\r\n", REDIS_FAULT_MOVED, "slot 3999" },
		{ "-ASK 3999 127.0.0.1:6381\r\n", REDIS_FAULT_MOVED, "slot 3999" },
		{ "-CLUSTERDOWN Hash slot not served\r\n", REDIS_FAULT_MOVED, "a node of a cluster" },
		{ "-READONLY You can't write\r\n", REDIS_FAULT_READONLY, "refused as a write" },
		{ "-ERR unknown command `HMGET`\r\n", REDIS_FAULT_UNKNOWN_COMMAND, "unknown command" },
		{ "-LOADINGS\r\n", REDIS_FAULT_OTHER, "HMGET: LOADINGS" },
		{ "-\r\n", REDIS_FAULT_OTHER, "HMGET: " },
		{ "-ERR \x1b[31m\xff\r\n", REDIS_FAULT_OTHER, "ERR \\x1b[31m\\xff" },
	};
	struct reply_origin origin = { .command = "HMGET", .user = "aud" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		redisReply *reply = read_all(r, cases[i].said, strlen(cases[i].said));
		struct trouble t = { "" };

		assert_int_equal(reply_fault(reply), cases[i].fault);
		assert_int_equal(reply_trouble(reply, &origin, &t), -1);
		if (!strstr(t.text, cases[i].words))
			fail_msg("\"%s\" lacks \"%s\"", t.text, cases[i].words);
	}
}

/* A server that does not know AUTH repeats its arguments. */
static void test_no_secret_in_words(void **state)
{
	struct reading *r = *state;
	struct reply_origin origin = { .command = "AUTH" };
	struct trouble t;

	reply_trouble(READ(r, "-ERR unknown command `AUTH`, with args beginning with: `s3cret`\r\n"), &origin, &t);
	assert_null(strstr(t.text, "s3cret"));
	assert_non_null(strstr(t.text, "user default"));
}

static void test_long_errors_are_cut(void **state)
{
	struct reading *r = *state;
	struct reply_origin origin = { .command = "GET" };
	char *said = xarray(100003, 1);
	struct trouble t;

	memset(said, 1, 100000);
	memcpy(said, "-ERR", 4);
	memcpy(said + 100000, "\r\n", 3);
	reply_trouble(read_all(r, said, 100002), &origin, &t);
	assert_true(strlen(t.text) < 1000);
	free(said);
}

static void test_commands(void **state)
{
	struct buffer out = { 0 };
	static const char expected[] = "*3\r\n$5\r\nHMGET\r\n$4\r\na\0\r\n\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n";

	(void)state;
	redis_format(&out, 3, (struct bytes[]){ BYTES("HMGET"), { "a\0\r\n", 4 }, BYTES("") });
	redis_format(&out, 1, (struct bytes[]){ BYTES("PING") });
	assert_int_equal(out.size, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, sizeof(expected) - 1);
	buffer_release(&out);
}

static void test_info_values(void **state)
{
	static const char text[] = "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nempty:\r\nrole:master\nlast:x:y";
	struct bytes info = { text, sizeof(text) - 1 }, v;
	static const struct {
		const char *name, *value;
	} cases[] = {
		{ "redis_version", "7.0.15" }, { "run_id", "abc" }, { "empty", "" },
		{ "role", "master" },          { "last", "x:y" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		v = redis_info_value(info, cases[i].name);
		assert_non_null(v.at);
		assert_int_equal(v.size, strlen(cases[i].value));
		assert_memory_equal(v.at, cases[i].value, v.size);
	}
	assert_null(redis_info_value(info, "redis").at);
	assert_null(redis_info_value(info, "version").at);
	assert_null(redis_info_value((struct bytes){ NULL, 0 }, "role").at);
}

static void test_seen(void **state)
{
	struct redis_seen seen = { 0 };
	char key[16];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 20000; i++) {
			int size = snprintf(key, sizeof(key), "%d", i);

			assert_int_equal(redis_seen_add(&seen, i * INT64_C(7919), key, (size_t)size), round == 0);
		}
	assert_true(redis_seen_add(&seen, 7919, "another", 7)); /* same hash, other bytes */
	assert_int_equal(redis_seen_count(&seen), 20001);
	redis_seen_cut(&seen, 5000 * INT64_C(7919));
	assert_int_equal(redis_seen_count(&seen), 5001);
	assert_true(redis_seen_bytes(&seen) <= 16 * 8192);
	for (int i = 0; i < 5000; i++) {
		int size = snprintf(key, sizeof(key), "%d", i);

		assert_false(redis_seen_add(&seen, i * INT64_C(7919), key, (size_t)size));
	}
	redis_seen_release(&seen);
}

/* A clock that moves when it is read. */
static int64_t moving_tick(void *context)
{
	int64_t *now = context;

	return *now += 1000;
}

static void test_rate(void **state)
{
	static atomic_int never;
	int64_t now = 0, begun;
	struct run run = { .tick_us = moving_tick, .context = &now, .stop = &never };
	struct redis_rate rate;

	(void)state;
	redis_rate_init(&rate, &run, 0);
	begun = now;
	for (int i = 0; i < 100; i++)
		redis_rate_take(&rate, &run, 1000000);
	assert_true(now - begun < 1000000);
	assert_int_equal(redis_rate_page(&rate), 1000);
	redis_rate_init(&rate, &run, 100000);
	begun = now;
	for (int i = 0; i < 20; i++)
		redis_rate_take(&rate, &run, 1000);
	assert_in_range(now - begun, 90000, 250000); /* 20,000 keys at 100,000 a second, less the burst */
	assert_int_equal(redis_rate_page(&rate), 1000);
	redis_rate_init(&rate, &run, 500);
	assert_int_equal(redis_rate_page(&rate), 50);
	redis_rate_init(&rate, &run, 1);
	assert_int_equal(redis_rate_page(&rate), 10);
	never = 15;
	begun = now;
	redis_rate_take(&rate, &run, 1000000); /* does not wait once the run is to stop */
	assert_true(now - begun < 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shapes, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(test_pieces, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(test_faults, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(test_no_secret_in_words, open_reading, close_reading),
		cmocka_unit_test_setup_teardown(test_long_errors_are_cut, open_reading, close_reading),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_info_values),
		cmocka_unit_test(test_seen),
		cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
