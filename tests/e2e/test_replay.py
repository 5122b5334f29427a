"""Replays of real topics: the index holds what the broker holds, however the history came about and whatever happened to it."""
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from replaying import BASE_MS, Index, await_word, consume, ended, generate, go, numbered, produce


@pytest.fixture
def index(work, broker):
    return Index(work / "index.db", broker.bootstrap)


def parts(result, topic):
    return {p["partition"]: p for p in result.topics[topic]["parts"]}


def assert_covered(result):
    assert result.code == 0, (result.err, result.topics)


def assert_equal_to_client(index, broker, topic, partitions, isolation="read_committed"):
    theirs = consume(broker, topic, partitions, isolation)
    ours = [r for r in index.records(topic) if r[6] == "committed"]
    assert len(ours) == len(theirs)
    for partition, offset, ts, key, size, _, _ in ours:
        their_ts, their_key, value = theirs[partition, offset]
        assert (ts, key, size) == (their_ts, their_key, len(value) if value is not None else None)
    return theirs


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_million_records_equal_an_independent_client(index, broker, name, work, pipeline_bin):
    broker.create_topic(name, 12)
    generate(pipeline_bin, broker, name, None, records=1000000, keys=50000, key_format="odd", null_keys=0.01, tombstones=0.02,
             seed=11)
    assert_covered(index.replay(name))
    theirs = assert_equal_to_client(index, broker, name, 12)
    sample = index.query("SELECT partition, offset, value_hash FROM record WHERE offset % 1999 = 0 AND tombstone = 0")
    assert len(sample) > 400
    for partition, offset, value_hash in sample:
        # the function gives the hash without its lowest bit
        assert index.query("SELECT xxh3(?)", theirs[partition, offset][2]) == [((value_hash % 2**64) >> 1,)]


def test_null_empty_and_odd_records(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, [(0, None, b"v"), (0, b"", b""), (0, b"\x00\xff", None), (0, None, None), (0, b"k" * 300000, b"x" * 600000)])
    assert_covered(index.replay(name))
    assert [(r[3], r[4]) for r in index.records(name)] == \
        [(None, 1), (b"", 0), (b"\x00\xff", None), (None, None), (b"k" * 300000, 600000)]


def test_numbers_and_source_headers(index, broker, name):
    broker.create_topic(name)
    records = [(b"-17", b"or/ders/3/42"), (b"9223372036854775807", b"o/0/0"), (b"9223372036854775808", b"o/1/-1"), (b"1.5", b"/1/1"),
               (b"", b"nonsense"), (b"+1", b"o/4294967296/1")]
    produce(broker, name, [(0, b"k", value, BASE_MS, [("source", source)]) for value, source in records])
    assert_covered(index.replay("-N", "-Hsource", name))
    rows = index.query("SELECT number, source_topic, source_partition, source_offset FROM record ORDER BY offset")
    assert rows == [(-17, "or/ders", 3, 42), (2**63 - 1, "o", 0, 0)] + [(None, None, None, None)] * 4


# -- transactions --------------------------------------------------------------------------------------------------

def assert_matches_list(index, topic, listed):
    truth = {(r["partition"], r["offset"]): r["outcome"] for r in listed if r["outcome"] != "open"}
    assert {(r[0], r[1]): r[6] for r in index.records(topic)} == truth


@pytest.mark.parametrize("mode", ["committed", "aborted", "mixed", "interleaved"])
def test_transactions(index, any_broker, name, work, pipeline_bin, mode):
    broker, index.bootstrap = any_broker, any_broker.bootstrap
    broker.create_topic(name, 3)
    listed = generate(pipeline_bin, broker, name, work / "list", records=2000, transactions=mode, txn_size=7, seed=4)
    assert_covered(index.replay(name))
    assert_matches_list(index, name, listed)
    classes = {c for _, _, _, c in index.gaps(name)}
    assert classes == ({"control"} if mode == "committed" else {"control", "aborted"})
    ends = broker.offsets(name)
    assert index.progress(name) == {p: (0, ends[p], ends[p]) for p in range(3)}


def test_transactions_grow_between_and_during_runs(index, broker, name, work, pipeline_bin):
    broker.create_topic(name, 2)
    listed = generate(pipeline_bin, broker, name, work / "a", records=999, transactions="interleaved", seed=1)
    assert_covered(index.replay(name))
    listed += generate(pipeline_bin, broker, name, work / "b", records=999, transactions="interleaved", seed=2)
    run = index.popen("-w", name)
    await_word(run, "bulk")
    listed += generate(pipeline_bin, broker, name, work / "c", records=999, transactions="mixed", seed=3)
    go(run)
    assert_covered(ended(run))
    assert_matches_list(index, name, listed)


def test_open_transaction_hides_what_follows_it(index, broker, name, work, pipeline_bin):
    broker.create_topic(name, 1)
    produce(broker, name, numbered(0, 0, 5))
    listed = generate(pipeline_bin, broker, name, work / "list", records=20, transactions="open", txn_timeout=3000)
    produce(broker, name, numbered(0, 5, 5))
    assert any(r["outcome"] == "open" for r in listed)
    first = index.replay(name)
    assert_covered(first)
    stable = parts(first, name)[0]["last_stable"]
    assert stable < parts(first, name)[0]["high_watermark"]
    assert index.progress(name)[0][1] == stable
    until = time.monotonic() + 30
    while broker.offsets(name)[0] != broker.high_watermarks(name)[0] and time.monotonic() < until:
        time.sleep(0.1)
    assert_covered(index.replay(name))
    assert_equal_to_client(index, broker, name, 1)
    assert sum(r[6] == "aborted" for r in index.records(name)) == sum(r["outcome"] == "open" for r in listed)


def test_read_uncommitted_takes_everything(index, broker, name, work, pipeline_bin):
    broker.create_topic(name, 2)
    generate(pipeline_bin, broker, name, work / "list", records=2000, transactions="interleaved", seed=9)
    generate(pipeline_bin, broker, name, work / "open", records=10, transactions="open", txn_timeout=60000)
    assert_covered(index.replay("-u", name))
    assert_equal_to_client(index, broker, name, 2, "read_uncommitted")
    assert {r[6] for r in index.records(name)} == {"committed"}
    assert {p: n for p, (_, n, _) in index.progress(name).items()} == broker.high_watermarks(name)


# -- histories that shrink, and histories that change --------------------------------------------------------------

def test_trimmed_between_runs(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 100))
    assert_covered(index.replay(name))
    produce(broker, name, numbered(0, 100, 100))
    broker.delete_records(name, {0: 150})
    assert_covered(index.replay(name))
    assert [r[1] for r in index.records(name)] == [*range(100), *range(150, 200)]
    assert index.gaps(name) == [(0, 100, 150, "trimmed")]
    assert index.rewrites() == []


def test_trimmed_during_the_replay(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 200))
    run = index.popen("-o", name)
    await_word(run, "open")
    broker.delete_records(name, {0: 120})
    go(run)
    assert_covered(ended(run))
    assert [r[1] for r in index.records(name)] == [*range(120, 200)]
    assert index.gaps(name) == [(0, 0, 120, "trimmed")]


def test_everything_trimmed_during_the_replay(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 200))
    run = index.popen("-o", name)
    await_word(run, "open")
    produce(broker, name, numbered(0, 200, 10))
    broker.delete_records(name, {0: 205})
    go(run)
    assert_covered(ended(run))
    assert index.records(name) == []
    assert_covered(index.replay(name))
    assert [r[1] for r in index.records(name)] == [*range(205, 210)]


def test_holes_trimmed_before_the_second_look(index, broker, name, work, pipeline_bin):
    """An aborted record that is gone cannot be told from a marker."""
    broker.create_topic(name)
    generate(pipeline_bin, broker, name, work / "list", records=300, transactions="mixed", txn_size=5, seed=3)
    assert_covered(index.replay(name))
    listed = generate(pipeline_bin, broker, name, work / "more", records=300, transactions="mixed", txn_size=5, seed=4)
    broker.delete_records(name, {0: listed[200]["offset"]})
    assert_covered(index.replay(name))
    assert {c for _, _, _, c in index.gaps(name)} == {"aborted", "control", "trimmed"}


def compacted(broker, topic, gone):
    return all((0, o) not in consume(broker, topic, 1) for o in gone)


@pytest.mark.slow
def test_compaction_between_runs_is_neutral(index, broker, name):
    broker.create_topic(name, 1, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, "segment.ms": 200,
                                  "delete.retention.ms": 100, "min.compaction.lag.ms": 0})
    produce(broker, name, [(0, f"k{i % 10}", f"v{i}") for i in range(100)])
    assert_covered(index.replay(name))
    before = index.records(name)
    until = time.monotonic() + 60
    while not compacted(broker, name, range(90, 100)):
        assert time.monotonic() < until, "the cleaner did not come"
        time.sleep(0.3)
        produce(broker, name, [(0, f"k{i}", "new") for i in range(10)])
    assert_covered(index.replay(name))
    assert index.rewrites() == []
    assert index.records(name)[:100] == before
    assert index.query("SELECT compacted FROM incarnation") == [(1,)]


def test_recreated_topic_is_another_incarnation(index, broker, name):
    broker.create_topic(name, 2)
    produce(broker, name, numbered(0, 0, 100) + numbered(1, 0, 50))
    assert_covered(index.replay(name))
    broker.delete_topic(name)
    broker.create_topic(name, 2)
    produce(broker, name, numbered(0, 0, 120, "w") + numbered(1, 0, 10, "w"))
    result = index.replay(name)
    assert_covered(result)
    assert result.topics[name]["rewritten"]
    assert [r[:4] for r in index.rewrites()] == [(name, 0, "differs", 0), (name, 1, "differs", 0)]
    evidence = index.rewrites()[0][4]
    assert evidence["indexed"]["offset"] == evidence["read"]["offset"] == 0
    assert evidence["indexed"]["key"] == "k0" and evidence["indexed"]["value_hash"] != evidence["read"]["value_hash"]
    assert_equal_to_client(index, broker, name, 2)
    assert index.query("SELECT count(*) FROM record WHERE topic = ?", name) == [(280,)]
    again = index.replay(name)
    assert_covered(again)
    assert not again.topics[name]["rewritten"] and len(index.rewrites()) == 2


def test_recreated_with_a_common_beginning(index, broker, name):
    """The common prefix is kept, and where it ends is found exactly, inside a chunk."""
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 40000))
    assert_covered(index.replay(name))
    broker.delete_topic(name)
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 23456) + numbered(0, 23456, 30000, "other"))
    assert_covered(index.replay(name))
    assert [r[:4] for r in index.rewrites()] == [(name, 0, "differs", 23456)]
    assert_equal_to_client(index, broker, name, 1)
    assert index.progress(name) == {0: (0, 53456, 53456)}


def test_recreated_shorter_equal_records(index, broker, name):
    """Nothing differs, but the end fell."""
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 100))
    assert_covered(index.replay(name))
    broker.delete_topic(name)
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 60))
    assert_covered(index.replay(name))
    [(_, partition, kind, offset, evidence)] = index.rewrites()
    assert (partition, kind, offset) == (0, "fell", 60)
    assert (evidence["indexed_end"], evidence["end"], evidence["indexed"]["offset"]) == (100, 60, 60)
    assert_equal_to_client(index, broker, name, 1)


def test_recreated_with_fewer_partitions(index, broker, name):
    broker.create_topic(name, 3)
    produce(broker, name, [r for p in range(3) for r in numbered(p, 0, 10)])
    assert_covered(index.replay(name))
    broker.delete_topic(name)
    broker.create_topic(name, 1)
    produce(broker, name, numbered(0, 0, 10, "w"))
    assert_covered(index.replay(name))
    assert sorted(r[1:4] for r in index.rewrites()) == [(0, "differs", 0), (1, "fell", 0), (2, "fell", 0)]
    assert index.progress(name) == {0: (0, 10, 10)}


def test_recreated_while_it_is_read(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 50))
    assert_covered(index.replay(name))
    produce(broker, name, numbered(0, 50, 50))
    run = index.popen("-o", "-t10000", name)
    await_word(run, "open")
    broker.delete_topic(name)
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 20, "w"))
    go(run)
    assert_covered(ended(run))
    assert [r[:4] for r in index.rewrites()] == [(name, 0, "differs", 0)]
    assert_equal_to_client(index, broker, name, 1)


def test_partitions_added_between_and_during_runs(index, broker, name):
    broker.create_topic(name, 1)
    produce(broker, name, numbered(0, 0, 10))
    assert_covered(index.replay(name))
    broker.add_partitions(name, 2)
    produce(broker, name, numbered(1, 0, 10))
    run = index.popen("-w", name)
    await_word(run, "bulk")
    broker.add_partitions(name, 4)
    produce(broker, name, numbered(3, 0, 10))
    go(run)
    result = ended(run)
    assert_covered(result)
    assert len(parts(result, name)) == 4
    assert_equal_to_client(index, broker, name, 4)
    assert index.progress(name)[2] == (0, 0, 0)


# -- topics and looks ----------------------------------------------------------------------------------------------

def test_patterns_and_absent_topics(index, broker, name):
    for end in "ab":
        broker.create_topic(f"{name}-{end}")
    result = index.replay(f"^{name}-[ab]$")
    assert_covered(result)
    assert sorted(result.topics) == [f"{name}-a", f"{name}-b"]
    for pattern in (f"{name}-c", f"^{name}-c", "^__consumer_offsets$"):
        missing = index.replay(pattern)
        assert missing.code == 1 and f"no topic matches {pattern}" in missing.err
    assert "topic pattern ^(" in index.replay("^(").err


def test_properties_that_would_change_what_is_read(index, broker, name):
    broker.create_topic(name)
    produce(broker, name, numbered(0, 0, 10))
    ignored = ["group.id=g", "enable.auto.commit=true", "isolation.level=read_uncommitted", "auto.offset.reset=latest"]
    result = index.replay(*[f"-X{p}" for p in ignored], name)
    assert_covered(result)
    for p in ignored:
        assert f"property {p.split('=')[0]} is ignored" in result.err
    unknown = index.replay("-Xno.such.thing=1", name)
    assert unknown.code == 1 and "no.such.thing" in unknown.err
    secret = index.replay("-Xssl.key.password=hunter2", "-Xsecurity.protocol=ssl", "-Xssl.key.pem=broken", name)
    assert secret.code == 1 and "hunter2" not in secret.err and "broken" not in secret.err


def test_commits_and_group(index, any_broker, name):
    """Commits come without joining, also while a transaction holds newer ones back."""
    index.bootstrap = any_broker.bootstrap
    any_broker.create_topic(name, 3)
    produce(any_broker, name, numbered(0, 0, 10) + numbered(1, 0, 10))
    member = Consumer({"bootstrap.servers": any_broker.bootstrap, "group.id": name, "enable.auto.commit": False,
                       "auto.offset.reset": "earliest"})
    member.subscribe([name])
    while not member.assignment():
        member.poll(0.1)
    member.commit(offsets=[TopicPartition(name, 0, 7)], asynchronous=False)
    producer = Producer({"bootstrap.servers": any_broker.bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(name, 0, 9)], member.consumer_group_metadata(), 30)
    begun = time.monotonic()
    result = index.replay("-g" + name, name)
    assert time.monotonic() - begun < 5
    assert_covered(result)
    assert (result.looks["state"], result.looks["members"], result.looks["group_trouble"]) == ("Stable", 1, "")
    assert [(c["offset"], c["trouble"]) for c in result.looks["commits"]] == [(7, ""), (None, ""), (None, "")]
    assert result.looks["transaction_max_ms"] == 900000
    assert result.looks["cluster"] == any_broker.cluster_id
    producer.abort_transaction(30)
    member.close()
    looks = index.replay("-g" + name, name).looks
    assert (looks["state"], looks["members"]) == ("Empty", 0)
    looks = index.replay("-gnone-such", name).looks
    assert looks["state"] == "Dead" and [c["offset"] for c in looks["commits"]] == [None] * 3


def test_offsets_at_a_time(index, broker, name):
    broker.create_topic(name, 2)
    produce(broker, name, numbered(0, 0, 100) + numbered(1, 0, 10))
    looks = index.replay(f"-a{BASE_MS + 42}", name).looks
    assert [a["offset"] for a in looks["at"]] == [42, 10]
