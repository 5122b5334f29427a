"""Random crash schedules of the reference pipeline, many of them side by side on one broker and one Redis, and an
oracle that knows what an audit of them must find.

A schedule is made by its seed: its pipeline (state, tombstones, key format, rejects), its records, and the rounds of
its life. In a round new records may come, then a worker runs until it crashes, perhaps with a second one that takes
over or shares the group. Between two rounds nothing runs: then the oracle looks, and one audit of all of them.
"""
import base64
import json
import random
import signal
import struct
import subprocess
import time
import uuid
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

import cli
import reference

ROUNDS = 3                      # with crashes; a last one without follows
SIDE_BY_SIDE = 6                # schedules that run at a time; those that wait for a group come on top
POINTS = ["partial", "redis", "produce", "commit"]

# Kafka key formats of the generator -> key formats of the worker that hold them
FORMATS = {"raw": ["raw", "hex", "base64"], "binary": ["raw", "hex", "base64"], "odd": ["raw", "hex", "base64"],
           "int64": ["int64"], "uuid": ["uuid"]}

REDIS_TEXT = {
    "raw": lambda key: key,
    "hex": lambda key: key.hex().encode(),
    "base64": base64.b64encode,
    "int64": lambda key: b"%d" % struct.unpack(">q", key),
    "uuid": lambda key: str(uuid.UUID(bytes=key)).encode(),
}


class Schedule:
    """What the seed says: words for the programs, settings for the config, a list of rounds."""

    def __init__(self, seed, name, real=False, orderly=True):
        r = random.Random(seed)
        self.seed, self.name, self.real, self.orderly = seed, name, real, orderly
        self.partitions = r.randint(1, 4)
        self.state = r.choice(["opaque", "last", "count", "sum"])
        self.tombstones = r.choice(["apply", "ignore", "delete"])
        self.made_format = r.choice(list(FORMATS))
        self.key_format = r.choice(FORMATS[self.made_format])
        self.rejects = r.choice(["dlq", "dlq", "silent"]) if orderly else "dlq"
        self.poison = self.rejects == "dlq" and r.random() < 0.7
        if not orderly and self.state == "sum":     # poison that was lost on its way to the DLQ is no number
            self.poison = False
        # the odd keys hold one of 64 KiB: not too often, or the mock broker trims the log
        self.keys = r.choice([60, 150] if self.made_format == "odd" else [3, 20, 60, 150])
        self.records = r.choice([60, 150, 300])
        shares = ([4, 2, 4] if real else [17, 3, 1]) if orderly else [1, 0, 0]
        self.kind = r.choices(["alone", "takeover", "group"], shares)[0]
        self.batch = r.choice([5, 20, 60])
        self.shares = ["--null-keys", r.choice([0, 0.05]), "--poison", 0.05 if self.poison else 0,
                       "--tombstones", r.choice([0, 0.05, 0.3] if orderly else [0.3])]
        self.transactions = r.choice(["none", "committed", "mixed", "interleaved"]) if real else "none"
        self.rounds = [self._round(r, n) for n in range(r.randint(1, ROUNDS))]

    def _round(self, r, n):
        """(whether records come before it, the words that make its worker crash)"""
        if not self.orderly:    # odd passes of the point come before the writes
            return True, ["--commit-first", "--crash-after", "commit", "--crash-at", r.choice([1, 3, 5])]
        crash = ["--crash-after", r.choice(POINTS), "--crash-at", r.randint(1, 5)]
        if r.random() < 0.25:
            crash = ["--crash-prob", 0.1, "--crash-seed", r.randrange(1 << 30)]
        return n == 0 or r.random() < 0.6, crash

    def make(self, n):
        """Words of the generator for round n; the last round has the number ROUNDS."""
        words = ["--records", self.records, "--keys", self.keys, "--key-format", self.made_format,
                 "--seed", self.seed * 10 + n, "--value-size", 20, *self.shares]
        if self.transactions != "none":
            words += ["--transactions", self.transactions, "--txn-size", 7, "--producers", 3]
        return words + (["--numbers"] if self.state == "sum" else [])

    def worker(self):
        words = ["--state", self.state, "--tombstones", self.tombstones, "--key-format", self.key_format,
                 "--rejects", self.rejects, "--batch", self.batch]
        return words + (["--poison"] if self.poison else [])

    def settings(self):
        """Of the pipeline's section in the config; the key template comes from the pipeline."""
        return {"topic": self.name, "group": self.name, "epoch": "epoch:{topic}:{partition}", "state": self.state,
                "tombstones": self.tombstones, "key.format": self.key_format, "rejects": self.rejects,
                "dlq": f"{self.name}-dlq"}

    def is_poison(self, record):
        return self.poison and (record.value or b"").startswith(b"poison")

    def __repr__(self):
        return (f"{self.name}: seed {self.seed}, {self.kind}, {self.state}, tombstones {self.tombstones}, keys "
                f"{self.made_format} as {self.key_format}, rejects {self.rejects}, batch {self.batch}, {self.rounds}")


class Run(reference.Pipeline):
    """A schedule at work. .crashes counts the ways its workers ended."""

    def __init__(self, schedule, pipeline_bin, bootstrap, redis_server):
        super().__init__(pipeline_bin, bootstrap, redis_server, schedule.name)
        self.schedule = schedule
        self.crashes = Counter()
        self.last = {}          # offset of the last record made, by partition

    def topics(self):
        return {self.topic: self.schedule.partitions, self.output: 1, self.dlq: 1}

    # -- rounds --------------------------------------------------------------------------------------------------------

    def round(self, n):
        """Round n, as far as the seed foresees one; round ROUNDS is the last, without a crash."""
        s = self.schedule
        if n == ROUNDS:
            return self._finish()
        if n < len(s.rounds):
            records, crash = s.rounds[n]
            if records:
                self._generate(n)
            getattr(self, "_" + s.kind + "_round")(crash)

    def _finish(self):
        """To the end. A member of a group with dead ones may at first be given a part of the topic."""
        s = self.schedule
        for _ in range(6):
            self._end("--until-end", *self._alone(), *s.worker())
            if s.kind != "group":
                return
            commits, last = self.committed(s.partitions), {r.partition: r.offset for r in self.read()}
            if all(commits[p] > last[p] for p in last):
                return

    def _generate(self, n):
        for part in self.generate(*self.schedule.make(n))["by_partition"]:
            if part["records"]:
                self.last[part["partition"]] = part["last"]

    def _alone(self):
        return [] if self.schedule.kind == "group" else ["--no-join"]

    def _end(self, *words):
        """A worker to its end, which must be a crash, a fence or the end of the topic."""
        done = subprocess.run(self.words("worker", *words), capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
        self._ended(done.returncode, done.stderr.decode(errors="replace"))

    def _ended(self, code, said):
        assert code in (0, reference.CRASHED, reference.FENCED), (repr(self.schedule), code, said[-2000:])
        if code == reference.CRASHED:
            self.crashes[said.rsplit("crash after ", 1)[1].split()[0]] += 1
        if code == reference.FENCED:
            self.crashes["fenced"] += 1

    def _alone_round(self, crash):
        self._end("--until-end", "--no-join", *self.schedule.worker(), *crash)

    def _takeover_round(self, crash):
        """A slow worker still believes in its partitions when the next one raises their epochs."""
        words = ["--until-end", "--no-join", *self.schedule.worker()]
        slow = self.start(*words, "--batch", 3, "--pause", 15)
        time.sleep(0.3)
        self._end(*words, *crash)
        _, said = slow.communicate(timeout=60)
        self._ended(slow.returncode, said)

    def _group_round(self, crash):
        """Two members share the group, one crashes, and the other is killed at once: nobody says farewell."""
        # the mock broker takes seconds to rebalance: with a shorter session its members never come together
        words = [*self.schedule.worker(), "--session", 1500 if self.schedule.real else 6000, "--pause", 5]
        members = [self.start(*words, *crash), self.start(*words, *crash)]
        until = time.monotonic() + (8 if self.schedule.real else 20)
        while all(m.poll() is None for m in members) and time.monotonic() < until and not self._idle():
            time.sleep(0.02)
        for m in members:
            m.send_signal(signal.SIGKILL)
            _, said = m.communicate(timeout=60)
            if m.returncode == -signal.SIGKILL:
                self.crashes["killed"] += 1
            else:
                self._ended(m.returncode, said)

    def _idle(self):
        """All is committed, so no crash will come. (Aborted records at an end hide it.)"""
        commits = self.committed(self.schedule.partitions)
        return all(commits[p] > last for p, last in self.last.items())


class Fleet:
    """Many runs on one broker and one Redis. folder: for config, index and reports."""

    def __init__(self, runs, fencepost, redis_server, folder):
        self.runs, self.fencepost, self.redis_server, self.folder = runs, fencepost, redis_server, folder
        self.bootstrap = runs[0].bootstrap
        self.records = defaultdict(list)        # by topic, DLQs too
        self.positions = {}
        self.audits = 0

    def round(self, n):
        """Round n of all runs, side by side. Those that wait for a group begin first and do not hold up the others."""
        slow = [run for run in self.runs if run.schedule.kind == "group"]
        with ThreadPoolExecutor(len(slow) or 1) as apart, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            waiting = [apart.submit(run.round, n) for run in slow]
            waiting += [pool.submit(run.round, n) for run in self.runs if run.schedule.kind != "group"]
            for job in waiting:
                job.result()

    # -- the audit -----------------------------------------------------------------------------------------------------

    def configure(self, index="fencepost.db"):
        pipelines = {run.topic: {"key": run.key, **run.schedule.settings()} for run in self.runs}
        config = {"kafka": {"bootstrap.servers": self.bootstrap}, "index": index,
                  "redis": {"url": self.redis_server.unix_url, "rate": 0}, "pipelines": pipelines}
        path = self.folder / "fencepost.yaml"
        path.write_text(json.dumps(config, indent=1))   # YAML holds JSON
        return path

    def audit(self, *options, index="fencepost.db", timeout=120):
        """One audit of all: (exit status, report)."""
        self.audits += 1
        out = self.folder / f"report-{self.audits}"
        done = self.fencepost.run(["audit", "-q", "-c", self.configure(index), "-o", out, *options], cwd=self.folder,
                                  timeout=timeout)
        assert out.exists(), (done.code, done.out, done.err)
        report = cli.Report(out)
        assert report.summary["complete"], (done.code, done.err, report.summary["trouble"])
        return done.code, report

    # -- the oracle ----------------------------------------------------------------------------------------------------

    def look(self):
        """{name: what an audit must find in that run now}, by other clients than fencepost's. Nothing may run."""
        self._read_records()
        states, commits = self._states(), self._commits()
        return {run.topic: must_find(run.schedule, self.records[run.topic], {r.source for r in self.records[run.dlq]},
                                     states[run.topic], commits[run.topic])
                for run in self.runs}

    def _read_records(self):
        """What came since the last look, from all topics at once."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "look", "enable.auto.commit": False,
                             "isolation.level": "read_committed", "enable.partition.eof": True,
                             "auto.offset.reset": "error", "fetch.wait.max.ms": 10, "log_level": 2})
        left = {(run.topic, p) for run in self.runs for p in range(run.schedule.partitions)}
        left |= {(run.dlq, 0) for run in self.runs}
        try:
            consumer.assign([TopicPartition(*place, self.positions.get(place, 0)) for place in left])
            while left:
                for m in consumer.consume(5000, timeout=0.1):
                    self._take(m, left)
        finally:
            consumer.close()

    def _take(self, m, left):
        place = m.topic(), m.partition()
        if not m.error():
            source = dict(m.headers() or []).get("source")
            self.records[m.topic()].append(
                reference.Record(*place, m.offset(), m.key(), m.value(), source and source.decode(), m.timestamp()[1]))
            return
        if m.error().code() != KafkaError._PARTITION_EOF:
            raise KafkaException(m.error())
        self.positions[place] = m.offset()
        left.discard(place)

    def _states(self):
        """{name: {key text: (partition, offset, value)}}"""
        client = self.redis_server.client()
        names = {run.topic.encode(): run.topic for run in self.runs}
        keys = [k for k in client.scan_iter(count=5000) if k.split(b":", 1)[0] in names]
        pipe = client.pipeline(transaction=False)
        for key in keys:
            pipe.hmget(key, "partition", "offset", "value")
        states = {run.topic: {} for run in self.runs}
        for key, (p, o, v) in zip(keys, pipe.execute()):
            name, text = key.split(b":", 1)
            states[names[name]][text] = (int(p), int(o), v)
        return states

    def _commits(self):
        """{name: [commit, or None, by partition]}"""
        def ask(run):
            return [None if c < 0 else c for c in run.committed(run.schedule.partitions)]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            return dict(zip([run.topic for run in self.runs], pool.map(ask, self.runs)))


# -- what must be found ------------------------------------------------------------------------------------------------

class Key:
    """The records of one key, in order, and what they demand of its fence."""

    def __init__(self, schedule, records, rejected, commit):
        def is_due(r):
            return commit is not None and r.offset < commit

        def is_reject(r):       # known by its copy in the DLQ, which is there before the commit
            return reference.source_of(r) in rejected or (schedule.is_poison(r) and not is_due(r))

        def is_update(r):
            return r.value is not None or schedule.tombstones == "apply"
        self.schedule, self.home = schedule, records[0].partition
        self.deletes = [r.offset for r in records if r.value is None and schedule.tombstones == "delete"]
        self.updates = [r for r in records if is_update(r) and not is_reject(r)]
        self.due = [r.offset for r in self.updates if is_due(r)]
        self.newest = max(self.due, default=-1)
        self.deleted = max((r.offset for r in records if is_due(r) and r.offset in self.deletes), default=-1)

    def fault(self, state):
        """None, or (check, partition, offset, records lost)."""
        if state is None:
            if self.newest > max(self.deletes, default=-1):
                return "fence-missing", self.home, self.newest, len(self.due)
            return None
        partition, fence, value = state
        if self.newest > self.deleted and (partition != self.home or fence < self.newest):
            return "fence-regressed", self.home, self.newest, sum(o > fence for o in self.due)
        if self.deleted > self.newest and fence < self.deleted:
            return "fence-undeleted", self.home, None, None
        return self._value_fault(fence, value)

    def _value_fault(self, fence, value):
        begin = max((d for d in self.deletes if d <= fence), default=-1)
        applied = [r for r in self.updates if begin < r.offset <= fence]
        assert applied[-1].offset == fence, "a fence on no record of the key"
        state, due = self.schedule.state, reference.fold(self.schedule.state, applied)
        if state == "opaque" or value == due or (state == "sum" and any(r.value is None for r in applied)):
            return None         # what a tombstone adds to a sum is not said
        # Records that a delete above the fence had done away with are counted from zero when they are read again.
        if any(d > fence for d in self.deletes) and (state == "sum" or state == "count" and int(value) < int(due)):
            return None
        return "fence-value" if state == "last" else "fence-count", None, None, None


def must_find(schedule, records, rejected, states, commits):
    """{(check, key in hex, partition, offset, records lost)}; what does not belong to a check is None.

    rejected: sources named in the DLQ. states: {key text: (partition, offset, value)}. commits: by partition.
    """
    keys, found = defaultdict(list), set()
    for r in sorted(records, key=lambda r: (r.partition, r.offset)):
        if r.key is not None:
            keys[r.key].append(r)
    texts = {REDIS_TEXT[schedule.key_format](key): key for key in keys}
    assert states.keys() <= texts.keys(), f"{schedule}: hashes of keys without records"
    for text, key in texts.items():
        fault = Key(schedule, keys[key], rejected, commits[keys[key][0].partition]).fault(states.get(text))
        if fault:
            found.add((fault[0], key.hex(), *fault[1:]))
    for p, commit in enumerate(commits):
        if commit is None and any(r.partition == p for r in records):
            found.add(("commit-missing", None, p, None, None))
    return found


def as_found(findings, must):
    """Findings in the same form, with what the oracle leaves open taken as given."""
    opened = {(m[0], m[1]): m for m in must}
    found = set()
    for f in findings:
        _, _, *asked = opened.get((f["check"], f["key_hex"]), (None,) * 5)
        if f["check"] == "commit-missing":
            asked = [True, None, None]
        told = f["partition"], f["offset"], f["evidence"].get("lost")
        found.add((f["check"], f["key_hex"], *(None if a is None else t for a, t in zip(asked, told))))
    return found
