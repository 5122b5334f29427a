"""Every call that can ruin a verdict, made to fail: the run must say so. It never ends clean, and a finding never goes unsaid.

The faults are those of sql/faultpoint.h; build-faults/ (or FAULTS_BUILD) holds the program that has them. Each fault is met at its first pass, in the
middle, at its last one, and at every one, in an audit of a healthy pipeline and in one of a pipeline with one fence set back. Each audit resumes an
index that knows half of the history.
"""
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import cli
import reference

BUILD = cli.ROOT / os.environ.get("FAULTS_BUILD", "build-faults")
LIST = BUILD / "tools" / "fault_list"
FAULTS = subprocess.run([LIST], capture_output=True, text=True, check=True).stdout.splitlines() if LIST.exists() else []
FAULTS = [line.split("\t")[0] for line in FAULTS]
FAULTS = [fault for fault in FAULTS if not fault.startswith("stream-")]     # test_streams_look_broken.py meets these

# Need a real broker: the mock has no admin requests and no markers of transactions. The last needs a mapping that does not fit.
REAL = {"kafka-config", "kafka-group", "kafka-eof", "kafka-position", "kafka-watermarks", "reread"}
GUARD = {"redis-exists"}
# What stays unknown is said in the report, and takes nothing from the verdict.
UNKNOWN = {"kafka-admin", "kafka-config", "kafka-group"}
# One failure is made good by another try, or by looking at fewer keys.
RECOVERS = {"redis-drop", "keyset-full", "fold-full", "fold-thread", "kafka-eof"}
SMALLER = {"keyset-full", "fold-full"}
# The report may stand, whole and true, before these fail: then the words on stderr and the exit status are left.
AFTERWARDS = {"stdout", "report-sync", "report-row", "report-write", "report-fsync", "report-close", "report-rename", "db-step", "db-prepare",
              "db-commit", "db-script"}
NEVER = 10 ** 9


class World:
    """A pipeline, the index of its first half, and audits of the whole of it under faults."""

    def __init__(self, pipe, folder):
        self.pipe, self.folder, self.runs = pipe, folder, 0
        self.configure()

    def configure(self, name="fencepost.yaml", **settings):
        pipeline = {"topic": self.pipe.topic, "group": self.pipe.group, "key": self.pipe.key, "epoch": "epoch:{topic}:{partition}",
                    "state": "count", "dlq": self.pipe.dlq, **settings}
        config = {"index": "fencepost.db", "kafka": {"bootstrap.servers": self.pipe.bootstrap}, "redis": {"url": f"unix://{self.pipe.sock}"},
                  "pipelines": {self.pipe.topic: pipeline}}
        (self.folder / name).write_text(json.dumps(config))
        return self.folder / name

    def audit(self, faults, base=True, index=None, config="fencepost.yaml"):
        """An audit under faults, in a directory of its own that begins with the base's index, or another one."""
        self.runs += 1
        work = self.folder / f"run-{self.runs}"
        work.mkdir()
        if base:
            shutil.copy(index or self.folder / "base.db", work / "fencepost.db")
        done = subprocess.run([BUILD / "fencepost", "audit", "-q", "-c", self.folder / config, "--index", "fencepost.db", "-o", "out",
                               "--metrics", "fencepost.prom", "--timeout", "2s"], cwd=work, capture_output=True, text=True, timeout=60,
                              env=cli.environment({"FENCEPOST_FAULT": faults}))
        return Outcome(faults, done, work)


class Outcome:
    def __init__(self, faults, done, work):
        self.faults, self.code, self.out, self.err, self.work = faults, done.returncode, done.stdout, done.stderr, work
        self.reported = (work / "out").exists()
        self.fired = f"fault {faults.split(':')[0]} never fired" not in self.err
        if self.reported:
            report = cli.Report(work / "out")
            self.summary = report.summary
            # what is said of the test's Redis itself is no harm that was done to the pipeline
            self.found = {(f["check"], f["key_hex"]) for f in report.findings if not f["check"].startswith("redis-")}
            self.complete = self.summary["complete"]

    def __str__(self):
        told = f", {self.summary['status']}, complete {self.complete}, {self.found}, {self.summary['trouble']}" if self.reported else ""
        return f"{self.faults}: exit {self.code}{told}\n{self.out}\n{self.err}"

    def halved(self):
        """Whether the report says that only a part of the keys was looked at."""
        [pipeline] = self.summary["pipelines"]
        strata = [s for sample in pipeline["sample"] for s in sample["strata"]]
        return all(s["fraction_ppb"] < 10 ** 9 for s in strata if s["stratum"] == "main")

    def as_well(self, plain):
        """Whether it says what an audit without faults says."""
        return self.code == plain.code and self.reported and self.complete and self.found == plain.found


def judge(outcome, plain):
    """The words of what is wrong with an outcome; none: it is as it must be."""
    name = outcome.faults.split(":")[0]
    if outcome.code == 99:
        return "the fault did not fire"
    if outcome.code not in (0, 1, 2):
        return "an exit status that nobody knows"
    if list(outcome.work.glob("*.tmp-*")):
        return "something half made was left"
    if f'fencepost_run_complete{{config="{outcome.work.parent / "fencepost.yaml"}"}} 1' in metrics(outcome) and not (
            outcome.reported and outcome.complete):
        return "the metrics say complete"
    if not outcome.fired or name in UNKNOWN:
        return None if outcome.as_well(plain) else "the verdict changed"
    if (name in RECOVERS or "looking again after: " in outcome.err) and outcome.as_well(plain):
        return None
    if name in SMALLER and ":" in outcome.faults and outcome.reported and outcome.complete:
        return None if outcome.halved() and outcome.found <= plain.found else "fewer keys were looked at, and nothing says so"
    if outcome.code == 0:
        return "it ended 0"
    if not outcome.reported:
        return None if outcome.err else "neither a report nor a word"
    if outcome.complete:
        if name in AFTERWARDS and outcome.err and outcome.found == plain.found:
            return None
        return "the report says complete"
    if outcome.found - plain.found:
        return "it found what is not there"
    return None


def metrics(outcome):
    path = outcome.work / "fencepost.prom"
    return path.read_text() if path.exists() else ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def worlds(pipeline_bin, redis70, folder):
    """.healthy and .broken: two pipelines on a mock broker."""
    assert FAULTS, f"{BUILD} is not there: run make FAULTS=1 all tools"
    names = {"healthy": "fault-healthy", "broken": "fault-broken"}
    topics = {f"{name}{end}": n for name in names.values() for end, n in (("", 3), ("-out", 1), ("-dlq", 1))}
    broker = reference.Mock(pipeline_bin("mockbroker"), topics)
    made = SimpleNamespace()
    for what, name in names.items():
        home = folder / what
        home.mkdir()
        pipe = reference.Pipeline(pipeline_bin, broker.bootstrap, redis70, name)
        setattr(made, what, grow(World(pipe, home), what == "broken"))
    yield made
    broker.close()


def grow(world, broken, *generate):
    """Half of the history, its index, the other half, and a fence set back where the pipeline is to be broken."""
    pipe = world.pipe
    for half in range(2):
        pipe.generate("--records", 500, "--keys", 120, "--seed", half, "--poison", 0.02, "--null-keys", 0.02, *generate)
        pipe.work("--state", "count", "--poison")
        if half == 0:
            first = world.audit("", base=False)
            assert first.code == 0, str(first)
            shutil.copy(first.work / "fencepost.db", world.folder / "base.db")
    world.plain = world.audit("")
    assert world.plain.code == 0 and world.plain.complete and not world.plain.found, str(world.plain)
    if broken:
        [fact] = pipe.fault("fence-back", "--state", "count", "--poison", "--nth", 7, "--records", 2)
        world.plain = world.audit("")
        assert world.plain.code == 2 and world.plain.complete, str(world.plain)
        assert world.plain.found == {("fence-regressed", fact["key_hex"])}, str(world.plain)
    world.passes = passes(world)
    return world


def passes(world):
    """{fault: how often an audit passes it}"""
    words = ",".join(f"{name}:{NEVER}?" for name in FAULTS)
    told = [line.split() for line in world.audit(words).err.splitlines() if "never fired" in line]
    return {words[2]: int(words[-2]) for words in told}


def spread(name, count, thorough):
    """Which passes of a fault are tried: all of them at once, the first alone, and some later ones, which may not come in every run."""
    tries = {"db-step": 16, "db-prepare": 10, "report-row": 6, "chunk-scan": 6}.get(name, 2)
    later = sorted({2 + (count - 2) * i // (tries - 1) for i in range(tries)} if thorough and count > 1 else ())
    return [name, f"{name}:1", *(f"{name}:{n}?" for n in later)]


def meet(world, faults, again=False):
    """Audits under each of the faults, judged; with again also the audit after each, on the index that was left."""
    def one(words):
        outcome = world.audit(words)
        what = judge(outcome, world.plain)
        if not what and again and not (after := world.audit("", index=outcome.work / "fencepost.db")).as_well(world.plain):
            what = f"the next run suffers: {after}"
        return outcome, what

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(one, faults))
    wrong = [f"{what}\n{outcome}" for outcome, what in outcomes if what]
    assert not wrong, f"{len(wrong)} of {len(outcomes)}\n\n" + "\n\n".join(wrong[:20])
    return {outcome.faults: outcome for outcome, _ in outcomes}


@pytest.mark.parametrize("words, said", [
    ("nonsense", "there is no fault nonsense"), ("db-step:0", "db-step:0: give a number from 1"), ("db-step:2x", "give a number from 1"),
    ("db-step,,stdout", "a fault without a name"),
])
def test_words_that_are_not_understood(words, said):
    done = subprocess.run([BUILD / "fencepost", "checks"], capture_output=True, text=True, env=cli.environment({"FENCEPOST_FAULT": words}))
    assert done.returncode == 64 and said in done.stderr, done.stderr


def test_a_fault_that_is_not_met():
    for words, code in (("redis-scan", 99), ("redis-scan:3,stdout?", 99), ("redis-scan?", 0)):
        done = subprocess.run([BUILD / "fencepost", "checks"], capture_output=True, text=True, env=cli.environment({"FENCEPOST_FAULT": words}))
        assert done.returncode == code and "fault redis-scan never fired: it was passed 0 times" in done.stderr, (words, done.stderr)


def test_a_build_for_operators_has_no_faults(fencepost):
    symbols = subprocess.run(["nm", fencepost.path], capture_output=True, text=True).stdout
    assert "fault_fires" not in symbols and " T main" in symbols
    assert fencepost.run(["checks"], env={"FENCEPOST_FAULT": "stdout"}).code == 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["healthy", "broken"])
def test_faults(worlds, what):
    world = getattr(worlds, what)
    mine = [name for name in FAULTS if name not in REAL | GUARD and (name != "finding-write" or what == "broken")]
    assert not [name for name in mine if not world.passes.get(name)], world.passes
    broken = what == "broken"
    outcomes = meet(world, [words for name in mine for words in spread(name, world.passes[name], broken)], again=broken)
    assert sum(o.fired for o in outcomes.values()) > 0.9 * len(outcomes)


def test_faults_of_a_mapping_that_does_not_fit(worlds):
    """The guard cannot ask which format would fit: it must not say that none does."""
    world = worlds.healthy
    config = world.configure("mapping.yaml", **{"key": world.pipe.key.replace("fault-healthy", "fault-nowhere")})
    plain = world.audit("", base=False, config=config.name)
    assert (plain.code, plain.complete) == (1, False) and "in any key.format" in plain.err, str(plain)
    for words in ("redis-exists", "redis-exists:1"):
        outcome = world.audit(words, base=False, config=config.name)
        assert (outcome.code, outcome.complete, outcome.found) == (1, False, plain.found), str(outcome)
        assert "in any key.format" not in outcome.err, str(outcome)


def test_faults_of_a_real_broker(pipeline_bin, broker, redis70, folder, name):
    for topic, partitions in ((name, 3), (f"{name}-out", 1), (f"{name}-dlq", 1)):
        broker.create_topic(topic, partitions)
    home = folder / name
    home.mkdir()
    world = World(reference.Pipeline(pipeline_bin, broker.bootstrap, redis70, name), home)
    grow(world, True, "--transactions", "mixed", "--abort-rate", 0.3)
    both = "kafka-eof,kafka-position"
    outcomes = meet(world, ["kafka-admin", "kafka-config", "kafka-group", "kafka-eof", both, f"{both},kafka-watermarks", "reread", "reread:1"])
    for words in ("kafka-admin", "kafka-config"):
        [pipeline] = outcomes[words].summary["pipelines"]
        assert {topic["cleanup_policy"] for topic in pipeline["topics"]} == {None}
    for words in ("kafka-admin", "kafka-group"):
        [pipeline] = outcomes[words].summary["pipelines"]
        assert pipeline["group"]["state"] is None and "state not known" in outcomes[words].err
