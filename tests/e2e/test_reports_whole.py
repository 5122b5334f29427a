"""A report is whole or absent, and its manifest says what it holds, by the sha256 of hashlib."""
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import pytest

import cli
import report_index
from report_index import tool
from report_written import contents, faulty, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fencepost.db"


# -- manifest ------------------------------------------------------------------------------------------------------------------------

def sha256(data):
    return hashlib.sha256(data).hexdigest()


def assert_whole(directory):
    """The directory holds what its manifest says, and nothing else."""
    manifest = json.loads((directory / "manifest.json").read_text())
    assert {f["name"] for f in manifest["files"]} | {"manifest.json"} == {p.name for p in directory.iterdir()}
    for file in manifest["files"]:
        data = (directory / file["name"]).read_bytes()
        content = cli.unzstd(directory / file["name"]).encode() if file["name"].endswith(".zst") else data
        assert (file["bytes"], file["sha256"]) == (len(data), sha256(data))
        assert (file["content_bytes"], file["content_sha256"]) == (len(content), sha256(content))
    return manifest


def test_manifest_is_a_chain(path, tmp_path):
    index = report_index.healthy(path)
    for run in (2, 3, 4):
        report_index.healthy_run(index, run)
    write(index, 1, tmp_path / "1")
    write(index, 3, tmp_path / "3")
    write(index, 2, tmp_path / "2")  # late: what was written keeps what it said
    write(index, 4, tmp_path / "4")
    write(index, 3, tmp_path / "3")
    previous = {run: assert_whole(tmp_path / str(run))["previous"] for run in (1, 2, 3, 4)}
    hashes = {run: sha256((tmp_path / str(run) / "manifest.json").read_bytes()) for run in (1, 2, 3, 4)}
    assert previous == {1: None, 2: {"run": 1, "manifest_sha256": hashes[1]}, 3: {"run": 1, "manifest_sha256": hashes[1]},
                        4: {"run": 3, "manifest_sha256": hashes[3]}}
    manifest = assert_whole(tmp_path / "4")
    assert manifest["config"] == {"name": "/etc/fencepost.yaml", "sha256": "c" * 64}


# -- a report is whole or absent -----------------------------------------------------------------------------------------------------

def left(tmp_path):
    return sorted(n for n in os.listdir(tmp_path) if not n.startswith("fencepost.db"))


def test_parents_and_slashes(path, tmp_path):
    _, report = write(report_index.healthy(path), 1, f"{tmp_path}/a/b/c//")
    assert_whole(tmp_path / "a" / "b" / "c")
    assert os.listdir(tmp_path / "a" / "b") == ["c"]


def test_what_is_in_the_way_stays(path, tmp_path):
    index = report_index.healthy(path)
    report_index.healthy_run(index, 2)
    write(index, 2, tmp_path / "two")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    (tmp_path / "link").symlink_to("two")
    before = contents(tmp_path / "two")
    for name in ("two", "file", "full", "link"):
        assert "in the way" in tool(path, "write", 1, tmp_path / name, code=1)
    assert contents(tmp_path / "two") == before and (tmp_path / "file").read_text() == "mine"
    assert left(tmp_path) == ["file", "full", "link", "two"]


def test_an_empty_directory_is_not_in_the_way(path, tmp_path):
    (tmp_path / "out").mkdir()
    write(report_index.healthy(path), 1, tmp_path / "out")
    assert_whole(tmp_path / "out")


def test_notes_in_an_earlier_report_are_not_thrown_away(path, tmp_path):
    index = report_index.healthy(path)
    write(index, 1, tmp_path / "out")
    (tmp_path / "out" / "notes").write_text("mine")
    assert "holds notes" in tool(path, "write", 1, tmp_path / "out", code=1)
    assert (tmp_path / "out" / "notes").read_text() == "mine"
    assert left(tmp_path) == ["out"]


def test_the_same_number_of_another_index_is_another_run(path, tmp_path):
    index = report_index.healthy(path)
    write(index, 1, tmp_path / "out")
    index.db.execute("UPDATE run SET started_us = started_us + 1")
    assert "in the way" in tool(path, "write", 1, tmp_path / "out", code=1)


def test_a_stale_temporary_directory_is_removed(path, tmp_path):
    stale = tmp_path / "out.tmp-1"
    stale.mkdir()
    (stale / "summary.json").write_text("{")
    (stale / "findings.csv.zst.tmp-77").write_text("")
    write(report_index.healthy(path), 1, tmp_path / "out")
    assert left(tmp_path) == ["out"]
    assert_whole(tmp_path / "out")


def test_a_full_disk_leaves_no_report(path, tmp_path):
    """Whatever the size at which the disk is full: no report, or the earlier one; and the next attempt succeeds."""
    index = faulty(path, keys=[random.Random(i).randbytes(40) for i in range(3000)])
    write(index, 1, tmp_path / "out")
    whole = sum(len(data) for data in contents(tmp_path / "out").values())
    mount = tmp_path / "small"
    mount.mkdir()
    for size in (4096, whole // 4, whole // 2, whole * 3 // 4):
        script = (f"mount -t tmpfs -o size={size} tmpfs {mount} && "
                  f"{{ {cli.built('tools/report_tool')} {path} write 1 {mount}/out; echo status $?; ls -a {mount}; }}")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        if "status" not in done.stdout:
            pytest.skip("tmpfs cannot be mounted here: " + done.stderr)
        assert done.stdout.split() == ["status", "1", ".", ".."], done
        assert "No space left" in done.stderr


def test_a_file_size_limit_leaves_the_earlier_report(path, tmp_path):
    index = faulty(path, keys=[random.Random(i).randbytes(40) for i in range(3000)])
    _, report = write(index, 1, tmp_path / "out")
    before = contents(report.path)
    index.db.execute("UPDATE finding SET remedy = 'another'")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))

    done = subprocess.run([cli.built("tools/report_tool"), path, "write", "1", tmp_path / "out"], preexec_fn=limit, capture_output=True, text=True)
    assert done.returncode == 1 and "File too large" in done.stderr
    assert contents(report.path) == before
    assert left(tmp_path) == ["out"]


def test_killed_at_any_moment(path, tmp_path):
    index = faulty(path, keys=[b"user-%d" % i for i in range(5000)])
    out = tmp_path / "out"
    argv = [cli.built("tools/report_tool"), path, "write", "1", out]
    started = time.monotonic()
    subprocess.run(argv, check=True, capture_output=True)
    takes = time.monotonic() - started
    rng = random.Random(7)
    absent = present = 0
    for i in range(60):
        if i % 2 == 0:
            shutil.rmtree(out, ignore_errors=True)
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        if i != 1:      # the second one is let go to its end, the first one is killed before it can
            time.sleep(rng.uniform(0, takes * 1.1) if i else 0)
            process.kill()
        process.wait()
        if out.exists():
            assert_whole(out)
            present += 1
        else:
            absent += 1
    assert present and absent
    write(index, 1, out)
    assert left(tmp_path) == ["out"]
