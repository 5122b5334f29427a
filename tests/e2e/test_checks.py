"""The checks of fences, placement, epochs and commits in one pipeline: each fault on a key of its own, one audit.

The first audit finds nothing, so what the second finds is what was done in between; findings are compared as a whole.
"""
import random
import zlib
from types import SimpleNamespace

import pytest

from audited import Audited

ABORTED_SEED = 3
# What no canonical non-negative int64 is, each beside the field that holds it.
MALFORMED = [("offset", b"05"), ("offset", b" 5"), ("offset", b"5 "), ("offset", b"1e3"), ("partition", b"0x1"),
             ("offset", b"9223372036854775808"), ("offset", b"-1"), ("offset", b"+5"), ("partition", b""),
             ("partition", b"1.0"), ("offset", b"5\x00"), ("offset", b"\xd9\xa5"), ("partition", b"-0"),
             ("offset", b"9223372036854775807"), ("offset", b"9007199254740993")]  # Lua would round these two
SEVERITIES = {"fence-orphan": "warning", "fence-expiring": "warning", "epoch-missing": "warning",
              "commit-regressed": "warning", "commit-missing": "info"}


class Faults:
    """Keys not yet harmed, and what an audit must find: {(check, key, partition, offset): what its evidence holds}."""

    def __init__(self, pipe):
        self.pipe, self.expected = pipe, {}
        self.records = pipe.by_key()
        self.newest = {key: records[-1].offset for key, records in self.records.items()}
        self.ends = {p: max(o for k, o in self.newest.items() if pipe.home(k) == p) for p in range(pipe.partitions)}
        # what is longer than 1,000 bytes is no word of a command line
        self.left = sorted(k for k, records in self.records.items() if len(records) >= 5 and len(k) < 1000)
        random.Random(5).shuffle(self.left)

    def key(self, suits=lambda key: True):
        """A key that nothing was done to, with five records and more."""
        key = next(k for k in self.left if suits(k))
        self.left.remove(key)
        return key

    def is_inside(self, key):
        """Whether another key's record comes after the key's newest one."""
        return self.newest[key] < self.ends[self.pipe.home(key)]

    def expect(self, check, key, partition, offset, **evidence):
        self.expected[check, key if key is None else key.hex(), partition, offset] = evidence

    def write(self, key, **fields):
        self.pipe.redis.hset(self.pipe.hash(key), mapping=fields)


def malformed(faults):
    pipe = faults.pipe
    for field, text in MALFORMED:
        key = faults.key()
        faults.write(key, **{field: text})
        faults.expect("fence-malformed", key, pipe.home(key), None, type="hash", **{field + "_hex": text.hex()})
    for field in ("offset", "partition"):
        key = faults.key()
        pipe.harm("fence-no-field", key, "--field", field)
        faults.expect("fence-malformed", key, pipe.home(key), None, type="hash", **{field + "_hex": None})
    makers = {"string": lambda k: pipe.redis.set(k, "x"), "list": lambda k: pipe.redis.rpush(k, "x"),
              "set": lambda k: pipe.redis.sadd(k, "x"), "zset": lambda k: pipe.redis.zadd(k, {"x": 1}),
              "stream": lambda k: pipe.redis.xadd(k, {"x": 1})}
    for kind, make in makers.items():
        key = faults.key()
        pipe.redis.delete(pipe.hash(key))
        make(pipe.hash(key))
        faults.expect("fence-malformed", key, pipe.home(key), None, type=kind)


def ahead(faults):
    """At the end and above, in another partition, in none that there is."""
    pipe = faults.pipe
    ends = pipe.broker.high_watermarks(pipe.topic)
    for by in (0, 4):
        key = faults.key()
        facts = pipe.harm("fence-ahead", key, "--by", by)
        assert facts.high_watermark == ends[pipe.home(key)]
        faults.expect("fence-ahead", key, pipe.home(key), ends[pipe.home(key)] + by,
                      high_watermark=ends[pipe.home(key)])
    key = faults.key(lambda k: pipe.home(k) != 2)
    faults.write(key, partition=2, offset=ends[2])
    faults.expect("fence-ahead", key, 2, ends[2], high_watermark=ends[2])
    for partition, offset in ((pipe.partitions, 0), (2**32 + 1, 1), (1, 2**53 - 1)):
        key = faults.key()
        faults.write(key, partition=partition, offset=offset)
        faults.expect("fence-ahead", key, partition, offset, fence={"partition": partition, "offset": offset})


def regressed(faults):
    pipe = faults.pipe
    for records in (1, 3):
        for _ in range(3):
            key = faults.key()
            facts = pipe.harm("fence-back", key, "--records", records)
            faults.expect("fence-regressed", key, pipe.home(key), facts.newest, kind="offset", fence=facts.fence,
                          lost=records, first_lost=facts.first_lost, last_lost=facts.newest,
                          recheckable=pipe.home(key) != 3)
    key = faults.key(lambda k: pipe.home(k) == 3)
    facts = pipe.harm("fence-back", key, "--records", 2)
    faults.expect("fence-regressed", key, 3, facts.newest, recheckable=False, lost=2)
    # on a record of another key and below its own: it moved backwards, and that is all
    key = faults.key(lambda k: faults.records[k][0].offset > 0)
    faults.write(key, offset=faults.records[key][0].offset - 1)
    faults.expect("fence-regressed", key, pipe.home(key), faults.newest[key], kind="offset",
                  lost=len(faults.records[key]), first_lost=faults.records[key][0].offset)
    # in a partition where the key never was
    key = faults.key(lambda k: pipe.home(k) not in (3, 4))
    faults.write(key, partition=4, offset=0)
    faults.expect("fence-regressed", key, pipe.home(key), faults.newest[key], kind="partition",
                  fence={"partition": 4, "offset": 0}, lost=len(faults.records[key]))


def missing(faults):
    for _ in range(3):
        key = faults.key()
        facts = faults.pipe.harm("fence-lost", key)
        records = faults.records[key]
        assert facts.newest == records[-1].offset
        faults.expect("fence-missing", key, faults.pipe.home(key), facts.newest, lost=len(records),
                      first_lost=records[0].offset, last_lost=facts.newest)


def strange_records(faults):
    pipe = faults.pipe
    key = faults.key(faults.is_inside)
    facts = pipe.harm("fence-foreign", key)
    faults.expect("fence-phantom", key, facts.fence["partition"], facts.fence["offset"], fence=facts.fence,
                  record={"key_hex": facts.foreign_key_hex})
    aborted = {k: r[-1].offset for k, r in pipe.by_key("read_uncommitted").items() if k in faults.newest}
    key = faults.key(lambda k: aborted[k] > faults.newest[k])
    facts = pipe.harm("fence-aborted", key)
    faults.expect("fence-aborted", key, pipe.home(key), aborted[key], fence=facts.fence)
    assert facts.fence == {"partition": pipe.home(key), "offset": aborted[key]}
    # the aborted record of another key
    offset = aborted[key]
    other = faults.key(lambda k: pipe.home(k) == pipe.home(key) and faults.newest[k] < offset and aborted[k] != offset)
    faults.write(other, offset=offset)
    faults.expect("fence-phantom", other, pipe.home(key), offset, record={"key_hex": key.hex()})


def values(faults):
    pipe = faults.pipe
    for by in (1, -2):
        key = faults.key()
        facts = pipe.harm("count-twice", key, "--by", by)
        assert facts.before == len(faults.records[key])
        faults.expect("fence-count", key, pipe.home(key), faults.newest[key], expected=facts.before,
                      stored=facts.before + by)
    key = faults.key()
    pipe.harm("value-changed", key, "--value", "007")
    faults.expect("fence-count", key, pipe.home(key), faults.newest[key], expected=len(faults.records[key]))
    key = faults.key()
    pipe.harm("ttl-short", key, "--ttl", 600000)
    faults.expect("fence-expiring", key, pipe.home(key), faults.newest[key])


def strange_keys(faults):
    pipe = faults.pipe
    [facts] = pipe.fault("fence-orphan")
    key = bytes.fromhex(facts["key_hex"])
    faults.expect("fence-orphan", key, pipe.home(key), 0)
    [facts] = pipe.fault("fence-off-home")
    key, fence = bytes.fromhex(facts["key_hex"]), facts["fence"]
    faults.expect("fence-off-home", key, fence["partition"], fence["offset"], home=pipe.home(key))
    faults.expect("copartition-break", key, fence["partition"], fence["offset"], records=1)


def misplaced(faults):
    """Three keys, one of them twice; produced before any fence is set to an end."""
    pipe = faults.pipe
    for name, *words, partition in (["record-crc32", lambda k: zlib.crc32(k) % 6],
                                    ["record-old-count", "--old-partitions", 4, lambda k: pipe.home(k, 4)]):
        key = faults.key(lambda k: partition(k) != pipe.home(k))
        facts = pipe.harm(name, key, *words)
        assert facts.record["partition"] == partition(key)
        faults.expect("copartition-break", key, partition(key), facts.record["offset"], records=1, home=pipe.home(key))
    key = faults.key(lambda k: pipe.home(k) == 1)
    [(_, first), (_, last)] = pipe.produce([(key, b"1"), (key, b"2")], partition=5)
    faults.expect("copartition-break", key, 5, first, records=2, last=last)
    # with that of strange_keys, all of them together
    faults.expect("copartition-cause", None, None, None, kind="unknown", confidence="ambiguous", keys=4, records=5)


def epochs(faults):
    pipe = faults.pipe
    pipe.fault("epoch-malformed", "--partition", 0)
    faults.expect("epoch-malformed", None, 0, None)
    pipe.redis.delete(f"epoch:{pipe.topic}:3")
    pipe.redis.rpush(f"epoch:{pipe.topic}:3", "1")
    faults.expect("epoch-malformed", None, 3, None)
    pipe.fault("epoch-deleted", "--partition", 1)
    faults.expect("epoch-missing", None, 1, None)
    [facts] = pipe.fault("epoch-lowered", "--partition", 2)
    assert (facts["before"], facts["after"]) == ("2", "1")
    faults.expect("epoch-regressed", None, 2, None, highest=2, epoch=1)


def commits(faults, committed, late):
    pipe = faults.pipe
    pipe.fault("commit-lowered", "--partition", 4, "--by", 5)
    faults.expect("commit-regressed", None, 4, committed[4] - 5, before=committed[4])
    pipe.fault("commit-deleted", "--partition", 5)
    faults.expect("commit-missing", None, 5, None)
    [facts] = pipe.fault("commit-below-log", "--partition", 3, "--by", late[4] + 1 - committed[3])
    assert (facts["committed"], facts["log_start"], facts["records"]) == (committed[3], late[4] + 1, 5)
    faults.expect("commit-below-log", None, 3, late[0], records=5, committed=committed[3], log_start=late[4] + 1)


@pytest.fixture(scope="module")
def harmed(fencepost, pipeline_bin, broker, redis_server, tmp_path_factory):
    """.pipe, .expected and the second .audit."""
    tools = SimpleNamespace(fencepost=fencepost, pipeline_bin=pipeline_bin, name="checks-many-faults",
                            folder=tmp_path_factory.mktemp("many"))
    pipe = Audited(tools, broker, redis_server)
    pipe.generate("--records", 2000, "--keys", 120, "--seed", 1)
    pipe.generate("--records", 700, "--keys", 60, "--seed", 2, "--key-format", "odd")
    pipe.work()
    pipe.generate("--records", 100, "--keys", 120, "--seed", ABORTED_SEED, "--transactions", "aborted")
    pipe.work()
    faults = Faults(pipe)
    committed = pipe.committed(6)
    waiting = [faults.key(lambda k: pipe.home(k) == 3) for _ in range(8)]
    late = [offset for _, offset in pipe.produce([(k, b"late") for k in waiting])]
    pipe.clean()
    misplaced(faults)
    strange_keys(faults)
    for harm in (malformed, regressed, missing, strange_records, values, epochs, ahead):
        harm(faults)
    commits(faults, committed, late)
    audit = pipe.audit(code=2)
    return SimpleNamespace(pipe=pipe, expected=faults.expected, audit=audit, committed=committed)


def holds(evidence, wanted):
    """Whether the evidence says what is wanted; a place may be given by its offset alone."""
    if isinstance(wanted, dict):
        return isinstance(evidence, dict) and all(holds(evidence.get(name), value) for name, value in wanted.items())
    return (evidence.get("offset") if isinstance(evidence, dict) else evidence) == wanted


def test_each_fault_is_one_finding(harmed):
    found, expected = harmed.audit.found(), set(harmed.expected)
    assert found == expected, f"not found {expected - found}\nnot expected {found - expected}\n{harmed.audit}"
    assert harmed.audit.complete and harmed.audit.status == "findings"


def test_evidence(harmed):
    for f in harmed.audit.findings:
        wanted = harmed.expected[f["check"], f["key_hex"], f["partition"], f["offset"]]
        assert holds(f["evidence"], wanted), (wanted, f)


def test_what_every_finding_tells(harmed):
    for f in harmed.audit.findings:
        assert f["severity"] == SEVERITIES.get(f["check"], "error")
        assert (f["pipeline"], f["topic"], f["run"], f["schema"]) == (harmed.pipe.topic, harmed.pipe.topic, 2, 1)
        assert f["detail"].endswith(".") and f["remedy"].endswith(".")
        if f["key_hex"] is not None and f["check"].startswith("fence"):
            assert f["redis_key"].startswith(harmed.pipe.topic + ":")
    assert len({f["id"] for f in harmed.audit.findings}) == len(harmed.audit.findings)


def test_what_could_not_be_decided(harmed):
    """A key that expires may have begun its count anew; a counter that is no integer may or may not be lower."""
    unverifiable = {name: c.unverifiable for name, c in harmed.audit.checks.items() if c.unverifiable}
    assert unverifiable == {"fence-count": {"ttl": 1}, "epoch-regressed": {"malformed": 2}}


def test_each_claim_takes_what_the_earlier_ones_left(harmed):
    """Of the keys looked at, a check examines all that no earlier one has found broken and that it is about."""
    order = ["fence-malformed", "fence-orphan", "fence-ahead", "fence-missing", "fence-regressed", "fence-phantom",
             "fence-aborted", "fence-off-home", "fence-count"]
    count = {name: sum(f["check"] == name for f in harmed.audit.findings) for name in order}
    examined = {name: harmed.audit.check(name).examined for name in order}
    assert count["fence-malformed"] == len(MALFORMED) + 7
    there = harmed.audit.pipeline["sample"][0]["redis_keys"]
    assert examined["fence-malformed"] == there
    there -= count["fence-malformed"]
    for name in ("fence-orphan", "fence-ahead"):
        assert examined[name] == there
        there -= count[name]
    assert examined["fence-missing"] == there + count["fence-missing"]
    for name in ("fence-regressed", "fence-phantom", "fence-aborted", "fence-off-home", "fence-count"):
        assert examined[name] + sum(harmed.audit.unverifiable(name).values()) == there
        there -= count[name]


def test_a_commit_that_went_back_does_not_shrink_what_was_proven(harmed):
    horizon = harmed.audit.horizon()
    assert (horizon[4]["committed"], horizon[5]["committed"]) == (harmed.committed[4] - 5, None)
    assert [horizon[p]["end"] for p in (4, 5)] == [harmed.committed[4], harmed.committed[5]]
    assert {horizon[p]["end_source"] for p in (4, 5)} == {"committed in run 1"}
    assert horizon[0]["end_source"] == "committed"


def test_the_same_again(harmed):
    """A third audit, nothing having happened, finds the same under the same ids, but for what compares two runs."""
    again = harmed.pipe.audit(code=2)
    ids = {f["id"]: f["check"] for f in again.findings}
    before = {f["id"]: f["check"] for f in harmed.audit.findings}
    assert {before[i] for i in before.keys() - ids.keys()} <= {"commit-regressed"}
    assert ids.keys() <= before.keys()
