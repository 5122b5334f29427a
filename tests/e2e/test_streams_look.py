"""The look at Redis Streams: every column against the server's own answers, and nothing on the server moved by it."""

import contextlib
import json
import os
import random
import select
import socket
import sqlite3
import struct
import subprocess
import threading
import time
from contextlib import closing

import pytest

import cli
from observe import monitor_writes
from sampling import Impostor

ALL = 2**63 - 1
READS = {"XINFO", "XPENDING", "XRANGE", "XREVRANGE", "SCAN", "TIME", "INFO", "CONFIG", "PING", "SELECT", "CLIENT", "AUTH"}
FAULTY = cli.ROOT / os.environ.get("FAULTS_BUILD", "build-faults") / "fencepost"


def blob(entry):
    """An entry id as the index holds it."""
    ms, seq = (int(part) for part in (entry.decode() if isinstance(entry, bytes) else entry).split("-"))
    return struct.pack(">QQ", ms, seq)


class Watched:
    """Runs of the program over one index: .code .err, and the newest run's rows by table(name)."""

    def __init__(self, program, folder, url, streams, **top):
        self.program, self.folder, self.path = program, folder, folder / "c.yaml"
        self.url = url if isinstance(url, str) else url.unix_url
        self.configure(streams, **top)

    def configure(self, streams, redis=None, **top):
        config = {"redis": {"url": self.url, "rate": 0, **(redis or {})}, "index": "i.db", "streams": streams, **top}
        self.path.write_text(json.dumps(config))

    def look(self, command="sample", env=None, program=None):
        argv = [program or self.program, command, "-c", self.path, "--timeout", "5s"]
        done = subprocess.run(argv, cwd=self.folder, env=cli.environment(env), capture_output=True, text=True, timeout=60)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        return self

    def query(self, sql, *values):
        with closing(sqlite3.connect(self.folder / "i.db")) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, values)]

    def table(self, name):
        [(run,)] = [tuple(row.values()) for row in self.query("SELECT max(run_id) FROM run")]
        if name in ("pending", "pending_count"):
            return self.query(f"SELECT {name}.* FROM {name} JOIN stream_group USING (group_id) WHERE run_id = ?", run)
        if name == "stream_dlq_entry":
            return self.query(f"SELECT {name}.* FROM {name} JOIN stream USING (stream_id) WHERE run_id = ?", run)
        return self.query(f"SELECT * FROM {name} WHERE run_id = ?", run)

    def streams(self):
        return {row["redis_key"]: row for row in self.table("stream") if row["role"] == "source"}

    def groups(self):
        return {(self._key(row), row["name"]): row for row in self.table("stream_group")}

    def _key(self, group):
        return next(row["redis_key"] for row in self.table("stream") if row["stream_id"] == group["stream_id"])

    def pending(self, group):
        return {row["entry"]: row for row in self.table("pending") if row["group_id"] == group["group_id"]}

    def troubles(self):
        return [row["text"] for row in self.table("trouble") if row["stage"] == "streams"]


@pytest.fixture
def watch(fencepost, work):
    def make(url, streams, **top):
        folder = work / f"watch-{len(list(work.iterdir()))}"
        folder.mkdir()
        return Watched(fencepost.path, folder, url, streams, **top)

    return make


def add(r, key, count, **fields):
    pipe = r.pipeline(transaction=False)
    for i in range(count):
        pipe.xadd(key, {"n": i, **fields})
    return pipe.execute()


def read(r, key, group, consumer, count):
    [[_, entries]] = r.xreadgroup(group, consumer, {key: ">"}, count=count)
    return [entry for entry, _ in entries]


def raw(r, *command):
    """The server's answer as it is on the wire."""
    connection = r.connection_pool.get_connection()
    try:
        connection.send_command(*command)
        return connection.read_response()
    finally:
        r.connection_pool.release(connection)


def fields(reply):
    return dict(zip(reply[::2], reply[1::2]))


# -- columns -------------------------------------------------------------------------------------------------------


def test_columns(any_redis, watch, name):
    r, odd = any_redis.client(), name.encode() + b":\x00\xff\r\n{x}"
    ids = add(r, odd, 30)
    for group in (b"workers", b"g\x00\xfe*", b"idle"):
        r.xgroup_create(odd, group, "0")
    mine = read(r, odd, "workers", b"c\x00\xff", 12) + read(r, odd, "workers", "", 3)
    read(r, odd, b"g\x00\xfe*", "only", 30)
    for _ in range(2):
        r.xreadgroup("workers", b"c\x00\xff", {odd: "0"}, count=2)
    r.xdel(odd, ids[1], ids[20])
    r.xtrim(odd, minid=ids[1].decode(), approximate=False)
    before = raw(r, "XPENDING", odd, "workers", "-", "+", 100)
    seen = watch(any_redis, {"w": {"key": f"{name}:*", "idle": "1h"}}).look()
    assert (seen.code, seen.troubles()) == (0, []), seen.err
    check_stream(r, odd, seen)
    check_groups(r, odd, seen)
    group = seen.groups()[odd, b"workers"]
    rows = seen.pending(group)
    assert [blob(i) for i in mine] == sorted(rows)
    consumers = {row["consumer_id"]: row["name"] for row in seen.table("stream_consumer")}
    for entry, consumer, idle, count in before:
        row = rows[blob(entry)]
        assert (consumers[row["consumer_id"]], row["consumer"], row["deliveries"]) == (consumer, None, count)
        assert idle <= row["idle_ms"] < idle + 5000
        assert row["present"] == (entry not in (ids[0], ids[1], ids[20]))
        assert (row["content"] is None) == (row["present"] == 0)
    assert len({row["content"] for row in rows.values() if row["present"]}) == len(rows) - 2
    assert {(g["listed"], g["kept"], g["acknowledged"], g["threshold"]) for g in seen.groups().values()} == {
        (15, 15, 0, ALL), (30, 30, 0, ALL), (0, 0, 0, ALL)}
    counts = [(row["deliveries"], row["entries"]) for row in seen.table("pending_count") if row["group_id"] == group["group_id"]]
    assert sum(n for _, n in counts) == 15 and sum(n for d, n in counts if d == max(c for *_, c in before)) == sum(
        c == max(c for *_, c in before) for *_, c in before)


def check_stream(r, key, seen):
    told, row = fields(raw(r, "XINFO", "STREAM", key)), seen.streams()[key]
    assert row["present"] == 1 and row["trouble"] is None
    assert row["length"] == told[b"length"] and row["groups"] == told[b"groups"]
    assert row["last_generated"] == blob(told[b"last-generated-id"])
    assert row["first_entry"] == blob(told[b"first-entry"][0]) and row["last_entry"] == blob(told[b"last-entry"][0])
    assert row["max_deleted"] == (blob(told[b"max-deleted-entry-id"]) if b"max-deleted-entry-id" in told else None)
    assert row["entries_added"] == told.get(b"entries-added")
    assert abs(row["server_ms"] - row["read_us"] // 1000) < 1000


def check_groups(r, key, seen):
    for told in map(fields, raw(r, "XINFO", "GROUPS", key)):
        row = seen.groups()[key, told[b"name"]]
        for end in ("", "_after"):
            assert row["consumers" + end] == told[b"consumers"] and row["pending" + end] == told[b"pending"]
            assert row["last_delivered" + end] == blob(told[b"last-delivered-id"])
            assert row["entries_read" + end] == told.get(b"entries-read") and row["lag" + end] == told.get(b"lag")
        consumers = {c["name"]: c for c in seen.table("stream_consumer") if c["group_id"] == row["group_id"]}
        for consumer in map(fields, raw(r, "XINFO", "CONSUMERS", key, told[b"name"])):
            kept = consumers.pop(consumer[b"name"])
            assert kept["pending"] == consumer[b"pending"]
            assert consumer[b"idle"] - 5000 < kept["idle_ms"] <= consumer[b"idle"]
            inactive = consumer.get(b"inactive")
            assert kept["inactive_ms"] == inactive or inactive - 5000 < kept["inactive_ms"] <= inactive
        assert not consumers


def test_empty_stream(any_redis, watch, name):
    r = any_redis.client()
    r.xgroup_create(name, "g", "$", mkstream=True)
    seen = watch(any_redis, {"w": {"key": name}}).look()
    row = seen.streams()[name.encode()]
    assert seen.code == 0 and (row["length"], row["first_entry"], row["last_entry"], row["groups"]) == (0, None, None, 1)
    assert row["last_generated"] == bytes(16)


# -- it only reads -------------------------------------------------------------------------------------------------


def state(r, key, group):
    """What a delivery, a claim or an acknowledgement would change; and the order of idle times."""
    pending = raw(r, "XPENDING", key, group, "-", "+", 1000)
    groups = [{k: v for k, v in fields(g).items()} for g in raw(r, "XINFO", "GROUPS", key)]
    consumers = [(fields(c)[b"name"], fields(c)[b"pending"]) for c in raw(r, "XINFO", "CONSUMERS", key, group)]
    by_idle = [entry for entry, *_ in sorted(pending, key=lambda p: (-p[2], p[0]))]
    return [(e, c, n) for e, c, _, n in pending], by_idle, groups, consumers, r.xlen(key), min(p[2] for p in pending)


def test_only_reads(redis_factory, watch, any_redis):
    server = redis_factory(any_redis.kind)
    r = server.client()
    add(r, "orders", 40)
    add(r, "orders:dlq", 5)
    r.xgroup_create("orders", "g", "0")
    for i in range(4):
        read(r, "orders", "g", f"c{i}", 8)
        time.sleep(0.02)
    r.xreadgroup("g", "c0", {"orders": "0"}, count=3)
    r.xtrim("orders", maxlen=35, approximate=False)
    before = state(r, "orders", "g")
    with monitor_writes(server) as monitor:
        seen = watch(server, {"w": {"key": "ord*", "dlq": "orders:dlq", "idle": "1ms"}}).look("audit")
        assert seen.code in (0, 1, 2), seen.err
    after = state(r, "orders", "g")
    assert before[:5] == after[:5] and after[5] >= before[5]
    assert monitor.writes == [] and monitor.names() <= READS | {"MONITOR"}, monitor.names() - READS
    assert {"XPENDING", "XRANGE", "XREVRANGE", "SCAN"} <= monitor.names()
    assert len(seen.table("pending")) == 64 or len(seen.table("pending")) == 32


# -- what is looked at ---------------------------------------------------------------------------------------------


def test_glob_exclude_and_kinds(any_redis, watch, name):
    r = any_redis.client()
    for key in (f"{name}:a", f"{name}:b", f"{name}x:c", f"{name}:[lit]"):
        add(r, key, 3)
        for group in ("g1", "g2", "h"):
            r.xgroup_create(key, group, "0")
    r.set(f"{name}:text", 1)
    r.hset(f"{name}:hash", "a", 1)
    seen = watch(any_redis, {
        "globs": {"key": f"{name}:*", "group": "[gh]*", "exclude": ["?2", "h"]},
        "escaped": {"key": f"{name}:\\[lit\\]", "group": "g?", "exclude": "g2"},
    }).look()
    assert seen.code == 0, seen.err
    watches = {row["watch_id"]: row["name"] for row in seen.table("stream_watch")}
    rows = seen.query("SELECT s.watch_id, s.redis_key, g.name FROM stream s JOIN stream_group g USING (stream_id)")
    found = sorted((watches[row["watch_id"]], row["redis_key"].decode(), row["name"].decode()) for row in rows)
    assert found == [("escaped", f"{name}:[lit]", "g1"), ("globs", f"{name}:[lit]", "g1"), ("globs", f"{name}:a", "g1"),
                     ("globs", f"{name}:b", "g1")]
    assert {(row["name"], row["excluded"], row["looked"]) for row in seen.table("stream_watch")} == {
        ("globs", '["?2","h"]', 1), ("escaped", '["g2"]', 1)}


def test_globs_as_redis_has_them(any_redis, watch, name):
    """Groups, which the program matches itself, and keys, which the server does: the same patterns take the same names."""
    r, draw = any_redis.client(), random.Random(7)
    words = {"".join(draw.choice("ab-]^*\\[") for _ in range(draw.randrange(1, 5))) for _ in range(60)}
    prefix = f"{name}:"
    add(r, f"{prefix}s", 1)
    for word in words:
        r.set(f"{prefix}k{word}", 1)
        r.xgroup_create(f"{prefix}s", f"{prefix}k{word}", "0")
    patterns = {"".join(draw.choice(["a", "b", "*", "?", "[ab]", "[^a]", "[a-b]", "[", "]", "\\", "-", "^", "[b-a", "[\\]]", "[]", "[a-]", "[\\a-b]"])
                        for _ in range(draw.randrange(1, 5))) for _ in range(150)}
    patterns = sorted(p for p in patterns if any(c in p for c in "*?[\\"))
    seen = watch(any_redis, {f"p{i}": {"key": f"{prefix}s", "group": f"{prefix}k{p}"} for i, p in enumerate(patterns)}).look()
    found = {f"p{i}": set() for i in range(len(patterns))}
    for row in seen.query("SELECT w.name AS watch, g.name FROM stream_watch w JOIN stream USING (watch_id) JOIN stream_group g USING (stream_id)"):
        found[row["watch"]].add(row["name"])
    for i, pattern in enumerate(patterns):
        assert found[f"p{i}"] == set(r.keys(f"{prefix}k{pattern}".encode())), pattern
    assert sum(map(len, found.values())) > 100


def test_not_there(any_redis, watch, name):
    r = any_redis.client()
    add(r, f"{name}:good", 3)
    r.xgroup_create(f"{name}:good", "g", "0")
    read(r, f"{name}:good", "g", "c", 3)
    r.set(f"{name}:text", 1)
    seen = watch(any_redis, {
        "stream": {"key": f"{name}:none"},
        "type": {"key": f"{name}:text"},
        "group": {"key": f"{name}:good", "group": "nobody"},
        "glob": {"key": f"{name}:nothing*"},
        "globbed-group": {"key": f"{name}:*", "group": "nobody"},
        "good": {"key": f"{name}:good", "dlq": f"{name}:dlq"},
    }).look()
    assert seen.code == 1
    told = {row["pipeline"]: row["text"] for row in seen.table("trouble") if row["stage"] == "streams"}
    assert told == {
        "streams/stream": f"stream {name}:none: there is no such stream",
        "streams/type": f"stream {name}:text: the key does not hold a stream",
        "streams/group": f"stream {name}:good: group nobody: the stream has no such group",
        "streams/glob": f"no stream matches {name}:nothing*",
        "streams/globbed-group": f"no stream that matches {name}:* has a group nobody",
    }
    rows = {(row["redis_key"].decode(), row["role"]): (row["present"], row["trouble"]) for row in seen.table("stream")}
    assert rows[f"{name}:none", "source"] == (0, "there is no such stream")
    assert rows[f"{name}:text", "source"] == (0, "the key does not hold a stream")
    assert rows[f"{name}:dlq", "dlq"] == (0, None)
    missing = next(row for row in seen.table("stream_group") if row["name"] == b"nobody")
    assert missing["trouble"] == "the stream has no such group" and missing["pending"] is None and missing["listed"] is None
    assert {row["name"]: row["looked"] for row in seen.table("stream_watch")} == {
        "stream": 0, "type": 0, "group": 0, "glob": 0, "globbed-group": 0, "good": 1}
    assert len(seen.table("pending")) == 3


@pytest.mark.parametrize("version", ["6.2", "7.0", "8.2"])
def test_rights(redis_factory, watch, version):
    keys = "%R~orders* %R~state:*" if version != "6.2" else "~orders* ~state:*"
    more = " +cluster|shards" if version != "6.2" else ""
    server = redis_factory(version, options={"user": f"aud on >pw {keys} +@read -@dangerous +info +hello +auth +ping +select "
                                             f"+cluster|slots{more} +readonly +client|setname"})
    r = server.client()
    for key in ("orders", "secret", "orders:late"):
        add(r, key, 3)
        r.xgroup_create(key, "g", "0")
        read(r, key, "g", "c", 2)
    seen = watch(server, {"a": {"key": "*"}, "b": {"key": "secret"}, "c": {"key": "orders"}})
    seen.configure({"a": {"key": "*"}, "b": {"key": "secret"}, "c": {"key": "orders"}}, redis={"user": "aud", "password": "pw"})
    seen.look()
    assert seen.code == 1
    told = {row["pipeline"]: row["text"] for row in seen.table("trouble") if row["stage"] == "streams"}
    assert set(told) == {"streams/a", "streams/b"} and all("stream secret: user aud may not run XINFO" in t for t in told.values())
    assert {(row["redis_key"], row["present"], row["trouble"] is None) for row in seen.table("stream")} == {
        (b"orders", 1, True), (b"orders:late", 1, True), (b"secret", 1, False)}
    assert all(row["server_ms"] for row in seen.table("stream") if row["trouble"] is None)
    assert len(seen.table("pending")) == 6


def test_unreachable(fencepost, watch, redis_server, work, name):
    add(redis_server.client(), name, 3)
    seen = watch(redis_server, {"gone": {"key": name, "redis": {"url": "redis://127.0.0.1:1/0"}}, "here": {"key": name}}).look()
    assert seen.code == 1
    [told] = seen.troubles()[:1]
    assert "redis 127.0.0.1:1/0" in told
    rows = sorted((row["present"], row["trouble"] or "") for row in seen.table("stream"))
    assert rows == [(1, ""), (1, "the server does not answer")]


# -- samples -------------------------------------------------------------------------------------------------------


def test_sample(any_redis, watch, name):
    r = any_redis.client()
    ids = add(r, name, 5000)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 5000)
    r.xdel(name, *ids[::7])
    seen = watch(any_redis, {"w": {"key": name, "idle": "1h"}}, **{"pending.keys": 700}).look()
    assert seen.code == 0, seen.err
    group = seen.groups()[name.encode(), b"g"]
    assert group["threshold"] == 2**60 and group["listed"] == group["pending"] == 5000
    assert sum(row["entries"] for row in seen.table("pending_count")) == 5000
    hashes = xxh3(map(blob, ids))
    sample = {blob(i): i not in ids[::7] for i in ids if hashes[blob(i)] < 2**60}
    assert {entry: bool(row["present"]) for entry, row in seen.pending(group).items()} == sample
    assert group["kept"] == len(sample) and 500 < len(sample) < 750


def xxh3(texts):
    """Each text's hash, by the extension."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.enable_load_extension(True)
        db.load_extension(str(cli.built("fencepost.so")))
        return {text: db.execute("SELECT xxh3(?)", (text,)).fetchone()[0] for text in texts}


@pytest.mark.parametrize("every", [1, 2, 3, 7, 50])
def test_pending_among_others(redis_server, watch, name, every):
    """Pending entries that lie side by side, and such that lie between many that are acknowledged or gone."""
    r = redis_server.client()
    ids = add(r, name, 25000)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 25000)
    if every > 1:
        r.xack(name, "g", *(e for i, e in enumerate(ids) if i % every))
    gone = set(ids[:100]) | set(ids[5000:9000:every]) | set(ids[::11]) | set(ids[-50:])
    r.xdel(name, *gone)
    seen = watch(redis_server, {"w": {"key": name, "idle": "1h"}}).look()
    assert seen.code == 0, seen.err
    rows = seen.pending(seen.groups()[name.encode(), b"g"])
    assert {entry: row["present"] for entry, row in rows.items()} == {blob(e): int(e not in gone) for e in ids[::every]}
    assert len({row["content"] for row in rows.values() if row["present"]}) == sum(row["present"] for row in rows.values())


def test_rate(redis_server, watch, name):
    r = redis_server.client()
    add(r, name, 300)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 300)
    seen = watch(redis_server, {"w": {"key": name}})
    seen.configure({"w": {"key": name}}, redis={"rate": 500})
    begun = time.monotonic()
    seen.look()
    assert time.monotonic() - begun > 0.9 and len(seen.table("pending")) == 300      # 600 looks, a tenth of a second's at once


# -- between the looks ---------------------------------------------------------------------------------------------


def is_second_look(args):
    return args[0] == b"XPENDING" and len(args) == 6 and args[3] == args[4]


def test_second_look(any_redis, watch, name):
    """Before each second look one suspect is acknowledged, and one claimed by another consumer."""
    r = any_redis.client()
    ids = add(r, name, 10)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 10)
    time.sleep(0.1)
    acked, claimed = set(ids[:3]), set(ids[3:5])
    done = threading.Event()

    def rule(args, *_):
        if is_second_look(args) and not done.is_set():
            done.set()
            r.xack(name, "g", *acked)
            r.xclaim(name, "g", "newcomer", 0, list(claimed))

    between = Impostor(any_redis, rule)
    seen = watch(between.url, {"w": {"key": name, "idle": "50ms"}}).look()
    between.close()
    assert done.is_set() and seen.code == 0, seen.err
    group = seen.groups()[name.encode(), b"g"]
    rows = seen.pending(group)
    assert (group["listed"], group["kept"], group["acknowledged"], group["pending"], group["pending_after"]) == (10, 7, 3, 10, 7)
    assert set(rows) == {blob(i) for i in ids if i not in acked}
    for entry in claimed:
        row = rows[blob(entry)]
        assert (row["consumer_id"], row["consumer"], row["deliveries"]) == (None, b"newcomer", 2) and row["idle_ms"] < 50


def test_group_gone_between(redis_server, watch, name):
    r = redis_server.client()
    add(r, name, 3)
    r.xgroup_create(name, "g", "0")
    r.xgroup_create(name, "stays", "0")
    read(r, name, "g", "c", 3)

    def rule(args, *_):
        if args[0] == b"XPENDING" and args[2] == b"stays":
            r.xgroup_destroy(name, "g")

    between = Impostor(redis_server, rule)
    seen = watch(between.url, {"w": {"key": name}}).look()
    between.close()
    gone, stays = seen.groups()[name.encode(), b"g"], seen.groups()[name.encode(), b"stays"]
    assert (gone["trouble"], gone["pending"], gone["pending_after"], gone["last_delivered_after"]) == (None, 3, None, None)
    assert stays["pending_after"] == 0 and seen.code == 0


ODD = [b":1\r\n", b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"*1\r\n*0\r\n", b"*1\r\n:5\r\n", b"*2\r\n+x\r\n:1\r\n", b"*1\r\n*2\r\n+x\r\n*0\r\n",
       b"*1\r\n*4\r\n$3\r\n1-1\r\n:1\r\n:1\r\n:1\r\n", b"*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", b"+OK\r\n", b"-ERR odd\r\n",
       b"*2\r\n" + b"*4\r\n$3\r\n9-9\r\n$1\r\nc\r\n:1\r\n:1\r\n" * 2,
       b"*2\r\n*2\r\n$3\r\n1-1\r\n*0\r\n*2\r\n$3\r\n1-0\r\n*0\r\n", b"*1\r\n*2\r\n$4\r\nname\r\n$-1\r\n"]


@pytest.mark.parametrize("what", ["XINFO STREAM", "XINFO GROUPS", "XINFO CONSUMERS", "XPENDING 3", "XPENDING 6", "XPENDING 1", "XRANGE",
                                  "XREVRANGE", "SCAN", "TIME"])
def test_odd_replies(redis_server, watch, name, what):
    """No reply, however shaped, is a crash; and none makes a pending entry vanish in silence."""
    r = redis_server.client()
    add(r, f"{name}:s", 4)
    add(r, f"{name}:d", 4)
    r.xgroup_create(f"{name}:s", "g", "0")
    read(r, f"{name}:s", "g", "c", 4)
    command, _, detail = what.partition(" ")
    answers = iter(ODD)

    def met(args):
        if args[0].decode() != command:
            return False
        if command == "XPENDING":
            return is_second_look(args) if detail == "1" else len(args) == int(detail) and not is_second_look(args)
        return not detail or args[1].decode() == detail

    for answer in answers:
        between = Impostor(redis_server, lambda args, *_, answer=answer: answer if met(args) else None)
        seen = watch(between.url, {"w": {"key": f"{name}:[s]", "dlq": f"{name}:d", "idle": "1ms"}}).look()
        between.close()
        assert seen.code in (0, 1), (answer, seen.code, seen.err)
        whole = seen.table("stream_watch")[0]["looked"] == 1
        assert whole == (seen.code == 0) == (not seen.troubles()), (answer, seen.err)


def test_link_breaks(redis_factory, watch):
    """Every so often the connection is lost: it is made anew, and no entry is there twice or missing."""
    server = redis_factory()
    r = server.client()
    ids = add(r, "s", 25000)
    r.xgroup_create("s", "g", "0")
    read(r, "s", "g", "c", 25000)
    between = Impostor(server, lambda args, number, count: b"" if number < 8 and count == 40 + 9 * number else None)
    seen = watch(between.url, {"w": {"key": "s", "idle": "1ms"}}).look()
    between.close()
    assert seen.code == 0 and between.connections >= 8, seen.err
    group = seen.groups()[b"s", b"g"]
    assert group["listed"] == group["kept"] == 25000 and set(seen.pending(group)) == {blob(i) for i in ids}


class Cutter:
    """Stands before a Redis and cuts connection n after limit(n) bytes of replies, wherever that is; None: never."""

    def __init__(self, server, limit):
        self.server, self.limit, self.connections = server, limit, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "redis://127.0.0.1:%d/0" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.between, args=(client, self.limit(self.connections)), daemon=True).start()
            self.connections += 1

    def between(self, client, left):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server.sock)
        with client, server, contextlib.suppress(OSError):
            while left is None or left > 0:
                for side in select.select([client, server], [], [])[0]:
                    data = side.recv(65536)
                    if side is server and left is not None:
                        data, left = data[:left], left - len(data)
                    (client if side is server else server).sendall(data)
                    if not data:
                        return

    def close(self):
        self.listener.close()


@pytest.mark.parametrize("seed", range(3))
def test_link_breaks_amid_replies(redis_factory, watch, seed):
    """In the middle of a page, of an entry, of a number: nothing is there twice, counted twice or missing."""
    server = redis_factory()
    r, draw = server.client(), random.Random(seed)
    ids = add(r, "s", 6000, blob="x" * 100)
    r.xgroup_create("s", "g", "0")
    for consumer in range(6):
        read(r, "s", "g", f"c{consumer}", 1000)
    between = Cutter(server, lambda n: draw.randrange(3000, 90_000) if n < 25 else None)
    seen = watch(between.url, {"w": {"key": "s", "idle": "10d"}}).look()
    between.close()
    assert seen.code == 0 and between.connections > 10, seen.err
    group = seen.groups()[b"s", b"g"]
    assert group["listed"] == group["kept"] == 6000 and set(seen.pending(group)) == {blob(i) for i in ids}
    assert sum(row["entries"] for row in seen.table("pending_count")) == 6000
    assert {row["present"] for row in seen.table("pending")} == {1}


def test_server_dies_between_groups(redis_server, watch, name):
    """Groups that were not reached have rows that say so: they are not gone."""
    r = redis_server.client()
    add(r, name, 5)
    for group in "abc":
        r.xgroup_create(name, group, "0")
        read(r, name, group, "c", 5)
    between = Impostor(redis_server, lambda args, *_: stop(between) if args[0] == b"XPENDING" and args[2] == b"b" else None)
    seen = watch(between.url, {"w": {"key": name}}).look()
    groups = {group.decode(): row for (_, group), row in seen.groups().items()}
    assert seen.code == 1 and set(groups) == set("abc")
    assert groups["a"]["kept"] == 5 and groups["b"]["trouble"] and groups["c"]["trouble"] == "the server does not answer"
    assert groups["c"]["pending"] == 5 and groups["c"]["listed"] is None
    assert len(seen.troubles()) == 1


def stop(between):
    between.rule = lambda *_: b""
    between.close()
    return b""


def test_large_entries(redis_server, watch, name):
    r = redis_server.client()
    add(r, name, 40, blob="x" * 1_000_000)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 40)
    seen = watch(redis_server, {"w": {"key": name, "dlq": name}}).look()
    assert seen.code == 0 and len(seen.table("pending")) == len(seen.table("stream_dlq_entry")) == 40
    r.delete(name)


# -- dead letters --------------------------------------------------------------------------------------------------


def test_dlq(any_redis, watch, name):
    r = any_redis.client()
    key, dlq = f"{name}:s", f"{name}:dlq"
    ids = add(r, key, 6)
    r.xgroup_create(key, b"g\xff", "0")
    read(r, key, b"g\xff", "c", 6)
    told = [r.xadd(dlq, {"why": "poison", "from": ids[0], "group": b"g\xff", "again": ids[1]}), r.xadd(dlq, r.xrange(key, ids[2], ids[2])[0][1]),
            r.xadd(dlq, {"g\xff": ids[1].decode() + "0x", "h": "other"})]
    seen = watch(any_redis, {"w": {"key": key, "dlq": dlq}}).look()
    assert seen.code == 0, seen.err
    row = next(row for row in seen.table("stream") if row["role"] == "dlq")
    assert (row["redis_key"], row["present"], row["length"], row["listed"]) == (dlq.encode(), 1, 3, 3)
    rows = {row["entry"]: row for row in seen.table("stream_dlq_entry")}
    assert [(rows[blob(i)]["source"], rows[blob(i)]["grp"]) for i in told] == [(blob(ids[0]), b"g\xff"), (None, None), (None, None)]
    pending = seen.pending(seen.groups()[key.encode(), b"g\xff"])
    assert rows[blob(told[1])]["content"] == pending[blob(ids[2])]["content"]
    fewer = watch(any_redis, {"w": {"key": key, "dlq": dlq}}, **{"pending.keys": 2}).look()
    assert {row["entry"] for row in fewer.table("stream_dlq_entry")} == {blob(i) for i in told[1:]}
    assert next(row for row in fewer.table("stream") if row["role"] == "dlq")["listed"] == 2


# -- from run to run -----------------------------------------------------------------------------------------------


def test_vanished(redis_server, watch, name):
    r = redis_server.client()
    for key in ("a", "b"):
        add(r, f"{name}:{key}", 3)
    seen = watch(redis_server, {"w": {"key": f"{name}:*"}}).look()
    r.delete(f"{name}:b")
    seen.look()
    assert seen.code == 0
    assert {k: (row["present"], row["trouble"]) for k, row in seen.streams().items()} == {
        f"{name}:a".encode(): (1, None), f"{name}:b".encode(): (0, None)}
    assert set(seen.look().streams()) == {f"{name}:a".encode()}


def test_old_pending_rows_go(redis_server, watch, name):
    r = redis_server.client()
    add(r, name, 50)
    add(r, f"{name}:dlq", 50)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 50)
    seen = watch(redis_server, {"w": {"key": name, "dlq": f"{name}:dlq"}})
    for run in range(1, 5):
        seen.look()
        by_run = seen.query("SELECT run_id, count(*) AS n FROM pending JOIN stream_group USING (group_id) GROUP BY run_id")
        assert {row["run_id"]: row["n"] for row in by_run} == {i: 50 for i in (run - 1, run) if i}
        dlq = seen.query("SELECT run_id, count(*) AS n FROM stream_dlq_entry JOIN stream USING (stream_id) GROUP BY run_id")
        assert {row["run_id"]: row["n"] for row in dlq} == {i: 50 for i in (run - 1, run) if i}
    r.rename(name, f"{name}:away")
    seen.look()             # a run that saw nothing does not take the last that did
    r.rename(f"{name}:away", name)
    assert seen.query("SELECT max(run_id) AS r FROM pending JOIN stream_group USING (group_id)") == [{"r": 4}]


# -- alone ---------------------------------------------------------------------------------------------------------


def test_no_kafka(redis_server, watch, fencepost, name):
    """A config of streams alone ends well, and nobody looks for a broker."""
    r = redis_server.client()
    add(r, name, 3)
    r.xgroup_create(name, "g", "0")
    seen = watch(redis_server, {"w": {"key": name, "group": "g"}})
    trace = seen.folder / "trace"
    done = subprocess.run(["strace", "-f", "-e", "trace=connect,clone,clone3", "-o", trace, fencepost.path, "sample", "-c", seen.path],
                          cwd=seen.folder, capture_output=True, text=True) if have("strace") else seen.look()
    assert getattr(done, "returncode", None) in (0, None) and getattr(done, "code", 0) == 0
    if trace.exists():
        assert trace.read_text().count("connect(") == 1
    assert {row["name"] for row in seen.table("stage")} >= {"streams"}


def have(program):
    return subprocess.run(["which", program], capture_output=True).returncode == 0


def test_replay_does_not_look(redis_server, watch, name):
    seen = watch(redis_server, {"w": {"key": name}}).look("replay")
    assert seen.table("stream_watch") == []


def test_stopped(redis_server, watch, name):
    """A deadline ends the look between two pages; what is there says so."""
    r = redis_server.client()
    add(r, name, 3000)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 3000)
    seen = watch(redis_server, {"w": {"key": name}})
    seen.configure({"w": {"key": name}}, redis={"rate": 1000})
    done = subprocess.run([seen.program, "sample", "-c", seen.path, "--deadline", "1s"], cwd=seen.folder, capture_output=True, text=True)
    assert done.returncode == 1
    group = seen.groups()[name.encode(), b"g"]
    assert group["trouble"] == "stopped" and 0 < group["listed"] < 3000 and seen.table("stream_watch")[0]["looked"] == 0


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["stream-names", "stream-info", "stream-pending", "stream-range", "stream-confirm", "stream-rows"])
@pytest.mark.skipif(not FAULTY.exists(), reason="run make FAULTS=1 all")
def test_faults(redis_server, watch, name, fault):
    r = redis_server.client()
    add(r, name, 30)
    r.xgroup_create(name, "g", "0")
    read(r, name, "g", "c", 30)
    seen = watch(redis_server, {"w": {"key": f"{name}*", "idle": "1ms"}}).look(program=FAULTY, env={"FENCEPOST_FAULT": fault})
    assert seen.code == 1, seen.err
    looked = seen.table("stream_watch")
    assert [row["looked"] for row in looked] in ([0], [None]) and ("refused" in seen.err)
