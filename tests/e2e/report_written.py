"""Reports written of indexes made by hand, and read by other means."""
from prometheus_client.parser import text_string_to_metric_families

import cli
import report_index
from report_index import tool

NASTY = [b"user-1", b"", b"a,b\"c\"", b"=1+1", b"+x", b"-x", b"@x", b"'x", b"line\nfeed\r\t", b"\x00\x1b[31m\x7f", b"\xff\xfe",
         "ключ-\u202e".encode(), "日本".encode(), b"back\\slash", b" blank ", b"x" * 5000]

EVIDENCE = {"lost": 2, "first_lost": {"offset": 100, "time": "x", "time_ms": report_index.STARTED // 1000 - 86_400_000},
            "last_lost": {"offset": 200, "time": "x", "time_ms": report_index.STARTED // 1000 + 4000}, "text": "a\u2028b\"", "big": 2**63 - 1}


def faulty(path, run=1, keys=NASTY):
    """A run with one fence-regressed a key, one fence-expiring and one fence-rebased."""
    index = report_index.Index(path)
    index.run(run)
    topic_id = index.topic(run, index.pipeline(run), main_threshold=2**60, history_keys=1000)
    index.server(run)
    for key in keys:
        index.fence(run, topic_id, key)
    index.check(run, "fence-regressed", 5, status="fail", examined=40, findings=len(keys))
    index.check(run, "fence-expiring", 12, severity="warning", status="fail", findings=1)
    index.check(run, "fence-rebased", 11, severity="info", status="fail", findings=1)
    for i, key in enumerate(keys):
        index.finding(run, "fence-regressed", i, key, partition=i % 3, offset=100 + i,
                      detail="the fence of " + repr(key) + " is below its newest record",
                      evidence=EVIDENCE)
    index.finding(run, "fence-expiring", 0, b"user-1", severity="warning", topic=None, partition=None, offset=None)
    index.finding(run, "fence-rebased", 0, b"user-1", severity="info")
    index.add("unverifiable", run_id=run, pipeline="orders", name="fence-regressed", reason="gap", subjects=3)
    return index


def write(index, run, out, env=None):
    """Writes a report; what the tool said, and the report."""
    return tool(index.path, "write", run, out, env=env).split(), cli.Report(out)


def contents(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir()}


def samples(text):
    """{(name, labels): value}; the parser must agree that it is well formed."""
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge" and family.documentation
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found
