"""An audit by a user of Kafka that lacks a right: it says which, claims nothing that it did not see, finds nothing false.

What an auditor needs is in README.md, and test_readonly.py holds that it is enough.
"""
import shutil
import time
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import cli
from handmade import Handmade

TOPIC = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")
NEEDS_READ = "Topic authorization failed: the user needs Read and Describe on the topic"
NEEDS_GROUP = "Group authorization failed: the user needs Describe on the group"
NEEDS_CONFIGS = "Topic authorization failed: the user needs DescribeConfigs on the topic"
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, "segment.ms": 100, "delete.retention.ms": 0}


class Pipeline(Handmade):
    """Handmade pipelines of one or several topics that the auditor looks at; k7 of each has lost its hash."""

    def __init__(self, fencepost, broker, redis_server, name, folder, parts=("a",)):
        self.fencepost, self.topics = fencepost, {}
        for part in parts:
            super().__init__(broker, redis_server, f"{name}-{part}", folder)
            self.make(200, 50)
            redis_server.client().delete(self.redis_key("k7"))
            self.topics[part] = self.name
        self.name = self.group = name
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": name})
        for topic in self.topics.values():
            consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in broker.high_watermarks(topic).items()],
                            asynchronous=False)
        consumer.close()

    def allow(self, part, *operations):
        self.broker.allow("auditor", "topic", self.topics.get(part, part), *operations)

    def allow_group(self):
        self.broker.allow("auditor", "group", self.group, "DESCRIBE")

    def audit(self, user="auditor", index="fencepost.db", kafka=None, options=(), **pipeline):
        sasl = {**self.broker.sasl(user), **(kafka or {})}
        mine = {"topic": list(self.topics.values()), "key": "state:{topic}:{key}", "epoch": "epoch:{topic}:{partition}"}
        self.configure(kafka={k: v for k, v in sasl.items() if v}, pipeline={**mine, **pipeline})
        return audited(self.fencepost, self.config, self.folder, index, *options)


def audited(fencepost, config, folder, index, *options):
    """One audit: .code .err .seconds .complete .found, as (check, topic, key), and .unverifiable[check]."""
    config.write_text(config.read_text().replace(str(folder / "fencepost.db"), str(folder / index)))
    shutil.rmtree(folder / "out", ignore_errors=True)
    began = time.monotonic()
    done = fencepost.run(["audit", "-q", "-c", config, "-o", folder / "out", *options], cwd=folder)
    report = cli.Report(folder / "out")
    [block] = report.summary["pipelines"]
    checks = {c["check"]: c for c in block["checks"]}
    return SimpleNamespace(
        code=done.code, out=done.out, err=done.err, seconds=time.monotonic() - began, complete=block["complete"],
        found={(f["check"], f["topic"], f["key"]) for f in report.of_pipelines},
        examined={name: c["examined"] for name, c in checks.items()},
        unverifiable={name: {u["reason"]: u["subjects"] for u in c["unverifiable"]} for name, c in checks.items()})


@pytest.fixture
def pipeline(fencepost, acl_broker, redis_server, name, work):
    def make(*parts):
        return Pipeline(fencepost, acl_broker, redis_server, name, work, parts or ("a",))

    yield make
    acl_broker.disallow("auditor")


# -- who are you -----------------------------------------------------------------------------------------------------

def test_a_user_that_is_not_let_in(pipeline):
    pipe = pipeline()
    for kafka, options, why in (
            ({"sasl.password": "wr0ng-w0rd"}, (), "SASL authentication error: Authentication failed: Invalid username or password"),
            ({"security.protocol": None, "sasl.mechanisms": None, "sasl.username": None, "sasl.password": None},
             ("--timeout", "1s"), "broker might require SASL authentication")):
        audit = pipe.audit(kafka=kafka, options=options)
        assert (audit.code, audit.complete, audit.found) == (1, False, set())
        assert f"replay {pipe.group}: kafka: {pipe.broker.sasl_bootstrap}: " in audit.err and why in audit.err, audit.err
        assert audit.seconds < 10 and "wr0ng-w0rd" not in audit.out + audit.err
        assert not any(audit.examined.values())


# -- one right after the other -----------------------------------------------------------------------------------------

def test_rights_as_they_come(pipeline):
    """Each right that comes is one trouble less; what was lost is found when all that is needed is there."""
    pipe = pipeline()
    topic = pipe.topics["a"]
    fences = 49

    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found) == (1, False, set()), audit.out
    assert f"{topic}: {NEEDS_READ}" in audit.err
    assert audit.unverifiable["fence-regressed"] == audit.unverifiable["fence-ahead"] == {"partitions-unknown": fences}
    assert audit.unverifiable["fence-orphan"] == {"not-replayed": fences}

    pipe.allow("a", "DESCRIBE")
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found) == (1, False, set()), audit.out
    assert all(f"{topic}/{p}: at 0 of [0," in audit.err for p in range(3)) and NEEDS_READ in audit.err, audit.err
    assert f"read the commit of {topic}/0: group {pipe.group}: {NEEDS_GROUP}" in audit.err, audit.err
    assert f"group {pipe.group}: state not known" in audit.err
    for check in ("fence-orphan", "fence-regressed", "fence-phantom", "fence-aborted"):
        assert audit.unverifiable[check] == {"not-replayed": fences}, check
    assert audit.unverifiable["commit-below-log"] == audit.unverifiable["commit-beyond-log"] == {"commit-unknown": 3}
    assert audit.unverifiable["copartition-break"] == {"not-replayed": 3} and not audit.examined["copartition-cause"]

    pipe.allow("a", "READ")
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found) == (1, False, set()), audit.out
    assert NEEDS_GROUP in audit.err and NEEDS_READ not in audit.err
    assert audit.unverifiable["fence-regressed"] == {"commit-unknown": fences}
    assert audit.unverifiable["fence-missing"] == {"commit-unknown": 1} and audit.examined["copartition-break"] == 50

    pipe.allow_group()
    audit = pipe.audit()
    lost = {("fence-missing", topic, "k7")}
    assert (audit.code, audit.complete, audit.found) == (2, True, lost), audit.out
    assert f"configuration of topic {topic}: {NEEDS_CONFIGS}; cleanup policy and retention are not known" in audit.err

    pipe.allow("a", "DESCRIBE_CONFIGS")
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found, audit.err) == (2, True, lost, ""), audit.out

    pipe.broker.disallow("auditor")         # and what was seen once is not taken for gone
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found) == (1, False, set()), audit.out
    pipe.allow("a", *TOPIC)
    pipe.allow_group()
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found, audit.err) == (2, True, lost, ""), audit.out
    assert audit.examined["history-rewritten"] == 3


# -- one topic of several ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("right", [(), ("DESCRIBE",)])
def test_one_topic_of_several(pipeline, right):
    """What can be looked at is; the other is trouble, and nothing is said of its keys."""
    pipe = pipeline("a", "b")
    pipe.allow("a", *TOPIC)
    pipe.allow_group()
    if right:
        pipe.allow("b", *right)
    audit = pipe.audit()
    assert (audit.code, audit.complete, audit.found) == (2, False, {("fence-missing", pipe.topics["a"], "k7")}), audit.out
    assert pipe.topics["b"] in audit.err and NEEDS_READ in audit.err
    assert audit.unverifiable["fence-regressed"] == {"not-replayed" if right else "partitions-unknown": 49}
    assert audit.unverifiable["fence-orphan"] == {"not-replayed": 49} and audit.examined["fence-orphan"] == 49


def test_a_topic_that_a_pattern_no_longer_shows(pipeline):
    """Kafka does not show what may not be described: an earlier run knows of it."""
    pipe = pipeline("a", "b")
    pipe.allow_group()
    for part in "ab":
        pipe.allow(part, *TOPIC)
    pattern = f"^{pipe.name}-.*"
    audit = pipe.audit(topic=pattern)
    assert audit.complete and {topic for _, topic, _ in audit.found} == set(pipe.topics.values())
    pipe.broker.disallow("auditor")
    pipe.allow_group()
    pipe.allow("a", *TOPIC)
    audit = pipe.audit(topic=pattern)
    assert (audit.code, audit.complete, audit.found) == (2, False, {("fence-missing", pipe.topics["a"], "k7")}), audit.out
    assert f"topic {pipe.topics['b']}, which run 1 looked at, is not there any more: deleted, or hidden" in audit.err


@pytest.mark.parametrize("right", [(), ("DESCRIBE",)])
def test_topics_beside_the_pipeline(pipeline, right):
    """A DLQ that cannot be read may hold any record; a topic to be co-partitioned with may hold any key."""
    pipe = pipeline()
    pipe.allow("a", *TOPIC)
    pipe.allow_group()
    for other in ("dlq", "other"):
        topic = pipe.broker.create_topic(f"{pipe.name}-{other}", 3)
        producer = Producer({"bootstrap.servers": pipe.broker.bootstrap})
        producer.produce(topic, b"v", b"k7", headers={"source": f"{pipe.topics['a']}/0/0"})
        assert producer.flush(30) == 0
        if right:
            pipe.allow(topic, *right)
    audit = pipe.audit(**{"dlq": f"{pipe.name}-dlq", "copartitioned.with": [f"{pipe.name}-other"]})
    assert (audit.code, audit.complete, audit.found) == (1, False, set()), audit.out
    for other in ("dlq", "other"):
        assert f"{pipe.name}-{other}" in audit.err and NEEDS_READ in audit.err
    assert audit.unverifiable["fence-missing"] == {"dlq-incomplete": 1}
    assert audit.unverifiable["copartition-count"] == ({} if right else {"partitions-unknown": 1})


# -- a cleanup policy that nobody could read ---------------------------------------------------------------------------

def offsets_of(broker, topic):
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    offsets = set()
    while (message := consumer.poll(20)) and not message.error():
        offsets.add(message.offset())
    consumer.close()
    return offsets


def wait_for_cleaner(broker, topic, produce, gone):
    """Until the record at an offset is gone; produce() adds one, for the cleaner leaves the newest segment alone."""
    until = time.monotonic() + 30
    while gone in offsets_of(broker, topic):
        assert time.monotonic() < until, "the cleaner did not come"
        produce()
        time.sleep(0.2)


@pytest.fixture
def two_users(fencepost, acl_broker, work):
    """Two audits of a config: by a user with all rights, and by one that may not see how topics are configured."""
    def look(pipe, *topics, **pipeline):
        for topic in topics:
            acl_broker.allow("auditor", "topic", topic, "READ", "DESCRIBE")
        acl_broker.allow("auditor", "group", pipe.name, "DESCRIBE")
        audits = []
        for user in ("admin", "auditor"):
            pipe.configure(kafka=acl_broker.sasl(user), pipeline=pipeline)
            audits.append(audited(fencepost, pipe.config, work, f"{user}.db"))
        assert NEEDS_CONFIGS not in audits[0].err and NEEDS_CONFIGS in audits[1].err
        return audits

    yield look
    acl_broker.disallow("auditor")


def test_a_delete_that_compaction_may_have_removed(acl_broker, redis_server, name, work, two_users):
    """Behind the record of `gone` are holes, and one of them may have been its tombstone."""
    pipe = Handmade(acl_broker, redis_server, name, work, partitions=1)
    acl_broker.alter_config(name, COMPACTED)
    pipe.produce([("gone", "v"), ("there", "v"), ("filler", "v")])
    wait_for_cleaner(acl_broker, name, lambda: pipe.produce([("filler", "v")]), 2)
    del pipe.records[0, 0]
    pipe.apply()
    pipe.commit()
    for audit in two_users(pipe, name, tombstones="delete"):
        assert (audit.code, audit.found) == (0, set()), audit.out + audit.err
        assert audit.unverifiable["fence-missing"] == {"gap": 1}


def test_a_rejection_that_compaction_may_have_removed(acl_broker, redis_server, name, work, two_users):
    """Both records of `rejected` went to the DLQ, which keeps the newer one."""
    pipe = Handmade(acl_broker, redis_server, name, work, partitions=1)
    dlq = acl_broker.create_topic(f"{name}-dlq", 1, COMPACTED)
    pipe.produce([("there", "v"), ("rejected", "v"), ("rejected", "v")])
    producer = Producer({"bootstrap.servers": acl_broker.bootstrap})

    def reject(key, offset):
        producer.produce(dlq, b"v", key, headers={"source": f"{name}/0/{offset}"})
        assert producer.flush(30) == 0

    reject("rejected", 1)
    reject("rejected", 2)
    wait_for_cleaner(acl_broker, dlq, lambda: reject("filler", 999), 0)
    del pipe.records[0, 1], pipe.records[0, 2]
    pipe.apply()
    pipe.commit()
    for audit in two_users(pipe, name, dlq, dlq=dlq):
        assert (audit.code, audit.found) == (0, set()), audit.out + audit.err
        assert audit.unverifiable["fence-missing"] == {"dlq-incomplete": 1}
