"""Streams under audit: a server with streams of the test's own, a config, and what the audits say of them."""
import json
import time
from types import SimpleNamespace

import cli

EVERYTHING = {"lag.max": 1000, "backlog.age.max": "1m", "consumer.idle.max": "10m", "length.max": 100000}   # every limit


class Streams:
    """The stream NAME and its dead-letter stream NAME:dlq on a server. settings: of the watch, as the config has them.

    Entries age by the server's word: stale() makes it believe that their last delivery was long ago.
    """

    def __init__(self, tools, server, **settings):
        self.fencepost, self.folder, self.server = tools.fencepost, tools.folder, server
        self.name, self.dlq = tools.name, tools.name + ":dlq"
        self.settings = settings
        self.top, self.options = {}, []         # of the config, before its sections; of the command
        self.redis = server.client()
        self.audits = 0

    # -- what producers and workers do ------------------------------------------------------------------------------

    def group(self, name="billing", at="0"):
        self.redis.execute_command("XGROUP", "CREATE", self.name, name, at, "MKSTREAM")

    def add(self, n=1, key=None, **fields):
        """Adds n entries; their ids as text."""
        with self.redis.pipeline(transaction=False) as pipe:
            for i in range(n):
                pipe.xadd(key or self.name, fields or {"n": i})
            return [i.decode() for i in pipe.execute()]

    def read(self, n, consumer="worker-1", group="billing", at=">"):
        """What a worker is given; ids as text."""
        given = self.redis.xreadgroup(group, consumer, {self.name: at}, count=n)
        return [entry.decode() for _, entries in given for entry, _ in entries]

    def ack(self, ids, group="billing"):
        return self.redis.xack(self.name, group, *ids)

    def stale(self, ids, ms=3_600_000, consumer="worker-1", group="billing", deliveries=None):
        """The same consumer, the same number of deliveries unless told, and the last of them so long ago."""
        for entry in ids:
            [row] = self.redis.xpending_range(self.name, group, entry, entry, 1)
            self.redis.xclaim(self.name, group, consumer, 0, [entry], idle=ms, justid=True,
                              retrycount=deliveries or row["times_delivered"])

    def bury(self, entry, group="billing"):
        """Copies an entry to the dead-letter stream, with where it came from."""
        [(_, fields)] = self.redis.xrange(self.name, entry, entry)
        return self.redis.xadd(self.dlq, {**fields, "source": entry, "group": group}).decode()

    def info(self, group="billing"):
        return next(g for g in self.redis.xinfo_groups(self.name) if g["name"] == group.encode())

    # -- the audit --------------------------------------------------------------------------------------------------

    def audit(self, url=None, **settings):
        """One audit; .findings are those of streams, .checks[NAME] what each check of them came to."""
        self.audits += 1
        out = self.folder / f"report-{self.audits}"
        path = self.folder / "fencepost.yaml"
        watch = {"key": self.name, "dlq": self.dlq, **self.settings, **settings}
        path.write_text(json.dumps({**self.top, "index": "fencepost.db", "redis": {"url": url or self.server.unix_url},
                                    "streams": {"mine": {k.replace("_", "."): v for k, v in watch.items()}}}))
        done = self.fencepost.run(["audit", "-q", "-c", path, "-o", out, *self.options], cwd=self.folder)
        assert out.exists(), done.out + done.err
        report = cli.Report(out)
        [block] = report.summary["streams"]
        checks = {c["check"]: SimpleNamespace(
            status=c["status"], examined=c["examined"], findings=c["findings"],
            unverifiable={u["reason"]: u["subjects"] for u in c["unverifiable"]}) for c in block["checks"]
            if c["check"].startswith("stream-")}
        assert not [name for name, check in checks.items() if check.status == "error"], done.out
        findings = [SimpleNamespace(**f) for f in report.findings if f["check"].startswith("stream-")]
        return SimpleNamespace(code=done.code, out=done.out, err=done.err, findings=findings, checks=checks, block=block,
                               summary=report.summary)

    def found(self, *expected, **settings):
        """Audits; the findings, which must be these: (check, group, consumer, entry), in any order."""
        audit = self.audit(**settings)
        told = sorted((f.check, f.group, f.consumer, f.entry) for f in audit.findings)
        assert told == sorted(expected), audit.out + json.dumps([vars(f) for f in audit.findings], indent=1)
        assert all(f.stream in (self.name, self.dlq) for f in audit.findings)
        grave = any(f.severity != "info" for f in audit.findings)
        assert audit.block["status"] == ("findings" if grave else "clean"), audit.out
        assert audit.block["complete"], audit.out
        return audit

    def clean(self, **settings):
        return self.found(**settings)


def wait_until(done, timeout=10):
    end = time.monotonic() + timeout
    while not done():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
