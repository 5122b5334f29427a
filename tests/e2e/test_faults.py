"""Each fault of the reference pipeline does what it says, and its facts are true, seen by other clients."""
import pytest

import reference
from reference import expected, home
from test_pipeline import COUNT, mock, real  # noqa: F401


@pytest.fixture(params=["mock", "real"])
def pipe(request):
    """A healthy pipeline of counts, 1,000 records of 60 odd keys."""
    pipe = request.getfixturevalue(request.param)
    pipe.generate("--records", 1000, "--keys", 60, "--seed", 1, "--key-format", "odd")
    pipe.work("--state", "count")
    pipe.before = pipe.states()
    pipe.records = pipe.read()
    assert pipe.before == expected("count", pipe.records, COUNT)
    return pipe


def one(pipe, name, *args):
    """Does a fault on a key; gives its facts, and what the hash holds now."""
    [facts] = pipe.fault(name, *args)
    key = bytes.fromhex(facts["key_hex"])
    assert facts["topic"] == pipe.topic and facts["partition"] == home(key, COUNT)
    assert facts["redis_key"] is None or facts["redis_key"].encode() == pipe.prefix + key
    try:
        assert facts["key"] == key.decode()
    except UnicodeDecodeError:
        assert facts["key"] is None
    return facts, key


def own(pipe, key):
    return [r.offset for r in pipe.records if r.key == key]


@pytest.mark.parametrize("nth", range(0, 60, 9))
def test_fence_back(pipe, nth):
    facts, key = one(pipe, "fence-back", "--nth", nth, "--records", 3, "--state", "count")
    offsets = own(pipe, key)
    assert facts["lost_offsets"] == offsets[-3:] and facts["newest"] == offsets[-1] and facts["lost"] == 3
    assert (facts["first_lost"], facts["last_lost"]) == (offsets[-3], offsets[-1])
    assert pipe.states() == {**pipe.before, key: (home(key, COUNT), offsets[-4], b"%d" % (len(offsets) - 3))}


def test_several_keys(pipe):
    facts = pipe.fault("fence-back", "--count", 5, "--state", "count")
    changed = {k for k, v in pipe.states().items() if v != pipe.before[k]}
    assert changed == {bytes.fromhex(f["key_hex"]) for f in facts} and len(changed) == 5


def test_fence_lost(pipe):
    facts, key = one(pipe, "fence-lost", "--key-text", "{}")
    assert key == b"{}"
    assert pipe.states() == {k: v for k, v in pipe.before.items() if k != key}


def test_a_key_in_hex(pipe):
    _, key = one(pipe, "fence-lost", "--key-hex", "fffe80c3")
    assert key == b"\xff\xfe\x80\xc3"
    assert key not in pipe.states()


def test_fields(pipe):
    _, key = one(pipe, "fence-no-field", "--nth", 3)
    assert pipe.redis.hget(pipe.prefix + key, "offset") is None
    _, key = one(pipe, "fence-non-numeric", "--nth", 5, "--value", " 5", "--field", "partition")
    assert pipe.redis.hget(pipe.prefix + key, "partition") == b" 5"
    _, key = one(pipe, "fence-wrong-type", "--nth", 7)
    assert pipe.redis.type(pipe.prefix + key) == b"string"


def test_fence_ahead(pipe):
    facts, key = one(pipe, "fence-ahead", "--nth", 2, "--by", 4)
    end = max(r.offset for r in pipe.records if r.partition == facts["partition"]) + 1
    assert facts["high_watermark"] == end
    assert pipe.states()[key][:2] == (home(key, COUNT), end + 4)


def test_fence_foreign(pipe):
    facts, key = one(pipe, "fence-foreign", "--nth", 2)
    partition, offset, _ = pipe.states()[key]
    [record] = [r for r in pipe.records if (r.partition, r.offset) == (partition, offset)]
    assert record.key.hex() == facts["foreign_key_hex"] != facts["key_hex"]
    assert offset > facts["newest"] == own(pipe, key)[-1]


def test_fence_off_home(pipe):
    facts, key = one(pipe, "fence-off-home")
    partition, offset, _ = pipe.states()[key]
    assert (partition, offset) == (facts["fence"]["partition"], facts["fence"]["offset"])
    [record] = [r for r in pipe.read() if r.key == key]
    assert (record.partition, record.offset) == (partition, offset) and partition != home(key, COUNT)


def test_fence_orphan(pipe):
    _, key = one(pipe, "fence-orphan")
    assert key in pipe.states() and key not in {r.key for r in pipe.records}


def test_values(pipe):
    facts, key = one(pipe, "count-twice", "--nth", 4)
    assert (facts["before"], facts["after"]) == (len(own(pipe, key)), len(own(pipe, key)) + 1)
    assert pipe.states()[key][2] == b"%d" % facts["after"]
    _, key = one(pipe, "value-changed", "--nth", 5)
    assert pipe.states()[key] == (*pipe.before[key][:2], b"changed")


def test_ttl_short(pipe):
    _, key = one(pipe, "ttl-short", "--nth", 4, "--ttl", 5000)
    assert 0 < pipe.redis.pttl(pipe.prefix + key) <= 5000


@pytest.mark.parametrize("words", [["record-crc32"], ["record-old-count", "--old-partitions", 4]])
def test_misplaced_records(pipe, words):
    facts, key = one(pipe, *words)
    [new] = set(pipe.read()) - set(pipe.records)
    assert {"partition": new.partition, "offset": new.offset} == facts["record"]
    assert new.key == key and new.partition != home(key, COUNT) == facts["home"]
    if "--old-partitions" in words:
        assert new.partition == home(key, 4)


def test_epochs(pipe):
    name = f"epoch:{pipe.topic}:2"
    [facts] = pipe.fault("epoch-lowered", "--partition", 2)
    assert (facts["before"], facts["after"], pipe.redis.get(name)) == ("1", "0", b"0")
    [facts] = pipe.fault("epoch-malformed", "--partition", 2)
    assert facts["redis_key"] == name and pipe.redis.get(name) == b"abc"
    [facts] = pipe.fault("epoch-deleted", "--partition", 2)
    assert facts["before"] == "abc" and pipe.redis.get(name) is None


def test_commit_before_writes(pipe):
    pipe.generate("--records", 100, "--keys", 20, "--seed", 2, "--key-format", "odd")
    committed = pipe.committed(COUNT)
    [facts] = pipe.fault("commit-before-writes")
    after = expected("count", pipe.read(), COUNT)
    ends = [p["after"] for p in facts["partitions"]]
    assert [p["before"] for p in facts["partitions"]] == committed
    assert pipe.committed(COUNT) == ends and sum(ends) == 1100
    assert {bytes.fromhex(k["key_hex"]): (k["fence"], k["newest"]) for k in facts["keys"]} == \
        {k: (pipe.before[k][1], after[k][1]) for k in after if after[k] != pipe.before[k]}
    assert sum(k["lost"] for k in facts["keys"]) == facts["records"] == 100
    assert pipe.states() == pipe.before


def test_commits_moved(pipe):
    committed = pipe.committed(COUNT)
    pipe.fault("commit-beyond-end", "--partition", 1, "--by", 7)
    pipe.fault("commit-lowered", "--partition", 3, "--by", 5)
    committed[1] += 7
    committed[3] -= 5
    assert pipe.committed(COUNT) == committed


# -- what needs a real broker ----------------------------------------------------------------------------------------

def test_fence_aborted(real):
    real.generate("--records", 200, "--keys", 20, "--seed", 1)
    real.work("--state", "count")
    real.generate("--records", 50, "--keys", 20, "--seed", 2, "--transactions", "aborted")
    [facts] = real.fault("fence-aborted")
    partition, offset, _ = real.states()[facts["key"].encode()]
    assert (partition, offset) not in {(r.partition, r.offset) for r in real.read()}
    [record] = [r for r in real.read(isolation="read_uncommitted") if (r.partition, r.offset) == (partition, offset)]
    assert record.key == facts["key"].encode()


def test_commit_below_log(real, broker):
    real.generate("--records", 300, "--keys", 20, "--seed", 1)
    real.work()
    real.generate("--records", 300, "--keys", 20, "--seed", 2)
    committed = real.committed(COUNT)
    records = [r for r in real.read() if r.partition == 2]
    [facts] = real.fault("commit-below-log", "--partition", 2, "--by", 3)
    assert facts["committed"] == committed[2] and facts["records"] == 3
    assert broker.log_starts(real.topic)[2] == committed[2] + 3 == facts["log_start"] < len(records)


def test_commit_deleted(real):
    real.generate("--records", 600, "--keys", 20, "--seed", 1)
    real.work()
    [facts] = real.fault("commit-deleted", "--partition", 2)
    after = real.committed(COUNT)
    assert after[2] == -1001 and facts["partitions"] == [{"partition": 2, "before": facts["partitions"][0]["before"]}]
    assert all(o > 0 for p, o in enumerate(after) if p != 2)


def test_topic_recreated(real, broker):
    real.generate("--records", 60, "--keys", 20, "--seed", 1)
    before = broker.describe(real.topic)["id"]
    real.fault("topic-recreated")
    after = broker.describe(real.topic)
    assert after["id"] != before and after["partitions"] == COUNT
    assert set(broker.high_watermarks(real.topic).values()) == {0}
