"""Resizes that nobody configured and no run saw, on a real broker while the reference pipeline runs.

What is inferred from the history alone, and the numbers of keys, worked out once more from the records and the fences.
"""
import signal
import subprocess
import time
from math import gcd

import pytest
from confluent_kafka import Producer

import reference
from audited import Audited

MINUTE = 60_000


@pytest.fixture
def pipeline(tools, broker, redis_server):
    return lambda **settings: Audited(tools, broker, redis_server, **settings)


def first_at_or_above(records, count):
    return min((r.timestamp, r.partition) for r in records if r.partition >= count and r.offset == 0)[0]


def effects(pipe, counts):
    """{earlier count: its effects}; counts: oldest first, the present one last."""
    records, states = pipe.read(), pipe.states()
    first = {}
    for r in sorted(records, key=lambda r: (r.partition, r.offset)):
        first.setdefault((r.key, r.partition), r.timestamp)
    effect = {}
    for i, (old, new) in enumerate(zip(counts, counts[1:])):
        begin = first_at_or_above(records, old)
        keys = kept = rebased = to_rebase = waiting = 0
        for key in {r.key for r in records}:
            was, now = reference.home(key, old), reference.home(key, counts[-1])
            moves = was != reference.home(key, new)
            waiting += moves and was != now and key in states and states[key][0] == was
            if first.get((key, was), begin) >= begin:
                continue
            later = {reference.home(key, count) for count in counts[i + 1:]} - {was}
            moved = any((key, p) in first for p in later)
            keys += 1
            kept += not moves
            rebased += moves and moved
            to_rebase += moves and not moved and was != now
        effect[old] = {"to": new, "keys": keys, "kept": kept, "kept_expected": round(keys * gcd(old, new) / new, 2),
                       "rebased": rebased, "to_rebase": to_rebase, "fences_waiting": waiting, "begin": begin}
    return effect


def told(audit):
    found = {}
    for f in audit.findings:
        if f["check"] == "topic-resized":
            e = f["evidence"]
            assert f["severity"] == "warning" and e["known_from"] == "history" and e["sampled"] == 1
            assert e["proof"]["keys"] >= e["proof"]["at_home"] > e["proof"]["at_home_alone"] > 20
            names = ("to", "keys", "kept", "kept_expected", "rebased", "to_rebase", "fences_waiting")
            found[e["from"]] = {**{name: e[name] for name in names}, "begin": e["begin"]["time_ms"]}
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("counts", [(3, 12), (6, 12), (8, 12), (6, 12, 24)], ids=lambda c: "-".join(map(str, c)))
def test_resizes_under_load(pipeline, counts):
    """Each time a producer that knows the old count goes on beside one that knows the new one."""
    pipe = pipeline(partitions=counts[0])
    worker = pipe.start("--batch", 50, "--session", 3000)
    pipe.generate("--records", 400, "--keys", 150, "--seed", 1)
    for n, count in enumerate(counts[1:]):
        old = subprocess.Popen(pipe.words("generate", "--records", 500, "--keys", 150 - 60 * n, "--rate", 800,
                                          "--seed", 2 + n),
                               stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        pipe.fault("partitions-added", "--to", count)
        pipe.partitions = count
        pipe.generate("--records", 200, "--keys", 90 - 40 * n, "--seed", 12 + n)
        assert old.wait(30) == 0
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=30)
    pipe.work()
    want = effects(pipe, counts)
    assert all(e["keys"] and e["kept"] and e["rebased"] and e["to_rebase"] for e in want.values()), want

    audit = pipe.audit(code=2)
    assert {f["check"] for f in audit.findings} == {"topic-resized", "fence-rebased"}, str(audit)
    assert told(audit) == want, str(audit)
    assert audit.complete and audit.status == "findings"
    waiting = [f for f in audit.findings if f["check"] == "fence-rebased" and not f["evidence"]["done"]]
    assert len(waiting) == sum(e["fences_waiting"] for e in want.values())

    audit = pipe.audit(code=0, **{"partitions.before": list(counts[:-1])})
    assert {f["check"] for f in audit.findings} == {"fence-rebased"}, str(audit)
    assert (audit.check("topic-resized").status, audit.check("topic-resized").examined) == ("pass", len(counts) - 1)


def test_producers_that_never_learn(pipeline):
    """Five minutes after the first record in a new partition nobody may go by the old count."""
    pipe = pipeline(partitions=6, rejects="dlq")
    start = int(time.time() * 1000) - 60 * MINUTE
    producer = Producer({"bootstrap.servers": pipe.bootstrap, "linger.ms": 5})

    def send(keys, count, ms):
        for i, key in enumerate(keys):
            producer.produce(pipe.topic, b"1", key, partition=reference.home(key, count), timestamp=start + ms + i)
        assert producer.flush(30) == 0

    keys = [b"user-%d" % i for i in range(120)]
    far = [k for k in keys if reference.home(k, 6) != reference.home(k, 12)]
    send(keys, 6, 0)
    pipe.work()
    pipe.broker.add_partitions(pipe.topic, 12)
    pipe.partitions = 12
    producer = Producer({"bootstrap.servers": pipe.bootstrap, "linger.ms": 5})
    send(keys[:80], 12, 10 * MINUTE)
    begin = first_at_or_above(pipe.read(), 6)
    send(far[:20], 6, begin - start + 4 * MINUTE)       # within the time that producers have
    send(far[:8], 6, begin - start + 6 * MINUTE)
    send(far[:3], 6, begin - start + 30 * MINUTE)
    pipe.work()
    audit = pipe.audit(code=2)
    broken = {f["key_hex"]: f["evidence"] for f in audit.findings if f["check"] == "copartition-break"}
    assert set(broken) == {k.hex() for k in far[:8]}, str(audit)
    assert all(e["records"] == (2 if bytes.fromhex(k) in far[:3] else 1) for k, e in broken.items())
    [resized] = [f["evidence"] for f in audit.findings if f["check"] == "topic-resized"]
    assert {f["check"] for f in audit.findings} == {"topic-resized", "fence-rebased", "copartition-break",
                                                    "copartition-cause"}, str(audit)
    assert audit.one("copartition-cause").evidence["kind"] == "stale-metadata"
    assert resized["stale"] == {"keys": 8, "records": 11}
    assert (resized["begin"]["time_ms"], resized["end"]["time_ms"]) == (begin, begin + 5 * MINUTE)
