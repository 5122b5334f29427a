"""A reference pipeline under audit: its config, its audits, and what they said, for comparison as a whole."""
import json
from types import SimpleNamespace

from confluent_kafka import Consumer, Producer, TopicPartition

import cli
import reference

# What a worker is told, and the keys of the config that say the same.
WORKER = {"state": "--state", "tombstones": "--tombstones", "key.format": "--key-format", "isolation": "--isolation",
          "rejects": "--rejects"}


class Audited(reference.Pipeline):
    """The reference pipeline NAME on a broker (kafka_broker.Broker) and a Redis, with fencepost.yaml in folder.

    settings: of the pipeline's section; the worker gets those that concern it. top: entries before the sections.
    """

    def __init__(self, tools, broker, redis_server, partitions=6, topic=None, top=None, **settings):
        super().__init__(tools.pipeline_bin, broker.bootstrap, redis_server, tools.name)
        self.broker, self.redis_server, self.folder, self.partitions = broker, redis_server, tools.folder, partitions
        self.fencepost = tools.fencepost
        self.top = top or {}
        self.settings = {"state": "count", "dlq": self.dlq, **_dotted(settings)}
        self.audits = 0
        broker.create_topic(self.topic, partitions, topic)
        for name in (self.output, self.dlq):
            broker.create_topic(name, 1)

    # -- the pipeline ----------------------------------------------------------------------------------------------

    def _told(self):
        return [word for key, option in WORKER.items() if key in self.settings for word in (option, self.settings[key])]

    def work(self, *args, **kwargs):
        return super().work(*self._told(), *args, **kwargs)

    def start(self, *args, **kwargs):
        return super().start(*self._told(), *args, **kwargs)

    def fault(self, name, *args, **kwargs):
        told = [word for key in ("state", "tombstones", "key.format") if key in self.settings
                for word in (WORKER[key], self.settings[key])]
        return super().fault(name, *told, *args, **kwargs)

    def harm(self, name, key, *args, **kwargs):
        """A fault on one key; its facts."""
        [facts] = self.fault(name, "--key-hex", key.hex(), *args, **kwargs)
        return SimpleNamespace(**facts)

    def hash(self, key):
        return self.prefix + key

    def home(self, key, partitions=None):
        return reference.home(key, partitions or self.partitions)

    def produce(self, pairs, topic=None, partition=None, headers=None):
        """Sends (key, value) pairs, to the keys' homes unless a partition is named; gives [(partition, offset)]."""
        placed, pairs = [], list(pairs)
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5})
        for key, value in pairs:
            producer.produce(topic or self.topic, value, key, headers=headers or {},
                             partition=self.home(key) if partition is None else partition,
                             on_delivery=lambda e, m: placed.append(e or (m.partition(), m.offset())))
        assert producer.flush(30) == 0 and len(placed) == len(pairs)
        assert all(isinstance(place, tuple) for place in placed), placed
        return placed

    def commit(self, offsets):
        """Commits {partition: offset} for the group, which nobody is in."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.group})
        consumer.commit(offsets=[TopicPartition(self.topic, p, o) for p, o in offsets.items()], asynchronous=False)
        consumer.close()

    def by_key(self, isolation="read_committed"):
        """{key: its records, in order}, null keys left out."""
        keys = {}
        for record in self.read(isolation=isolation):
            if record.key is not None:
                keys.setdefault(record.key, []).append(record)
        return keys

    # -- the audit -------------------------------------------------------------------------------------------------

    def configure(self, index="fencepost.db", kafka=None, redis=None, **settings):
        """Writes the config; a setting of None is left out."""
        mine = {"topic": self.topic, "group": self.group, "key": self.key, "epoch": "epoch:{topic}:{partition}",
                **self.settings, **_dotted(settings)}
        config = {**self.top, "index": index, "kafka": {"bootstrap.servers": self.bootstrap, **(kafka or {})},
                  "redis": {"url": self.redis_server.unix_url, **(redis or {})},
                  "pipelines": {self.topic: {k: v for k, v in mine.items() if v is not None}}}
        path = self.folder / "fencepost.yaml"
        path.write_text(json.dumps(config, indent=1))       # YAML holds JSON
        return path

    def audit(self, *options, code=None, timeout=60, **settings):
        """One audit with the config written anew; code: the exit status it must have."""
        self.audits += 1
        out = self.folder / f"report-{self.audits}"
        path = self.configure(**settings)
        done = self.fencepost.run(["audit", "-q", "-c", path, "-o", out, *options], cwd=self.folder, timeout=timeout)
        audit = Audit(done, out, self.topic)
        if code is not None:
            assert audit.code == code, str(audit)
        return audit

    def clean(self, *options, **settings):
        """An audit that must find nothing, not even something to know, and must have looked at everything."""
        audit = self.audit(*options, code=0, **settings)
        assert audit.found() == set(), str(audit)
        assert {(f["check"], f["severity"]) for f in audit.servers} <= {("redis-replication-weak", "info"),
                                                                        ("redis-failed-over", "info")}, audit.servers
        assert (audit.status, audit.complete) == ("clean", True), str(audit)
        assert not any("not-replayed" in check.unverifiable for check in audit.checks.values()), str(audit)
        return audit


class Audit:
    """.code .out .err; with a report also .findings .summary .pipeline .status .complete and check(NAME)."""

    def __init__(self, done, out, name):
        self.code, self.out, self.err = done.code, done.out, done.err
        self.reported = out.exists()
        if not self.reported:
            return
        self.report = cli.Report(out)
        self.summary = self.report.summary
        self.findings = self.report.of_pipelines
        self.servers = [f for f in self.report.findings if f["check"].startswith("redis-") and not f["pipeline"]]
        [self.pipeline] = [p for p in self.summary["pipelines"] if p["name"] == name]
        self.status, self.complete = self.summary["status"], self.summary["complete"]
        self.checks = {c["check"]: SimpleNamespace(
            status=c["status"], examined=c["examined"], findings=c["findings"],
            unverifiable={u["reason"]: u["subjects"] for u in c["unverifiable"]}) for c in self.pipeline["checks"]}
        told = {name: check.findings for name, check in self.checks.items() if check.findings}
        listed = {}
        for finding in self.findings:
            listed[finding["check"]] = listed.get(finding["check"], 0) + 1
        assert told == listed, f"the summary counts {told}, the file holds {listed}"

    def __str__(self):
        lines = [f"exit {self.code}", self.out, self.err]
        if self.reported:
            lines += [f"{f['check']} {f['partition']}/{f['offset']} {f['key_hex']}: {f['detail']} {f['evidence']}"[:400]
                      for f in (self.findings + self.servers)[:20]]
            lines += [f"{name}: {c.status} {c.examined} {c.unverifiable}" for name, c in self.checks.items()]
        return "\n".join(lines)

    def check(self, name):
        return self.checks[name]

    def unverifiable(self, name):
        return self.checks[name].unverifiable

    def found(self):
        """Every finding as (check, key in hex, partition, offset)."""
        found = [(f["check"], f["key_hex"], f["partition"], f["offset"]) for f in self.findings]
        assert len(found) == len(set(found)), str(self)
        return set(found)

    def one(self, check, key=None):
        """The only finding of a check (on a key)."""
        [finding] = [f for f in self.findings
                     if f["check"] == check and key in (None, bytes.fromhex(f["key_hex"] or ""))]
        return SimpleNamespace(**finding)

    def horizon(self):
        """{partition: what the summary says of it}"""
        [topic] = [t for t in self.pipeline["topics"] if t["role"] == "source"]
        return {h["partition"]: h for h in topic["horizon"]}


def _dotted(settings):
    """Names of settings as Python's keywords: partitions_before is partitions.before."""
    return {name.replace("_", "."): value for name, value in settings.items()}
