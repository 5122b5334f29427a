"""The look at Redis Streams: every column against the server's own answers, and nothing on the server moved by it."""
import random
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest

import cli
from observe import monitor_writes
from watching import add, blob, read, watcher

ALL = 2**63 - 1
READS = {"XINFO", "XPENDING", "XRANGE", "XREVRANGE", "SCAN", "TIME", "INFO", "CONFIG", "PING", "SELECT", "CLIENT", "AUTH"}


@pytest.fixture
def watch(fencepost, work):
    return watcher(fencepost.path, work)


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
