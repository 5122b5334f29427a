"""An index that is damaged, foreign or out of room: each time a sentence that names what and where, exit 1, and never a pass.

Each case first has a sound index, whose audit is clean, and then breaks it.
"""
import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from types import SimpleNamespace

import pytest

import cli
import reference

HEADER = 100            # bytes before the first page's own


@pytest.fixture(scope="module")
def sound(pipeline_bin, fencepost, redis70, tmp_path_factory):
    """.pipe, .folder with the config and sound.db, the index of a clean audit of 3,000 records."""
    name = "damage"
    broker = reference.Mock(pipeline_bin("mockbroker"), {name: 3, f"{name}-out": 1, f"{name}-dlq": 1})
    pipe = reference.Pipeline(pipeline_bin, broker.bootstrap, redis70, name)
    pipe.generate("--records", 3000, "--keys", 500, "--seed", 1)
    pipe.work("--state", "count")
    folder = tmp_path_factory.mktemp(name)
    (folder / "fencepost.yaml").write_text(json.dumps({
        "index": "fencepost.db", "kafka": {"bootstrap.servers": pipe.bootstrap}, "redis": {"url": f"unix://{pipe.sock}"},
        "pipelines": {name: {"topic": name, "group": pipe.group, "key": pipe.key, "epoch": "epoch:{topic}:{partition}", "state": "count"}}}))
    made = SimpleNamespace(pipe=pipe, folder=folder, fencepost=fencepost)
    done = audit(made, folder / "sound.db", "first")
    assert done.code == 0, done.out + done.err
    shutil.rmtree(folder / "first")
    yield made
    broker.close()


@pytest.fixture(autouse=True)
def nothing_reported(sound):
    yield
    shutil.rmtree(sound.folder / "out", ignore_errors=True)


def audit(sound, index, out="out", **kwargs):
    return sound.fencepost.run(["audit", "-q", "-c", sound.folder / "fencepost.yaml", "--index", index, "-o", sound.folder / out, "--metrics",
                                sound.folder / "fencepost.prom"], cwd=sound.folder, **kwargs)


@pytest.fixture
def index(sound):
    """A copy of the sound index, which an audit finds sound."""
    path = sound.folder / "fencepost.db"
    shutil.copy(sound.folder / "sound.db", path)
    assert audit(sound, path).code == 0
    shutil.rmtree(sound.folder / "out")
    yield path
    for left in sound.folder.glob("fencepost.db*"):
        left.unlink()


def refused(sound, done, *words):
    assert done.code == 1, done.out + done.err
    for word in words:
        assert word in done.err, done.err
    assert done.out == "" and not (sound.folder / "out").exists(), done.out
    prom = (sound.folder / "fencepost.prom").read_text()
    assert 'status="incomplete"} 1\n' in prom and 'status="clean"} 0\n' in prom and "fencepost_run_complete" in prom, prom


def overwrite(path, at, data):
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


# -- files that are no sound index -----------------------------------------------------------------------------------

def cut_short(path):
    os.truncate(path, path.stat().st_size - 5000)


def cut_to_nothing_much(path):
    os.truncate(path, 60)


def not_a_database(path):
    path.write_text("orders: 12\n" * 1000)


def another_database(path):
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE state (key, value)")


def newer(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 99")


def first_page(path):
    overwrite(path, HEADER, bytes(4000))


FILES = [
    (cut_short, "truncated: it has {size} of {sound} bytes"),
    (cut_to_nothing_much, "damaged: database disk image is malformed"),
    (not_a_database, "not a fencepost index (not an SQLite database)"),
    (another_database, "an SQLite database, but not a fencepost index"),
    (newer, "version 99 is newer than this program"),
    (first_page, "damaged: database disk image is malformed"),
]


@pytest.mark.parametrize("damage, words", FILES, ids=[damage.__name__ for damage, _ in FILES])
def test_file(sound, index, damage, words):
    size = index.stat().st_size
    damage(index)
    words = f"index {index}: " + words.format(size=index.stat().st_size, sound=size)
    before = index.read_bytes()
    refused(sound, audit(sound, index), words)
    for command in (["check"], ["report"], ["runs"], ["sql", "SELECT count(*) FROM run"]):
        done = sound.fencepost.run([command[0], "--index", index, *command[1:]], cwd=sound.folder)
        assert (done.code, done.out) == (1, "") and words in done.err, (command, done.out, done.err)
    assert index.read_bytes() == before, "a file that was refused was written"


def test_a_directory_in_its_place(sound, index):
    index.unlink()
    index.mkdir()
    refused(sound, audit(sound, index), f"index {index}: not a file")
    index.rmdir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written(sound, index):
    index.chmod(0o400)
    refused(sound, audit(sound, index), f"index {index}: cannot open it: Permission denied")


# -- chunks ------------------------------------------------------------------------------------------------------------

def chunk(path, partition=1):
    """(chunk_id, first_offset, data) of the last chunk of a partition."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute("SELECT chunk_id, first_offset, data FROM chunk WHERE partition = ? AND kind = 0 AND incarnation_id = "
                          "(SELECT incarnation_id FROM incarnation WHERE topic = 'damage') ORDER BY first_offset DESC", [partition]).fetchone()


def change(path, column, value):
    found = chunk(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE chunk SET {column} = ? WHERE chunk_id = ?", [value(found[2]) if callable(value) else value, found[0]])
    return found[1]


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]


CHUNKS = [
    ("one bit", "data", flipped, "the checksum does not match"),
    ("cut", "data", lambda data: data[:-20], "the checksum does not match"),
    ("empty", "data", b"", "truncated: a chunk of 0 bytes"),
    ("foreign", "data", lambda data: b"SQLite f" + data[8:], "not a chunk: wrong magic"),
    ("newer", "data", lambda data: data[:4] + b"\x02\x00" + data[6:], "chunk version 2, this program reads 1"),
    ("another count", "records", 7, "its row says other offsets or records than its data"),
    ("another end", "end_offset", 2 ** 62, "its row says other offsets or records than its data"),
]


@pytest.mark.parametrize("column, value, words", [case[1:] for case in CHUNKS], ids=[case[0] for case in CHUNKS])
def test_chunk(sound, index, column, value, words):
    first = change(index, column, value)
    where = f"partition 1, first offset {first}: {words}"
    refused(sound, audit(sound, index), "damage", where)
    done = sound.fencepost.run(["check", "--index", index], cwd=sound.folder)
    assert (done.code, done.out) == (1, "") and where in done.err, done.out + done.err
    done = sound.fencepost.run(["sql", "--index", index, "SELECT sum(value_size) FROM record WHERE partition = 1"], cwd=sound.folder)
    assert done.code == 1 and where in done.err and not done.out.strip("sum(value_size)\n"), done.out + done.err


def test_a_page_of_the_chunks(sound, index):
    """Zeros over a page in the middle of the table of chunks: SQLite notices, or the chunk's checksum does."""
    with closing(sqlite3.connect(index)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        pages = [p for p, in db.execute("SELECT pageno FROM dbstat WHERE name = 'chunk' AND pagetype IN ('leaf', 'overflow') ORDER BY pageno")]
    overwrite(index, (pages[len(pages) // 2] - 1) * size, bytes(size))
    done = audit(sound, index)
    refused(sound, done)
    assert "malformed" in done.err or "first offset" in done.err, done.err
    assert str(index) in done.err, done.err


def test_a_topic_without_its_history(sound, index):
    """A run that does not say which history its topic has: the checks examine what is left, and nothing passes for clean."""
    with closing(sqlite3.connect(index, isolation_level=None)) as db:
        db.execute("UPDATE topic SET incarnation_id = NULL WHERE run_id = (SELECT max(run_id) FROM run)")
    done = sound.fencepost.run(["check", "--index", index], cwd=sound.folder)
    assert done.code == 1 and "damage  INCOMPLETE" in done.out and "its history could not be read" in done.out, done.out + done.err


# -- no room -----------------------------------------------------------------------------------------------------------

def mounted(path, size):
    """A file system of its own on path; None where this user may not make one."""
    for sudo in ([], ["sudo", "-n"]):
        try:
            if not subprocess.run([*sudo, "mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", path], capture_output=True).returncode:
                return sudo
        except FileNotFoundError:
            pass
    return None


@pytest.fixture
def small(work):
    """small(SIZE) gives a directory with so much room, small(SIZE) again makes it larger."""
    place = work / "small"
    place.mkdir()
    sudo = None

    def make(size):
        nonlocal sudo
        if sudo is not None:
            subprocess.run([*sudo, "mount", "-o", f"remount,size={size}", place], check=True)
            return place
        sudo = mounted(place, size)
        if sudo is None:
            pytest.skip("this user may not mount a tmpfs")
        return place

    yield make
    if sudo is not None:
        subprocess.run([*sudo, "umount", place], check=True)


def records(index):
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as db:
        return db.execute("SELECT sum(records) FROM chunk").fetchone()[0]


def sound_and_short(sound, index):
    """The index is whole, and holds a part of the history: per partition, chunks up to where it says it has come."""
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return                                          # not even the tables found room: it is new
        for partition, position in db.execute("SELECT partition, next_offset FROM partition"):
            [(end,)] = db.execute("SELECT coalesce(max(end_offset), 0) FROM chunk WHERE partition = ? AND kind = 0", [partition])
            assert end <= position


@pytest.mark.parametrize("room", ["400k", "780k", "820k", "860k", "900k", "960k"])
def test_full_disk(sound, small, room):
    """Whatever the moment at which the disk is full: the words, the index whole, and the next run resumes."""
    index = small(room) / "fencepost.db"
    done = audit(sound, index)
    assert done.code == 1, done.out + done.err
    assert "full" in done.err and str(index) in done.err, done.err
    assert not (sound.folder / "out").exists()
    sound_and_short(sound, index)
    small("16m")
    done = audit(sound, index)
    assert done.code == 0, done.out + done.err
    shutil.rmtree(sound.folder / "out")
    assert records(index) == 3000
    sound_and_short(sound, index)


def test_full_disk_under_the_report(sound, small, index):
    place = small("4k")
    done = sound.fencepost.run(["report", "--index", index, "-o", place / "out"], cwd=sound.folder)
    assert done.code == 1 and "No space left on device" in done.err and "out" in done.err, done.out + done.err
    assert list(place.iterdir()) == [], "something half made was left"


def test_full_stdout(sound, index):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sound.fencepost.path, "audit", "-q", "-c", "fencepost.yaml", "--index", index, "-o", "out"], cwd=sound.folder,
                              stdout=full, stderr=subprocess.PIPE, text=True, env=cli.environment(), timeout=60)
    assert done.returncode == 1 and "write to stdout: No space left on device" in done.stderr, done.stderr
    assert done.stderr.count("write to stdout") == 1
