"""What operators get wrong, and what topics are like when nobody looks: each ends in words, and never in a false clean."""
import json
import os
import stat
import subprocess
import time

import pytest

from audited import Audited
from observe import monitor_writes

HEADER = "-- order: 5\n-- title: t\n-- severity: warning\n-- claim: c\n-- unverifiable: never\n-- remedy: r\n"
SUBJECTS = "SELECT name AS pipeline, NULL AS reason, 1 AS n FROM pipeline WHERE run_id = :run;\n"
FINDING = ("SELECT name AS pipeline, NULL AS topic, NULL AS partition, NULL AS offset, NULL AS key, NULL AS redis_key,"
           " '' AS identity, 'bad' AS detail, '{}' AS evidence FROM pipeline WHERE run_id = :run")


@pytest.fixture
def pipe(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.generate("--records", 300, "--keys", 60, "--seed", 1)
    pipe.work()
    return pipe


def run(pipe, *args, code=0, **kwargs):
    done = pipe.fencepost.run(args, cwd=pipe.folder, **kwargs)
    assert done.code == code, done.out + done.err
    return done


# -- options -----------------------------------------------------------------------------------------------------------

def test_a_check_that_is_not_there(fencepost, work):
    done = fencepost.run(["checks", "fence-mising"], cwd=work)
    assert done.code == 64 and done.out == "" and "fence-mising: no such check" in done.err


def test_json_of_every_command(pipe):
    pipe.configure()
    for args in ["replay"], ["sample"], ["check"], ["report"], ["audit", "-o", "out"]:
        told = json.loads(run(pipe, *args, "-q", "--format", "json").out)
        assert [p["name"] for p in told["pipelines"]] == [pipe.topic]
    for args in ["runs"], ["checks"], ["checks", "fence-missing"], ["sql", "SELECT * FROM run"]:
        rows = [json.loads(line) for line in run(pipe, *args, "--format", "json").out.splitlines()]
        assert rows and all(isinstance(row, dict) for row in rows)
    assert rows[0]["command"] == "replay"
    [row] = [json.loads(line) for line in run(pipe, "checks", "fence-missing", "--format", "json").out.splitlines()]
    assert row["check"] == "fence-missing" and "SELECT" in row["sql"]


def test_a_replay_that_did_its_work_does_not_say_otherwise(pipe):
    pipe.configure()
    done = run(pipe, "replay", "-q")
    assert "LOOKED" in done.out and "ended before" not in done.out, done.out


@pytest.mark.parametrize("command", ["replay", "sample", "audit"])
def test_nothing_to_look_at_is_no_success(fencepost, redis_server, work, command):
    config = {"redis": {"url": redis_server.unix_url}, "streams": {"s": {"key": "s"}}}
    (work / "fencepost.yaml").write_text(json.dumps(config))
    done = fencepost.run([command, "-q"], cwd=work)
    assert done.code == 1 and "  INCOMPLETE  " in done.out, done.out
    assert ("nothing was looked at" if command == "replay" else "there is no such stream") in done.out


def test_a_time_that_has_not_come(pipe):
    """No key was written since, so that the audit would be clean."""
    audit = pipe.audit("--since", "2099-01-01T00:00:00Z", code=64)
    assert "has not come yet" in audit.err and not audit.reported


def test_since_is_exact(tools, broker, redis_factory):
    """All keys written since, those alone, and no scan."""
    pipe = Audited(tools, broker, redis_factory(), partitions=3)
    pipe.produce((b"old-%d" % n, b"v") for n in range(300))
    time.sleep(1.1)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    time.sleep(1.1)
    pipe.produce((key % n, b"v") for key in (b"new-%d", b"old-%d") for n in range(50))
    pipe.work()
    for key in b"old-200", b"old-7", b"new-7":
        pipe.redis.delete(pipe.hash(key))
    pipe.top["sample.keys"] = 10
    with monitor_writes(pipe.redis_server) as seen:
        audit = pipe.audit("--since", since, "--redis-rate", "0", code=2)
    assert {bytes.fromhex(f["key_hex"]) for f in audit.findings} == {b"old-7", b"new-7"}, str(audit)
    assert {c.args[1] for c in seen.commands if c.name == "HMGET"} == {
        pipe.hash(key % n) for key in (b"new-%d", b"old-%d") for n in range(50)}
    assert "SCAN" not in seen.names() and seen.writes == []
    assert "fence-missing 2 of 100 keys written since" in audit.out and "(all looked at)" in audit.out


@pytest.mark.parametrize("target", ["fifo", "folder"])
def test_metrics_replace_nothing_but_a_file(pipe, target):
    """By a rename a device would become a file, for everybody."""
    path = pipe.folder / "target"
    os.mkfifo(path) if target == "fifo" else path.mkdir()
    kind = stat.S_IFMT(path.stat().st_mode)
    audit = pipe.audit("--metrics", path, code=1)
    assert stat.S_IFMT(path.stat().st_mode) == kind and "not a file" in audit.err, audit.err
    assert sorted(p.name for p in pipe.folder.glob("target*")) == ["target"]


# -- checks of one's own -----------------------------------------------------------------------------------------------

def test_checks_directory_is_read_before_the_work(pipe):
    """A mistake in it must not show after hours of replay."""
    pipe.configure()
    (pipe.folder / "mine").mkdir()
    for args in ["audit", "-o", "out"], ["replay"]:
        assert "nowhere" in run(pipe, *args, "-q", "--checks", "nowhere", code=64).err
    (pipe.folder / "mine/odd.sql").write_text(SUBJECTS + FINDING)
    assert 'title' in run(pipe, "audit", "-q", "--checks", "mine", code=64).err
    assert not (pipe.folder / "fencepost.db").exists() and not (pipe.folder / "reports").exists()


@pytest.mark.parametrize("sql, words", [
    (SUBJECTS + FINDING + ";SELECT name AS pipeline, 0 AS n FROM pipeline WHERE run_id = :run", "counts 0 findings"),
    (SUBJECTS + FINDING + ";SELECT name AS pipeline, NULL AS n FROM pipeline WHERE run_id = :run", "no count"),
    (SUBJECTS.replace("1 AS n", "NULL AS n") + FINDING + " AND 0", "no count"),
    (SUBJECTS.replace("1 AS n", "-5 AS n") + FINDING + " AND 0", "no count"),
    (SUBJECTS.replace("1 AS n", "'many' AS n") + FINDING + " AND 0", "no count"),
    (SUBJECTS + FINDING.replace("'bad'", "'critical' AS severity, 'bad'"), "severity"),
    (SUBJECTS + FINDING.replace("'bad'", "'error' AS severity, 'bad'"), "of severity warning and gives a finding of error"),
    (SUBJECTS + "DELETE FROM finding RETURNING 1", "does more than read"),
    ("ATTACH 'other.db' AS other;" + FINDING, "does more than read"),
    (SUBJECTS + FINDING + " AND json_extract('{', '$.x')", "malformed JSON")])
def test_a_check_that_is_wrong_is_trouble(pipe, sql, words):
    """It is never clean, it changes nothing, and the other checks are run."""
    (pipe.folder / "mine").mkdir()
    (pipe.folder / "mine/mine.sql").write_text(HEADER + sql + ";\n")
    audit = pipe.audit("--checks", pipe.folder / "mine", code=1)
    assert words in audit.err and audit.check("mine").status == "error" and not audit.complete, str(audit)
    assert audit.check("fence-missing").status == "pass" and not (pipe.folder / "other.db").exists()


def test_checks_of_ones_own(pipe):
    mine = pipe.folder / "mine"
    mine.mkdir()
    (mine / "mine.sql").write_text(HEADER + SUBJECTS + FINDING + ";\n")
    (mine / "fence-missing.sql").write_text(HEADER + SUBJECTS + FINDING + " AND 0;\n")
    pipe.harm("fence-lost", b"user-1")
    audit = pipe.audit("--checks", mine, code=2)
    assert [f["check"] for f in audit.findings] == ["mine"] and audit.check("fence-missing").examined == 1


# -- odd records -------------------------------------------------------------------------------------------------------

def test_record_times_that_are_none(tools, broker, redis_server):
    """Producers choose them: the first and last are told as they are, and never as 1970."""
    from confluent_kafka import Producer
    most = str(2**63 - 1)
    pipe = Audited(tools, broker, redis_server, partitions=2, topic={"message.timestamp.before.max.ms": most,
                                                                    "message.timestamp.after.max.ms": most})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    times = {"one": 1, "y9999": 253402300799000, "huge": 2**62, "most": 2**63 - 1, "least": -2**63}
    for key, ms in times.items():
        producer.produce(pipe.topic, b"1", key, partition=pipe.home(key.encode()), timestamp=ms)
    assert producer.flush(30) == 0
    assert {r.key.decode() for r in pipe.read()} == times.keys()
    pipe.work()
    pipe.clean()
    for key in times:
        pipe.harm("fence-lost", key.encode())
    audit = pipe.audit(code=2)
    assert {f["key"] for f in audit.findings} == times.keys()
    [lost] = [line for line in audit.out.splitlines() if line.startswith("  lost ")]
    assert lost.endswith("Z to 9999-12-31T23:59:59Z"), lost
    # the least number says that a time is not known: the index has the next one
    last = {f["key"]: f["evidence"]["last_lost"]["time_ms"] for f in audit.findings}
    assert last == times | {"least": -2**63 + 1}
    pipe.audit("--all", code=2)


@pytest.mark.parametrize("topic", ["empty", "null keys", "tombstones", "aborted"])
def test_topics_of_one_kind(tools, broker, redis_server, topic):
    from confluent_kafka import Producer
    pipe = Audited(tools, broker, redis_server, partitions=3)
    keys = [b"k%d" % n for n in range(40)]
    if topic == "null keys":
        pipe.produce([(None, b"v")] * 40, partition=1)
    elif topic == "tombstones":
        pipe.produce((key, None) for key in keys)
    elif topic == "aborted":
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": pipe.topic})
        producer.init_transactions()
        producer.begin_transaction()
        for key in keys:
            producer.produce(pipe.topic, b"v", key, partition=pipe.home(key))
        producer.flush()
        producer.abort_transaction()
    if topic == "empty":
        assert "nothing at all was examined" in pipe.audit(code=1).out
        return
    pipe.work()
    audit = pipe.clean()
    assert audit.check("fence-missing").examined == (40 if topic == "tombstones" else 0)
    pipe.redis.hset(pipe.hash(b"stranger"), mapping={"partition": pipe.home(b"stranger"), "offset": 0, "value": 1})
    assert pipe.audit(code=2).found() != set()


HOSTILE = [b"", b"a\x1b[31mred", b"new\nline", b"q\"uo'te", "\u202ertl".encode(), b"\0nul\0", b"\xff\xfe", b"=cmd()", b"'",
           b"comma,semi;", b"x" * 65536, b"\x7f", b"back\\slash", b"\r\n", b"{key}", b"*?[a]", b"\xc2\x85", b"\xed\xa0\x80"]


def test_hostile_keys(tools, broker, redis_server):
    """Found as they are, and harmless on a terminal, in a spreadsheet and in a shell."""
    pipe = Audited(tools, broker, redis_server, partitions=2)
    pipe.produce((key, b"v") for key in HOSTILE)
    pipe.work()
    pipe.clean()
    for key in HOSTILE:
        pipe.redis.delete(pipe.hash(key))
    audit = pipe.audit(code=2)
    assert {bytes.fromhex(f["key_hex"]) for f in audit.findings} == set(HOSTILE)
    for text in audit.out, audit.report.metrics, (audit.report.path / "summary.json").read_text():
        assert not set(text) & {"\x1b", "\0", "\r", "\x7f", "\u202e", "\x85"}, repr(text)
    for row in audit.report.csv:
        assert not any(c < " " or c in "\x7f\u202e\x85" for cell in row.values() for c in cell)
        assert not any(cell[:1] in "=+@" and cell for name, cell in row.items() if name not in ("partition", "offset"))


# -- streams of the process --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("args", ["runs", "checks", "--help", "--version", "sql 'SELECT 1'", "replay -q", "check"])
@pytest.mark.parametrize("out", [">&-", ">/dev/full"])
def test_stdout_that_takes_nothing(pipe, args, out):
    if args == "check":
        pipe.clean()
    else:
        pipe.configure()
        run(pipe, "replay", "-q")
    done = subprocess.run(["sh", "-c", f'exec "$0" {args} {out}', pipe.fencepost.path], cwd=pipe.folder, timeout=60,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "write to stdout" in done.stderr, done
