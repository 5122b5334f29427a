"""Looks at streams as rows made by hand, for the checks: what ingest would have written, without a server."""
import json
from types import SimpleNamespace

import cli
import report_index
from report_index import HOUR, STARTED

NOW = STARTED // 1000                       # the server's clock in run 1, in milliseconds
HOUR_MS = HOUR // 1000
WATCH = dict(name="orders", redis="10.2.0.7:6379/0", key="orders", group_name="*", excluded="[]", idle_ms=600_000,
             deliveries=3, pending_keys=1_000_000, looked=1)
SERVER = dict(address="10.2.0.7:6379/0", role="master", version="8.2.3", process="p1", replid="a" * 40,
              replid2="0" * 40, second_repl_offset=-1)
ALL = 2**63 - 1
EVERYTHING = dict(lag_max=10, backlog_age_max_ms=60_000, consumer_idle_max_ms=60_000, length_max=1000, dlq="orders:dlq")


def at(ms, seq=0):
    return f"{NOW + ms}-{seq}"


def blob(text):
    """The id as the index holds it."""
    return None if text is None else b"".join(int(part).to_bytes(8, "big") for part in text.split("-"))


class Looks:
    """An index with looks at the stream orders, an hour apart. Each is healthy unless told: 100 entries of the last
    second, all given to group billing, two of them pending at worker-1."""

    def __init__(self, path):
        self.index = report_index.Index(path)
        self.path = path
        self.at = {}

    def look(self, run=1, watch=None, server=None):
        self.index.run(run, reached="sampled")
        self.index.db.execute("DELETE FROM stage WHERE run_id = ?", (run,))
        look = SimpleNamespace(run=run, now=NOW + (run - 1) * HOUR_MS)
        look.watch_id = self.index.add("stream_watch", run_id=run, **{**WATCH, **(watch or {})})
        if server is not False:
            look.server_id = self.index.add("redis_server", run_id=run, read_us=look.now * 1000,
                                            **{**SERVER, **(server or {})})
        self.at[run] = look
        return look

    def stream(self, run=1, key=b"orders", role="source", **row):
        row = {**dict(present=1, length=100, last_generated=at(-1), first_entry=at(-1000), last_entry=at(-1),
                      max_deleted="0-0", entries_added=100, groups=1), **row}
        for name in ("last_generated", "first_entry", "last_entry", "max_deleted"):
            row[name] = blob(row[name])
        look = self.at[run]
        return self.index.add("stream", run_id=run, watch_id=look.watch_id, redis_key=key, role=role,
                              read_us=look.now * 1000, **{"server_ms": look.now, **row})

    def group(self, stream_id, run=1, name=b"billing", pending=(), consumers=None, **row):
        """pending: dicts with entry, idle_ms, deliveries ...; consumers: {name: row}."""
        row = {**dict(pending=len(pending), last_delivered=at(-1), entries_read=100, lag=0, threshold=ALL,
                      listed=len(pending), kept=len(pending), acknowledged=0), **row}
        consumers = {b"worker-1": {}} if consumers is None else consumers
        for column in ("pending", "entries_read", "lag"):
            row.setdefault(column + "_after", row[column])
        row.setdefault("last_delivered_after", row["last_delivered"])
        for column in ("last_delivered", "last_delivered_after"):
            row[column] = blob(row[column])
        group_id = self.index.add("stream_group", run_id=run, stream_id=stream_id, name=name,
                                  read_us=self.at[run].now * 1000,
                                  **{"consumers": len(consumers), "consumers_after": len(consumers), **row})
        ids = {}
        for consumer, more in consumers.items():
            ids[consumer] = self.index.add("stream_consumer", run_id=run, group_id=group_id, name=consumer, **{
                "pending": len(pending), "idle_ms": 500, "inactive_ms": 500, **more})
        for entry in pending:
            entry = dict(entry)
            consumer = entry.pop("consumer", b"worker-1")
            self.index.add("pending", group_id=group_id, consumer_id=ids.get(consumer), **{
                **dict(idle_ms=100, deliveries=1, present=1, content=7), **entry, "entry": blob(entry["entry"])})
        return group_id

    def dlq(self, run=1, entries=(), **row):
        """entries: (id, source, group, content)."""
        entries = list(entries)
        stream_id = self.stream(run, key=b"orders:dlq", role="dlq", **{**dict(
            length=len(entries), entries_added=len(entries), listed=len(entries), groups=0,
            last_generated=entries[-1][0] if entries else "0-0", first_entry=entries[0][0] if entries else None,
            last_entry=entries[-1][0] if entries else None), **row})
        for entry, source, grp, content in entries:
            self.index.add("stream_dlq_entry", stream_id=stream_id, entry=blob(entry), source=blob(source), grp=grp,
                           content=content)
        return stream_id

    def healthy(self, run=1, watch=None, **group):
        """A look with nothing wrong; what a group's row has instead."""
        self.look(run, watch)
        stream_id = self.stream(run)
        return self.group(stream_id, run, **{"pending": [dict(entry=at(-20)), dict(entry=at(-10))], **group})

    def check(self, run=None, code=None):
        """Checks the run; .findings .checks[NAME] with status, examined, findings, unverifiable."""
        run = run or max(self.at)
        self.index.db.commit()
        out = self.path.parent / f"report-{run}"
        done = cli.Fencepost().run(["check", run, "--index", self.path, "-q"], cwd=self.path.parent)
        assert code in (None, done.code), done.out + done.err
        report_index.tool(self.path, "write", run, out)
        report = cli.Report(out)
        [watch] = report.summary["streams"]
        checks = {c["check"]: SimpleNamespace(
            status=c["status"], examined=c["examined"], findings=c["findings"], trouble=c["trouble"],
            unverifiable={u["reason"]: u["subjects"] for u in c["unverifiable"]}) for c in watch["checks"]
            if c["check"].startswith("stream-")}
        assert not [c for c in checks.values() if c.status == "error"], done.out
        findings = [f for f in report.findings if f["check"].startswith("stream-")]
        return SimpleNamespace(code=done.code, findings=findings, checks=checks, watch=watch, out=done.out)


def one(result):
    """The only finding; all its fields that do not apply are null."""
    assert len(result.findings) == 1, json.dumps(result.findings, indent=1)
    finding = SimpleNamespace(**result.findings[0])
    assert finding.pipeline is finding.topic is finding.partition is finding.offset is None
    assert finding.key is finding.key_hex is finding.redis_key is None
    assert result.checks[finding.check].status == "fail" and result.checks[finding.check].findings == 1
    return finding


def none(result, check=None, **unverifiable):
    """No finding; and what the check could not decide."""
    assert result.findings == [], json.dumps(result.findings, indent=1)
    if check:
        told = {reason.replace("_", "-"): n for reason, n in unverifiable.items()}
        assert result.checks[check].unverifiable == told
        return result.checks[check]
    return None
