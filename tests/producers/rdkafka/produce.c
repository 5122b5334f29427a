/*
 * librdkafka's producer with its default partitioner, or the one that is named as its property "partitioner" takes it;
 * the interface is in ../README.md.
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program: nothing here is worth going on without. */
static void die(const char *what, const char *why)
{
	fprintf(stderr, "produce: %s: %s\n", what, why);
	exit(1);
}

static void delivered(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	(void)opaque;
	if (message->err)
		die("delivery", rd_kafka_err2str(message->err));
}

static rd_kafka_t *connect_to(const char *bootstrap, const char *partitioner)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[512];
	rd_kafka_t *rk;

	if (rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, why, sizeof(why)) ||
	    rd_kafka_conf_set(conf, "acks", "all", why, sizeof(why)) ||
	    (partitioner && rd_kafka_conf_set(conf, "partitioner", partitioner, why, sizeof(why))))
		die("settings", why);
	rd_kafka_conf_set_dr_msg_cb(conf, delivered);
	rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	if (!rk)
		die("client", why);
	return rk;
}

/* Replaces the hexadecimal digits in line by the bytes they name; returns how many these are. */
static size_t from_hex(char *line, size_t digits)
{
	for (size_t i = 0; i < digits / 2; i++) {
		char pair[] = { line[2 * i], line[2 * i + 1], '\0' }, *end;

		line[i] = (char)strtoul(pair, &end, 16);
		if (end != pair + 2)
			die("key", "not hexadecimal");
	}
	return digits / 2;
}

static void send_key(rd_kafka_t *rk, const char *topic, const char *key, size_t len)
{
	char value[] = "v";
	rd_kafka_resp_err_t error;

	do {
		error = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, len), RD_KAFKA_V_VALUE(value, 1),
					  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
		rd_kafka_poll(rk, error == RD_KAFKA_RESP_ERR__QUEUE_FULL ? 100 : 0);
	} while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	if (error)
		die("key", rd_kafka_err2str(error));
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	rd_kafka_t *rk;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: produce BOOTSTRAP TOPIC [PARTITIONER]\n");
		return 64;
	}
	rk = connect_to(argv[1], argv[3]);
	while ((len = getline(&line, &size, stdin)) > 0)
		send_key(rk, argv[2], line, from_hex(line, (size_t)len - (line[len - 1] == '\n')));
	if (ferror(stdin))
		die("keys", "read error");
	free(line);
	if (rd_kafka_flush(rk, 60000))
		die("flush", "timed out");
	rd_kafka_destroy(rk);
	return 0;
}
