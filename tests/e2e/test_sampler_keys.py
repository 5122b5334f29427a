"""The look at Redis, without Kafka: which keys, each once, and how fast."""

import time

import pytest

from observe import monitor_writes
from sampling import fill, hset, look  # noqa: F401 (look is a fixture)

ALL = 2**63 - 1


def test_strata_and_absence(redis_server, look, name):
    r = redis_server.client()
    for key in "both", "redis", "recent":
        hset(r, f"{name}:{key}", partition=0, offset=1)
    seen = look(redis_server, ["scan", "ask"], keys=[b"both", b"history", (1, b"recent"), (1, b"gone")], prefix=name)
    assert {k: (row["strata"], row["present"]) for k, row in seen.by_key.items()} == {
        b"both": (1, 1),
        b"redis": (1, 1),
        b"recent": (3, 1),
        b"history": (1, 0),
        b"gone": (3, 0),
    }
    assert seen.counts.asked == 2 and (seen.counts.main, seen.counts.recent) == (4, 2)


def test_only_recent_keys_are_asked_without_a_scan(redis_server, look, name):
    r = redis_server.client()
    for i in range(100):
        hset(r, f"{name}:{i}", partition=0, offset=i)
    keys = [(1, b"%d" % i) if i < 10 else b"%d" % i for i in range(50)]
    with monitor_writes(redis_server) as monitor:
        seen = look(redis_server, ["only-recent", "ask"], keys=keys, prefix=name)
    assert "SCAN" not in monitor.names()
    assert {k: row["strata"] for k, row in seen.by_key.items()} == {b"%d" % i: 2 for i in range(10)}
    assert seen.counts.main_threshold == 0


def test_a_sample_is_exact_on_both_sides(redis_server, look, name):
    r = redis_server.client()
    fill(r, f"{name}:", 4000)
    keys = [b"%d" % i for i in range(2000, 6000)]
    whole = look(redis_server, ["scan", "ask"], keys=keys, prefix=name)
    part = look(redis_server, ["limit=600", "scan", "ask"], keys=keys, prefix=name)
    t = part.counts.main_threshold
    assert t < ALL and part.counts.main <= 600
    hashes = {k: row["hash"] for k, row in whole.by_key.items()}
    assert len(hashes) == 6000
    inside = {k: row for k, row in part.by_key.items() if row["hash"] < t}
    assert set(inside) == {k for k, h in hashes.items() if h < t}
    assert {k for k, row in inside.items() if not row["present"]} == {k for k in inside if int(k) >= 4000}
    assert part.counts.taken == sum(row["present"] for row in inside.values())


def test_many_more_keys_in_redis_than_in_the_history(redis_server, look, name):
    r = redis_server.client()
    fill(r, f"{name}:", 5000)
    keys = [b"%d" % i for i in range(0, 5000, 50)]
    seen = look(redis_server, ["limit=300", "scan", "ask"], keys=keys, prefix=name)
    t = seen.counts.main_threshold
    assert t < ALL // 8
    inside = [row for row in seen.rows if row["hash"] < t]
    whole = look(redis_server, ["scan"], prefix=name)
    assert sorted(row["key"] for row in inside) == sorted(row["key"] for row in whole.rows if row["hash"] < t)
    assert seen.counts.taken == len(inside) < 400


def test_keys_of_the_tail(redis_server, look, name):
    """Keys that come after the scan are asked for; those that only became recent join that stratum unasked."""
    r = redis_server.client()
    fill(r, f"{name}:", 10)
    seen = look(
        redis_server, ["scan", "ask", "pause", "add=more", "ask"], keys=[b"1", b"2", (1, b"3")], prefix=name, wait=False
    )
    seen.wait_for_pause()
    seen.write_keys("more", [(1, b"1"), b"2", (1, b"new"), b"11"])
    fill(r, f"{name}:", 1, start=11)
    seen.go_on()
    seen.finish()
    assert {
        k: (row["strata"], row["present"]) for k, row in seen.by_key.items() if k in (b"1", b"2", b"3", b"new", b"11")
    } == {b"1": (3, 1), b"2": (1, 1), b"3": (3, 1), b"new": (3, 0), b"11": (1, 1)}
    assert len(seen.rows) == 12 and seen.counts.asked == 2


@pytest.mark.parametrize("change", ["shrink", "grow"])
def test_every_stable_key_once_while_the_table_is_resized(redis_factory, look, change):
    server = redis_factory()
    r = server.client()
    fill(r, "s:", 20_000)
    if change == "shrink":
        fill(r, "t:", 150_000)
    keys = [b"%d" % i for i in range(20_000)]
    seen = look(
        server,
        ["scan"],
        keys=keys[::2],
        redis={"rate": 100_000 if change == "shrink" else 20_000},
        key='"s:{key}"',
        wait=False,
    )
    time.sleep(0.15)
    if change == "grow":
        fill(r, "t:", 150_000)
    else:
        for i in range(0, 150_000, 5000):
            r.delete(*(f"t:{j}" for j in range(i, i + 5000)))
    seen.finish()
    assert seen.code == 0 and seen.counts.scan_complete
    assert len(seen.rows) == 20_000 and {row["key"] for row in seen.rows} == set(keys)
    assert seen.counts.taken == seen.counts.scanned == 20_000


def test_large_values_are_few_in_flight(redis_factory, look):
    server = redis_factory(options={"client-output-buffer-limit": "normal 100mb 100mb 0"})
    r = server.client()
    for i in range(300):
        r.hset(f"s:{i}", mapping={"partition": 0, "offset": i, "value": b"x" * (1 << 20)})
    seen = look(server, ["scan", "ask"], keys=[b"%d" % i for i in range(310)], key='"s:{key}"', state="last")
    assert (
        seen.code == 0
        and len(seen.rows) == 310
        and len({row["value_hash"] for row in seen.rows if row["present"]}) == 1
    )


def test_long_keys_are_few_in_flight(redis_factory, look):
    server = redis_factory()
    keys = [b"%d" % i + b"k" * 65536 for i in range(1500)]
    pipe = server.client().pipeline(transaction=False)
    for i, key in enumerate(keys[:1000]):
        pipe.hset(b"s:" + key, mapping={"partition": 0, "offset": i})
    pipe.execute()
    seen = look(server, ["info", "scan", "ask"], keys=keys, key='"s:{key}"')
    assert seen.code == 0 and {row["offset"] for row in seen.rows if row["present"]} == set(range(1000))
    assert len(seen.rows) == 1500 and seen.counts.peak < 300 << 20


def test_the_rate_is_kept(redis_server, look, name):
    fill(redis_server.client(), f"{name}:", 5000)
    begun = time.monotonic()
    seen = look(redis_server, ["ask"], keys=[b"%d" % i for i in range(5000)], redis={"rate": 5000}, prefix=name)
    assert 0.8 < time.monotonic() - begun < 3 and len(seen.rows) == 5000


def test_keys_that_are_only_passed_cost_less(redis_factory, look):
    """A SCAN goes by a key for a fifth of the price of one that is asked for."""
    server = redis_factory()
    r = server.client()
    fill(r, "s:", 500)
    r.mset({f"other:{i}": "v" for i in range(20_000)})
    begun = time.monotonic()
    seen = look(server, ["scan"], redis={"rate": 5000}, key='"s:{key}"')
    assert 0.5 < time.monotonic() - begun < 2.5 and seen.counts.taken == 500
