"""The checks of commits and of the log itself, where a fault needs a pipeline of its own."""
import time

import pytest

from audited import Audited


def committed_pipe(tools, broker, redis_server, **kwargs):
    pipe = Audited(tools, broker, redis_server, **kwargs)
    pipe.generate("--records", 600, "--keys", 60, "--seed", 3)
    pipe.work()
    return pipe


@pytest.fixture
def pipe(tools, broker, redis_server):
    """600 records of 60 keys, applied and committed."""
    return committed_pipe(tools, broker, redis_server)


# -- commits ---------------------------------------------------------------------------------------------------------

def test_commit_beyond_log(pipe):
    pipe.clean()
    end = pipe.broker.high_watermarks(pipe.topic)[2]
    pipe.fault("commit-beyond-end", "--partition", 2, "--by", 7)
    audit = pipe.audit(code=2)
    assert audit.found() == {("commit-beyond-log", None, 2, end + 7)}, str(audit)
    assert audit.one("commit-beyond-log").evidence == {"group": pipe.group, "committed": end + 7, "high_watermark": end}
    assert audit.check("commit-beyond-log").examined == 6
    # a commit at the end is none beyond it
    pipe.commit({2: end})
    audit = pipe.audit(code=2)
    assert audit.found() == {("commit-regressed", None, 2, end)}, str(audit)


def test_no_commit_is_undecided_and_no_pass(pipe):
    """Without a commit nothing says how far the pipeline came: whatever Redis lost is neither found nor passed."""
    pipe.fault("commit-deleted")
    pipe.harm("fence-back", b"user-1")
    pipe.harm("fence-lost", b"user-2")
    audit = pipe.audit(code=0)
    assert audit.found() == {("commit-missing", None, p, None) for p in range(6)}, str(audit)
    assert audit.unverifiable("fence-regressed") == {"no-commit": 59}
    assert audit.unverifiable("fence-missing") == {"no-commit": 1}
    assert audit.check("fence-regressed").examined == 0 != audit.check("fence-count").examined
    assert {h["reason"] for h in audit.horizon().values()} == {"no-commit"}
    assert audit.check("fence-regressed").status == "empty"
    assert audit.check("fence-missing").examined == 59      # that a hash is there can be seen


def test_a_commit_known_from_before_still_binds(pipe):
    pipe.clean()
    pipe.fault("commit-deleted")
    facts = pipe.harm("fence-back", b"user-1")
    audit = pipe.audit(code=2)
    assert audit.found() == {("commit-missing", None, p, None) for p in range(6)} | {
        ("fence-regressed", facts.key_hex, facts.partition, facts.newest)}, str(audit)
    # under another name the pipeline is another one, of which nothing is known
    other = pipe.audit(code=0, group=pipe.group + "-other")
    assert {f["check"] for f in other.findings} == {"commit-missing"}
    assert other.unverifiable("fence-regressed") == {"no-commit": 60}


def test_expired_before_it_was_indexed(pipe):
    """What lay between the commit and the log start was never seen: it may have been nothing."""
    pipe.generate("--records", 200, "--keys", 60, "--seed", 4)
    committed = pipe.committed(6)
    pipe.fault("commit-below-log", "--partition", 1, "--by", 3)
    audit = pipe.audit(code=0)
    assert audit.found() == set(), str(audit)
    assert audit.unverifiable("commit-below-log") == {"never-indexed": 1}
    assert audit.check("commit-below-log").examined == 5
    assert audit.horizon()[1]["indexed_start"] == committed[1] + 3


# -- history that is gone --------------------------------------------------------------------------------------------

def test_a_history_that_begins_late(pipe):
    """Records trimmed before they were indexed: orphans, counts and the records at old fences cannot be judged."""
    keys = pipe.by_key()
    ends = pipe.broker.high_watermarks(pipe.topic)
    pipe.broker.delete_records(pipe.topic, {p: end - 12 for p, end in ends.items()})
    gone = [k for k, rs in keys.items() if rs[-1].offset < ends[rs[-1].partition] - 12]
    left = [k for k in keys if k not in gone]
    assert len(gone) > 5 and len(left) > 5
    strangers = {b"stranger": ends[pipe.home(b"stranger")] - 3, b"old stranger": 5}
    for key, offset in strangers.items():
        pipe.redis.hset(pipe.hash(key), mapping={"partition": pipe.home(key), "offset": offset, "value": 1})
    audit = pipe.audit(code=2)
    # a record that is there is there: the fence on another key's is a fact
    assert audit.found() == {("fence-phantom", b"stranger".hex(), pipe.home(b"stranger"), strangers[b"stranger"])}
    assert audit.unverifiable("fence-orphan") == {"history-incomplete": 2 + len(gone)}
    assert audit.unverifiable("fence-phantom") == {"not-indexed": 1 + len(gone)}
    assert audit.unverifiable("fence-count") == {"history-incomplete": len(left), "fence-not-in-history": 1 + len(gone)}


def test_trimmed_after_it_was_indexed_is_still_known(pipe):
    pipe.clean()
    facts = pipe.harm("fence-back", b"user-7", "--records", 2)
    pipe.broker.delete_records(pipe.topic, {p: -1 for p in range(6)})
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-regressed", facts.key_hex, facts.partition, facts.newest)}, str(audit)
    assert audit.one("fence-regressed").evidence["recheckable"] is False
    assert audit.check("fence-count").examined == 59 and not audit.unverifiable("fence-count")
    assert audit.check("fence-orphan").examined == 60 and not audit.unverifiable("fence-orphan")


def test_history_rewritten(pipe):
    """Deleted and created again: one finding a partition at the first record that differs; a new history begins."""
    pipe.generate("--records", 5, "--keys", 5, "--seed", 30, "--key-format", "odd")
    pipe.work()
    pipe.clean()
    before = pipe.broker.high_watermarks(pipe.topic)
    pipe.fault("topic-recreated")
    for key in pipe.redis.scan_iter(match=pipe.prefix + b"*"):
        pipe.redis.delete(key)
    pipe.generate("--records", 900, "--keys", 60, "--seed", 77)
    pipe.work()
    audit = pipe.audit(code=2)
    assert {f["check"] for f in audit.findings} == {"history-rewritten"}, str(audit)
    assert {(f["partition"], f["offset"]) for f in audit.findings} == {(p, 0) for p in range(6) if before[p]}
    assert {f["evidence"]["kind"] for f in audit.findings} == {"differs"}
    assert audit.check("history-rewritten").examined == 6
    assert audit.check("fence-regressed").examined == 60
    pipe.clean()


def test_a_fallen_end(pipe):
    """The topic is there again and empty. The state that stands belongs to the earlier incarnation: no orphan."""
    pipe.clean()
    pipe.fault("topic-recreated")
    audit = pipe.audit(code=2)
    assert {f["check"] for f in audit.findings} >= {"history-rewritten"}, str(audit)
    assert {f["evidence"]["kind"] for f in audit.findings if f["check"] == "history-rewritten"} == {"fell"}
    assert {(f["partition"], f["offset"]) for f in audit.findings if f["check"] == "history-rewritten"} == \
        {(p, 0) for p in range(6)}
    # fences of before stand beyond the new log
    assert {f["check"] for f in audit.findings} == {"history-rewritten", "fence-ahead"}


@pytest.mark.parametrize("then", ["other records", "nothing"])
def test_a_history_that_parts_from_the_old_one(tools, broker, redis_server, then):
    """As after an unclean election: the same records up to somewhere, then others or an end. The prefix is kept."""
    pipe = Audited(tools, broker, redis_server, partitions=3, topic={"message.timestamp.type": "CreateTime"})
    now = int(time.time() * 1000)
    same = ["--records", 500, "--keys", 40, "--seed", 5, "--start-ts", now, "--duration", 5000]
    pipe.generate(*same)
    prefix = pipe.broker.high_watermarks(pipe.topic)
    pipe.generate("--records", 90, "--keys", 40, "--seed", 6, "--start-ts", now + 6000, "--duration", 900)
    pipe.work()
    pipe.clean()
    old = pipe.broker.high_watermarks(pipe.topic)
    pipe.fault("topic-recreated")
    pipe.generate(*same)
    if then == "other records":
        pipe.generate("--records", 120, "--keys", 40, "--seed", 7, "--start-ts", now + 7000, "--duration", 900)
    for key in pipe.redis.scan_iter(match=pipe.prefix + b"*"):
        pipe.redis.delete(key)
    pipe.work()
    ends = pipe.broker.high_watermarks(pipe.topic)
    assert all(old[p] > prefix[p] for p in range(3)) and (then == "nothing") == (ends == prefix)
    audit = pipe.audit(code=2)
    assert audit.found() == {("history-rewritten", None, p, prefix[p]) for p in range(3)}, str(audit)
    kinds = {f["evidence"]["kind"] for f in audit.findings}
    assert kinds == {"differs" if then == "other records" else "fell"}
    keys = len(pipe.by_key())
    for check in ("fence-regressed", "fence-count", "fence-orphan"):
        assert (audit.check(check).examined, audit.unverifiable(check)) == (keys, {}), str(audit)
    assert {p: h["records"] for p, h in audit.horizon().items()} == ends
    pipe.clean()


# -- a transaction that never ends -----------------------------------------------------------------------------------

def test_lso_stuck(tools, broker_factory, redis_server):
    """The broker's longest transaction is 2 s, and it does not clean up: then what is open after 2 s is stuck."""
    broker = broker_factory(options={"transaction.max.timeout.ms": 2000,
                                     "transaction.abort.timed.out.transaction.cleanup.interval.ms": 3600000})
    pipe = committed_pipe(tools, broker, redis_server, partitions=3)
    pipe.clean()
    stable = broker.offsets(pipe.topic)
    pipe.generate("--records", 20, "--keys", 60, "--seed", 9, "--transactions", "open", "--txn-timeout", 1500)
    held = {p for p, end in broker.high_watermarks(pipe.topic).items() if end > stable[p]}
    assert held
    audit = pipe.clean()
    assert audit.unverifiable("lso-stuck") == {"looked-once": len(held)}
    assert audit.check("lso-stuck").examined == 3 - len(held)
    audit = pipe.clean()        # a second look, too early
    assert audit.unverifiable("lso-stuck") == {"looked-once": len(held)}
    time.sleep(2.2)
    audit = pipe.audit(code=2)
    assert audit.found() == {("lso-stuck", None, p, stable[p]) for p in held}, str(audit)
    assert {(f["severity"], f["evidence"]["limit_ms"]) for f in audit.findings} == {("warning", 2000)}
    assert pipe.audit(code=0, isolation="read_uncommitted", index="other.db").found() == set()
