"""Every field of a report is in docs/reports.md, with its type, and no other is."""
import re

import pytest

import cli
import report_index
from report_written import faulty, samples, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fencepost.db"


def documented(section):
    """{field: type} of the table in that section of docs/reports.md."""
    text = (cli.ROOT / "docs" / "reports.md").read_text()
    body = re.search(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", body, re.M))


def walk(value, path=""):
    """(field, value) of everything that is no object or list with fields of its own."""
    if isinstance(value, dict) and value and path != "evidence":
        for name, inner in value.items():
            yield from walk(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner, path + "[]")
    else:
        yield path, value


TYPES = {
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "null": lambda v: v is None,
    "time": lambda v: isinstance(v, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", v),
}


def assert_documented(section, values, ignore=()):
    fields = documented(section)
    seen = set()
    for value in values:
        for field, leaf in walk(value):
            if field in ignore and leaf is None:
                continue
            assert field in fields, f"{section}: {field} is not documented"
            assert any(TYPES[kind](leaf) for kind in fields[field].split(" or ")), (field, fields[field], leaf)
            seen.add(field)
    assert seen == set(fields)


def watched(index, run):
    """A watch over a stream with one group, and checks of it and of the server."""
    index.server(run, "10.2.0.8:6379/0")
    watch = index.add("stream_watch", run_id=run, name="bills", redis="10.2.0.8:6379/0", key="bills*", group_name="*", excluded='["old*"]',
                      idle_ms=600000, deliveries=3, pending_keys=1000000, looked=1)
    stream = index.add("stream", run_id=run, watch_id=watch, redis_key=b"bills", role="source", present=1, read_us=report_index.STARTED,
                       length=2, last_generated=bytes(16), first_entry=bytes(16))
    index.add("stream_group", run_id=run, stream_id=stream, name=b"g", read_us=report_index.STARTED, consumers=1, pending=2, listed=2, kept=2,
              acknowledged=0)
    for scope, check in (("streams/bills", "stream-stuck"), ("redis/10.2.0.8:6379", "redis-evicting")):
        index.check(run, check, 20, pipeline=scope)
        index.add("unverifiable", run_id=run, pipeline=scope, name=check, reason="not-sampled", subjects=1)


def test_every_field_is_documented(path, tmp_path):
    index = faulty(path)
    index.add("trouble", run_id=1, stage="replay", pipeline="orders", topic="orders", partition=1, text="gone")
    report_index.healthy_run(index, 2)
    watched(index, 2)
    reports = [write(index, run, tmp_path / str(run))[1] for run in (1, 2)]
    assert_documented("summary.json", [r.summary for r in reports], ignore=("pipelines[].verdicts",))
    assert_documented("manifest.json", [r.manifest for r in reports], ignore=("previous",))
    assert_documented("findings.jsonl.zst", [f for r in reports for f in r.findings])
    labels = {}
    for name, pairs in samples(reports[0].metrics) | samples(reports[1].metrics):
        assert labels.setdefault(name, {label for label, _ in pairs}) == {label for label, _ in pairs}
    assert {name: set(text.split(", ")) for name, text in documented("metrics.prom").items()} == labels
    header = cli.unzstd(reports[0].path / "findings.csv.zst").splitlines()[0].split(",")
    text = (cli.ROOT / "docs" / "reports.md").read_text()
    assert re.findall(r"`(\w+)`", re.search(r"The columns: (.*?)\.\n", text, re.S)[1]) == header
