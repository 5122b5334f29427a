"""Keys that move when partitions are added, told record by record, against the contract in plain Python."""
import json

import pytest

from audited import Audited


@pytest.fixture
def resized(tools, broker, redis_server):
    """6 partitions become 12; some keys move, some wait."""
    pipe = Audited(tools, broker, redis_server, state="opaque", **{"partitions.before": [6]})
    pipe.generate("--records", 300, "--keys", 40, "--seed", 8)
    pipe.work()
    pipe.fault("partitions-added", "--to", 12)
    pipe.partitions = 12
    pipe.generate("--records", 150, "--keys", 30, "--seed", 9)
    pipe.work()
    pipe.keys = pipe.by_key()
    pipe.audit()
    return pipe


def contract(pipe, records):
    """[(partition, offset, verdict)] of one key's records."""
    raised, latest = [], {}
    for record in sorted(records, key=lambda r: (r.partition, r.offset)):
        latest[record.partition] = max(latest.get(record.partition, record.timestamp), record.timestamp)
        raised.append((latest[record.partition], record.offset, record.partition))
    fence, told = None, []
    for _, offset, partition in sorted(raised):
        told.append((partition, offset, "REBASE" if fence not in (None, partition) else "APPLY"))
        fence = partition
    return told


def explain(pipe, count, *options):
    return pipe.fencepost.run(["check", "-q", "-c", pipe.folder / "fencepost.yaml", "--explain-rebases", str(count), *options],
                              cwd=pipe.folder)


def moved(pipe):
    return {k for k in pipe.keys if pipe.home(k, 6) != pipe.home(k, 12)}


def stories(pipe, count):
    done = explain(pipe, count, "--format", "json")
    assert done.code == 0, done.err
    decoder, at, values = json.JSONDecoder(), 0, []
    while at < len(done.out):
        value, at = decoder.raw_decode(done.out, at)
        values.append(value)
        at += len(done.out[at:]) - len(done.out[at:].lstrip())
    return values[1:]


def every_key_that_moved_or_will(resized):
    pipe = resized
    told = {bytes.fromhex(s["key_hex"]): s for s in stories(pipe, 1000)}
    assert set(told) == {k for k in moved(pipe) if any(r.partition == pipe.home(k, 6) for r in pipe.keys[k])}
    assert len(told) > 10
    states = pipe.states()
    for key, story in told.items():
        assert [(r["partition"], r["offset"], r["verdict"]) for r in story["records"]] == contract(pipe, pipe.keys[key])
        assert (story["fence_partition"], story["fence_offset"]) == states[key][:2] and story["home"] == pipe.home(key)
    rebases = sum(r["verdict"] == "REBASE" for s in told.values() for r in s["records"])
    summary = json.loads(explain(pipe, 0, "--format", "json").out)
    verdicts = summary["pipelines"][0]["verdicts"]
    assert verdicts["REBASE"] == rebases > 0
    assert sum(verdicts.values()) == sum(map(len, pipe.keys.values())) and verdicts["unsampled"] == 0


def the_findings_have_the_records_around_each_change(resized):
    pipe = resized
    explain(pipe, 0)
    found = pipe.fencepost.run(["sql", "-c", pipe.folder / "fencepost.yaml", "--format", "json",
                                "SELECT hex(key) AS key, evidence FROM finding WHERE name = 'fence-rebased'"], cwd=pipe.folder)
    seen = 0
    for row in map(json.loads, found.out.splitlines()):
        told = contract(pipe, pipe.keys[bytes.fromhex(row["key"])])
        changes = [i for i, (_, _, verdict) in enumerate(told) if verdict == "REBASE"]
        around = [told[i] for i in sorted({j for i in changes for j in (i - 1, i)})]
        sequence = json.loads(row["evidence"])["sequence"]
        assert [(s["partition"], s["offset"], s["verdict"]) for s in sequence] == around
        seen += len(changes)
    assert seen > 0


def as_text(resized):
    done = explain(resized, 2)
    lines = done.out.splitlines()
    heads = [line for line in lines if line.startswith("rebase  ")]
    assert len(heads) == 2 and all("  home " in head and "  fence " in head for head in heads)
    assert lines[-1].startswith("rebases told of 2 of ")
    assert sum(line.endswith(("APPLY", "REBASE")) for line in lines) >= 2


def test_rebases_record_by_record(resized):
    every_key_that_moved_or_will(resized)
    the_findings_have_the_records_around_each_change(resized)
    as_text(resized)


@pytest.mark.parametrize("words", [["check", "--explain-rebases", "-1"], ["audit", "--explain-rebases", "3"]])
def test_refused(fencepost, words, tmp_path):
    done = fencepost.run(words, cwd=tmp_path)
    assert done.code == 64 and "--explain-rebases" in done.err and "number of keys" in done.err
