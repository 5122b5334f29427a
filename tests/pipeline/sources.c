/* The generator's producers: plain, or transactional with commits, aborts, interleaving and a transaction left open. */
#include "generate.h"

#include <stdlib.h>
#include <stdio.h>

#include "json.h"

#define TXN_TIMEOUT_MS 60000

static void list_record(struct generator *g, const rd_kafka_message_t *m, enum outcome outcome)
{
	static const char *const outcomes[] = { "committed", "aborted", "open" };
	struct buf b = { 0 };

	json_open(&b, NULL, '{');
	json_int(&b, "partition", m->partition);
	json_int(&b, "offset", m->offset);
	json_hex(&b, "key_hex", kafka_key(m));
	json_hex(&b, "value_hex", kafka_value(m));
	json_text(&b, "outcome", outcomes[outcome]);
	json_close(&b, '}');
	fprintf(g->list, "%s\n", b.data);
	buf_release(&b);
}

static void on_delivered(const rd_kafka_message_t *m, void *context)
{
	enum outcome outcome = (enum outcome)(uintptr_t)m->_private;
	struct source *s = context;
	struct generator *g = s->g;
	struct span *span = &g->spans[m->partition];

	g->outcomes[outcome]++;
	span->records++;
	if (span->first < 0 || m->offset < span->first)
		span->first = m->offset;
	if (m->offset > span->last)
		span->last = m->offset;
	if (g->list)
		list_record(g, m, outcome);
}

static void must(rd_kafka_error_t *error, const char *what)
{
	if (error)
		die("%s: %s", what, rd_kafka_error_string(error));
}

static void source_open(struct source *s, struct generator *g, int number)
{
	rd_kafka_conf_t *conf = kafka_conf(&g->opt->common);
	char text[64];

	*s = (struct source){ .g = g };
	s->sink.seen = on_delivered;
	s->sink.context = s;
	if (g->opt->transactions != TXN_NONE) {
		snprintf(text, sizeof(text), "generate-%lld-%d-%lld", (long long)g->opt->seed, number,
			 (long long)wall_ms());
		kafka_set(conf, "transactional.id", text);
		snprintf(text, sizeof(text), "%lld", (long long)g->opt->txn_timeout);
		kafka_set(conf, "transaction.timeout.ms", text);
	}
	sink_open(&s->sink, conf, &g->opt->common);
	sink_meet(&s->sink, g->opt->common.topic);
	if (g->opt->transactions != TXN_NONE)
		must(rd_kafka_init_transactions(s->sink.rk, TXN_TIMEOUT_MS), "init transactions");
}

void sources_open(struct generator *g)
{
	g->sources_count = g->opt->transactions == TXN_INTERLEAVED ? (int)g->opt->producers : 1;
	g->sources = xmalloc((size_t)g->sources_count * sizeof(*g->sources));
	for (int i = 0; i < g->sources_count; i++)
		source_open(&g->sources[i], g, i);
}

static enum outcome draw(struct generator *g)
{
	switch (g->opt->transactions) {
	case TXN_ABORTED:
		return OUTCOME_ABORTED;
	case TXN_OPEN:
		return OUTCOME_OPEN;
	case TXN_MIXED:
	case TXN_INTERLEAVED:
		return prng_chance(&g->prng, g->opt->abort_rate) ? OUTCOME_ABORTED : OUTCOME_COMMITTED;
	case TXN_NONE:
	case TXN_COMMITTED:
		return OUTCOME_COMMITTED;
	}
	return OUTCOME_COMMITTED;
}

static void begin(struct source *s)
{
	must(rd_kafka_begin_transaction(s->sink.rk), "begin transaction");
	s->in_txn = true;
	s->in_it = 0;
	s->outcome = draw(s->g);
}

/* Flushed first in any case: an abort would throw away what is only queued. */
static void end(struct source *s)
{
	sink_flush(&s->sink);
	if (s->outcome == OUTCOME_OPEN)
		return;
	if (s->outcome == OUTCOME_COMMITTED)
		must(rd_kafka_commit_transaction(s->sink.rk, TXN_TIMEOUT_MS), "commit transaction");
	else
		must(rd_kafka_abort_transaction(s->sink.rk, TXN_TIMEOUT_MS), "abort transaction");
	s->in_txn = false;
}

void sources_produce(struct generator *g, struct outgoing *o)
{
	struct source *s = &g->sources[g->sources_count > 1 ? prng_below(&g->prng, (uint64_t)g->sources_count) : 0];

	if (g->opt->transactions != TXN_NONE && !s->in_txn)
		begin(s);
	o->opaque = (void *)(uintptr_t)s->outcome;
	sink_produce(&s->sink, o);
	s->in_it++;
	/* Small batches, so that the producers' records lie between each other. */
	if (g->sources_count > 1 && prng_chance(&g->prng, 0.25))
		sink_flush(&s->sink);
	if (s->in_txn && s->outcome != OUTCOME_OPEN && s->in_it >= g->opt->txn_size)
		end(s);
}

void sources_finish(struct generator *g)
{
	for (int i = 0; i < g->sources_count; i++) {
		if (g->sources[i].in_txn)
			end(&g->sources[i]);
		else
			sink_flush(&g->sources[i].sink);
	}
}

void sources_close(struct generator *g)
{
	for (int i = 0; i < g->sources_count; i++)
		sink_close(&g->sources[i].sink);
	free(g->sources);
}
