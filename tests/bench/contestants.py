"""One run of each program that takes part: every function gives a Run."""
import contextlib
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

from kafka_broker import DEFAULT, jars
from redis_server import RedisServer
from world import ROOT, built

# As kafka-run-class.sh and kafka-consumer-perf-test.sh start it.
JAVA = ["java", "-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
        "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]


def command(argv, cwd=None, code=0):
    """Runs it to the end: .out, .wall and .cpu in seconds, .peak in bytes (the kernel's VmHWM). What it leaves running is ended. code: the exit
    status that it must have."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([str(a) for a in argv], cwd=cwd, stdout=out, start_new_session=True)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode != code:
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit {process.returncode}\n{text}")
    return SimpleNamespace(out=text, wall=wall, cpu=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss << 10)


def rated(rate):
    """A Run of which only the rate is known."""
    return SimpleNamespace(rate=rate)


def _rated(run, records, seconds):
    run.records, run.seconds, run.rate = records, seconds, records / seconds
    return run


def bare(world, name, records):
    """librdkafka alone: from the making of its clients to the last record."""
    run = command([built("bench/replay_bench"), "-b", world.broker.bootstrap, name])
    told = json.loads(run.out)
    assert told["records"] == records, told
    return _rated(run, records, told["seconds"])


def replay(world, name, records):
    """fencepost replay into a fresh index: its stage from the making of the clients to the commit of the last chunk."""
    config, index = world.config(name, index="replay")
    world.clear(index)
    run = command([built("fencepost"), "replay", "-q", "-c", config], world.folder)
    assert records_in(index) == records
    _rated(run, records, stages(index)["replay"])
    world.clear(index)
    return run


def java(world, name, records):
    """Kafka's ConsumerPerformance: its own figure for fetching, without the start of Java and joining the group."""
    run = command([*JAVA, "-cp", jars(DEFAULT), "org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server",
                   world.broker.bootstrap, "--topic", name, "--num-records", records, "--timeout", 60000])
    [row] = csv.DictReader(run.out.splitlines(), skipinitialspace=True)
    assert int(row["data.consumed.in.nMsg"]) >= records, row
    return _rated(run, records, int(row["fetch.time.ms"]) / 1000)


def python(world, name, records, *tuned):
    """A dict in Python, over the first records."""
    run = command([sys.executable, ROOT / "tests" / "bench" / "python_loop.py", world.broker.bootstrap, name, records, *tuned])
    told = json.loads(run.out)
    return _rated(run, told["records"], told["seconds"])


def sample(keys):
    """One round of sample_bench: the sampler into an index, and redis-benchmark's parts on the same server."""
    run = command([built("bench/sample_bench"), keys, 1])
    told = json.loads(run.out)
    run.parts = told
    return _rated(run, keys, keys / told["sampled"])


@contextlib.contextmanager
def pending_server(entries):
    """A Redis whose stream orders has that many entries, all pending at the consumers of group workers."""
    server = RedisServer()
    try:
        command([built("bench/pending_bench"), "fill", server.sock, "orders", "workers", entries])
        yield server
    finally:
        server.close()


def bare_pending(server, entries):
    """Pages of XPENDING, and nothing done with them."""
    run = command([built("bench/pending_bench"), "read", server.sock, "orders", "workers"])
    told = json.loads(run.out)
    assert told["entries"] == entries, told
    return _rated(run, entries, told["seconds"])


def pending(server, entries, keys, idle="10d"):
    """fencepost sample of that stream alone into a fresh index: its stage streams, all that it writes included."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        config, index = os.path.join(folder, "c.yaml"), os.path.join(folder, "i.db")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"index": index, "pending.keys": keys, "redis": {"url": server.unix_url, "rate": 0},
                       "streams": {"orders": {"idle": idle}}}, f)
        run = command([built("fencepost"), "sample", "-q", "-c", config], folder)
        [(listed, kept)] = rows(index, "SELECT listed, kept FROM stream_group")
        assert listed == entries and kept <= max(keys * 1.01, 50), (listed, kept)
        return _rated(run, entries, stages(index)["streams"])


def audit(world, name, server, **config):
    """A whole audit into a fresh index; nothing is found, and all is looked at. Leaves the index."""
    path, index = world.config(name, server, **config)
    world.clear(index)
    out = world.folder / f"report-{time.monotonic_ns()}"
    run = command([built("fencepost"), "audit", "-q", "-c", path, "-o", out], world.folder)
    run.config, run.index, run.stages, run.index_bytes = path, index, stages(index), index.stat().st_size
    run.keys = one(index, "SELECT count(*) FROM fence_state")
    return run


def fold(world, audited, records):
    """The fold of an audit's run once more, as `fencepost check` does it."""
    run = command([built("fencepost"), "check", "-q", "-c", audited.config], world.folder)
    return _rated(run, records, stages(audited.index)["fold"])


def broken(world, name, records):
    """An audit without Redis that takes all keys for misplaced: two Runs, of fold, checks and attribution, and of its replay."""
    path, index = world.config(name, index="broken", pipeline={"partitioner": "murmur2_seed0_unsigned"})   # costs what murmur2 does
    world.clear(index)
    out = world.folder / f"report-{time.monotonic_ns()}"
    run = command([built("fencepost"), "audit", "-q", "-c", path, "-o", out], world.folder, code=2)
    [(kind, placer)] = rows(index, "SELECT kind, partitioner FROM cause JOIN cause_member AS m ON m.cause = cause.ordinal "
                                   "WHERE m.ordinal = 0")
    assert (kind, placer) == ("partitioner", "murmur2"), (kind, placer)
    took = stages(index)
    replayed = SimpleNamespace(wall=run.wall, cpu=run.cpu, peak=run.peak)
    world.clear(index)
    return (_rated(run, records, took["fold"] + took["check"]), _rated(replayed, records, took["replay"]))


def rows(index, query):
    db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def one(index, query):
    return rows(index, query)[0][0]


def records_in(index):
    return one(index, "SELECT sum(records) FROM chunk")


def stages(index):
    """{stage: seconds} of the newest run."""
    db = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    try:
        return {name: us / 1e6 for name, us in db.execute(
            "SELECT name, duration_us FROM stage WHERE run_id = (SELECT max(run_id) FROM stage)")}
    finally:
        db.close()
