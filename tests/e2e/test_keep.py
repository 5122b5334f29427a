"""The index grows with the history and not with the number of runs: samples of old runs go, what was said of them stays."""
import json

import pytest

import cli
from audited import Audited


@pytest.fixture
def pipe(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.generate("--records", 400, "--keys", 150, "--seed", 1)
    pipe.work()
    return pipe


def run(pipe, *args, code):
    done = pipe.fencepost.run(args, cwd=pipe.folder)
    assert done.code == code, done.out + done.err
    return done


def kept(pipe):
    """The runs whose samples are in the index."""
    done = run(pipe, "sql", "SELECT DISTINCT run_id FROM fence ORDER BY 1", "--format", "json", code=0)
    return [json.loads(line)["run_id"] for line in done.out.splitlines()]


def audit(pipe, *options, code):
    return run(pipe, "audit", "-q", "-c", "fencepost.yaml", *options, code=code)


def test_samples_of_old_runs_go_and_their_reports_stay(pipe):
    pipe.harm("fence-lost", b"user-1")
    pipe.harm("fence-back", b"user-2")
    pipe.configure()
    audit(pipe, "-o", "first", code=2)
    audit(pipe, code=2)
    assert kept(pipe) == [1, 2]
    pipe.redis.delete(pipe.hash(b"user-3"))
    audit(pipe, code=2)
    assert kept(pipe) == [2, 3]
    run(pipe, "report", "1", "-o", "again", code=2)
    for name in "summary.json", "findings.jsonl.zst", "findings.csv.zst", "metrics.prom", "manifest.json":
        assert (pipe.folder / "again" / name).read_bytes() == (pipe.folder / "first" / name).read_bytes(), name
    assert {f["key"] for f in cli.Report(pipe.folder / "again").findings if f["key"]} == {"user-1", "user-2"}
    done = run(pipe, "check", "1", code=1)
    assert "run 1 cannot be checked again" in done.err and "keep.runs" in done.err
    run(pipe, "check", "2", code=2)


def test_keep_runs(pipe):
    pipe.top["keep.runs"] = 3
    pipe.configure()
    for _ in range(5):
        audit(pipe, code=0)
    assert kept(pipe) == [3, 4, 5]
    pipe.top["keep.runs"] = 2
    pipe.configure()
    audit(pipe, code=0)
    assert kept(pipe) == [5, 6]


def test_parts_and_other_pipelines_count_for_nothing(pipe):
    """The newest whole sample stays however many parts were looked at since; another pipeline's runs say nothing of it."""
    pipe.configure()
    since = ["--since", "2020-01-01T00:00:00Z"]
    audit(pipe, code=0)
    for _ in range(4):
        audit(pipe, *since, code=0)
    assert kept(pipe) == [1, 2, 3, 4, 5]
    config = json.loads((pipe.folder / "fencepost.yaml").read_text())
    config["pipelines"] = {"other": config["pipelines"][pipe.topic]}
    (pipe.folder / "other.yaml").write_text(json.dumps(config))
    for _ in range(3):
        run(pipe, "audit", "-q", "-c", "other.yaml", code=0)
    assert kept(pipe) == [1, 2, 3, 4, 5, 7, 8]
    run(pipe, "sample", "-q", code=0)
    audit(pipe, code=0)
    audit(pipe, code=0)
    assert kept(pipe) == [7, 8, 10, 11]


def test_the_index_stops_growing(pipe):
    """But for what is said of each run: 4,000 samples take 400,000 bytes, and one run's words a twentieth of it."""
    pipe.generate("--records", 8000, "--keys", 4000, "--first-key", 1000, "--seed", 2)
    pipe.work()
    pipe.configure()
    sizes = []
    for _ in range(7):
        audit(pipe, code=0)
        sizes.append((pipe.folder / "fencepost.db").stat().st_size)
    assert sizes[1] - sizes[0] > 300000, sizes
    assert sizes[-1] - sizes[3] < 200000, sizes
