"""The look at Redis: which keys, what is read of them, what becomes of odd ones, and what happens when the server fails. Without Kafka."""
import json
import os
import socket
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from types import SimpleNamespace

import pytest

import cli
from observe import monitor_writes, redis_changes

ALL = 2**63 - 1
ACL = "+@read -@dangerous +info +hello +auth +ping +select +cluster|shards +cluster|slots +readonly +client|setname"
READS = {"SCAN", "HMGET", "PTTL", "HPTTL", "TYPE", "EXISTS", "GET", "INFO", "AUTH", "SELECT", "CLIENT", "PING"}


def config_text(url, redis, pipeline):
    settings = {"url": f'"{url}"', "rate": 0, **redis}
    lines = ["kafka:", "  bootstrap.servers: unused:9092", "redis:", *(f"  {k}: {v}" for k, v in settings.items()), "index: i.db",
             "pipelines:", "  p:", "    topic: orders", "    group: g", *(f"    {k}: {v}" for k, v in pipeline.items())]
    return "\n".join(lines) + "\n"


class Look:
    """One run of sample_tool: .code .err .counts, and the rows it left: .rows, .by_key, .table(name)."""

    def __init__(self, work, url, steps, keys=(), redis=None, env=None, wait=True, **pipeline):
        self.dir = work / f"look-{len(list(work.iterdir()))}"
        self.dir.mkdir()
        pipeline = {k.replace("_", "."): v for k, v in pipeline.items()}
        (self.dir / "c.yaml").write_text(config_text(url, redis or {}, pipeline))
        self.write_keys("keys", keys)
        self.process = subprocess.Popen(
            [str(cli.built("tools") / "sample_tool"), "c.yaml", "i.db", "keys", *steps], cwd=self.dir, env=cli.environment(env), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if wait:
            self.finish()

    def write_keys(self, name, keys):
        text = "".join(("r" + k[1].hex() if isinstance(k, tuple) else k.hex()) + "\n" for k in keys)
        (self.dir / name).write_text(text)

    def wait_for_pause(self):
        assert self.process.stdout.readline() == "paused\n", self.process.communicate()[1]

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self, timeout=120):
        out, self.err = self.process.communicate(timeout=timeout)
        self.code = self.process.returncode
        self.counts = SimpleNamespace(**json.loads(out.splitlines()[-1])) if out.strip() else None
        self.rows = self.table("fence")
        self.by_key = {r["key"]: r for r in self.rows}
        return self

    def table(self, name):
        if not (self.dir / "i.db").exists():
            return []
        with closing(sqlite3.connect(self.dir / "i.db")) as db:
            db.row_factory = sqlite3.Row
            return [dict(r) for r in db.execute(f"SELECT * FROM {name}")]


@pytest.fixture
def look(work):
    def make(server, steps, keys=(), **settings):
        url = server if isinstance(server, str) else server.unix_url
        return Look(work, url, steps, keys, **settings)
    return make


def hset(r, key, **fields):
    r.hset(key, mapping=fields)


def quoted(text):
    return json.dumps(text)


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
    seen = look(any_redis, ["info", "scan"], key=quoted(name + ":{key}"))
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
    assert fence("empty") == (None, None, "partition empty, offset not-decimal") and keys["empty"]["partition_raw"] == b""
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
    assert {row["field_ttl_ms"] for row in keys.values() if not row["type"]} == {-1 if any_redis.kind == "8.2" else None}


def test_values(redis_server, look, name):
    r = redis_server.client()
    for key, value in {"n": "-12", "max": str(2**63 - 1), "min": str(-2**63 + 1), "float": "0.3", "big": "x" * 1000, "e": ""}.items():
        hset(r, f"{name}:{key}", partition=0, offset=1, value=value)
    hset(r, f"{name}:none", partition=0, offset=1)
    key = quoted(name + ":{key}")
    opaque = look(redis_server, ["scan"], key=key, state="opaque")
    assert {(r["value_hash"], r["value_number"], r["value_raw"]) for r in opaque.rows} == {(None, None, None)}
    last = look(redis_server, ["scan"], key=key, state="last").by_key
    assert last[b"e"]["value_hash"] == 0x2d06800538d394c2           # XXH3 of nothing
    assert last[b"none"]["value_hash"] is None
    assert len({r["value_hash"] for r in last.values()}) == 7
    for state in "sum", "count":
        rows = look(redis_server, ["scan"], key=key, state=state).by_key
        assert {k: r["value_number"] for k, r in rows.items()} == \
            {b"n": -12, b"max": 2**63 - 1, b"min": -2**63 + 1, b"float": None, b"big": None, b"e": None, b"none": None}
        assert {k: r["value_raw"] for k, r in rows.items() if r["value_raw"] is not None} == {b"float": b"0.3", b"big": b"x" * 256, b"e": b""}


def test_other_field_names(redis_server, look, name):
    r = redis_server.client()
    r.hset(f"{name}:k", mapping={"the offset": 5, "p\u00e4rt": 2, "": "v"})
    row = look(redis_server, ["scan"], key=quoted(name + ":{key}"), state="last", field_offset="the offset", field_partition="p\u00e4rt",
               field_value="value").rows[0]
    assert (row["partition"], row["offset"], row["value_hash"]) == (2, 5, None)


ODD_KEYS = [b"", b"\x00", b"a\x00b", b"a\r\nb", b"{", b"}", b"{a}", b"{}", b"*", b"?", b"[a-z]", b"\\", b"\xff\xfe\x80", b" ", b'"', b"'",
            "\u00e4\u4e2d".encode(), b"x" * 65536, b"$5", b"*3\r\n$3\r\nSET"]


@pytest.mark.parametrize("template,prefix", [("{key}", b""), ("s[a]*?\\\\:{key}", b"s[a]*?\\:"), ("{{{key}}}:x", b"{")])
def test_odd_keys_both_ways(redis_factory, look, template, prefix):
    server = redis_factory()
    r = server.client()
    suffix = b"}:x" if prefix == b"{" else b""
    for i, key in enumerate(ODD_KEYS):
        r.hset(prefix + key + suffix, mapping={"partition": i, "offset": i})
    if prefix:
        r.hset(prefix[:-1], mapping={"partition": 1, "offset": 1})
        r.hset(b"sxa*?\\:" + b"k", mapping={"partition": 1, "offset": 1})   # what an unescaped pattern would match
    key = f'"{template}"'
    scanned = look(server, ["scan"], key=key)
    assert {k: row["offset"] for k, row in scanned.by_key.items()} == {k: i for i, k in enumerate(ODD_KEYS)}
    assert scanned.counts.unparsed == 0
    asked = look(server, ["ask"], keys=ODD_KEYS + [b"absent"], key=key)
    assert {k: row["offset"] for k, row in asked.by_key.items() if row["present"]} == {k: i for i, k in enumerate(ODD_KEYS)}
    assert {k: row["redis_key"] for k, row in asked.by_key.items()} == {k: prefix + k + suffix for k in ODD_KEYS + [b"absent"]}
    assert asked.by_key[b"absent"]["present"] == 0


def test_key_formats(redis_server, look, name):
    r = redis_server.client()
    hset(r, f"{name}:7", partition=0, offset=1)
    hset(r, f"{name}:007", partition=0, offset=1)
    hset(r, f"{name}:x", partition=0, offset=1)
    seven, eight = (7).to_bytes(8, "big"), (8).to_bytes(8, "big")
    seen = look(redis_server, ["scan", "ask"], keys=[seven, eight, b"short"], key=quoted(name + ":{key}"), key_format="int64")
    assert (seen.counts.scanned, seen.counts.unparsed, seen.counts.taken, seen.counts.asked, seen.counts.nameless) == (3, 2, 1, 1, 1)
    assert {k: row["present"] for k, row in seen.by_key.items()} == {seven: 1, eight: 0}


def test_the_guard_tries_every_format(redis_server, look, name):
    r = redis_server.client()
    keys = [i.to_bytes(8, "big") for i in range(1500)]
    for i in range(1500):
        hset(r, f"{name}:{i}", partition=0, offset=1)
    counts = look(redis_server, ["scan", "ask", "formats"], keys=keys, key=quoted(name + ":{key}"), key_format="hex").counts
    assert counts.hits_int64 == counts.tried == 750
    assert counts.hits_raw == counts.hits_hex == counts.hits_uuid == counts.hits_base64 == 0


def test_longest_prefix_wins(redis_server, look, name, tmp_path):
    """Needs a second template; the config of sample_tool has one pipeline, so this is what the unit of it shows: no rival, all keys."""
    r = redis_server.client()
    hset(r, f"{name}:a:1", partition=0, offset=1)
    hset(r, f"{name}:1", partition=0, offset=1)
    assert len(look(redis_server, ["scan"], key=quoted(name + ":{key}")).rows) == 2
    rival = quoted(name + ":a:{key}")
    seen = look(redis_server, [f"rival={rival.strip(chr(34))}", "scan", "ask"], keys=[b"a:1", b"1"], key=quoted(name + ":{key}"))
    assert list(seen.by_key) == [b"1"] and seen.counts.nameless == 1


# -- times to live -----------------------------------------------------------------------------------------------

def test_key_ttls(any_redis, look, name):
    r = any_redis.client()
    hset(r, f"{name}:stays", partition=0, offset=1)
    hset(r, f"{name}:goes", partition=0, offset=1)
    r.pexpire(f"{name}:goes", 100_000)
    rows = look(any_redis, ["info", "scan"], key=quoted(name + ":{key}")).by_key
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
        rows = look(redis82, steps, key=quoted(name + ":{key}")).by_key
        assert {k: row["field_ttl_ms"] for k, row in rows.items() if k in (b"none", b"value", b"list")} == \
            {b"none": -1, b"value": -1, b"list": None}
        assert 20_000 < rows[b"both"]["field_ttl_ms"] <= 50_000 and 50_000 < rows[b"one"]["field_ttl_ms"] <= 90_000
        assert (rows[b"gone"]["offset"], rows[b"gone"]["malformed"], rows[b"gone"]["field_ttl_ms"]) == (None, "offset missing", -1)


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
    assert {row["field_ttl_ms"] for row in seen.rows} <= {None} | {row["field_ttl_ms"] for row in seen.rows if row["key"] == b"1"}


def test_keys_that_expire_during_the_look(any_redis, look, name):
    """Each is seen whole, or absent; an absent one is a row only where the history knows the key."""
    r = any_redis.client()
    pipe = r.pipeline(transaction=False)
    for i in range(3000):
        pipe.hset(f"{name}:{i}", mapping={"partition": 0, "offset": i})
        pipe.pexpire(f"{name}:{i}", 1 + i // 8)
    pipe.execute()
    keys = [b"%d" % i for i in range(0, 3000, 2)]
    seen = look(any_redis, ["scan", "ask"], keys=keys, key=quoted(name + ":{key}"))
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
            rows = look(redis_server, ["scan", "ask"], keys=keys, key=quoted(name + ":{key}")).by_key
            assert set(rows) == set(keys)
            assert {row["malformed"] for row in rows.values()} == {None}
    finally:
        stop.set()
        thread.join()


# -- which keys --------------------------------------------------------------------------------------------------

def test_strata_and_absence(redis_server, look, name):
    r = redis_server.client()
    for key in "both", "redis", "recent":
        hset(r, f"{name}:{key}", partition=0, offset=1)
    seen = look(redis_server, ["scan", "ask"], keys=[b"both", b"history", (1, b"recent"), (1, b"gone")], key=quoted(name + ":{key}"))
    assert {k: (row["strata"], row["present"]) for k, row in seen.by_key.items()} == \
        {b"both": (1, 1), b"redis": (1, 1), b"recent": (3, 1), b"history": (1, 0), b"gone": (3, 0)}
    assert seen.counts.asked == 2 and (seen.counts.main, seen.counts.recent) == (4, 2)


def test_only_recent_keys_are_asked_without_a_scan(redis_server, look, name):
    r = redis_server.client()
    for i in range(100):
        hset(r, f"{name}:{i}", partition=0, offset=i)
    keys = [(1, b"%d" % i) if i < 10 else b"%d" % i for i in range(50)]
    with monitor_writes(redis_server) as monitor:
        seen = look(redis_server, ["only-recent", "ask"], keys=keys, key=quoted(name + ":{key}"))
    assert "SCAN" not in monitor.names()
    assert {k: row["strata"] for k, row in seen.by_key.items()} == {b"%d" % i: 2 for i in range(10)}
    assert seen.counts.main_threshold == 0


def fill(r, prefix, count, start=0):
    pipe = r.pipeline(transaction=False)
    for i in range(start, start + count):
        pipe.hset(f"{prefix}{i}", mapping={"partition": i % 4, "offset": i})
        if i % 5000 == 4999:
            pipe.execute()
    pipe.execute()


def test_a_sample_is_exact_on_both_sides(redis_server, look, name):
    r = redis_server.client()
    fill(r, f"{name}:", 4000)
    keys = [b"%d" % i for i in range(2000, 6000)]
    whole = look(redis_server, ["scan", "ask"], keys=keys, key=quoted(name + ":{key}"))
    part = look(redis_server, ["limit=600", "scan", "ask"], keys=keys, key=quoted(name + ":{key}"))
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
    seen = look(redis_server, ["limit=300", "scan", "ask"], keys=keys, key=quoted(name + ":{key}"))
    t = seen.counts.main_threshold
    assert t < ALL // 8
    inside = [row for row in seen.rows if row["hash"] < t]
    whole = look(redis_server, ["scan"], key=quoted(name + ":{key}"))
    assert sorted(row["key"] for row in inside) == sorted(row["key"] for row in whole.rows if row["hash"] < t)
    assert seen.counts.taken == len(inside) < 400


def test_keys_of_the_tail(redis_server, look, name):
    """Keys that come after the scan are asked for; those that only became recent join that stratum without another look."""
    r = redis_server.client()
    fill(r, f"{name}:", 10)
    seen = look(redis_server, ["scan", "ask", "pause", "add=more", "ask"], keys=[b"1", b"2", (1, b"3")], key=quoted(name + ":{key}"), wait=False)
    seen.wait_for_pause()
    seen.write_keys("more", [(1, b"1"), b"2", (1, b"new"), b"11"])
    fill(r, f"{name}:", 1, start=11)
    seen.go_on()
    seen.finish()
    assert {k: (row["strata"], row["present"]) for k, row in seen.by_key.items() if k in (b"1", b"2", b"3", b"new", b"11")} == \
        {b"1": (3, 1), b"2": (1, 1), b"3": (3, 1), b"new": (3, 0), b"11": (1, 1)}
    assert len(seen.rows) == 12 and seen.counts.asked == 2


@pytest.mark.parametrize("change", ["shrink", "grow"])
def test_every_stable_key_once_while_the_table_is_resized(redis_factory, look, change):
    server = redis_factory()
    r = server.client()
    fill(r, "s:", 20_000)
    if change == "shrink":
        fill(r, "t:", 150_000)
    keys = [b"%d" % i for i in range(20_000)]
    seen = look(server, ["scan"], keys=keys[::2], redis={"rate": 100_000 if change == "shrink" else 20_000}, key='"s:{key}"', wait=False)
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
    assert seen.code == 0 and len(seen.rows) == 310 and len({row["value_hash"] for row in seen.rows if row["present"]}) == 1


def test_the_rate_is_kept(redis_server, look, name):
    fill(redis_server.client(), f"{name}:", 5000)
    begun = time.monotonic()
    seen = look(redis_server, ["ask"], keys=[b"%d" % i for i in range(5000)], redis={"rate": 5000}, key=quoted(name + ":{key}"))
    assert 0.8 < time.monotonic() - begun < 3 and len(seen.rows) == 5000


# -- epochs, INFO, replicas --------------------------------------------------------------------------------------

def test_epochs(any_redis, look, name):
    r = any_redis.client()
    for p, value in {0: 7, 1: -1, 2: "07", 4: "x", 5: 2**63, 1200: 3}.items():
        r.set(f"{name}:orders:{p}", value)
    r.hset(f"{name}:orders:6", "a", 1)
    seen = look(any_redis, ["epochs=1201"], key='"s:{key}"', epoch=quoted(name + ":{topic}:{partition}"))
    rows = {row["partition"]: row for row in seen.table("epoch")}
    assert len(rows) == 1201 and rows[1200]["value"] == 3
    assert {p: (rows[p]["present"], rows[p]["value"], rows[p]["malformed"]) for p in range(8)} == {
        0: (1, 7, None), 1: (1, -1, None), 2: (1, None, "leading-zero"), 3: (0, None, None), 4: (1, None, "not-decimal"),
        5: (1, None, "overflow"), 6: (1, None, "not a string"), 7: (0, None, None)}
    assert rows[0]["redis_key"] == f"{name}:orders:0".encode()


def test_info(any_redis, look):
    r = any_redis.client()
    r.set("one", 1)
    seen = look(any_redis, ["info", "info"], key='"s:{key}"')
    server, = seen.table("redis_server")
    info = r.info()
    assert server["address"] == f"unix:{any_redis.sock}/0"
    assert (server["role"], server["version"], server["process"], server["replid"], server["second_repl_offset"]) == \
        ("master", info["redis_version"], info["run_id"], info["master_replid"], -1)
    assert server["keys"] == seen.counts.server_keys > 0 and server["uptime_s"] >= 0
    values = {row["name"]: row["value"] for row in seen.table("redis_info")}
    for field in "maxmemory_policy", "aof_enabled", "evicted_keys", "rdb_last_bgsave_status", "cluster_enabled", "tcp_port":
        assert values[field] == str(info[field])
    assert "cmdstat_info" in values


def test_database_number(redis_server, look, name):
    with closing(redis_server.client(db=5)) as r:
        hset(r, f"{name}:in5", partition=0, offset=1)
        seen = look(redis_server, ["info", "scan"], redis={"db": 5}, key=quoted(name + ":{key}"))
        assert list(seen.by_key) == [b"in5"] and seen.counts.server_keys == 1
        r.flushdb()
    wrong = look(redis_server, ["scan"], redis={"db": 99}, key=quoted(name + ":{key}"))
    assert wrong.code == 1 and "database 99" in wrong.err and "out of range" in wrong.err


def test_tcp(redis_server, look, name):
    hset(redis_server.client(), f"{name}:k", partition=0, offset=1)
    assert len(look(redis_server.url, ["info", "scan", "ask"], keys=[b"k", b"j"], key=quoted(name + ":{key}")).rows) == 2


def wait_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_replica(redis_factory, look):
    master = redis_factory()
    replica = redis_factory(options={"replicaof": f"127.0.0.1 {master.port}"})
    second = redis_factory(options={"replicaof": f"127.0.0.1 {replica.port}"})
    r = master.client()
    wait_for(lambda: second.client().info()["master_link_status"] == "up")
    hset(r, "s:k", partition=0, offset=1)
    for server in replica, second:
        seen = look(server.url, ["info", "catch-up=5000", "scan"], key='"s:{key}"')
        assert seen.counts.replica == "passed" and list(seen.by_key) == [b"k"], seen.err
        assert seen.table("redis_server")[0]["role"] == "slave"
    assert look(master.url, ["catch-up=5000"], key='"s:{key}"').counts.replica is None
    replica.client().config_set("masterauth", "wrong")
    second.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    seen = look(second.url, ["catch-up=300", "scan"], key='"s:{key}"')
    assert "master 127.0.0.1:1" in seen.counts.replica and "refused" in seen.counts.replica and list(seen.by_key) == [b"k"]


def test_a_replica_that_lags(redis_factory, look):
    master = redis_factory()
    replica = redis_factory(options={"replicaof": f"127.0.0.1 {master.port}"})
    wait_for(lambda: replica.client().info()["master_link_status"] == "up")
    r = master.client()
    r.config_set("requirepass", "now")          # of which the replica does not know: once its link is cut, it stays so
    r.execute_command("AUTH", "now")

    def cut():
        for link in r.client_list(_type="replica"):
            r.client_kill_filter(_id=link["id"])
        return replica.client().info()["master_link_status"] == "down"

    wait_for(cut)
    r.hset("s:late", mapping={"partition": 0, "offset": 1})
    seen = look(replica.url, ["catch-up=300"], key='"s:{key}"')
    assert "wants a password" in seen.counts.replica
    replica.client().config_set("requirepass", "now")
    seen = look(replica.url, ["catch-up=300"], redis={"password": "now"}, key='"s:{key}"')
    assert "has not passed" in seen.counts.replica, seen.counts.replica


# -- rights and refusals -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("version,pattern,acl", [
    ("6.2", "~", "+@read -@dangerous +info +hello +auth +ping +select +client|setname"),
    ("7.0", "%R~", ACL), ("8.2", "%R~", ACL), ("8.2", "%R~", ACL + " +client|no-touch")])
def test_only_reads_and_needs_no_more_than_its_rights(redis_factory, look, name, version, pattern, acl):
    server = redis_factory(version)
    r = server.client()
    r.execute_command("ACL", "SETUSER", name, "on", ">s3cret", f"{pattern}{name}:*", f"{pattern}epoch:*", *acl.split())
    fill(r, f"{name}:", 2500)
    r.set(f"{name}:string", 1)
    keys = [b"%d" % i for i in range(2000, 3000)] + [b"string"]
    before = redis_changes(server)
    with monitor_writes(server) as monitor:
        seen = look(server, ["info", "epochs=3", "scan", "ask", "formats", "catch-up=100"], keys=keys,
                    redis={"user": name, "password": "s3cret"}, key=quoted(name + ":{key}"), epoch='"epoch:{topic}:{partition}"', state="last")
    assert seen.code == 0 and len(seen.rows) == 3001, seen.err
    assert monitor.writes == [] and monitor.names() <= READS and {"SCAN", "HMGET", "PTTL", "TYPE", "EXISTS", "GET", "INFO"} <= monitor.names()
    assert redis_changes(server) == before
    assert r.client_list() and not [c for c in r.client_list() if c["name"] == "fencepost"]


def test_reading_does_not_touch(redis82, look, name):
    r = redis82.client()
    hset(r, f"{name}:k", partition=0, offset=1)
    time.sleep(1.2)
    look(redis82, ["scan"], key=quoted(name + ":{key}"))
    assert r.object("idletime", f"{name}:k") >= 1


@pytest.mark.parametrize("missing,command,steps", [("-hmget", "HMGET", ["scan"]), ("-pttl", "PTTL", ["ask"]), ("-scan", "SCAN", ["scan"]),
                                                   ("-info", "INFO", ["info"]), ("-get", "GET", ["epochs=1"]), ("-exists", "EXISTS", ["formats"]),
                                                   ("resetkeys", "HMGET", ["scan"])])
def test_missing_rights_are_named(any_redis, look, name, missing, command, steps):
    r = any_redis.client()
    r.execute_command("ACL", "SETUSER", name, "reset", "on", ">s3cret", "~*", "+@read", "+info", "+ping", "+select", missing)
    hset(r, f"{name}:k", partition=0, offset=1)
    seen = look(any_redis, steps, keys=[b"k"], redis={"user": name, "password": "s3cret"}, key=quoted(name + ":{key}"), epoch='"e:{partition}"')
    words = seen.counts.scan_trouble if "scan" in steps else seen.err
    assert seen.code == (0 if "scan" in steps else 1)
    assert f"user {name} may not run {command}" in words and "NOPERM" in words and f"ACL SETUSER {name} on %R~KEYS +@read" in words
    assert f"redis unix:{any_redis.sock}/0" in words and "s3cret" not in words
    assert not seen.counts.scan_complete and seen.rows == []
    r.execute_command("ACL", "DELUSER", name)


def test_passwords(redis_factory, look, work):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    hset(server.client(), "s:k", partition=0, offset=1)

    def words(env=None, **redis):
        seen = look(server, ["scan"], key='"s:{key}"', redis=redis, env=env)
        assert "s3cret" not in seen.err and "wr0ng" not in seen.err
        return seen.err if seen.code else len(seen.rows)

    assert words(password="s3cret") == 1
    assert words(user="default", password="s3cret") == 1
    assert words(env={"REDISCLI_AUTH": "s3cret"}) == 1
    (work / "secret").write_text("s3cret\n")
    os.chmod(work / "secret", 0o600)
    assert words(password=f"file:{work}/secret") == 1
    assert "wants a password" in words() and "REDISCLI_AUTH" in words()
    assert "wrong password for user default" in words(password="wr0ng")
    assert "wrong password for user nobody" in words(user="nobody", password="wr0ng")
    open_server = redis_factory()
    seen = look(open_server, ["scan"], key='"s:{key}"', redis={"password": "wr0ng"})
    assert seen.code == 1 and "default user has none" in seen.err and "wr0ng" not in seen.err


def test_nobody_there(redis_factory, look, work):
    server = redis_factory()
    server.stop()
    tcp = look(server.url, ["scan"], key='"s:{key}"')
    assert tcp.code == 1 and "cannot connect: Connection refused" in tcp.err and f"127.0.0.1:{server.port}/0" in tcp.err
    unix = look(f"unix://{work}/none.sock", ["scan"], key='"s:{key}"')
    assert unix.code == 1 and "No such file or directory" in unix.err and "unixsocket" in unix.err
    name = look("redis://no-such-host.invalid:6379/0", ["scan"], key='"s:{key}"')
    assert name.code == 1 and "cannot connect" in name.err


def test_cluster_is_not_covered(redis_factory, look):
    server = redis_factory(options={"cluster-enabled": "yes"})
    down = look(server, ["scan", "ask"], keys=[b"k"], key='"s:{key}"')
    assert down.code == 1 and "cluster" in down.err and "not covered" in down.err
    r = server.client()
    r.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_for(lambda: b"cluster_state:ok" in r.execute_command("CLUSTER", "INFO") if isinstance(r.execute_command("CLUSTER", "INFO"), bytes)
             else r.execute_command("CLUSTER", "INFO").get("cluster_state") == "ok")
    hset(r, "s:k", partition=0, offset=1)
    one = look(server, ["info", "scan", "ask"], keys=[b"k", b"j"], key='"s:{key}"')
    assert one.code == 0 and len(one.rows) == 2, one.err
    assert {row["key"]: row["slot"] for row in one.rows} == {k: r.execute_command("CLUSTER", "KEYSLOT", b"s:" + k) for k in (b"k", b"j")}
    assert {row["node"] for row in one.rows} == {f"unix:{server.sock}/0"}
    slot = r.execute_command("CLUSTER", "KEYSLOT", "s:j")
    r.execute_command("CLUSTER", "DELSLOTS", slot)
    gone = look(server, ["info", "ask"], keys=[b"j"], key='"s:{key}"')
    assert gone.code == 1 and "cluster" in gone.err


class Impostor:
    """Stands between a client and a Redis server, and answers commands itself where a rule says so."""

    def __init__(self, server, rule):
        self.server, self.rule = server, rule
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    url = property(lambda self: f"redis://127.0.0.1:{self.port}/0")

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client, self.connections), daemon=True).start()

    def _serve(self, client, number):
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(self.server.sock)
        replies = upstream.makefile("rb")
        with client, upstream, client.makefile("rb") as commands:
            count = 0
            while args := self._command(commands):
                count += 1
                answer = self.rule(args, number, count)
                if answer is None:
                    upstream.sendall(b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in args))
                    answer = self._reply(replies)
                if answer == b"":
                    return
                try:
                    client.sendall(answer or b"")
                except OSError:
                    return

    @staticmethod
    def _command(stream):
        line = stream.readline()
        if not line:
            return None
        return [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]

    def _reply(self, stream):
        line = stream.readline()
        if line[:1] == b"$" and line != b"$-1\r\n":
            return line + stream.read(int(line[1:]) + 2)
        if line[:1] == b"*" and line != b"*-1\r\n":
            return line + b"".join(self._reply(stream) for _ in range(int(line[1:])))
        return line

    def close(self):
        self.listener.close()


@pytest.fixture
def impostor(redis_factory):
    made = []

    def make(rule, count=0):
        server = redis_factory()
        fill(server.client(), "s:", count)
        made.append(Impostor(server, rule))
        return made[-1]
    yield make
    for i in made:
        i.close()


def test_refusals_in_words(impostor, look):
    def refuse(command, words):
        def rule(args, number, count):
            return words if args[0] == command else None
        seen = look(impostor(rule, 10).url, ["timeout=1000", "ask"], keys=[b"1"], key='"s:{key}"')
        assert seen.code == 1
        return seen.err

    assert "refused as a write (READONLY You can't" in refuse(b"HMGET", b"-READONLY You can't write against a read only replica.\r\n")
    assert "slot 3999 is served by another node of the cluster: cluster mode is not covered" in \
        refuse(b"HMGET", b"-MOVED 3999 127.0.0.1:6381\r\n")
    assert "HMGET: ERR some \\x07 proxy \\xff" in refuse(b"HMGET", b"-ERR some \x07 proxy \xff\r\n")
    assert "another shape" in refuse(b"HMGET", b"*1\r\n$1\r\nx\r\n")
    assert "another shape" in refuse(b"PTTL", b"+OK\r\n")
    assert "Protocol error" in refuse(b"HMGET", b"%1\r\n+a\r\n+b\r\n")
    assert "PING: DENIED" in refuse(b"PING", b"-DENIED Redis is running in protected mode\r\n")
    loading = refuse(b"HMGET", b"-LOADING Redis is loading the dataset in memory\r\n")
    assert "gave up after 1 s" in loading and "LOADING" in loading
    assert "gave up after 1 s" in refuse(b"PING", b"-LOADING Redis is loading the dataset in memory\r\n")


def test_an_unknown_auth_does_not_repeat_the_password(impostor, look):
    def rule(args, number, count):
        if args[0] == b"AUTH":
            return b"-ERR unknown command `AUTH`, with args beginning with: `s3cret`\r\n"
    seen = look(impostor(rule).url, ["ask"], redis={"password": "s3cret"}, key='"s:{key}"')
    assert seen.code == 1 and "AUTH as user default was refused" in seen.err and "s3cret" not in seen.err


def test_no_reply_in_time(impostor, look):
    seen = look(impostor(lambda args, number, count: False if args[0] == b"PTTL" else None, 10).url, ["timeout=1000", "ask"], keys=[b"1"],
                key='"s:{key}"')
    assert seen.code == 1 and "no reply within 1 s" in seen.err


def test_a_stop_is_noticed(impostor, look):
    seen = look(impostor(lambda args, number, count: False if args[0] == b"PTTL" else None, 10).url, ["timeout=60000", "ask"], keys=[b"1"],
                key='"s:{key}"', wait=False)
    time.sleep(0.5)
    begun = time.monotonic()
    seen.process.terminate()
    assert seen.finish().code == 1 and "stopped" in seen.err and time.monotonic() - begun < 2


def test_a_stop_during_a_slow_scan(redis_server, look, name):
    fill(redis_server.client(), f"{name}:", 5000)
    seen = look(redis_server, ["scan"], redis={"rate": 100}, key=quoted(name + ":{key}"), wait=False)
    time.sleep(0.5)
    seen.process.terminate()
    assert seen.finish(10).code == 0 and not seen.counts.scan_complete and "stopped" in seen.counts.scan_trouble


# -- lost connections --------------------------------------------------------------------------------------------

def test_lost_connections_are_taken_up_again(impostor, look):
    """The connection breaks again and again, at any command; nothing is missed, nothing is there twice."""
    def rule(args, number, count):
        return b"" if count > 700 + 97 * number % 2500 else None
    middle = impostor(rule, 6000)
    keys = [b"%d" % i for i in range(5000, 7000)]
    seen = look(middle.url, ["info", "scan", "ask"], keys=keys, key='"s:{key}"')
    assert seen.code == 0 and seen.counts.scan_complete, (seen.err, seen.counts.scan_trouble)
    assert len(seen.rows) == 7000 and len(seen.by_key) == 7000
    assert {int(k): row["offset"] for k, row in seen.by_key.items() if row["present"]} == {i: i for i in range(6000)}
    assert middle.connections > 10


def test_not_ready_for_a_while(impostor, look):
    begun = []

    def rule(args, number, count):
        begun.append(time.monotonic())
        if 0.1 < time.monotonic() - begun[0] < 0.8:
            return [b"-LOADING Redis is loading the dataset in memory\r\n", b"-BUSY Redis is busy running a script.\r\n",
                    b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"][count % 3]
        return None
    seen = look(impostor(rule, 3000).url, ["info", "scan", "ask"], keys=[b"1", b"x"], key='"s:{key}"')
    assert seen.code == 0 and len(seen.rows) == 3001, (seen.err, seen.counts.scan_trouble)


def test_a_server_killed_during_the_scan(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 20_000)
    seen = look(server, ["timeout=1000", "info", "scan"], redis={"rate": 10_000}, key='"s:{key}"', wait=False)
    time.sleep(0.7)
    server.stop(clean=False)
    seen.finish()
    assert seen.code == 0 and not seen.counts.scan_complete
    assert "gave up after 1 s: cannot connect" in seen.counts.scan_trouble
    assert 0 < len(seen.rows) < 20_000 and len(seen.by_key) == len(seen.rows)


def test_a_server_that_stays_away_is_waited_for_once(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 10_000)
    seen = look(server, ["timeout=3000", "scan", "ask"], keys=[b"%d" % i for i in range(10_000)], redis={"rate": 5_000}, key='"s:{key}"', wait=False)
    time.sleep(0.7)
    begun = time.monotonic()
    server.stop(clean=False)
    seen.finish()
    assert seen.code == 1 and "gave up after 3 s: cannot connect" in seen.counts.scan_trouble
    assert "ask for keys: gave up after 3 s: cannot connect" in seen.err and time.monotonic() - begun < 5


def test_a_server_restarted_during_the_scan(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 20_000)
    seen = look(server, ["timeout=20000", "info", "scan", "ask"], keys=[b"%d" % i for i in range(100)], redis={"rate": 10_000}, key='"s:{key}"',
                wait=False)
    time.sleep(0.7)
    server.stop(clean=False)
    server.start()
    hset(server.client(), "s:1", partition=0, offset=77)
    seen.finish()
    assert seen.code == 0 and not seen.counts.scan_complete
    assert "restarted or replaced during the scan" in seen.counts.scan_trouble
    assert set(seen.by_key) >= {b"%d" % i for i in range(100)} and len(seen.by_key) == len(seen.rows)


def test_rediss_names_a_tunnel(look):
    seen = look("rediss://example.invalid:6380/0", ["scan"], key='"s:{key}"')
    assert seen.code == 1 and ("stunnel" in seen.err and "connect=example.invalid:6380" in seen.err or "cannot connect" in seen.err)
