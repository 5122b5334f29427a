"""Runs the sampler alone, against real servers and against one that misbehaves in between."""

import json
import socket
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from types import SimpleNamespace

import pytest

import cli


def config_text(url, redis, pipeline):
    settings = {"url": f'"{url}"', "rate": 0, **redis}
    lines = [
        "kafka:",
        "  bootstrap.servers: unused:9092",
        "redis:",
        *(f"  {k}: {v}" for k, v in settings.items()),
        "index: i.db",
        "pipelines:",
        "  p:",
        "    topic: orders",
        "    group: g",
        *(f"    {k}: {v}" for k, v in pipeline.items()),
    ]
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
            [str(cli.built("tools") / "sample_tool"), "c.yaml", "i.db", "keys", *steps],
            cwd=self.dir,
            env=cli.environment(env),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
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
    def make(server, steps, keys=(), prefix=None, **settings):
        url = server if isinstance(server, str) else server.unix_url
        if prefix:
            settings["key"] = quoted(prefix + ":{key}")
        return Look(work, url, steps, keys, **settings)

    return make


def hset(r, key, **fields):
    r.hset(key, mapping=fields)


def quoted(text):
    return json.dumps(text)


def fill(r, prefix, count, start=0):
    pipe = r.pipeline(transaction=False)
    for i in range(start, start + count):
        pipe.hset(f"{prefix}{i}", mapping={"partition": i % 4, "offset": i})
        if i % 5000 == 4999:
            pipe.execute()
    pipe.execute()


def wait_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


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
