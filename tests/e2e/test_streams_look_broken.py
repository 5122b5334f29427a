"""The look at Redis Streams while things move, fall silent or break off: nothing is there twice, missing or left unsaid."""
import contextlib
import os
import random
import select
import socket
import subprocess
import threading
import time

import pytest

import cli
from sampling import Impostor
from watching import add, blob, read, watcher

FAULTY = cli.ROOT / os.environ.get("FAULTS_BUILD", "build-faults") / "fencepost"


@pytest.fixture
def watch(fencepost, work):
    return watcher(fencepost.path, work)


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
