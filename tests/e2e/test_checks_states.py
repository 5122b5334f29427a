"""The checks that need a state, tombstones, a resize or further topics: the fault, and what stays undecided."""
import pytest

from audited import Audited


def set_fence(pipe, key, partition, offset, **fields):
    pipe.redis.hset(pipe.hash(key), mapping={"partition": partition, "offset": offset, **fields})


# -- state: last, tombstones: delete ---------------------------------------------------------------------------------

@pytest.fixture
def deleting(tools, broker, redis_server):
    """A pipeline of last values whose tombstones delete; .keys: its records by key."""
    pipe = Audited(tools, broker, redis_server, state="last", tombstones="delete")
    pipe.generate("--records", 1500, "--keys", 120, "--seed", 4, "--tombstones", 0.15)
    pipe.generate("--records", 60, "--keys", 120, "--seed", 5, "--transactions", "committed")
    pipe.work()
    pipe.keys = pipe.by_key()
    return pipe


def split(pipe):
    """The keys that were deleted last, and those that live, in the order of their bytes."""
    deleted = sorted(k for k, rs in pipe.keys.items() if rs[-1].value is None)
    return deleted, sorted(k for k in pipe.keys if k not in deleted)


def test_last_and_delete(deleting):
    pipe = deleting
    deleted, live = split(pipe)
    assert len(deleted) > 8 and len(live) > 20
    # tombstones that no commit covers: whether they were applied already is nobody's fault
    applied, waits = live.pop(), live.pop()
    pipe.produce([(applied, None), (waits, None)])
    pipe.redis.delete(pipe.hash(applied))
    audit = pipe.clean()
    assert audit.check("fence-undeleted").examined == audit.check("fence-value").examined == len(live) + 1
    assert audit.check("fence-missing").examined == len(pipe.keys)

    expected = set()

    def expect(check, key, offset):
        expected.add((check, key.hex(), pipe.home(key), offset))

    def newest(key):
        return pipe.keys[key][-1].offset

    for key, harm in ((live.pop(), lambda h: pipe.redis.hset(h, "value", "other")),
                      (live.pop(), lambda h: pipe.redis.hset(h, "value", "")),
                      (live.pop(), lambda h: pipe.redis.hdel(h, "value"))):
        harm(pipe.hash(key))
        expect("fence-value", key, newest(key))
    for _ in range(2):
        key = live.pop()
        pipe.redis.delete(pipe.hash(key))
        expect("fence-missing", key, newest(key))
    # back to life: with the value it had, on a foreign record, and with one field too few, which is another fault
    key = next(k for k in deleted if len(pipe.keys[k]) > 1 and pipe.keys[k][-2].value is not None)
    deleted.remove(key)
    set_fence(pipe, key, pipe.home(key), pipe.keys[key][-2].offset, value=pipe.keys[key][-2].value)
    expect("fence-undeleted", key, newest(key))
    key = deleted.pop()
    set_fence(pipe, key, pipe.home(key), newest(key) - 1, value="x")
    expect("fence-undeleted", key, newest(key))
    key = deleted.pop()
    pipe.redis.hset(pipe.hash(key), "offset", newest(key) - 1)
    expected.add(("fence-malformed", key.hex(), pipe.home(key), None))
    # back to before a tombstone that a later record followed
    key = next(k for k in live if [r.value is None for r in pipe.keys[k]][-3:] == [False, True, False])
    live.remove(key)
    set_fence(pipe, key, pipe.home(key), pipe.keys[key][-3].offset, value=pipe.keys[key][-3].value)
    expect("fence-regressed", key, newest(key))
    audit = pipe.audit(code=2)
    assert audit.found() == expected, str(audit)
    evidence = audit.one("fence-regressed").evidence
    assert (evidence["lost"], evidence["first_lost"]["offset"]) == (1, newest(key))
    undeleted = [f["evidence"] for f in audit.findings if f["check"] == "fence-undeleted"]
    assert all(e["tombstone"]["offset"] > e["fence"]["offset"] for e in undeleted)
    assert not any(c.unverifiable for c in audit.checks.values()), str(audit)


def test_fences_that_history_cannot_judge(deleting):
    """On a marker, on a record of an open transaction, on the tombstone itself: undecided, counted, and no finding."""
    pipe = deleting
    deleted, live = split(pipe)
    stable = pipe.broker.offsets(pipe.topic)
    pipe.generate("--records", 40, "--keys", 120, "--seed", 6, "--transactions", "open")
    ends = pipe.broker.high_watermarks(pipe.topic)
    everything = {(r.partition, r.offset) for r in pipe.read(isolation="read_uncommitted")}
    # each partition ends, before the open transaction, with the marker of the committed ones
    markers = {p: end - 1 for p, end in stable.items() if (p, end - 1) not in everything}
    at_marker = next(k for k in live if pipe.home(k) in markers)
    set_fence(pipe, at_marker, pipe.home(at_marker), markers[pipe.home(at_marker)])
    opened = [(p, o) for p, o in sorted(everything) if o >= stable[p]]
    at_open = next(k for k in live if pipe.home(k) == opened[0][0] and k != at_marker)
    set_fence(pipe, at_open, *opened[0])
    at_tombstone = deleted[0]
    set_fence(pipe, at_tombstone, pipe.home(at_tombstone), pipe.keys[at_tombstone][-1].offset, value="x")
    audit = pipe.clean()
    for check in ("fence-phantom", "fence-aborted"):
        assert audit.unverifiable(check) == {"gap": 1, "unstable": 1}, str(audit)
    assert audit.unverifiable("fence-value") == {"fence-not-in-history": 2, "tombstone-at-fence": 1}
    held = sum(ends[p] > stable[p] for p in ends)
    assert audit.unverifiable("lso-stuck") == {"looked-once": held} and held > 0
    assert audit.check("lso-stuck").examined == 6 - held


# -- state: sum ------------------------------------------------------------------------------------------------------

def test_sum(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, state="sum")
    pipe.generate("--records", 1000, "--keys", 60, "--seed", 8, "--numbers", "--poison", 0.02, "--null-keys", 0.02)
    pipe.produce([(b"wide", b"9223372036854775807"), (b"wide", b"-5"), (b"signs", b"-0"), (b"signs", b"7")])
    pipe.work("--poison")
    audit = pipe.clean()
    assert audit.check("fence-count").examined == 62, str(audit)
    keys = pipe.by_key()
    expected = {}
    for key, by in zip(sorted(keys)[3:], (1, -1, 10**6)):
        facts = pipe.harm("count-twice", key, "--by", by, "--poison")
        expected["fence-count", key.hex(), pipe.home(key), facts.newest] = (facts.before, facts.after)
    key = sorted(keys)[20]
    facts = pipe.harm("value-changed", key, "--value", "1.5", "--poison")
    was = sum(int(r.value or 0) for r in keys[key] if not (r.value or b"").startswith(b"poison"))
    expected["fence-count", key.hex(), pipe.home(key), facts.newest] = (was, None)
    audit = pipe.audit(code=2)
    assert {at: (e["expected"], e["stored"]) for f in audit.findings for e in [f["evidence"]]
            for at in [(f["check"], f["key_hex"], f["partition"], f["offset"])]} == expected, str(audit)


# -- a resize --------------------------------------------------------------------------------------------------------

@pytest.fixture
def resized(tools, broker, redis_server):
    """6 partitions, looked at once, then 12; some keys moved, some wait. .moved .waiting: such keys."""
    pipe = Audited(tools, broker, redis_server, state="opaque")
    pipe.generate("--records", 700, "--keys", 80, "--seed", 8)
    pipe.work()
    pipe.clean()
    pipe.fault("partitions-added", "--to", 12)
    pipe.partitions = 12
    pipe.generate("--records", 250, "--keys", 40, "--seed", 9)
    pipe.work()
    pipe.keys = pipe.by_key()
    far = sorted(k for k in pipe.keys if pipe.home(k, 6) != pipe.home(k))
    places = {k: {r.partition for r in pipe.keys[k]} for k in far}
    pipe.moved = [k for k in far if places[k] == {pipe.home(k, 6), pipe.home(k)}]
    pipe.waiting = [k for k in far if places[k] == {pipe.home(k, 6)}]
    assert len(pipe.moved) > 5 and len(pipe.waiting) > 5
    return pipe


def at(pipe, key, partition):
    return [r.offset for r in sorted(pipe.keys[key], key=lambda r: r.offset) if r.partition == partition]


def rebased(pipe, keys):
    states = pipe.states()
    return {("fence-rebased", k.hex(), *states[k][:2]) for k in keys}


def test_rebased_is_something_to_know(resized):
    pipe = resized
    told = rebased(pipe, pipe.moved + pipe.waiting)
    for index in ("fencepost.db", "other.db"):
        audit = pipe.audit(code=0, index=index, **{"partitions.before": [6]})
        assert audit.found() == told, str(audit)
        assert {f["severity"] for f in audit.findings} == {"info"} and audit.status == "clean"
        done = {bytes.fromhex(f["key_hex"]) for f in audit.findings if f["evidence"]["done"]}
        assert done == set(pipe.moved)
        assert audit.pipeline["verdicts"]["REBASE"] == len(pipe.moved) and audit.pipeline["verdicts"]["DLQ"] == 0


RESIZED = ("topic-resized", None, None, None)


def test_a_resize_that_the_config_does_not_name(resized):
    """An earlier run knew the old count, or the history shows it: the keys are legal all the same."""
    pipe = resized
    for index, source in (("fencepost.db", "run"), ("fresh.db", "history")):
        audit = pipe.audit(code=2, index=index)
        assert audit.found() == rebased(pipe, pipe.moved + pipe.waiting) | {RESIZED}, str(audit)
        evidence = audit.one("topic-resized").evidence
        assert (evidence["from"], evidence["to"], evidence["known_from"]) == (6, 12, source)


def test_regressed_and_missing_after_a_resize(resized):
    pipe = resized
    moved, waiting, lost = pipe.moved[0], pipe.waiting[0], pipe.waiting[1]
    old = at(pipe, moved, pipe.home(moved, 6))
    set_fence(pipe, moved, pipe.home(moved, 6), old[-1])
    older = at(pipe, waiting, pipe.home(waiting, 6))
    set_fence(pipe, waiting, pipe.home(waiting, 6), older[-2])
    pipe.redis.delete(pipe.hash(lost))
    still = rebased(pipe, [k for k in pipe.moved + pipe.waiting if k not in (moved, waiting, lost)])
    home = at(pipe, moved, pipe.home(moved))
    certain = {("fence-regressed", moved.hex(), pipe.home(moved), home[-1])}
    unsure = {("fence-regressed", waiting.hex(), pipe.home(waiting, 6), older[-1]),
              ("fence-missing", lost.hex(), pipe.home(lost, 6), at(pipe, lost, pipe.home(lost, 6))[-1])}
    audit = pipe.audit(code=2)
    assert audit.found() - still == certain | unsure | {RESIZED}, str(audit)
    evidence = audit.one("fence-regressed", moved).evidence
    assert (evidence["kind"], evidence["lost"], evidence["first_lost"]["offset"]) == ("partition", len(home), home[0])
    evidence = audit.one("fence-regressed", waiting).evidence
    assert (evidence["kind"], evidence["lost"], evidence["first_lost"]["offset"]) == ("offset", 1, older[-1])
    # where no run has seen the commits of the time before, a resized worker may have sent those records to the DLQ
    audit = pipe.audit(code=2, index="other.db", **{"partitions.before": [6], "rejects": "none", "dlq": None})
    assert audit.found() - still - rebased(pipe, [waiting]) == certain, str(audit)
    assert audit.unverifiable("fence-regressed").get("resized", 0) >= 1
    assert audit.unverifiable("fence-missing") == {"resized": 1}


# -- co-partitioned topics -------------------------------------------------------------------------------------------

def test_copartitioned_topics(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, state="opaque")
    pipe.generate("--records", 300, "--keys", 40, "--seed", 2)
    pipe.work()
    keys = sorted(pipe.by_key())
    other, small = pipe.topic + "-customers", pipe.topic + "-small"
    broker.create_topic(other, 6)
    broker.create_topic(small, 4)
    pipe.produce([(k, b"c") for k in keys[:30]] + [(b"elsewhere", b"c")], topic=other)
    audit = pipe.clean(copartitioned_with=[other])
    assert (audit.check("copartition-count").examined, audit.check("copartition-split").examined) == (1, 30), str(audit)

    odd = keys[3]
    wrong = (pipe.home(odd) + 1) % 6
    [(_, offset)] = pipe.produce([(odd, b"c")], topic=other, partition=wrong)
    pipe.produce([(keys[35], b"c")], topic=small, partition=pipe.home(keys[35], 4))
    pipe.produce([(keys[5], b"c")], topic=small, partition=pipe.home(keys[5], 4))
    audit = pipe.audit(code=2, copartitioned_with=[other, small])
    assert audit.found() == {("copartition-split", odd.hex(), wrong, offset), ("copartition-count", None, None, None),
                             ("copartition-cause", None, None, None)}
    assert audit.one("copartition-cause").topic == other
    finding = audit.one("copartition-split")
    assert finding.topic == other and finding.evidence["topics"] == [pipe.topic, other]
    assert finding.evidence["partitions"] == [pipe.home(odd), wrong]
    finding = audit.one("copartition-count")
    assert (finding.topic, finding.evidence["partitions"]) == (small, [6, 4])
    assert audit.unverifiable("copartition-split") == {"count-differs": 2}, str(audit)
