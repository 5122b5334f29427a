"""The look at Redis, without Kafka: what is read of a key, and what becomes of odd ones."""

import threading
import time
from contextlib import closing

import pytest

from sampling import hset, look  # noqa: F401 (look is a fixture)

# -- what is read ------------------------------------------------------------------------------------------------


def test_fences_of_all_kinds(any_redis, look, name):
    r = any_redis.client()
    hset(r, f"{name}:plain", partition=3, offset=42, value="x")
    hset(r, f"{name}:zero", partition=0, offset=0)
    hset(r, f"{name}:largest", partition=2**31 - 1, offset=2**53 - 1)
    hset(r, f"{name}:odd", partition="03", offset="1e3")
    hset(r, f"{name}:inexact", partition=1, offset=2**53)
    hset(r, f"{name}:over", partition=1, offset=2**63)
    hset(r, f"{name}:signed", partition="-1", offset="+5")
    hset(r, f"{name}:empty", partition="", offset=" 5")
    hset(r, f"{name}:half", offset=7)
    hset(r, f"{name}:bare", other=1)
    hset(r, f"{name}:long", partition=1, offset="9" * 5000)
    r.set(f"{name}:string", "x")
    r.rpush(f"{name}:list", "x")
    r.xadd(f"{name}:stream", {"a": 1})
    seen = look(any_redis, ["info", "scan"], prefix=name)
    assert seen.code == 0 and seen.counts.scan_complete
    assert seen.counts.scanned == seen.counts.taken == len(seen.rows) == 14
    keys = {k.decode(): row for k, row in seen.by_key.items()}

    def fence(key):
        return keys[key]["partition"], keys[key]["offset"], keys[key]["malformed"]

    assert fence("plain") == (3, 42, None)
    assert fence("zero") == (0, 0, None)
    assert fence("largest") == (2**31 - 1, 2**53 - 1, None)
    assert fence("odd") == (None, None, "partition leading-zero, offset not-decimal")
    assert (keys["odd"]["partition_raw"], keys["odd"]["offset_raw"]) == (b"03", b"1e3")
    assert fence("inexact") == (1, None, "offset inexact") and keys["inexact"]["offset_raw"] == b"9007199254740992"
    assert fence("over") == (1, None, "offset overflow")
    assert fence("signed") == (None, None, "partition signed, offset signed")
    assert (
        fence("empty") == (None, None, "partition empty, offset not-decimal") and keys["empty"]["partition_raw"] == b""
    )
    assert fence("half") == (None, 7, "partition missing") and keys["half"]["partition_raw"] is None
    assert fence("bare") == (None, None, "partition missing, offset missing")
    assert keys["long"]["offset_raw"] == b"9" * 256
    for kind in "string", "list", "stream":
        assert fence(kind) == (None, None, f"a {kind}, not a hash") and keys[kind]["type"] == kind
    for row in keys.values():
        assert (row["run_id"], row["topic_id"], row["strata"], row["present"]) == (1, 1, 1, 1)
        assert row["value_hash"] is row["value_number"] is row["value_raw"] is row["slot"] is row["node"] is None
        assert row["ttl_ms"] == -1 and abs(row["sampled_us"] / 1e6 - time.time()) < 60
        assert row["redis_key"] == f"{name}:".encode() + row["key"]
    assert {row["field_ttl_ms"] for row in keys.values() if not row["type"]} == {
        -1 if any_redis.kind == "8.2" else None
    }


def test_values(redis_server, look, name):
    r = redis_server.client()
    for key, value in {
        "n": "-12",
        "max": str(2**63 - 1),
        "min": str(-(2**63) + 1),
        "float": "0.3",
        "big": "x" * 1000,
        "e": "",
    }.items():
        hset(r, f"{name}:{key}", partition=0, offset=1, value=value)
    hset(r, f"{name}:none", partition=0, offset=1)
    opaque = look(redis_server, ["scan"], prefix=name, state="opaque")
    assert {(r["value_hash"], r["value_number"], r["value_raw"]) for r in opaque.rows} == {(None, None, None)}
    last = look(redis_server, ["scan"], prefix=name, state="last").by_key
    assert last[b"e"]["value_hash"] == 0x2D06800538D394C2  # XXH3 of nothing
    assert last[b"none"]["value_hash"] is None
    assert len({r["value_hash"] for r in last.values()}) == 7
    for state in "sum", "count":
        rows = look(redis_server, ["scan"], prefix=name, state=state).by_key
        assert {k: r["value_number"] for k, r in rows.items()} == {
            b"n": -12,
            b"max": 2**63 - 1,
            b"min": -(2**63) + 1,
            b"float": None,
            b"big": None,
            b"e": None,
            b"none": None,
        }
        assert {k: r["value_raw"] for k, r in rows.items() if r["value_raw"] is not None} == {
            b"float": b"0.3",
            b"big": b"x" * 256,
            b"e": b"",
        }


def test_other_field_names(redis_server, look, name):
    r = redis_server.client()
    r.hset(f"{name}:k", mapping={"the offset": 5, "p\u00e4rt": 2, "": "v"})
    row = look(
        redis_server,
        ["scan"],
        prefix=name,
        state="last",
        field_offset="the offset",
        field_partition="p\u00e4rt",
        field_value="value",
    ).rows[0]
    assert (row["partition"], row["offset"], row["value_hash"]) == (2, 5, None)


ODD_KEYS = [
    b"",
    b"\x00",
    b"a\x00b",
    b"a\r\nb",
    b"{",
    b"}",
    b"{a}",
    b"{}",
    b"*",
    b"?",
    b"[a-z]",
    b"\\",
    b"\xff\xfe\x80",
    b" ",
    b'"',
    b"'",
    "\u00e4\u4e2d".encode(),
    b"x" * 65536,
    b"$5",
    b"*3\r\n$3\r\nSET",
]


@pytest.mark.parametrize("template,prefix", [("{key}", b""), ("s[a]*?\\\\:{key}", b"s[a]*?\\:"), ("{{{key}}}:x", b"{")])
def test_odd_keys_both_ways(redis_factory, look, template, prefix):
    server = redis_factory()
    r = server.client()
    suffix = b"}:x" if prefix == b"{" else b""
    for i, key in enumerate(ODD_KEYS):
        r.hset(prefix + key + suffix, mapping={"partition": i, "offset": i})
    if prefix:
        r.hset(prefix[:-1], mapping={"partition": 1, "offset": 1})
        r.hset(b"sxa*?\\:" + b"k", mapping={"partition": 1, "offset": 1})  # what an unescaped pattern would match
    key = f'"{template}"'
    scanned = look(server, ["scan"], key=key)
    assert {k: row["offset"] for k, row in scanned.by_key.items()} == {k: i for i, k in enumerate(ODD_KEYS)}
    assert scanned.counts.unparsed == 0
    asked = look(server, ["ask"], keys=ODD_KEYS + [b"absent"], key=key)
    assert {k: row["offset"] for k, row in asked.by_key.items() if row["present"]} == {
        k: i for i, k in enumerate(ODD_KEYS)
    }
    assert {k: row["redis_key"] for k, row in asked.by_key.items()} == {
        k: prefix + k + suffix for k in ODD_KEYS + [b"absent"]
    }
    assert asked.by_key[b"absent"]["present"] == 0


def test_key_formats(redis_server, look, name):
    r = redis_server.client()
    hset(r, f"{name}:7", partition=0, offset=1)
    hset(r, f"{name}:007", partition=0, offset=1)
    hset(r, f"{name}:x", partition=0, offset=1)
    seven, eight = (7).to_bytes(8, "big"), (8).to_bytes(8, "big")
    seen = look(redis_server, ["scan", "ask"], keys=[seven, eight, b"short"], prefix=name, key_format="int64")
    assert (seen.counts.scanned, seen.counts.unparsed, seen.counts.taken, seen.counts.asked, seen.counts.nameless) == (
        3,
        2,
        1,
        1,
        1,
    )
    assert {k: row["present"] for k, row in seen.by_key.items()} == {seven: 1, eight: 0}


def test_the_guard_tries_every_format(redis_server, look, name):
    r = redis_server.client()
    keys = [i.to_bytes(8, "big") for i in range(1500)]
    for i in range(1500):
        hset(r, f"{name}:{i}", partition=0, offset=1)
    counts = look(redis_server, ["scan", "ask", "formats"], keys=keys, prefix=name, key_format="hex").counts
    assert counts.hits_int64 == counts.tried == 750
    assert counts.hits_raw == counts.hits_hex == counts.hits_uuid == counts.hits_base64 == 0


def test_longest_prefix_wins(redis_server, look, name):
    r = redis_server.client()
    hset(r, f"{name}:a:1", partition=0, offset=1)
    hset(r, f"{name}:1", partition=0, offset=1)
    assert len(look(redis_server, ["scan"], prefix=name).rows) == 2
    seen = look(redis_server, [f"rival={name}:a:{{key}}", "scan", "ask"], keys=[b"a:1", b"1"], prefix=name)
    assert list(seen.by_key) == [b"1"] and seen.counts.nameless == 1


# -- times to live -----------------------------------------------------------------------------------------------


def test_key_ttls(any_redis, look, name):
    r = any_redis.client()
    hset(r, f"{name}:stays", partition=0, offset=1)
    hset(r, f"{name}:goes", partition=0, offset=1)
    r.pexpire(f"{name}:goes", 100_000)
    rows = look(any_redis, ["info", "scan"], prefix=name).by_key
    assert rows[b"stays"]["ttl_ms"] == -1 and 50_000 < rows[b"goes"]["ttl_ms"] <= 100_000


def test_field_ttls(redis82, look, name):
    r = redis82.client()
    for key in "none", "value", "both", "one", "gone":
        hset(r, f"{name}:{key}", partition=0, offset=1, value="v")
    r.execute_command("HPEXPIRE", f"{name}:value", 50_000, "FIELDS", 1, "value")
    r.execute_command("HPEXPIRE", f"{name}:both", 50_000, "FIELDS", 1, "partition")
    r.execute_command("HPEXPIRE", f"{name}:both", 90_000, "FIELDS", 1, "offset")
    r.execute_command("HPEXPIRE", f"{name}:one", 90_000, "FIELDS", 1, "offset")
    r.execute_command("HPEXPIRE", f"{name}:gone", 1, "FIELDS", 1, "offset")
    time.sleep(0.05)
    r.rpush(f"{name}:list", 1)
    for steps in ["info", "scan"], ["scan"]:
        rows = look(redis82, steps, prefix=name).by_key
        assert {k: row["field_ttl_ms"] for k, row in rows.items() if k in (b"none", b"value", b"list")} == {
            b"none": -1,
            b"value": -1,
            b"list": None,
        }
        assert 20_000 < rows[b"both"]["field_ttl_ms"] <= 50_000 and 50_000 < rows[b"one"]["field_ttl_ms"] <= 90_000
        assert (rows[b"gone"]["offset"], rows[b"gone"]["malformed"], rows[b"gone"]["field_ttl_ms"]) == (
            None,
            "offset missing",
            -1,
        )


def test_field_ttls_that_appear_during_the_look(redis_factory, look):
    server = redis_factory("8.2")
    r = server.client()
    pipe = r.pipeline(transaction=False)
    for i in range(30_000):
        pipe.hset(f"s:{i}", mapping={"partition": 0, "offset": i})
    pipe.execute()
    seen = look(server, ["scan"], redis={"rate": 30_000}, key='"s:{key}"', wait=False)
    time.sleep(0.5)
    r.execute_command("HPEXPIRE", "s:1", 90_000, "FIELDS", 1, "offset")
    seen.finish()
    assert seen.counts.taken == 30_000
    assert {row["field_ttl_ms"] for row in seen.rows} <= {None} | {
        row["field_ttl_ms"] for row in seen.rows if row["key"] == b"1"
    }


def test_keys_that_expire_during_the_look(any_redis, look, name):
    """Each is seen whole, or absent; an absent one is a row only where the history knows the key."""
    r = any_redis.client()
    pipe = r.pipeline(transaction=False)
    for i in range(3000):
        pipe.hset(f"{name}:{i}", mapping={"partition": 0, "offset": i})
        pipe.pexpire(f"{name}:{i}", 1 + i // 8)
    pipe.execute()
    keys = [b"%d" % i for i in range(0, 3000, 2)]
    seen = look(any_redis, ["scan", "ask"], keys=keys, prefix=name)
    assert seen.code == 0 and len(seen.by_key) == len(seen.rows)
    assert {k for k in seen.by_key} >= set(keys)
    for k, row in seen.by_key.items():
        assert row["malformed"] is None
        if row["present"]:
            assert row["offset"] == int(k) and (row["ttl_ms"] is None or 0 <= row["ttl_ms"] <= 376)
        else:
            assert k in keys


def test_keys_that_come_and_go_are_never_malformed(redis_server, look, name):
    """HMGET and PTTL are two moments; a key born between them must not look like a hash without fields."""
    stop = threading.Event()

    def churn():
        with closing(redis_server.client()) as r:
            while not stop.is_set():
                pipe = r.pipeline(transaction=False)
                for i in range(20):
                    pipe.hset(f"{name}:{i}", mapping={"partition": 0, "offset": 1})
                    pipe.delete(f"{name}:{i}")
                pipe.execute()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        keys = [b"%d" % i for i in range(20)]
        for _ in range(20):
            rows = look(redis_server, ["scan", "ask"], keys=keys, prefix=name).by_key
            assert set(rows) == set(keys)
            assert {row["malformed"] for row in rows.values()} == {None}
    finally:
        stop.set()
        thread.join()
