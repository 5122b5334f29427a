"""Looks at streams on a server: the program run over one index, and what the index then holds."""
import json
import sqlite3
import struct
import subprocess
from contextlib import closing

import cli


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


def watcher(program, work):
    """Makes a Watched of streams on a server, in a directory of its own."""
    def make(url, streams, **top):
        folder = work / f"watch-{len(list(work.iterdir()))}"
        folder.mkdir()
        return Watched(program, folder, url, streams, **top)

    return make


def add(r, key, count, **fields):
    pipe = r.pipeline(transaction=False)
    for i in range(count):
        pipe.xadd(key, {"n": i, **fields})
    return pipe.execute()


def read(r, key, group, consumer, count):
    [[_, entries]] = r.xreadgroup(group, consumer, {key: ">"}, count=count)
    return [entry for entry, _ in entries]
