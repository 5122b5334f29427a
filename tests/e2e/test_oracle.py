"""Random fences on a random history: the audit finds exactly what a second, plain reading of the checks finds."""
import random

import pytest

from audited import Audited
from oracle import World

KEYS = 400
STATES = [("count", "apply"), ("count", "delete"), ("last", "delete"), ("sum", "ignore"), ("opaque", "apply"),
          ("sum", "delete"), ("last", "ignore")]


def fill(pipe, seed):
    """Records of all kinds; aborted ones between the others, some in wrong partitions, some above the commits."""
    words = ["--keys", KEYS, "--numbers", "--tombstones", 0.2]
    pipe.generate("--records", 1500, "--seed", seed, *words)
    pipe.generate("--records", 500, "--seed", seed + 1, "--transactions", "interleaved", *words)
    pipe.generate("--records", 40, "--seed", seed + 2, "--partitioner", "crc32", *words)
    pipe.generate("--records", 600, "--seed", seed + 3, *words)


def random_hash(world, key, rng):
    """Fields, most of them near the truth; None: no hash."""
    home, mine = world.home(key), world.mine(key)
    newest = mine[-1] if mine else None
    count = rng.choice([len(mine), len(mine) - 1, 1])
    value = rng.choice([newest and newest.value or b"", b"%d" % count, b"%d" % sum(int(r.value or 0) for r in mine)])
    place = rng.choices(["newest", "own", "near", "any", "aborted", "ahead", "nowhere"], [8, 6, 3, 2, 2, 1, 1])[0]
    partition, offset = home, newest.offset if newest else 0
    if place == "own":
        record = rng.choice(world.keys.get(key) or list(world.at.values()))
        partition, offset = record.partition, record.offset
        value = rng.choice([record.value or b"", value])
    elif place == "near":
        offset = max(0, offset + rng.randint(-3, 3))
    elif place == "any":
        partition = rng.randrange(len(world.ends))
        offset = rng.randrange(world.ends[partition])
    elif place == "aborted":
        partition, offset = rng.choice([a for a in sorted(world.aborted) if world.at[a].key == key] or
                                       sorted(world.aborted))
    elif place == "ahead":
        offset = world.ends[home] + rng.randint(-1, 2)
    elif place == "nowhere":
        partition = rng.choice([len(world.ends), 10**6])
    fields = {b"partition": b"%d" % partition, b"offset": b"%d" % offset, b"value": value}
    if rng.random() < 0.03:
        fields[rng.choice([b"partition", b"offset"])] = rng.choice([b"", b"01", b"x", b"-1", b"1.0", b"9" * 20])
    return None if rng.random() < 0.1 else fields


@pytest.mark.parametrize("state, tombstones", STATES)
def test_random_fences(tools, broker, redis_server, state, tombstones):
    seed = 100 * STATES.index((state, tombstones))
    rng = random.Random(seed)
    pipe = Audited(tools, broker, redis_server, state=state, tombstones=tombstones, dlq=None)
    fill(pipe, seed)
    ends = broker.high_watermarks(pipe.topic)
    commits = {p: rng.randint(end // 2, end) for p, end in ends.items()}
    pipe.commit(commits)
    world = World(pipe.read(), pipe.read(isolation="read_uncommitted"), commits, ends, state, tombstones)
    assert world.aborted
    hashes = {}
    with pipe.redis.pipeline(transaction=False) as batch:
        for p in range(6):
            batch.set(f"epoch:{pipe.topic}:{p}", 1)
        for key in sorted(world.known) + [b"stranger-%d" % n for n in range(10)]:
            fields = random_hash(world, key, rng)
            if fields:
                hashes[key] = fields
                batch.hset(pipe.hash(key), mapping=fields)
        batch.execute()
    expected = world.findings(hashes)
    audit = pipe.audit(code=2)
    assert audit.found() == expected, f"not found {expected - audit.found()}\nnot expected {audit.found() - expected}"
    checks = {check for check, *_ in expected}
    assert {"fence-malformed", "fence-orphan", "fence-ahead", "fence-missing", "fence-regressed", "fence-phantom",
            "fence-aborted", "copartition-break"} <= checks
    assert "fence-undeleted" in checks or tombstones != "delete"
    assert {"last": "fence-value", "opaque": "fence-phantom"}.get(state, "fence-count") in checks
