"""What stays undecided: neither finding nor pass, counted by its reason; and the fault beside it, found."""
import json
import sqlite3
import time
from contextlib import closing

import pytest

from audited import Audited

HOUR = 3600000


@pytest.fixture
def pipeline(tools, broker, redis_server):
    return lambda **settings: Audited(tools, broker, redis_server, **settings)


def is_poison(record):
    return (record.value or b"").startswith(b"poison")


# -- rejects ---------------------------------------------------------------------------------------------------------

def test_silent_rejects(pipeline):
    """A rejected record leaves no trace: one record above the fence may be one, two are not."""
    pipe = pipeline(state="opaque", rejects="silent", dlq=None)
    pipe.generate("--records", 900, "--keys", 90, "--seed", 1)
    pipe.work("--poison")
    keys = pipe.by_key()
    rejected = sorted(keys)[:7]
    only = [b"only-rejected-%d" % n for n in range(3)]
    pipe.produce([(k, b"poison") for k in rejected + only])
    pipe.work("--poison")
    audit = pipe.clean()
    assert audit.unverifiable("fence-regressed") == {"rejects-silent": len(rejected)}
    assert audit.unverifiable("fence-missing") == {"rejects-silent": len(only)}
    one, two, lost = sorted(keys)[10:13]
    pipe.harm("fence-back", one, "--poison")
    facts = pipe.harm("fence-back", two, "--poison", "--records", 2)
    gone = pipe.harm("fence-lost", lost, "--poison")
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-regressed", two.hex(), pipe.home(two), facts.newest),
                             ("fence-missing", lost.hex(), pipe.home(lost), gone.newest)}, str(audit)
    assert audit.unverifiable("fence-regressed") == {"rejects-silent": len(rejected) + 1}


def test_rejects_none_means_none(pipeline):
    """The same poison, and a pipeline that claims to reject nothing: then the records are lost."""
    pipe = pipeline(state="opaque", rejects="silent", dlq=None)
    pipe.generate("--records", 200, "--keys", 20, "--seed", 1, "--poison", 0.2)
    pipe.work("--poison")
    keys = pipe.by_key()
    lost = {("fence-regressed" if any(not is_poison(r) for r in rs) else "fence-missing", k.hex(), pipe.home(k),
             rs[-1].offset) for k, rs in keys.items() if is_poison(rs[-1])}
    assert lost and pipe.audit(code=2, rejects="none").found() == lost


@pytest.mark.parametrize("harm, reason", [("unnamed", "dlq-unnamed"), ("trimmed", "dlq-incomplete")])
def test_a_dlq_that_does_not_tell_all(pipeline, harm, reason):
    """Where a record of the DLQ names no source, or the DLQ begins late, a record above a fence may be a reject."""
    pipe = pipeline()
    pipe.generate("--records", 600, "--keys", 60, "--seed", 1, "--poison", 0.05)
    pipe.work("--poison")
    facts = pipe.harm("fence-back", b"user-3", "--poison")
    there = len(pipe.states())
    found = {("fence-regressed", facts.key_hex, facts.partition, facts.newest)}
    assert pipe.audit(code=2, index="whole.db").found() == found
    if harm == "unnamed":
        pipe.produce([(b"user-3", b"poison, from elsewhere")], topic=pipe.dlq, partition=0)
    else:
        pipe.broker.delete_records(pipe.dlq, {0: 1})
    audit = pipe.clean(index="late.db")
    assert audit.unverifiable("fence-count") == {reason: there}, str(audit)
    undecided = audit.unverifiable("fence-regressed")
    assert set(undecided) == {reason} and undecided[reason] >= 1
    # a DLQ that was indexed while it was whole stays whole
    if harm == "trimmed":
        assert pipe.audit(code=2, index="whole.db").found() == found


# -- expiry ----------------------------------------------------------------------------------------------------------

def test_keys_that_expire_by_design(pipeline):
    """A key that is gone is explained by its age, if its newest record is old enough."""
    pipe = pipeline(topic={"retention.ms": -1}, expires="1h")
    now = int(time.time() * 1000)
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1, "--start-ts", now - 3 * HOUR, "--duration", HOUR)
    pipe.generate("--records", 300, "--keys", 40, "--seed", 2, "--first-key", 100)
    pipe.work("--ttl", HOUR)
    keys = pipe.by_key()
    old = sorted(k for k, rs in keys.items() if rs[-1].timestamp < now - HOUR)
    new = sorted(k for k in keys if k not in old)
    assert len(old) >= 30 and len(new) >= 30
    audit = pipe.clean()
    assert audit.unverifiable("fence-count") == {"ttl": len(keys)}
    assert audit.unverifiable("fence-expiring") == {"retention-infinite": len(keys)}
    pipe.harm("fence-lost", old[0])
    facts = pipe.harm("fence-lost", new[0])
    found = {("fence-missing", new[0].hex(), facts.partition, facts.newest)}
    audit = pipe.audit(code=2)
    assert audit.found() == found and audit.unverifiable("fence-missing") == {"expired": 1}, str(audit)
    both = pipe.audit(code=2, expires="no").found()
    assert len(both) == 2 and both > found


def test_a_field_that_expires(tools, broker, redis82):
    """Redis 7.4 and later give fields a time to live of their own."""
    pipe = Audited(tools, broker, redis82, state="opaque")
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    pipe.work()
    pipe.clean()
    expected = set()
    for key, field in ((b"user-1", "offset"), (b"user-2", "partition")):
        [done] = pipe.redis.execute_command("HPEXPIRE", pipe.hash(key), 600000, "FIELDS", 1, field)
        assert done == 1
        expected.add(("fence-expiring", key.hex(), *pipe.states()[key][:2]))
    audit = pipe.audit(code=2)
    assert audit.found() == expected, str(audit)
    assert all(f["evidence"]["ttl_ms"] == -1 and 0 < f["evidence"]["field_ttl_ms"] <= 600000 for f in audit.findings)


def test_retention_that_cannot_be_read(tools, acl_broker, redis_server):
    """Without DESCRIBE_CONFIGS nobody knows how long records are kept: a time to live cannot be judged."""
    pipe = Audited(tools, acl_broker, redis_server, state="opaque", dlq=None)
    pipe.generate("--records", 100, "--keys", 20, "--seed", 1)
    pipe.work("--ttl", 600000)
    acl_broker.allow("auditor", "topic", pipe.topic, "READ", "DESCRIBE")
    acl_broker.allow("auditor", "group", pipe.group, "DESCRIBE")
    assert len(pipe.audit(code=2, index="known.db").found()) == len(pipe.states())
    audit = pipe.audit(code=0, kafka=acl_broker.sasl("auditor"))
    assert audit.found() == set()
    assert audit.unverifiable("fence-expiring") == {"retention-unknown": len(pipe.states())}, str(audit)


# -- deletes, copies and earlier topics ------------------------------------------------------------------------------

def test_deletes_without_a_commit(pipeline):
    """Nobody says that the tombstone was to be applied yet."""
    pipe = pipeline(state="last", tombstones="delete")
    pipe.generate("--records", 600, "--keys", 60, "--seed", 4, "--tombstones", 0.2)
    pipe.work()
    deleted = next(k for k, rs in sorted(pipe.by_key().items()) if rs[-1].value is None)
    there = len(pipe.states())
    offset = pipe.by_key()[deleted][-1].offset
    pipe.redis.hset(pipe.hash(deleted), mapping={"partition": pipe.home(deleted), "offset": offset - 1, "value": "x"})
    known = pipe.audit(code=2, index="known.db")
    assert ("fence-undeleted", deleted.hex(), pipe.home(deleted), offset) in known.found()
    pipe.fault("commit-deleted")
    audit = pipe.audit("--all", index="late.db")
    assert "fence-undeleted" not in {f["check"] for f in audit.findings}
    assert audit.unverifiable("fence-undeleted") == {"no-commit": there + 1}, str(audit)


def test_copies_that_moved_in_one_topic_only(pipeline):
    pipe = pipeline(state="opaque")
    other = pipe.topic + "-customers"
    pipe.broker.create_topic(other, 6)
    keys = [b"k%d" % n for n in range(40)]
    pipe.produce([(k, b"v") for k in keys])
    pipe.produce([(k, b"c") for k in keys], topic=other)
    pipe.work()
    pipe.clean(copartitioned_with=[other])
    for topic in (pipe.topic, other):
        pipe.broker.add_partitions(topic, 12)
    pipe.partitions = 12
    pipe.produce([(k, b"v") for k in keys])
    pipe.work()
    moved = sum(pipe.home(k, 6) != pipe.home(k) for k in keys)
    audit = pipe.audit(code=0, copartitioned_with=[other], partitions_before=[6])
    assert {f["check"] for f in audit.findings} == {"fence-rebased"} and len(audit.findings) == moved
    assert audit.unverifiable("copartition-split") == {"resized": moved}
    assert audit.check("copartition-split").examined == 40 - moved


def test_keys_of_an_earlier_topic(pipeline):
    """What was written between the last look and the end of a topic was never seen: whose key that is, nobody knows."""
    pipe = pipeline(state="opaque")
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    pipe.work()
    pipe.clean()
    pipe.produce([(b"late-%d" % n, b"v") for n in range(5)])
    pipe.work()
    pipe.fault("topic-recreated")
    pipe.generate("--records", 900, "--keys", 40, "--seed", 2)
    pipe.work()
    audit = pipe.audit(code=2)
    assert audit.unverifiable("fence-orphan") == {"earlier-incarnation": 5}, str(audit)
    assert "history-rewritten" in {f["check"] for f in audit.findings}
    assert "fence-orphan" not in {f["check"] for f in audit.findings}


# -- replicas --------------------------------------------------------------------------------------------------------

def replica_of(master, redis_factory):
    replica = redis_factory(options={"replicaof": f"127.0.0.1 {master.port}"})
    client = replica.client()
    until = time.monotonic() + 20
    while client.info("replication")["master_link_status"] != "up":
        assert time.monotonic() < until
        time.sleep(0.02)
    return replica


def test_a_replica(tools, broker, redis_factory):
    """One that has passed its master's offset is as good; one whose master is silent proves no loss."""
    master = redis_factory()
    pipe = Audited(tools, broker, master)
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    replica = replica_of(master, redis_factory)
    pipe.work()
    there = len(pipe.states())
    audit = pipe.clean(redis={"url": replica.url})
    assert audit.pipeline["replica"] == "passed" and audit.check("fence-regressed").examined == there
    back, lost = pipe.harm("fence-back", b"user-1"), pipe.harm("fence-lost", b"user-2")
    found = {("fence-regressed", back.key_hex, back.partition, back.newest),
             ("fence-missing", lost.key_hex, lost.partition, lost.newest)}
    assert pipe.audit(code=2, redis={"url": replica.url}).found() == found
    master.stop()
    audit = pipe.audit("--timeout", "2s", code=0, redis={"url": replica.url})
    assert audit.found() == set() and str(master.port) in audit.pipeline["replica"], str(audit)
    assert audit.unverifiable("fence-regressed") == {"replica-behind": 1}
    assert audit.unverifiable("fence-missing") == {"replica-behind": 1}


# -- looks that came too late, or never ------------------------------------------------------------------------------

def judged_anew(pipe, change, code=0):
    """The checks over what a run saw, had it seen something else: change is SQL on the index."""
    pipe.configure()
    done = pipe.fencepost.run(["sample", "-q"], cwd=pipe.folder)
    assert done.code == 0, done.out + done.err
    with closing(sqlite3.connect(pipe.folder / "fencepost.db")) as db:
        db.executescript(change)
    done = pipe.fencepost.run(["check", "-q", "--format", "json"], cwd=pipe.folder)
    assert done.code == code, done.out + done.err
    [told] = json.loads(done.out)["pipelines"]
    return {c["check"]: {u["reason"]: u["subjects"] for u in c["unverifiable"]} for c in told["checks"]}


def test_a_last_watermark_that_could_not_be_read(pipeline):
    """Nobody knows whether a fence is beyond the end, nor whether a tombstone came before Redis was asked."""
    pipe = pipeline(state="opaque", tombstones="delete")
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    pipe.work()
    there = len(pipe.states())
    pipe.harm("fence-lost", b"user-1")
    assert judged_anew(pipe, "", code=2)["fence-missing"] == {}
    later = "UPDATE fence SET sampled_us = (SELECT max(last_stable_us) + 1 FROM horizon) WHERE NOT present;"
    assert judged_anew(pipe, later, code=2)["fence-missing"] == {}
    for change in ("UPDATE horizon SET last_high_watermark = NULL;",
                   "UPDATE horizon SET last_high_watermark = last_high_watermark + 1;"):
        told = judged_anew(pipe, later + change)
        assert told["fence-missing"] == {"tail-unread": 1}
        assert told["fence-ahead"] == ({"watermark-unknown": there - 1} if "NULL" in change else {})


def test_a_partition_count_that_could_not_be_read(pipeline):
    pipe = pipeline(state="opaque")
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    pipe.work()
    there = len(pipe.states())
    pipe.harm("fence-lost", b"user-1")
    told = judged_anew(pipe, "UPDATE topic SET partitions = NULL WHERE role = 'source';")
    assert told["fence-missing"] == {"partitions-unknown": 1}
    assert told["fence-ahead"] == told["fence-regressed"] == told["fence-off-home"] == {"partitions-unknown": there - 1}


def test_deletes_around_a_resize(pipeline):
    """A tombstone of a key's older partition may have deleted it after it moved, or before."""
    pipe = pipeline(state="opaque", tombstones="delete")
    moved = [b"k%d" % n for n in range(200) if pipe.home(b"k%d" % n, 6) != pipe.home(b"k%d" % n, 12)][:8]
    pipe.produce([(k, b"v") for k in moved])
    pipe.produce([(moved[0], None)])
    pipe.work()
    pipe.clean()
    pipe.broker.add_partitions(pipe.topic, 12)
    pipe.partitions = 12
    pipe.produce([(k, b"v") for k in moved[:2]])
    pipe.work()
    for key in moved[:2]:
        pipe.redis.delete(pipe.hash(key))
    audit = pipe.audit(code=2)
    assert audit.unverifiable("fence-missing") == {"resized": 1}, str(audit)
    assert {f["key"] for f in audit.findings if f["check"] == "fence-missing"} == {moved[1].decode()}


def test_deletes_that_compaction_may_have_removed(pipeline):
    """Of a key whose newest record is followed by a hole, nobody knows whether it was deleted."""
    pipe = pipeline(partitions=1, state="opaque", tombstones="delete", topic={
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, "segment.ms": 100, "delete.retention.ms": 0})
    pipe.produce([(b"gone", b"v"), (b"there", b"v")])
    for _ in range(3):
        pipe.produce([(b"other", b"v")] * 3)
        time.sleep(0.3)
    until = time.monotonic() + 30
    while len(records := pipe.read()) > max(r.offset for r in records):
        assert time.monotonic() < until
        time.sleep(0.3)
        pipe.produce([(b"last", b"v")])
    pipe.work()
    pipe.redis.delete(pipe.hash(b"gone"))
    audit = pipe.audit(code=0)
    assert audit.unverifiable("fence-missing") == {"gap": 1}, str(audit)
