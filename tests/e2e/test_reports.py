"""The report directory, read by other means: zstdcat, jq, Python's csv, prometheus_client."""
import json
import os
import subprocess

import pytest

import cli
import report_index
from report_index import HOUR, tool
from report_written import EVIDENCE, NASTY, contents, faulty, samples, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fencepost.db"


def key_text(key):
    """sql/keytext.h for the keys of NASTY."""
    text = ""
    for char in key.decode("utf-8", "surrogateescape"):
        point = ord(char)
        if char in "\\\t\n\r":
            text += {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}[char]
        elif 0xdc80 <= point < 0xdd00:
            text += f"\\x{point - 0xdc00:02x}"
        elif point < 0x20 or point == 0x7f:
            text += f"\\x{point:02x}"
        elif point == 0x202e:
            text += "\\u{202e}"
        else:
            text += char
    return text


# -- findings ------------------------------------------------------------------------------------------------------------------

FIELDS = ["schema", "run", "id", "check", "severity", "pipeline", "topic", "partition", "offset", "key", "key_hex", "redis_key", "stream",
          "group", "consumer", "entry", "detail", "evidence", "remedy", "scope"]


def test_findings_jsonl(path, tmp_path):
    said, report = write(faulty(path), 1, tmp_path / "out")
    assert said == ["findings", "complete"]
    found = report.findings
    assert [(f["check"], f["id"]) for f in found] == [("fence-regressed", f"fence-regressed-{i}") for i in range(len(NASTY))] + [
        ("fence-rebased", "fence-rebased-0"), ("fence-expiring", "fence-expiring-0")]
    for finding, key in zip(found, NASTY):
        assert list(finding) == FIELDS
        assert bytes.fromhex(finding["key_hex"]) == key
        try:
            assert finding["key"] == key.decode()
        except UnicodeDecodeError:
            assert finding["key"] is None
        assert finding["redis_key"] == "state:" + key_text(key)
        assert finding["evidence"] == EVIDENCE
        assert finding["scope"] == finding["pipeline"] == "orders"
        assert finding["schema"] == 1 and finding["run"] == 1 and finding["stream"] is None
    assert found[-1]["topic"] is found[-1]["partition"] is found[-1]["offset"] is None


def test_findings_by_zstdcat_and_jq(path, tmp_path):
    index = faulty(path)
    write(index, 1, tmp_path / "out")
    jq = subprocess.run(f"zstdcat {tmp_path}/out/findings.jsonl.zst | jq -c 'select(.check == \"fence-regressed\") | [.partition, .offset]'",
                        shell=True, check=True, capture_output=True, text=True)
    assert [json.loads(line) for line in jq.stdout.splitlines()] == [[i % 3, 100 + i] for i in range(len(NASTY))]
    frame = (tmp_path / "out" / "findings.jsonl.zst").read_bytes()
    assert frame[:4] == b"\x28\xb5\x2f\xfd"
    assert frame[4] & 4 and not frame[4] & 3  # content checksum; no dictionary


def test_findings_csv(path, tmp_path):
    _, report = write(faulty(path), 1, tmp_path / "out")
    raw = cli.unzstd(report.path / "findings.csv.zst")
    assert raw.count("\r\n") == raw.count("\n") == len(NASTY) + 3  # no cell holds a line break
    rows = report.csv
    assert list(rows[0]) == ["run", "id", "check", "severity", "pipeline", "topic", "partition", "offset", "key_text", "key_hex", "redis_key",
                             "stream", "group", "consumer", "entry", "detail", "evidence", "remedy", "scope"]
    for row, finding, key in zip(rows, report.findings, NASTY):
        assert not row["key_text"].startswith(("=", "+", "-", "@"))
        text = row["key_text"][1:] if row["key_text"].startswith("'") else row["key_text"]
        assert text == key_text(key)
        assert bytes.fromhex(row["key_hex"]) == key
        assert json.loads(row["evidence"]) == finding["evidence"]
        assert int(row["offset"]) == finding["offset"]
    assert rows[-1]["topic"] == rows[-1]["partition"] == rows[-1]["offset"] == ""


def test_kept_findings_are_all_there_or_it_is_trouble(path, tmp_path):
    index = faulty(path)
    index.db.execute("UPDATE check_result SET kept = kept + 1 WHERE name = 'fence-rebased'")
    said = tool(path, "write", 1, tmp_path / "out", code=1)
    assert "fence-rebased" in said and "holds 1 of 2" in said
    assert os.listdir(tmp_path) == ["fencepost.db", "fencepost.db.lock"] or not [n for n in os.listdir(tmp_path) if n.startswith("out")]


def test_evidence_that_is_no_object_is_still_shown(path, tmp_path):
    index = faulty(path, keys=[b"k"])
    index.db.execute("UPDATE finding SET evidence = 'broken \"' WHERE name = 'fence-regressed'")
    _, report = write(index, 1, tmp_path / "out")
    assert report.findings[0]["evidence"] == {"unreadable": "broken \""}


# -- the same everywhere ---------------------------------------------------------------------------------------------------------

def locales():
    have = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    return [name for name in ("C", "C.utf8", "de_DE.utf8", "fr_FR.utf8", "ar_EG.utf8") if name in have or name == "C"]


def test_same_bytes_in_every_locale_and_time_zone(path, tmp_path):
    index = faulty(path)
    write(index, 1, tmp_path / "out")
    first, text = contents(tmp_path / "out"), tool(path, "print", 1)
    for i, (locale, zone) in enumerate((name, zone) for name in locales() for zone in ("UTC", "Asia/Kolkata", "America/St_Johns", "/none")):
        env = {"LC_ALL": locale, "LANG": locale, "TZ": zone, "LANGUAGE": "de"}
        out = tmp_path / f"out{i}"
        write(index, 1, out, env)
        assert contents(out) == first, env
        assert tool(path, "print", 1, env=env).replace(str(out), str(tmp_path / "out")) == text


def test_same_bytes_when_written_again(path, tmp_path):
    index = faulty(path)
    _, report = write(index, 1, tmp_path / "out")
    first = contents(report.path)
    index.db.execute("UPDATE run SET reached = 'reported', finished_us = started_us + 99")
    index.add("stage", run_id=1, name="report", started_us=report_index.STARTED, duration_us=123)
    report_index.healthy_run(index, 2)
    write(index, 2, tmp_path / "two")
    write(index, 1, tmp_path / "out")
    assert contents(report.path) == first
    assert sorted(n for n in os.listdir(tmp_path) if not n.startswith("fencepost.db")) == ["out", "two"]


# -- status and completeness -------------------------------------------------------------------------------------------------------

def test_clean(path, tmp_path):
    said, report = write(report_index.healthy(path), 1, tmp_path / "out")
    assert said == ["clean", "complete"]
    assert (report.summary["status"], report.summary["complete"], report.summary["trouble"]) == ("clean", True, [])
    text = tool(path, "print", 1)
    assert text.startswith("orders  CLEAN  3 checks found nothing\n")
    assert "looked  2 of 2 partitions, 2,000 records, 4 keys (all); 0 unreachable; 0 unverifiable" in text


INCOMPLETE = {
    "trouble of the pipeline": ("INSERT INTO trouble (run_id, stage, pipeline, topic, partition, text) VALUES (1, 'replay', 'orders', 'orders', 1, 'gone')",
                                "trouble replay orders/1: gone"),
    "trouble of the run": ("INSERT INTO trouble (run_id, stage, text) VALUES (1, 'sample', 'no \x1b[31mRedis')", "trouble sample: no \\x1b[31mRedis"),
    "a check that failed to run": ("UPDATE check_result SET status = 'error', trouble = 'no such column' WHERE name = 'fence-malformed'",
                                   "trouble check: fence-malformed: no such column"),
    "not checked": ("UPDATE run SET reached = 'sampled'", "trouble run: the checks were not run"),
    "killed": ("UPDATE run SET reached = 'begun'", "trouble run: the run ended before its sources had been looked at"),
    "nothing examined": ("UPDATE check_result SET examined = 0, status = 'empty'", "trouble check: nothing at all was examined"),
    "no checks": ("DELETE FROM check_result", "trouble check: nothing at all was examined"),
    "a partition not covered": ("UPDATE horizon SET covered = 0 WHERE partition = 1", "trouble replay orders/1: not replayed to its end"),
    "a topic without its history": ("UPDATE topic SET incarnation_id = NULL", "trouble replay orders: its history could not be read"),
    "a scan cut short": ("UPDATE topic SET scan_complete = 0", "trouble sample orders: the scan of Redis did not reach its end"),
    "a mapping that does not fit": ("UPDATE pipeline SET mapping = 'broken', mapping_hint = 'uuid'", "key.format uuid would fit"),
}


@pytest.mark.parametrize("what", INCOMPLETE)
def test_incomplete(path, tmp_path, what):
    index = report_index.healthy(path)
    assert write(index, 1, tmp_path / "before")[0] == ["clean", "complete"]
    sql, words = INCOMPLETE[what]
    index.db.execute(sql)
    said, report = write(index, 1, tmp_path / "out")
    assert said == ["incomplete", "incomplete"]
    assert (report.summary["status"], report.summary["complete"]) == ("incomplete", False)
    assert report.summary["pipelines"][0]["status"] == "incomplete"
    assert len(report.summary["trouble"]) == 1
    text = tool(path, "print", 1)
    assert text.startswith("orders  INCOMPLETE  not everything was looked at, so nothing is claimed; ")
    assert words in text and "CLEAN" not in text


def test_expected_emptiness_is_clean(path, tmp_path):
    index = report_index.healthy(path)
    index.db.execute("UPDATE check_result SET examined = 0, status = 'empty'")
    index.db.execute("UPDATE pipeline SET expect_empty = 1")
    assert write(index, 1, tmp_path / "out")[0] == ["clean", "complete"]
    assert "0 checks found nothing; 3 had nothing to examine" in tool(path, "print", 1)


def test_no_pipeline_is_incomplete(path, tmp_path):
    index = report_index.Index(path)
    index.run(1)
    assert write(index, 1, tmp_path / "out")[0] == ["incomplete", "incomplete"]
    assert tool(path, "print", 1).startswith("run 1  INCOMPLETE  nothing was looked at\n  trouble run: there was nothing to look at\n")


def test_findings_and_trouble(path, tmp_path):
    index = faulty(path)
    index.add("trouble", run_id=1, stage="replay", pipeline="orders", text="gone")
    said, report = write(index, 1, tmp_path / "out")
    assert said == ["findings", "incomplete"]
    assert (report.summary["status"], report.summary["complete"]) == ("findings", False)
    assert tool(path, "print", 1).startswith("orders  FINDINGS, INCOMPLETE  fence-regressed 16 of 40 keys")


def test_one_pipelines_trouble_is_not_the_others(path, tmp_path):
    index = report_index.healthy(path)
    index.topic(1, index.pipeline(1, "payments"), "payments")
    index.check(1, "fence-malformed", 1, pipeline="payments")
    index.add("trouble", run_id=1, stage="replay", pipeline="payments", text="gone")
    _, report = write(index, 1, tmp_path / "out")
    assert {p["name"]: p["status"] for p in report.summary["pipelines"]} == {"orders": "clean", "payments": "incomplete"}
    assert report.summary["status"] == "incomplete"


@pytest.mark.parametrize("fail_on, status", [("info", "findings"), ("warning", "clean"), ("error", "clean")])
def test_fail_on(path, tmp_path, fail_on, status):
    index = report_index.healthy(path)
    index.db.execute("UPDATE setting SET value = ? WHERE name = 'fail.on'", [fail_on])
    index.db.execute("UPDATE check_result SET findings = 1, kept = 1, status = 'fail' WHERE name = 'commit-missing'")
    index.finding(1, "commit-missing", 0, severity="info")
    _, report = write(index, 1, tmp_path / "out")
    assert report.summary["status"] == status
    if status == "clean":
        assert "  note    info: commit-missing 1 of 2 examined\n" in tool(path, "print", 1)


def test_no_such_run(path, tmp_path):
    report_index.healthy(path)
    assert "no run 7" in tool(path, "write", 7, tmp_path / "out", code=1)


# -- text ----------------------------------------------------------------------------------------------------------------------------

def test_text_of_findings(path, tmp_path):
    index = faulty(path)
    index.db.execute("UPDATE check_result SET findings = 1284, examined = 48112 WHERE name = 'fence-regressed'")
    index.db.execute("UPDATE run SET since_us = started_us")
    write(index, 1, tmp_path / "out dir")
    text = tool(path, "print", 1)
    lines = text.splitlines()
    assert lines[0] == "orders  FINDINGS  fence-regressed 1,284 of 48,112 keys written since 02:30:00Z (all looked at)"
    assert [line[:10] for line in lines[1:6]] == ["  found   "] * 5
    assert lines[6] == "          and 1,279 more"
    assert lines[7] == "  remedy  replay the key"
    assert lines[8].startswith("                  fence-expiring 1 of 4 keys")
    assert "  lost    at least 32 records  p0 [100,201)  p1 [100,201)  p2 [100,201)  2026-11-29T02:30:00Z to 02:30:04Z" in lines
    assert "  note    info: fence-rebased 1 of 4 keys written since 02:30:00Z (all looked at)" in lines
    assert lines[-1] == f"  next    zstdcat '{tmp_path}/out dir/findings.jsonl.zst' | jq ."
    assert all(c == "\n" or c >= " " and c != "\x7f" and c != "\u202e" for c in text)


def test_text_of_another_partitioner(path, tmp_path):
    index = report_index.healthy(path)
    line = "  placed  by crc32/windowed; joins of Kafka Streams place and look for keys by murmur2 and will not find these"
    write(index, 1, tmp_path / "out")
    assert "  placed  " not in tool(path, "print", 1)
    index.db.execute("UPDATE pipeline SET partitioner = 'crc32/windowed'")
    _, report = write(index, 1, tmp_path / "again")
    assert line in tool(path, "print", 1).splitlines()
    assert report.summary["pipelines"][0]["partitioner"] == "crc32/windowed"


def test_text_of_a_new_master(path, tmp_path):
    index = report_index.healthy(path)
    report_index.healthy_run(index, 2)
    index.db.execute("UPDATE redis_server SET replid = ?, replid2 = ?, process = 'p2' WHERE run_id = 2", ["77aa" + "1" * 36, "8f3c" + "0" * 36])
    assert "  redis   new master since run 1 (replid 8f3c -> 77aa), now 10.2.0.7:6379, master, 7.0.15\n" in tool(path, "print", 2)
    index.db.execute("UPDATE redis_server SET replid2 = ? WHERE run_id = 2", ["0" * 40])
    assert "  redis   restarted or replaced since run 1 (replid 8f3c -> 77aa), now " in tool(path, "print", 2)
    index.db.execute("UPDATE redis_server SET replid = ? WHERE run_id = 2", ["8f3c" + "0" * 36])
    assert "  redis   restarted since run 1, same replid; " in tool(path, "print", 2)
    index.db.execute("UPDATE redis_server SET process = 'p1' WHERE run_id = 2")
    assert "  redis   10.2.0.7:6379, master, 7.0.15, unchanged since run 1\n" in tool(path, "print", 2)
    index.db.execute("DELETE FROM redis_server WHERE run_id = 2")
    assert "  redis   10.2.0.7:6379/0, not seen\n" in tool(path, "print", 2)


def test_looked(path):
    index = report_index.healthy(path)
    index.db.execute("DELETE FROM check_result")
    index.db.execute("UPDATE run SET reached = 'sampled'")
    assert tool(path, "looked", 1).startswith("orders  LOOKED  no check was run\n  trouble run: the checks were not run\n")
    index.add("trouble", run_id=1, stage="replay", pipeline="orders", text="gone")
    assert tool(path, "looked", 1).startswith("orders  INCOMPLETE  no check was run\n")


def test_json_is_the_summary(path, tmp_path):
    index = faulty(path)
    write(index, 1, tmp_path / "out")
    assert tool(path, "json", 1) == (tmp_path / "out" / "summary.json").read_text()


# -- samples -------------------------------------------------------------------------------------------------------------------------

def upper_bound(bad, decided):
    """P(X <= bad | decided, p) = 0.05 for p, by exact sums."""
    from math import comb
    low, high = bad / decided, 1.0
    for _ in range(100):
        p = (low + high) / 2
        tail = sum(comb(decided, k) * p**k * (1 - p)**(decided - k) for k in range(bad + 1))
        low, high = (p, high) if tail > 0.05 else (low, p)
    return high


def test_bound_of_a_sample(path, tmp_path):
    index = faulty(path, keys=[b"k%d" % i for i in range(40)])
    index.db.execute("DELETE FROM finding WHERE name = 'fence-regressed' AND ordinal >= 2")
    index.db.execute("UPDATE check_result SET findings = 2, kept = 2 WHERE name = 'fence-regressed'")
    _, report = write(index, 1, tmp_path / "out")
    [sample] = report.summary["pipelines"][0]["sample"]
    main, recent = sample["strata"]
    assert (main["stratum"], main["keys"], main["decided"], main["bad"], main["fraction_ppb"]) == ("main", 40, 37, 2, 125000000)
    assert 0 <= main["bound_95_ppb"] - upper_bound(2, 37) * 1e9 <= 1
    assert (recent["stratum"], recent["whole"], recent["bound_95_ppb"]) == ("recent", True, None)
    assert "  bound   2 bad of 37 keys decided: of all keys at most 16.1 % are bad (95 % sure)\n" in tool(path, "print", 1)


def test_keys_outside_a_halved_sample_were_not_looked_at(path, tmp_path):
    index = faulty(path, keys=[b"k%d" % i for i in range(40)])
    index.db.execute("UPDATE fence SET hash = hash + 2060 * (1 << 50) WHERE fence_id > 25")
    index.db.execute("UPDATE topic SET recent_threshold = 1 << 61")
    index.db.execute("UPDATE fence SET strata = 3 WHERE fence_id IN (25, 26)")
    _, report = write(index, 1, tmp_path / "out")
    [sample] = report.summary["pipelines"][0]["sample"]
    main, recent = sample["strata"]
    assert sample["keys"] == 25
    assert (main["keys"], main["decided"], main["bad"]) == (25, 22, 25)
    assert (recent["keys"], recent["bad"]) == (1, 1)


def test_bound_is_not_known_where_findings_were_cut(path, tmp_path):
    index = faulty(path)
    index.db.execute("UPDATE check_result SET findings = 1284 WHERE name = 'fence-regressed'")
    _, report = write(index, 1, tmp_path / "out")
    main = report.summary["pipelines"][0]["sample"][0]["strata"][0]
    assert main["bad"] is None and main["bound_95_ppb"] is None


# -- metrics -------------------------------------------------------------------------------------------------------------------------

def metric(found, metric_name, **labels):
    labels.setdefault("config", "/etc/fencepost.yaml")
    return found.get((metric_name, tuple(sorted(labels.items()))))


def test_metrics(path, tmp_path):
    index = faulty(path)
    index.check(1, "fence-malformed", 1, status="pass")
    _, report = write(index, 1, tmp_path / "out")
    found = samples(report.metrics)
    assert metric(found, "fencepost_last_complete_timestamp_seconds") == report_index.STARTED / 1e6 + 4.5
    assert [metric(found, "fencepost_run_status", status=s) for s in ("clean", "findings", "incomplete")] == [0, 1, 0]
    assert metric(found, "fencepost_findings", pipeline="orders", check="fence-regressed", severity="error") == 16
    assert metric(found, "fencepost_findings", pipeline="orders", check="fence-malformed", severity="error") == 0
    assert metric(found, "fencepost_examined", pipeline="orders", check="fence-regressed") == 40
    assert metric(found, "fencepost_unverifiable", pipeline="orders", check="fence-regressed", reason="gap") == 3
    assert metric(found, "fencepost_duration_seconds", stage="replay") == 1.5
    tool(path, "metrics", 1, tmp_path / "m.prom")
    assert (tmp_path / "m.prom").read_text() == report.metrics


def test_metrics_labels(path, tmp_path):
    name = "a\\b \"c\"\nd {e}='f',é.yaml"
    index = report_index.healthy(path)
    index.db.execute("UPDATE run SET config = ?", [name])
    tool(path, "metrics", 1, tmp_path / "m.prom")
    assert metric(samples((tmp_path / "m.prom").read_text()), "fencepost_run_status", status="clean", config=name) == 1


def test_metrics_last_complete_is_of_an_earlier_run(path, tmp_path):
    index = report_index.healthy(path)
    index.run(2, reached="begun")
    tool(path, "metrics", 2, tmp_path / "m.prom")
    found = samples((tmp_path / "m.prom").read_text())
    assert metric(found, "fencepost_last_complete_timestamp_seconds") == report_index.STARTED / 1e6 + 4.5
    assert metric(found, "fencepost_run_status", status="incomplete") == 1
    report_index.healthy_run(index, 3)
    tool(path, "metrics", 3, tmp_path / "m.prom")
    assert metric(samples((tmp_path / "m.prom").read_text()), "fencepost_last_complete_timestamp_seconds") == (
        report_index.STARTED + 2 * HOUR) / 1e6 + 4.5


def test_metrics_of_a_run_without_an_index(path, tmp_path):
    (tmp_path / "m.prom").write_text("fencepost_run_status{status=\"clean\"} 1\n")
    tool(path, "failed", "f.yaml", tmp_path / "m.prom")
    assert samples((tmp_path / "m.prom").read_text()) == {
        ("fencepost_run_status", (("config", "f.yaml"), ("status", "clean"))): 0,
        ("fencepost_run_status", (("config", "f.yaml"), ("status", "findings"))): 0,
        ("fencepost_run_status", (("config", "f.yaml"), ("status", "incomplete"))): 1,
        ("fencepost_run_complete", (("config", "f.yaml"),)): 0,
    }


def test_metrics_that_cannot_be_written(path, tmp_path):
    report_index.healthy(path)
    assert "No such file" in tool(path, "metrics", 1, tmp_path / "none" / "m.prom", code=1)


# -- sql and runs --------------------------------------------------------------------------------------------------------------------

def test_query(path):
    report_index.healthy(path)
    sql = "SELECT key, key_text(redis_key) AS t, NULL AS n, 1.5 AS r, -1 AS i, 'a\tb\\' || char(27) AS s FROM fence WHERE key = x'757365722d31'; -- done"
    assert tool(path, "query", sql) == "key\tt\tn\tr\ti\ts\nx'757365722d31'\tstate:user-1\tNULL\t1.5\t-1\ta\\tb\\\\\\x1b\n"
    assert json.loads(tool(path, "query-json", sql)) == {"key": "x'757365722d31'", "t": "state:user-1", "n": None, "r": 1.5, "i": -1,
                                                         "s": "a\tb\\\x1b"}
    assert json.loads(tool(path, "query-json", "SELECT 1 AS a, 2 AS a")) == {"a": 1, "a:2": 2}
    assert tool(path, "query", "SELECT 1 WHERE 0") == "1\n"
    assert tool(path, "query", "SELECT count(*) FROM record") == "count(*)\n0\n"
    assert "run_id" in tool(path, "query", "PRAGMA table_info(run)")


@pytest.mark.parametrize("sql, words", [
    ("DELETE FROM run", "only reading"), ("ATTACH '/tmp/other.db' AS other", "only reading"), ("PRAGMA user_version = 7", "only reading"),
    ("PRAGMA query_only = OFF", "only reading"), ("CREATE TEMP TABLE t (a)", "only reading"), ("BEGIN", "only reading"),
    ("INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)", "sqlite_master may not be modified"), ("UPDATE run SET tool = 1", "only reading"),
    ("SELECT 1; SELECT 2", "one statement"), ("SELECT no_column FROM run", "no such column"), ("", "there is none"), ("SELECT load_extension('x')", ""),
    ("VACUUM INTO '/tmp/other.db'", "only reading"),
])
def test_query_refuses(path, sql, words):
    report_index.healthy(path)
    assert words in tool(path, "query", sql, code=1)
    assert not os.path.exists("/tmp/other.db")


def test_runs(path):
    index = faulty(path)
    report_index.healthy_run(index, 2, finished_us=report_index.STARTED + HOUR + 61_250_000)
    index.run(3, reached="begun")
    index.run(4, reached="replayed", command="replay")
    rows = [json.loads(line) for line in tool(path, "runs-json").splitlines()]
    assert [(r["run"], r["status"], r["error"], r["warning"], r["info"]) for r in rows] == [
        (1, "findings", 16, 1, 1), (2, "clean", 0, 0, 0), (3, "incomplete", 0, 0, 0), (4, None, 0, 0, 0)]
    assert rows[1]["duration_us"] == 61_250_000
    lines = tool(path, "runs").splitlines()
    assert len(lines) == 5 and lines[2].split() == ["2", "2026-11-30T03:30:00Z", "61.2", "s", "audit", "checked", "clean", "0", "0", "0"]
