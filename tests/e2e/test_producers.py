"""Topics that real producers of others made: what placed the records, by SQL and by the audit, from the topic alone."""
import concurrent.futures
import json
import random
import re
from types import SimpleNamespace

import pytest

import cli
from producers import EMPTY_IS_RANDOM, PRODUCERS, mixed_keys
from replaying import Index

pytestmark = pytest.mark.timeout(300)       # a Go toolchain that compiles for the first time takes a minute

KEYS = mixed_keys(5000)
FEW = [*mixed_keys(200, seed=6), b""]
SETS = {12: KEYS, 10: FEW}      # partition count -> keys; the second set has the empty key
TOO_LONG = random.Random(7).randbytes(1000)       # also where a client compresses
FUNCTIONS = re.findall(r"^\tX\((\w+),", (cli.ROOT / "sql" / "partitioner.h").read_text(), re.M)


def topic_of(name, partitions):
    return f"made-by-{name}-{partitions}"


def produce_all(broker):
    """{topic: CompletedProcess} of every producer and set of keys, two at a time."""
    def one(name, partitions):
        topic = broker.create_topic(topic_of(name, partitions), partitions)
        return topic, PRODUCERS[name].produce(broker.bootstrap, topic, SETS[partitions])

    for name in PRODUCERS:
        PRODUCERS[name].argv(broker.bootstrap, "")      # built one after the other
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one, name, partitions) for partitions in SETS for name in PRODUCERS]
        return dict(job.result() for job in jobs)


def configure(path, broker, topics):
    config = {"index": "fencepost.db", "kafka": {"bootstrap.servers": broker.bootstrap}, "redis": "none",
              "pipelines": {topic: {"topic": topic, "horizon": "age:1ms"} for topic in topics}}
    path.write_text(json.dumps(config, indent=1))       # YAML holds JSON
    return path


@pytest.fixture(scope="module")
def world(broker, fencepost, tmp_path_factory):
    """All topics made, replayed and audited: .made, .index, .audit and .findings, by pipeline."""
    folder = tmp_path_factory.mktemp("producers")
    made = produce_all(broker)
    config = configure(folder / "fencepost.yaml", broker, made)
    audit = fencepost.run(["audit", "-q", "-c", config, "-o", folder / "report"], cwd=folder)
    findings = {}
    for finding in cli.Report(folder / "report").findings:
        findings.setdefault(finding["pipeline"], []).append(finding)
    index = Index(folder / "fencepost.db", broker.bootstrap)
    yield SimpleNamespace(made=made, index=index, audit=audit, findings=findings)
    for topic in made:
        broker.delete_topic(topic)


def fitting(index, topic, partitions):
    """The functions that put every record with a key that is not empty where it stands."""
    sql = """SELECT count(*) FROM record
        WHERE topic = ? AND length(key) > 0 AND partition IS NOT partition_by(?, key, ?)"""
    return [name for name in FUNCTIONS if index.query(sql, topic, name, partitions) == [(0,)]]


@pytest.mark.slow
@pytest.mark.parametrize("partitions", SETS)
@pytest.mark.parametrize("name", PRODUCERS)
def test_records_stand_where_the_named_function_puts_them(world, name, partitions):
    topic = topic_of(name, partitions)
    made = world.made[topic]
    assert made.returncode == 0, made.stderr
    stored = [key for key, in world.index.query("SELECT key FROM record WHERE topic = ?", topic)]
    assert sorted(stored) == sorted(SETS[partitions])
    assert fitting(world.index, topic, partitions) == [PRODUCERS[name].expected]


@pytest.mark.parametrize("name", PRODUCERS)
def test_empty_key(world, name):
    [(stands, put)] = world.index.query("""SELECT partition, partition_by(?, key, 10) FROM record
        WHERE topic = ? AND length(key) = 0""", PRODUCERS[name].expected, topic_of(name, 10))
    assert stands == put or name in EMPTY_IS_RANDOM


def keys_off_home(index, topic, partitions, function):
    """How many stand elsewhere than at home: where the function puts them, and elsewhere."""
    return index.query("""SELECT coalesce(sum(told), 0), coalesce(sum(NOT told), 0)
        FROM (SELECT partition = partition_by(?, key, ?) AS told FROM record
            WHERE topic = ? AND partition <> home_partition(key, ?))""", function, partitions, topic, partitions)[0]


@pytest.mark.parametrize("partitions", SETS)
@pytest.mark.parametrize("name", PRODUCERS)
def test_audit_names_the_function(world, name, partitions):
    """From the topic alone: one cause that takes in every key off home, or nothing to explain.

    An empty key that the client puts anywhere is a cause of its own, unless it stands at home or with the others.
    """
    topic, expected = topic_of(name, partitions), PRODUCERS[name].expected
    assert world.audit.code == 2, world.audit.err
    found = [f for f in world.findings.get(topic, []) if f["check"] != "copartition-break"]
    assert {f["check"] for f in found} <= {"copartition-cause"}
    causes = [(c["kind"], c["confidence"], c["keys"],
               [(m["partitioner"], m["part"], m["partitions"]) for m in c["class"]])
              for c in (f["evidence"] for f in found)]
    off_home, anywhere = keys_off_home(world.index, topic, partitions, expected)
    assert (off_home > 0) == (expected != "murmur2")
    assert anywhere == 0 or (anywhere == 1 and name in EMPTY_IS_RANDOM)
    named = [("partitioner", "certain", off_home, [(expected, "whole", partitions)])]
    assert sorted(causes) == [("empty-key", "certain", 1, [])] * anywhere + named * (off_home > 0)


@pytest.fixture(scope="module")
def narrow(broker):
    """A topic that takes no batch of more than 300 bytes."""
    return broker.create_topic("made-by-narrow", 1, {"max.message.bytes": 300})


@pytest.mark.parametrize("name", ["java", "rdkafka", "kafka-python", "kafkajs", "franz-go", "sarama"])
def test_a_record_that_is_not_delivered_is_told(broker, narrow, name):
    done = PRODUCERS[name].produce(broker.bootstrap, narrow, [b"short"])
    assert (done.returncode, done.stderr) == (0, "")
    done = PRODUCERS[name].produce(broker.bootstrap, narrow, [TOO_LONG])
    assert done.returncode == 1
    assert done.stderr
