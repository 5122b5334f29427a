"""Healthy pipelines that look odd: nothing must be found, and it must have been looked at.

Where a setting explains what would else be a finding, the audit without it finds something: the setting is what counts.
"""
import datetime
import signal
import subprocess
import time

import pytest

import reference
from audited import Audited


@pytest.fixture
def pipeline(tools, broker, redis_server):
    """Makes the pipeline of a test on the shared servers."""
    return lambda **settings: Audited(tools, broker, redis_server, **settings)


def looked_at(audit, keys, *checks):
    """That the checks looked at so many keys, and could decide all of them."""
    for check in checks:
        c = audit.check(check)
        assert (c.status, c.examined, c.unverifiable) == ("pass", keys, {}), f"{check}\n{audit}"


def wait(true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


FENCES = ("fence-malformed", "fence-orphan", "fence-ahead", "fence-missing", "fence-regressed", "fence-phantom")


# -- keys, states, tombstones ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("state", ["opaque", "last", "count", "sum"])
@pytest.mark.parametrize("tombstones", ["apply", "ignore", "delete"])
def test_states_and_tombstones(pipeline, state, tombstones):
    pipe = pipeline(state=state, tombstones=tombstones)
    words = ["--numbers"] if state == "sum" else []
    pipe.generate("--records", 1200, "--keys", 100, "--seed", 5, "--tombstones", 0.2, "--poison", 0.03,
                  "--null-keys", 0.03, *words)
    pipe.work("--poison")
    there = len(pipe.states())
    keys = len(pipe.by_key())
    assert there < keys if tombstones == "delete" else there <= keys
    audit = pipe.clean()
    looked_at(audit, there, "fence-regressed", "fence-phantom", "fence-aborted", "fence-off-home")
    looked_at(audit, keys, "fence-missing")
    assert audit.check("fence-undeleted").status == ("pass" if tombstones == "delete" else "skip")
    assert audit.check("fence-value").status == ("pass" if state == "last" else "skip")
    if (state, tombstones) == ("sum", "apply"):     # nobody can say what a record without a value adds
        unsure = sum(any(r.value is None for r in rs) for rs in pipe.by_key().values())
        assert audit.unverifiable("fence-count") == {"no-number": unsure}, str(audit)
    elif state in ("count", "sum"):
        looked_at(audit, there, "fence-count")
    else:
        assert audit.check("fence-count").status == "skip"
    assert audit.pipeline["verdicts"]["DLQ"] == len({d.source for d in pipe.read(pipe.dlq)}) > 0


def test_keys_of_all_kinds(pipeline):
    """Null, empty, binary, 64 KiB, braces, newlines, globs."""
    pipe = pipeline()
    pipe.generate("--records", 1500, "--keys", 300, "--seed", 6, "--key-format", "odd", "--null-keys", 0.1)
    pipe.work()
    keys = pipe.by_key()
    assert {b"", b"{}", b"nul\0inside"} <= keys.keys() and max(map(len, keys)) == 65536
    looked_at(pipe.clean(), len(keys), *FENCES, "fence-count")
    audit = pipe.clean("--all")
    looked_at(audit, len(keys), *FENCES)


@pytest.mark.parametrize("made, form", [("int32", "int32"), ("int64", "int64"), ("uuid", "uuid"), ("binary", "hex"),
                                        ("binary", "base64")])
def test_key_formats(pipeline, made, form):
    pipe = pipeline(key_format=form)
    pipe.generate("--records", 600, "--keys", 120, "--seed", 2, "--key-format", made)
    pipe.work()
    looked_at(pipe.clean(), 120, *FENCES, "fence-count")


def test_json_keys(pipeline):
    pipe = pipeline(key_format="json")
    keys = [b'"user-%d"' % n for n in range(100)] + ['"\u20ac{}"'.encode(), b'""']
    pipe.produce([(k, b"v") for k in keys * 3])
    pipe.work()
    looked_at(pipe.clean(), 102, *FENCES, "fence-count")


# -- transactions ----------------------------------------------------------------------------------------------------

def test_transactions(pipeline):
    """Committed, aborted and interleaved ones, and one that is still open."""
    pipe = pipeline()
    pipe.generate("--records", 500, "--keys", 60, "--seed", 1)
    made = pipe.generate("--records", 600, "--keys", 60, "--seed", 2, "--transactions", "interleaved")
    pipe.work()
    pipe.generate("--records", 40, "--keys", 60, "--seed", 3, "--transactions", "open")
    assert pipe.work()["records"] == 0
    audit = pipe.clean()
    looked_at(audit, 60, *FENCES, "fence-aborted", "fence-count")
    query = "SELECT kind, count(*) AS n FROM record GROUP BY kind ORDER BY kind"
    counted = pipe.fencepost.run(["sql", "-c", pipe.configure(), "--format", "json", query], cwd=pipe.folder)
    assert counted.code == 0 and str(made["aborted"]) in counted.out, counted.out + counted.err
    assert sum(h["records"] for h in audit.horizon().values()) == 500 + made["committed"]


def test_read_uncommitted(pipeline):
    pipe = pipeline(isolation="read_uncommitted")
    pipe.generate("--records", 600, "--keys", 60, "--seed", 2, "--transactions", "mixed")
    pipe.work()
    audit = pipe.clean()
    looked_at(audit, 60, *FENCES, "fence-count")
    assert audit.check("fence-aborted").status == "skip"
    other = pipe.audit(code=2, isolation="read_committed", index="committed.db")
    assert "fence-aborted" in {f["check"] for f in other.findings}, str(other)


# -- what time does to a log -----------------------------------------------------------------------------------------

def test_compaction(pipeline):
    """The cleaner has run: most records are gone, some keys altogether, and the log start stands where it was."""
    pipe = pipeline(tombstones="delete", topic={
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01, "segment.ms": 100, "delete.retention.ms": 0,
        "min.compaction.lag.ms": 3600000}, partitions=2)
    for seed in range(3):
        pipe.generate("--records", 400, "--keys", 50, "--seed", seed, "--tombstones", 0.2)
        time.sleep(0.15)
    pipe.work()
    before = pipe.clean()
    looked_at(before, len(pipe.states()), "fence-regressed", "fence-count")
    pipe.broker.alter_config(pipe.topic, {"min.compaction.lag.ms": 0})
    pipe.generate("--records", 100, "--keys", 20, "--seed", 9)       # rolls the segments
    pipe.work()
    wait(lambda: len(pipe.read()) < 500)
    offsets = sorted(r.offset for r in pipe.read() if r.partition == 0)
    assert offsets[0] > 0 == pipe.broker.log_starts(pipe.topic)[0] and len(offsets) < offsets[-1] + 1
    states = pipe.states()

    # what was indexed before the cleaner came is known for ever
    audit = pipe.clean()
    looked_at(audit, len(states), "fence-regressed", "fence-orphan")
    # an index that begins now knows less, says so, and finds nothing either
    audit = pipe.clean(index="late.db")
    assert audit.check("fence-regressed").examined == len(states)
    assert audit.unverifiable("fence-count") == {"history-incomplete": len(states)}

    # and still a fence that fell is found, on an offset that is no more
    key = max(k for k in states if states[k][1] > 10)
    pipe.redis.hset(pipe.hash(key), "offset", 1)
    audit = pipe.audit(code=2, index="late.db")
    assert audit.found() == {("fence-regressed", key.hex(), pipe.home(key), states[key][1])}, str(audit)


@pytest.mark.parametrize("how", ["records deleted", "segments deleted"])
def test_retention_past_committed_records(pipeline, how):
    pipe = pipeline(partitions=3, topic={"segment.ms": 100})
    pipe.generate("--records", 600, "--keys", 60, "--seed", 1)
    pipe.work()
    pipe.clean()
    if how == "records deleted":
        pipe.broker.delete_records(pipe.topic, {p: c - 5 for p, c in enumerate(pipe.committed(3))})
    else:
        time.sleep(0.15)
        pipe.generate("--records", 60, "--keys", 60, "--seed", 2)
        pipe.work()
        pipe.clean()
        pipe.broker.alter_config(pipe.topic, {"retention.ms": 1})
        wait(lambda: min(pipe.broker.log_starts(pipe.topic).values()) > 150)
    audit = pipe.clean()
    looked_at(audit, 60, *FENCES, "fence-count")
    looked_at(audit, 3, "commit-below-log", "commit-beyond-log", "history-rewritten")
    audit = pipe.clean(index="late.db")
    looked_at(audit, 60, "fence-regressed")
    looked_at(audit, 3, "commit-below-log")
    assert audit.unverifiable("fence-count"), str(audit)


def test_ttl_longer_than_the_window(pipeline):
    pipe = pipeline(state="opaque", topic={"retention.ms": 600000})
    pipe.generate("--records", 300, "--keys", 60, "--seed", 1)
    pipe.work("--ttl", 3600000)
    looked_at(pipe.clean(), 60, *FENCES, "fence-expiring")
    pipe.broker.alter_config(pipe.topic, {"retention.ms": 7200000})
    audit = pipe.audit(code=2)
    assert {f["check"] for f in audit.findings} == {"fence-expiring"} and len(audit.findings) == 60
    pipe.broker.alter_config(pipe.topic, {"retention.ms": -1})
    audit = pipe.clean()
    assert audit.unverifiable("fence-expiring") == {"retention-infinite": 60}


# -- where a group begins --------------------------------------------------------------------------------------------

def test_a_group_that_started_at_latest(pipeline):
    pipe = pipeline()
    pipe.generate("--records", 400, "--keys", 80, "--seed", 1)
    ends = pipe.broker.high_watermarks(pipe.topic)
    worker = pipe.start("--no-join", "--reset", "latest")
    wait(lambda: min(pipe.epochs(6)) == 1)
    time.sleep(0.5)         # an epoch is raised before the position is asked for
    begun = datetime.datetime.now(datetime.timezone.utc)
    pipe.generate("--records", 300, "--keys", 100, "--seed", 2)
    wait(lambda: pipe.committed(6) == list(pipe.broker.high_watermarks(pipe.topic).values()))
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=20)
    there = len(pipe.states())
    assert there < len(pipe.by_key())
    starts = {"from": {p: end for p, end in ends.items()}}, {"from": begun.isoformat(timespec="milliseconds")}
    for number, start in enumerate(starts):
        audit = pipe.clean(index=f"{number}.db", **start)
        looked_at(audit, there, "fence-regressed", "fence-phantom", "fence-count", "fence-orphan")
        assert [h["start"] for h in audit.horizon().values()] == list(ends.values())
    audit = pipe.audit(code=2, index="whole.db")
    assert "fence-missing" in {f["check"] for f in audit.findings}, str(audit)


def test_an_idle_partition_without_commit(pipeline):
    pipe = pipeline(partitions=12)
    pipe.produce([(b"k%d" % n, b"v") for n in range(3)] * 5)
    pipe.work()
    audit = pipe.clean()
    looked_at(audit, 3, *FENCES, "fence-count")
    assert {h["reason"] for h in audit.horizon().values()} == {None, "empty"}
    assert audit.check("commit-missing").examined == len({pipe.home(b"k%d" % n) for n in range(3)}) < 12


def test_horizon_age(pipeline):
    """A pipeline that keeps no commits: what is a second old must be in Redis."""
    pipe = pipeline(horizon="age:1s")
    pipe.generate("--records", 400, "--keys", 80, "--seed", 1)
    pipe.work()
    began = time.monotonic()
    audit = pipe.clean(group=None)
    assert time.monotonic() - began > 1
    looked_at(audit, len(pipe.by_key()), *FENCES, "fence-count")
    assert audit.check("commit-missing").status == audit.check("commit-regressed").status == "skip"
    assert {h["end_source"] for h in audit.horizon().values()} == {"age"}
    facts = pipe.harm("fence-back", b"user-3")
    audit = pipe.audit(code=2, group=None)
    assert audit.found() == {("fence-regressed", facts.key_hex, facts.partition, facts.newest)}


# -- a resize --------------------------------------------------------------------------------------------------------

@pytest.mark.timeout(180)
def test_a_resize_under_load(pipeline):
    """Producer and worker run while 6 partitions become 12; afterwards many keys wait for their rebase."""
    pipe = pipeline()
    worker = pipe.start("--batch", 50, "--session", 3000)
    producer = subprocess.Popen(pipe.words("generate", "--records", 2500, "--keys", 150, "--rate", 1200, "--seed", 1),
                                stdout=subprocess.DEVNULL)
    wait(lambda: sum(max(c, 0) for c in pipe.committed(6)) > 300)
    pipe.clean()            # while both run; the index now knows of 6 partitions
    pipe.fault("partitions-added", "--to", 12)
    pipe.partitions = 12
    producer.communicate(timeout=30)
    pipe.generate("--records", 300, "--keys", 60, "--seed", 2)
    time.sleep(2)
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=30)
    pipe.work()
    keys = pipe.by_key()
    states = pipe.states()
    waiting = {k for k, (p, _, _) in states.items() if p != pipe.home(k)}
    assert len(states) == 150 and waiting
    for index in ("fencepost.db", "fresh.db"):
        audit = pipe.audit(code=0, index=index, **{"partitions.before": [6]})
        assert {f["check"] for f in audit.findings} == {"fence-rebased"}, str(audit)
        assert {bytes.fromhex(f["key_hex"]) for f in audit.findings if not f["evidence"]["done"]} == waiting
        assert audit.complete and audit.check("copartition-break").findings == 0
        assert audit.check("fence-regressed").examined + sum(audit.unverifiable("fence-regressed").values()) == 150
        assert audit.check("fence-regressed").examined > 100
    home = {k: [r for r in rs if r.partition == reference.home(k, 12)] for k, rs in keys.items()}
    assert any(home[k] and states[k][0] == pipe.home(k) != reference.home(k, 6) for k in keys)
