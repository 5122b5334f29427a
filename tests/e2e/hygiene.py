"""A small pipeline whose Redis is audited: what audits say of the server that holds its state."""
import json
import time

import cli
from handmade import Handmade


class Hygiene(Handmade):
    """A Handmade of few records; audit() runs one with what is told of redis, and gives a Said."""

    def __init__(self, tools, broker, redis_server, records=60, keys=20, **kwargs):
        super().__init__(broker, redis_server, tools.name, tools.folder, **kwargs)
        self.fencepost, self.audits = tools.fencepost, 0
        self.produce((f"k{i % keys}", f"v{i}") for i in range(records))
        self.apply()
        self.commit()

    def configure(self, redis=None, more=None, **pipeline):
        mine = {"topic": self.name, "group": self.name, "key": self.redis_key("{key}"),
                "epoch": f"epoch:{self.name}:{{partition}}", **pipeline}
        config = {"kafka": {"bootstrap.servers": self.broker.bootstrap}, "index": str(self.folder / "fencepost.db"),
                  "redis": {"url": self.redis_server.url, **(redis or {})},
                  "pipelines": {self.name: mine, **(more or {})}}
        self.config.write_text(json.dumps(config, indent=1))        # YAML holds JSON
        return self.config

    def audit(self, *options, **settings):
        self.configure(**settings)
        return self.run("audit", *options)

    def check(self):
        """Judges anew what the newest run saw, which writes no report, and has that written."""
        done = self.fencepost.run(["check", "-q", "-c", self.config], cwd=self.folder)
        said = self.run("report")
        assert said.code == done.code, done.out + done.err + str(said)
        return said

    def run(self, command, *options):
        self.audits += 1
        out = self.folder / f"report-{self.audits}"
        done = self.fencepost.run([command, "-q", "-c", self.config, "-o", out, *options], cwd=self.folder)
        return Said(done, out)


class Said:
    """.code .out .err; .found: {check: evidence} of what concerns servers, .all: names of all checks with findings."""

    def __init__(self, done, out):
        self.code, self.out, self.err = done.code, done.out, done.err
        assert out.exists(), f"exit {done.code}\n{done.out}\n{done.err}"
        report = cli.Report(out)
        self.summary, self.findings = report.summary, report.findings
        mine = [f for f in self.findings if f["check"].startswith("redis-")]
        assert len(mine) == len({f["check"] for f in mine}), str(self)
        self.found = {f["check"]: f["evidence"] for f in mine}
        self.one = {f["check"]: f for f in mine}
        self.all = {f["check"] for f in self.findings}
        self.servers = self.summary["servers"]
        self.unverifiable, self.examined, self.status = {}, {}, {}
        for block in self.servers + self.summary["pipelines"]:
            for check in block["checks"]:
                if check["check"].startswith("redis-"):
                    self.unverifiable.update({check["check"]: u["reason"] for u in check["unverifiable"]})
                    self.examined[check["check"]] = self.examined.get(check["check"], 0) + check["examined"]
                    self.status.setdefault(check["check"], check["status"])

    def kinds(self):
        """{check: the kind that its finding names}"""
        return {check: evidence.get("kind") for check, evidence in self.found.items()}

    def __str__(self):
        return "\n".join([f"exit {self.code}", self.out, self.err]
                         + [f"{f['check']}: {f['detail']} {f['evidence']}" for f in self.findings])


def until(what, seconds=20):
    """Waits until what() is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def replica_of(master, redis_factory, version):
    """A replica that has all of its master and is heard of."""
    replica = redis_factory(version, options={"replicaof": f"127.0.0.1 {master.port}"})
    until(lambda: replica.client().info("replication")["master_link_status"] == "up")
    until(lambda: master.client().info("replication").get("slave0", {}).get("state") == "online")
    return replica


def in_step(master, replica):
    """Waits until the replica has all that its master has."""
    until(lambda: replica.client().info("replication")["slave_repl_offset"]
          >= master.client().info("replication")["master_repl_offset"])
