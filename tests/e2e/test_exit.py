"""Exit statuses 0, 1, 2, 64 and 75, each with the words that say why; and what an audit cut short leaves behind."""
import json
import signal
import sqlite3
import subprocess
import time

import pytest

import reference
from audited import Audited
from child import free_port


@pytest.fixture
def pipe(tools, broker, redis_server):
    """400 records of 150 keys, applied and committed."""
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.generate("--records", 400, "--keys", 150, "--seed", 1)
    pipe.work()
    return pipe


def run(pipe, *args, code, **kwargs):
    done = pipe.fencepost.run(args, cwd=pipe.folder, **kwargs)
    assert done.code == code, done.out + done.err
    return done


def wait(true, seconds=20):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


# -- 0 and 2 ---------------------------------------------------------------------------------------------------------

def test_clean_and_findings(pipe):
    audit = pipe.clean()
    assert audit.out.startswith(f"{pipe.topic}  CLEAN  ")
    pipe.harm("fence-lost", b"user-1")
    audit = pipe.audit(code=2)
    assert audit.out.startswith(f"{pipe.topic}  FINDINGS  fence-missing 1 of {len(pipe.by_key())} keys")
    run(pipe, "check", code=2)
    run(pipe, "report", "1", "-o", "again", code=0)
    run(pipe, "report", "2", "-o", "other", code=2)
    run(pipe, "report", "3", "-o", "none", code=1)
    done = run(pipe, "check", "1", "--format", "json", code=0)
    assert json.loads(done.out)["run"] == 1


@pytest.mark.parametrize("level, code", [("info", 2), ("warning", 2), ("error", 0)])
def test_fail_on(pipe, level, code):
    pipe.top["fail.on"] = level
    pipe.fault("epoch-deleted", "--partition", 1)       # a warning
    audit = pipe.audit(code=code)
    assert {f["check"] for f in audit.findings} == {"epoch-missing"}


def test_information_is_no_failure_unless_asked(pipe):
    pipe.fault("commit-deleted", "--partition", 1)
    assert {f["check"] for f in pipe.audit(code=0).findings} == {"commit-missing"}
    pipe.top["fail.on"] = "info"
    pipe.audit(code=2)


# -- 1: something could not be looked at -----------------------------------------------------------------------------

def test_unreachable_broker(pipe):
    port = free_port()
    began = time.monotonic()
    audit = pipe.audit("--timeout", "3s", code=1, kafka={"bootstrap.servers": f"127.0.0.1:{port}"})
    assert time.monotonic() - began < 20
    assert f"127.0.0.1:{port}" in audit.err and audit.findings == [] and audit.status == "incomplete", str(audit)
    assert "CLEAN" not in audit.out and "INCOMPLETE" in audit.out


def test_unreachable_redis(pipe):
    """Fences are not looked at; what Kafka alone shows is."""
    port = free_port()
    pipe.produce([(b"user-1", b"v")], partition=(pipe.home(b"user-1") + 1) % 3)
    audit = pipe.audit("--timeout", "3s", code=2, redis={"url": f"redis://127.0.0.1:{port}/0"})
    assert f"127.0.0.1:{port}" in audit.err and not audit.complete
    assert {f["check"] for f in audit.findings} == {"copartition-break", "copartition-cause"}, str(audit)
    assert "INCOMPLETE" in audit.out
    assert all(c.examined == 0 and c.status != "pass" for name, c in audit.checks.items() if name.startswith("fence-"))


def test_unreachable_redis_alone(pipe):
    audit = pipe.audit("--timeout", "3s", code=1, redis={"url": f"redis://127.0.0.1:{free_port()}/0"})
    assert audit.status == "incomplete" and audit.findings == []


@pytest.mark.parametrize("topic, words", [("no-such-topic", "no-such-topic"), ("^no-such-.*", "no topic matches")])
def test_a_topic_that_is_not_there(pipe, topic, words):
    audit = pipe.audit(code=1, topic=topic)
    assert words in audit.err, str(audit)
    assert audit.status == "incomplete"


def test_a_partition_that_cannot_be_read(pipe):
    """A damaged batch on the broker's disk: that partition is named and left, the others are looked at."""
    pipe.harm("fence-lost", next(k for k in sorted(pipe.by_key()) if pipe.home(k) == 1))
    lost = pipe.harm("fence-lost", next(k for k in sorted(pipe.by_key()) if pipe.home(k) == 2))
    [log] = (pipe.broker.dir / "data" / f"{pipe.topic}-1").glob("*.log")
    with open(log, "r+b") as f:
        f.seek(log.stat().st_size // 2)
        byte = f.read(1)
        f.seek(-1, 1)
        f.write(bytes([byte[0] ^ 0x5a]))
    audit = pipe.audit("--timeout", "5s", code=2)
    assert not audit.complete and f"{pipe.topic}/1" in audit.err
    assert audit.found() == {("fence-missing", lost.key_hex, 2, lost.newest)}, str(audit)
    assert [p for p, h in audit.horizon().items() if not h["covered"]] == [1]
    assert audit.unverifiable("copartition-break") == {"not-replayed": 1}
    there = sum(pipe.home(k) == 1 for k in pipe.states())
    for check in ("fence-regressed", "fence-phantom", "fence-aborted", "fence-orphan"):
        assert audit.unverifiable(check) == {"not-replayed": there}, str(audit)
    assert audit.unverifiable("fence-count") == {"fence-not-in-history": there}


def test_commits_that_must_not_be_read(tools, acl_broker, redis_server):
    pipe = Audited(tools, acl_broker, redis_server, dlq=None)
    pipe.generate("--records", 300, "--keys", 40, "--seed", 1)
    pipe.work()
    pipe.harm("fence-back", b"user-1")
    acl_broker.allow("auditor", "topic", pipe.topic, "READ", "DESCRIBE", "DESCRIBE_CONFIGS")
    began = time.monotonic()
    audit = pipe.audit(code=1, kafka=acl_broker.sasl("auditor"))
    assert time.monotonic() - began < 10 and "authoriz" in audit.err and audit.findings == []
    assert audit.unverifiable("fence-regressed") == {"commit-unknown": len(pipe.states())}
    assert audit.unverifiable("commit-missing") == audit.unverifiable("commit-beyond-log") == {"commit-unknown": 6}


def test_a_wrong_password(pipe, redis_factory):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    url = f"redis://:wr0ng@127.0.0.1:{server.port}/0"
    audit = pipe.audit(code=1, redis={"url": url})
    assert "WRONGPASS" in audit.err or "password" in audit.err, str(audit)
    assert "wr0ng" not in audit.err + audit.out


def test_nothing_at_all(tools, broker, redis_server):
    """An empty topic and no hash: nothing looked at is not nothing found, unless that is what is expected."""
    pipe = Audited(tools, broker, redis_server, partitions=3)
    audit = pipe.audit(code=1)
    assert "nothing at all was examined" in audit.out and audit.status == "incomplete", str(audit)
    pipe.top["expect.empty"] = True
    audit = pipe.audit(code=0)
    assert audit.status == "clean"


def test_findings_and_trouble(pipe):
    """Findings stand, and the summary says that there may be more."""
    facts = pipe.harm("fence-lost", b"user-1")
    path = pipe.configure()
    config = json.loads(path.read_text())
    config["pipelines"]["second"] = {**config["pipelines"][pipe.topic], "topic": "no-such-topic", "key": "other:{key}",
                                     "epoch": None}
    del config["pipelines"]["second"]["epoch"]
    path.write_text(json.dumps(config))
    done = run(pipe, "audit", "-q", "-c", path, "-o", "out", code=2)
    summary = json.loads((pipe.folder / "out/summary.json").read_text())
    assert (summary["status"], summary["complete"]) == ("findings", False)
    status = {p["name"]: (p["status"], p["complete"]) for p in summary["pipelines"]}
    assert status == {pipe.topic: ("findings", True), "second": ("incomplete", False)}, done.out
    assert {t["pipeline"] for t in summary["trouble"]} == {"second"}
    assert "no-such-topic" in summary["trouble"][0]["text"]
    assert facts.key in done.out and "INCOMPLETE" in done.out


def test_a_full_stdout(pipe):
    with open("/dev/full", "w") as full:
        done = subprocess.run([pipe.fencepost.path, "audit", "-q", "-c", pipe.configure(), "-o", "out"], stdout=full,
                              stderr=subprocess.PIPE, text=True, cwd=pipe.folder, timeout=60)
    assert done.returncode == 1 and "stdout" in done.stderr


def broken(pipe):
    """A lost state, and its words."""
    return pipe.harm("fence-lost", b"user-1").key


def test_findings_that_nobody_could_write_down(pipe):
    """They stand in the index and on stdout; the report can be written again."""
    key = broken(pipe)
    (pipe.folder / "taken").write_text("")
    metrics = pipe.folder / "now.prom"
    for output in "taken", "taken/below":
        done = run(pipe, "audit", "-q", "-c", pipe.configure(), "-o", output, "--metrics", metrics, code=2)
        assert "taken" in done.err and f"key {key} has no hash" in done.out and "next    fencepost report" in done.out
        assert "run_complete{" in metrics.read_text()
        assert [line[-2:] for line in metrics.read_text().splitlines() if line.startswith("fencepost_run_complete{")] == [" 0"]
        assert 'status="findings"} 1' in metrics.read_text()
    assert "fence-missing" in run(pipe, "report", "1", "-o", "again", code=2).out
    assert (pipe.folder / "again/findings.jsonl.zst").exists()
    run(pipe, "report", "1", "-o", "taken", code=2)


def test_a_clean_run_that_nobody_could_write_down(pipe):
    (pipe.folder / "taken").write_text("")
    done = run(pipe, "audit", "-q", "-c", pipe.configure(), "-o", "taken", code=1)
    assert "taken" in done.err and done.out == ""


def test_findings_and_a_full_stdout(pipe):
    broken(pipe)
    with open("/dev/full", "w") as full:
        done = subprocess.run([pipe.fencepost.path, "audit", "-q", "-c", pipe.configure(), "-o", "out"], stdout=full,
                              stderr=subprocess.PIPE, text=True, cwd=pipe.folder, timeout=60)
    assert done.returncode == 2 and done.stderr.count("write to stdout") == 1, done.stderr
    assert (pipe.folder / "out/summary.json").exists()


@pytest.mark.parametrize("lost, code", [(False, 1), (True, 2)])
def test_metrics_that_cannot_be_written_are_told_once(pipe, lost, code):
    if lost:
        broken(pipe)
    done = run(pipe, "audit", "-q", "-c", pipe.configure(), "-o", "out", "--metrics", "no/such/folder.prom", code=code)
    assert done.err.count("no/such/folder.prom") == 1, done.err
    assert (pipe.folder / "out/summary.json").exists()


def test_an_index_that_is_none(pipe):
    (pipe.folder / "text.db").write_text("this is no database\n" * 200)
    audit = pipe.audit(code=1, index="text.db")
    assert "text.db" in audit.err and not audit.reported
    audit = pipe.audit(code=1, index="no/such/folder/f.db")
    assert "no/such/folder/f.db" in audit.err
    pipe.clean()
    db = sqlite3.connect(pipe.folder / "fencepost.db")
    db.execute("PRAGMA user_version = 99")
    db.commit()
    db.close()
    audit = pipe.audit(code=1)
    assert "fencepost.db" in audit.err and "99" in audit.err


# -- 64: usage and config --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args, words", [
    ([], "no command"), (["adit"], "adit: no such command"), (["audit", "--al"], "--al"),
    (["audit", "x"], "argument x"),
    (["audit", "--since", "yesterday"], "--since yesterday"), (["audit", "--memory", "1"], "--memory 1"),
    (["audit", "--all", "--since", "2026-01-01T00:00:00Z"], "exclude"), (["audit", "--format", "xml"], "--format xml"),
    (["audit", "--deadline", "soon"], "--deadline soon"), (["audit", "--handles", "0"], "--handles 0"),
    (["audit", "-c", "nowhere.yaml"], "nowhere.yaml"), (["sql"], "QUERY"), (["sql", "--index", "x.db", "a", "b"], "b")])
def test_usage(fencepost, work, args, words):
    done = fencepost.run(args, cwd=work)
    assert done.code == 64 and words in done.err and done.out == "", done.err


@pytest.mark.parametrize("change, words", [
    (lambda c: c["pipelines"]["orders"].update(gruop="x"), "unknown key 'gruop'"),
    (lambda c: c["pipelines"]["orders"].update(state="counts"), "counts"),
    (lambda c: c["pipelines"]["orders"].pop("topic"), "topic"),
    (lambda c: c["pipelines"]["orders"].update(topic="^orders-["), "regular expression"),
    (lambda c: c["pipelines"]["orders"].update(key="state:"), "{key}"),
    (lambda c: c["kafka"].update({"no.such.property": "1"}), "no.such.property"),
    (lambda c: c.update({"sample.keys": "many"}), "sample.keys"),
    (lambda c: c.pop("pipelines"), "pipeline")])
def test_config(fencepost, work, change, words):
    config = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}, "redis": {"url": "redis://127.0.0.1:1/0"},
              "pipelines": {"orders": {"topic": "orders", "group": "g"}}}
    change(config)
    (work / "fencepost.yaml").write_text(json.dumps(config, indent=1))
    done = fencepost.run(["audit"], cwd=work)
    assert done.code == 64 and words in done.err and "fencepost.yaml" in done.err, done.err
    assert not (work / "reports").exists()


# -- 75: another writer ----------------------------------------------------------------------------------------------

@pytest.fixture
def slow_pipe(tools, broker, redis_factory):
    """150 keys in a Redis of their own, so that a slow rate takes seconds and no more."""
    pipe = Audited(tools, broker, redis_factory(), partitions=3)
    pipe.generate("--records", 400, "--keys", 150, "--seed", 1)
    pipe.work()
    return pipe


def test_a_second_writer(slow_pipe):
    """It is refused, or waits as long as it is told; readers are not."""
    pipe = slow_pipe
    pipe.clean()
    slow = pipe.configure(redis={"rate": 40})
    first = pipe.fencepost.popen(["audit", "-q", "-c", slow, "-o", "first"], cwd=pipe.folder)
    try:
        wait(lambda: "2" in run(pipe, "sql", "SELECT max(run_id) FROM run", code=0).out)
        done = run(pipe, "audit", "-q", "-o", "second", code=75)
        assert "fencepost.db" in done.err and not (pipe.folder / "second").exists()
        run(pipe, "check", code=75)
        began = time.monotonic()
        run(pipe, "audit", "-q", "-o", "second", "--wait", "300ms", code=75)
        assert 0.3 <= time.monotonic() - began < 3
        assert pipe.topic in run(pipe, "sql", "SELECT name FROM pipeline", code=0).out
        run(pipe, "runs", code=0)
        assert first.poll() is None
        pipe.configure()
        run(pipe, "audit", "-q", "-o", "third", "--wait", "60s", code=0)
        assert first.wait(1) == 0, first.communicate()
    finally:
        first.kill()
        first.communicate()
    assert (pipe.folder / "first").exists() and (pipe.folder / "third").exists()


# -- stopped in the middle -------------------------------------------------------------------------------------------

def assert_stopped(pipe, process, began, words):
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1, err
    assert time.monotonic() - began < 25
    assert words in err and "CLEAN" not in out, (out, err)
    assert not (pipe.folder / "out").exists()
    assert [p.name for p in pipe.folder.glob("*out*")] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_sampling(pipe, number):
    slow = pipe.configure(redis={"rate": 10})
    process = pipe.fencepost.popen(["audit", "-q", "-c", slow, "-o", "out", "--metrics", "now.prom"], cwd=pipe.folder)
    wait((pipe.folder / "fencepost.db").exists)
    time.sleep(1.5)
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(number)
    assert_stopped(pipe, process, began, "interrupted")
    status = [line for line in (pipe.folder / "now.prom").read_text().splitlines() if "run_status{" in line]
    assert [line for line in status if line.endswith(" 1")] == [line for line in status if "incomplete" in line] != []
    pipe.clean()


def test_a_signal_while_the_broker_is_silent(tools, pipeline_bin, redis_server, broker):
    """It keeps its connections and says nothing: a run that waits for it can be ended all the same."""
    mock = reference.Mock(pipeline_bin("mockbroker"), {tools.name: 3, f"{tools.name}-out": 1, f"{tools.name}-dlq": 1})
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.bootstrap = mock.bootstrap
    pipe.generate("--records", 2000, "--keys", 50, "--seed", 1)
    mock.process.send_signal(signal.SIGSTOP)
    try:
        process = pipe.fencepost.popen(["audit", "-q", "-c", pipe.configure(), "-o", "out"], cwd=pipe.folder)
        wait((pipe.folder / "fencepost.db").exists)
        time.sleep(1)
        assert process.poll() is None
        began = time.monotonic()
        process.terminate()
        assert_stopped(pipe, process, began, "interrupted")
    finally:
        mock.process.send_signal(signal.SIGCONT)
    pipe.work()
    pipe.clean()
    mock.close()


def test_deadline(pipe):
    slow = pipe.configure(redis={"rate": 10})
    began = time.monotonic()
    process = pipe.fencepost.popen(["audit", "-q", "-c", slow, "-o", "out", "--deadline", "1500ms"], cwd=pipe.folder)
    assert_stopped(pipe, process, began, "deadline")
    assert time.monotonic() - began > 1.4
    runs = run(pipe, "runs", "--format", "json", code=0)
    assert runs.out
    audit = pipe.audit("--deadline", "50s", code=0)
    assert audit.status == "clean"
