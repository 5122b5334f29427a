/* Redis URLs, and what wins: the command line, a pipeline's own section, the general one. */
#include "ingest/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ingest/config_read.h"
#include "sql/mem.h"

#define KAFKA "kafka: {bootstrap.servers: 'k:9092'}\n"
#define ONE "pipelines: {o: {topic: t, group: g}}\n"

static int try_parse(const char *text, const struct config_overrides *overrides, struct config **config,
		     struct trouble *t)
{
	struct config_text file = { .path = "fencepost.yaml", .bytes = text, .size = strlen(text) };

	return config_parse(&file, overrides, config, t);
}

static struct config *parse(const char *text, const struct config_overrides *overrides)
{
	struct trouble t = { "" };
	struct config *config;

	if (try_parse(text, overrides, &config, &t) < 0)
		fail_msg("%s", t.text);
	return config;
}

/* --- URLs --------------------------------------------------------------------------------------------------------- */

static void assert_same(const char *got, const char *wanted)
{
	assert_string_equal(got ? got : "(none)", wanted ? wanted : "(none)");
}

static void test_urls(void **state)
{
	static const struct {
		const char *text, *host, *path, *user, *password;
		int port, db;
		bool tls;
	} good[] = {
		{ "redis://localhost", "localhost", NULL, NULL, NULL, 6379, -1, false },
		{ "redis://LocalHost:6380/", "localhost", NULL, NULL, NULL, 6380, -1, false },
		{ "rediss://h:1/15", "h", NULL, NULL, NULL, 1, 15, true },
		{ "redis://h?db=3", "h", NULL, NULL, NULL, 6379, 3, false },
		{ "redis://h/3?db=3", "h", NULL, NULL, NULL, 6379, 3, false },
		{ "redis://u:p@h", "h", NULL, "u", "p", 6379, -1, false },
		{ "redis://:p%40%2f%3A:x@h", "h", NULL, NULL, "p@/::x", 6379, -1, false },
		{ "redis://:@h", "h", NULL, NULL, NULL, 6379, -1, false },
		{ "redis://[::1]:7/2", "::1", NULL, NULL, NULL, 7, 2, false },
		{ "redis://u:p@[fe80::1]", "fe80::1", NULL, "u", "p", 6379, -1, false },
		{ "unix:///run/redis%20x.sock?db=1", NULL, "/run/redis x.sock", NULL, NULL, 0, 1, false },
		{ "unix://u:p@/run/r@x", NULL, "/run/r@x", "u", "p", 0, -1, false },
	};
	static const char *const bad[] = { "",
					   "localhost",
					   "redis:/h",
					   "REDIS://h",
					   "redis://",
					   "redis://:6379",
					   "redis://h:0",
					   "redis://h:65536",
					   "redis://h:",
					   "redis://h:6379x",
					   "redis://h/x",
					   "redis://h/-1",
					   "redis://h/01",
					   "redis://h/1?db=2",
					   "redis://h?x=1",
					   "redis://h#1",
					   "redis://u@h",
					   "redis://u:@h",
					   "redis://[::1",
					   "redis://[::1]x",
					   "redis://%",
					   "redis://h%00",
					   "redis://a@b:c@h",
					   "redis://a:b@c@h",
					   "unix://",
					   "unix:///",
					   "unix://r.sock",
					   "unix:/r.sock",
					   "redis://h/99999999999" };
	struct redis_url url = { 0 };
	struct trouble t;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(redis_url_parse(good[i].text, &url, &t), 0);
		assert_same(url.host, good[i].host);
		assert_same(url.path, good[i].path);
		assert_same(url.user, good[i].user);
		assert_same(url.password, good[i].password);
		assert_int_equal(url.port, good[i].port);
		assert_int_equal(url.db, good[i].db);
		assert_int_equal(url.tls, good[i].tls);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (redis_url_parse(bad[i], &url, &t) == 0)
			fail_msg("'%s' passes", bad[i]);
	}
	redis_url_free(&url);
}

/* --- Redis -------------------------------------------------------------------------------------------------------- */

struct layer_case {
	const char *general, *own, *cli, *auth;
	const char *address, *user, *password;
	int64_t rate;
};

static const struct layer_case layers[] = {
	{ "{url: 'redis://a', db: 2, user: u, password: p}", NULL, NULL, NULL, "a:6379/2", "u", "p", 50000 },
	{ "{url: 'redis://u:p@a/2', rate: 9}", "{db: 3, rate: 8}", NULL, NULL, "a:6379/3", "u", "p", 8 },
	{ "{url: 'redis://u:p@a/2', rate: 9}", "{url: 'redis://b'}", NULL, NULL, "b:6379/0", NULL, NULL,
	  9 }, /* p is a's */
	{ "{url: 'redis://u:p@a/2'}", "{url: 'redis://b', password: q}", NULL, "env", "b:6379/0", NULL, "q", 50000 },
	{ "{url: 'redis://u:p@a/2'}", "{url: 'redis://b'}", NULL, "env", "b:6379/0", NULL, "env", 50000 },
	{ "{url: 'redis://:p@a'}", NULL, NULL, "env", "a:6379/0", NULL, "p", 50000 },
	{ "{url: 'redis://a'}", NULL, NULL, "", "a:6379/0", NULL, NULL, 50000 },
	{ "{url: 'redis://u:p@a/2'}", NULL, "redis://c", NULL, "c:6379/2", "u", "p", 50000 },
	{ "{url: 'redis://u:p@a/2'}", NULL, "redis://:x@c/0", NULL, "c:6379/0", "u", "x", 50000 },
	{ "{url: 'redis://a'}", "{url: 'redis://b/4'}", "unix:///s", NULL, "unix:/s/4", NULL, NULL, 50000 },
	{ NULL, NULL, "redis://[::1]:5", NULL, "[::1]:5/0", NULL, NULL, 50000 },
	{ "{}", NULL, "redis://c", NULL, "c:6379/0", NULL, NULL, 50000 },
	{ "none", "{url: 'redis://b'}", NULL, NULL, "b:6379/0", NULL, NULL, 50000 },
	{ "none", NULL, "redis://c", NULL, NULL, NULL, NULL, 0 },
	{ "{url: 'redis://a'}", "none", "redis://c", NULL, NULL, NULL, NULL, 0 },
};

static void test_layers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		const struct layer_case *l = &layers[i];
		struct config_overrides o = { .redis_rate = UNKNOWN, .redis_url = l->cli, .redis_auth = l->auth };
		char *text =
			xprintf(KAFKA "%s%s\npipelines: {o: {topic: t, group: g%s%s}}\n", l->general ? "redis: " : "",
				l->general ? l->general : "", l->own ? ", redis: " : "", l->own ? l->own : "");
		struct config *c = parse(text, &o);

		assert_int_equal(c->pipelines[0].has_redis, l->address != NULL);
		assert_same(c->pipelines[0].redis.address, l->address);
		assert_same(c->pipelines[0].redis.user, l->user);
		assert_same(c->pipelines[0].redis.password, l->password);
		assert_int_equal(c->pipelines[0].redis.rate, l->rate);
		config_free(c);
		free(text);
	}
}

struct tls_case {
	const char *general, *own, *cli;
	const char *ca, *cert, *key, *name;
};

static const struct tls_case tls[] = {
	{ "url: 'rediss://a', tls.ca: /ca, tls.cert: c, tls.key: k, tls.name: n", "db: 1", NULL, "/ca", "etc/c",
	  "etc/k", "n" },
	{ "url: 'rediss://a', tls.ca: /ca, tls.cert: c, tls.key: k, tls.name: n",
	  "tls.cert: /c2, tls.key: /k2, tls.name: n2", NULL, "/ca", "/c2", "/k2", "n2" },
	{ "url: 'rediss://a', tls.ca: /ca", "tls.ca: '', tls.cert: x/c, tls.key: /k", NULL, "/ca", "etc/x/c", "/k",
	  NULL },
	{ "url: 'rediss://a', tls.ca: /ca, tls.cert: c, tls.key: k, tls.name: n", "url: 'rediss://b', tls.name: b2",
	  NULL, NULL, NULL, NULL, "b2" }, /* the rest is of another server */
	{ "url: 'redis://a'", "url: 'rediss://b', tls.ca: ca", NULL, "etc/ca", NULL, NULL, NULL },
	{ "url: 'rediss://a', tls.ca: ca", "url: 'redis://b'", NULL, NULL, NULL, NULL, NULL },
	{ "url: 'rediss://a', tls.ca: /ca", "tls.name: n", "rediss://c", "/ca", NULL, NULL, "n" },
	{ "tls.ca: /ca", "tls.name: n", "rediss://c", "/ca", NULL, NULL, "n" },
};

/* The address, which tells servers apart, has nothing of it. */
static void test_tls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(tls) / sizeof(tls[0]); i++) {
		const struct tls_case *l = &tls[i];
		struct config_overrides o = { .redis_rate = UNKNOWN, .redis_url = l->cli };
		char *text = xprintf(KAFKA "redis: {%s}\npipelines: {o: {topic: t, group: g, redis: {%s}}}\n"
					   "streams: {s: {redis: {%s}}}\n",
				     l->general, l->own, l->own);
		struct config_text file = { .path = "etc/fencepost.yaml", .bytes = text, .size = strlen(text) };
		struct trouble t = { "" };
		struct config *c;

		if (config_parse(&file, &o, &c, &t) < 0)
			fail_msg("%s", t.text);
		for (int stream = 0; stream < 2; stream++) {
			const struct redis_config *redis = stream ? &c->streams[0].redis : &c->pipelines[0].redis;

			assert_same(redis->tls_settings.ca, l->ca);
			assert_same(redis->tls_settings.cert, l->cert);
			assert_same(redis->tls_settings.key, l->key);
			assert_same(redis->tls_settings.name, l->name);
			assert_int_equal(strlen(redis->address), strlen("a:6379/0"));
		}
		config_free(c);
		free(text);
	}
}

/* One server with two certificates of ours is one server. */
static void test_tls_same_server(void **state)
{
	static const char text[] =
		KAFKA "pipelines: {o: {topic: t, group: g, redis: {url: 'rediss://a', tls.ca: x}}, p: {topic: t, group: "
		      "g, redis: {url: 'rediss://a', tls.ca: y, tls.name: n}}}\n";
	struct config_overrides o = { .redis_rate = UNKNOWN, .redis_url = "redis://c" };
	struct trouble t = { "" };
	struct config *c;

	(void)state;
	assert_int_equal(try_parse(text, NULL, &c, &t), -1);
	assert_non_null(strstr(t.text, "pipelines o and p keep their fences in the same hashes state:* of a:6379/0"));
	assert_int_equal(try_parse(text, &o, &c, &t), -1);
	assert_non_null(strstr(t.text, "in the same hashes state:* of c:6379/0"));
}

static void test_command_line(void **state)
{
	static const char two[] =
		KAFKA "redis: {url: 'redis://a'}\npipelines: {o: {topic: t, group: g}, p: {topic: t, group: g, "
		      "redis: {url: 'redis://b'}}}\n";
	struct config_overrides o = { .redis_rate = 0, .redis_url = "redis://c" };
	struct trouble t = { "" };
	struct config *c = parse(KAFKA "redis: {url: 'redis://a', rate: 7}\n" ONE, &o);

	(void)state;
	assert_int_equal(c->pipelines[0].redis.rate, 0);
	config_free(c);
	assert_int_equal(try_parse(two, &o, &c, &t), -1);
	assert_string_equal(
		t.text,
		"-u: the pipelines o and p of fencepost.yaml are on different servers, which one URL cannot stand for");
	o.redis_url = "redis://:hunter2@c:x";
	assert_int_equal(try_parse(KAFKA ONE, &o, &c, &t), -1);
	assert_non_null(strstr(t.text, "-u: the port is no number from 1 to 65535"));
	assert_null(strstr(t.text, "hunter2"));
}

/* --- Kafka -------------------------------------------------------------------------------------------------------- */

/* A file of its own in the working directory; the caller frees and removes it. */
static char *write_file(const char *text)
{
	char *path = xstrdup("/tmp/fencepost-test-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void drop_file(char *path)
{
	unlink(path);
	free(path);
}

/* The last value of each property, as librdkafka would take it. */
static const char *last(const struct config *c, const char *name)
{
	return properties_get(&c->pipelines[0].kafka, name);
}

static void test_properties(void **state)
{
	char *secret = write_file("hunter2\r\n"), *word = xprintf("sasl.password=file:%s", secret);
	char *file = write_file("# comment\n\n client.id = 4 \nclient.rack=x\\:y\\=z\\n\nsasl.username==\r\n"
				"sasl.kerberos.principal=");
	const char *const x[] = { "client.rack=5", word, "sasl.kerberos.keytab=" };
	struct config_overrides o = {
		.redis_rate = UNKNOWN, .kafka_file = file, .kafka_properties = x, .kafka_property_count = 3
	};
	char *text = xprintf(
		"kafka: {bootstrap.servers: k, client.id: 1, ssl.keystore.location: 007, check.crcs: yes, enable.auto.commit: Off, "
		"sasl.kerberos.service.name: \"yes\", ssl.crl.location: 1, ssl.key.password: 'file:%s'}\n"
		"pipelines: {o: {topic: t, group: g, kafka: {client.id: 2, ssl.crl.location: 2, ssl.ca.location: 'file:x'}}}\n",
		secret);
	struct config *c = parse(text, &o);

	(void)state;
	assert_string_equal(last(c, "client.id"), "4");
	assert_string_equal(last(c, "client.rack"), "5");
	assert_string_equal(last(c, "sasl.username"), "=");
	assert_string_equal(last(c, "sasl.kerberos.keytab"), "");
	assert_string_equal(last(c, "sasl.kerberos.principal"), "");
	assert_string_equal(last(c, "ssl.crl.location"), "2");
	assert_string_equal(last(c, "ssl.keystore.location"), "007");
	assert_string_equal(last(c, "check.crcs"), "true");
	assert_string_equal(last(c, "enable.auto.commit"), "false");
	assert_string_equal(last(c, "sasl.kerberos.service.name"), "yes");
	assert_string_equal(last(c, "sasl.password"), "hunter2");
	assert_string_equal(last(c, "ssl.key.password"), "hunter2");
	assert_string_equal(last(c, "ssl.ca.location"), "file:x");
	assert_true(config_property_secret("sasl.oauthbearer.client.secret"));
	assert_false(config_property_secret("sasl.username"));
	config_free(c);
	o.kafka_file = NULL;
	o.kafka_property_count = 1;
	c = parse(text, &o);
	assert_string_equal(last(c, "client.rack"), "5");
	config_free(c);
	free(text);
	free(word);
	drop_file(file);
	drop_file(secret);
}

static void assert_refused(const struct config_overrides *o, const char *words)
{
	struct trouble t = { "" };
	struct config *c;

	assert_int_equal(try_parse(KAFKA ONE, o, &c, &t), -1);
	assert_null(strstr(t.text, "hunter2"));
	assert_non_null(strstr(t.text, words));
}

static void test_bad_properties(void **state)
{
	const char *const x[] = { "client.id=b", "sasl.password hunter2" };
	struct config_overrides o = { .redis_rate = UNKNOWN, .kafka_properties = x, .kafka_property_count = 2 };
	char *file = write_file("client.id=b\nsasl.password hunter2\n"),
	     *java = write_file("sasl.jaas.config=x password=hunter2;");
	char *unknown = write_file("client.id=b\nno.such.property=1\n"), *wrong = write_file("check.crcs=perhaps\n");
	char *empty = write_file("\n"),
	     *text = xprintf(KAFKA "redis: {url: 'redis://a', password: 'file:%s'}\n" ONE, empty);
	struct trouble t = { "" };
	struct config *c;

	(void)state;
	assert_refused(&o, "-X number 2: valid: -X property=value");
	o.kafka_property_count = 0;
	o.kafka_file = file;
	assert_refused(&o, ":2: valid: property=value, or # and a comment");
	o.kafka_file = java;
	assert_refused(&o, ":1: sasl.jaas.config is for Java clients; valid: sasl.username=, sasl.password=");
	o.kafka_file = "/none/such";
	assert_refused(&o, "-F: cannot read /none/such: No such file or directory");
	o.kafka_file = unknown;
	assert_refused(&o, ":2: no.such.property is no property of librdkafka ");
	o.kafka_file = wrong;
	assert_refused(&o, ":1: Expected bool value for \"check.crcs\"");
	assert_int_equal(try_parse(text, NULL, &c, &t), -1);
	assert_non_null(strstr(t.text, " is empty"));
	free(text);
	drop_file(file);
	drop_file(java);
	drop_file(unknown);
	drop_file(wrong);
	drop_file(empty);
}

static void test_files(void **state)
{
	char *file = write_file(KAFKA "redis: {url: 'file:/none/such'}\n" ONE), *good = write_file(KAFKA ONE);
	struct trouble t = { "" };
	struct config *c;

	(void)state;
	assert_int_equal(config_read("/none/such", NULL, &c, &t), -1);
	assert_null(c);
	assert_string_equal(t.text, "cannot read /none/such: No such file or directory");
	assert_int_equal(config_read("/tmp", NULL, &c, &t), -1);
	assert_string_equal(t.text, "cannot read /tmp: Is a directory");
	assert_int_equal(config_read("/dev/zero", NULL, &c, &t), -1);
	assert_string_equal(t.text, "/dev/zero has more than 1048576 bytes");
	assert_int_equal(config_read(file, NULL, &c, &t), -1);
	assert_non_null(strstr(t.text, ":2: redis: url: cannot read /none/such: No such file or directory"));
	assert_int_equal(config_read(good, NULL, &c, &t), 0);
	assert_string_equal(c->index, "/tmp/fencepost.db");
	config_free(c);
	drop_file(file);
	drop_file(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_tls_same_server),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_bad_properties),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
