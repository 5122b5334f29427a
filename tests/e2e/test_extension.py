"""The loadable extension: a plain SQLite shell reads history through it, on a file that it may not write."""
import random
import sqlite3
import subprocess
import zlib

import pytest

from cli import ROOT, built


@pytest.fixture
def index(tmp_path):
    """An index with one partition: offsets [0, 4) trimmed, then the golden chunk of 2,000 records, then a marker."""
    path = tmp_path / "some.db"
    db = sqlite3.connect(path)
    for schema in sorted((ROOT / "sql/schema").glob("*.sql")):
        db.executescript(schema.read_text())
    db.execute("INSERT INTO incarnation (incarnation_id, cluster, topic, isolation, begun_run) "
               "VALUES (4, 'c', 'orders', 'read_committed', 1)")
    blob = (ROOT / "tests/unit/golden/many.chunk").read_bytes()
    end = 5 + 1999 + 19 * 1000 + 1
    db.execute("INSERT INTO partition VALUES (4, 3, 4, ?, ?)", (end + 1, end + 1))
    db.execute("INSERT INTO chunk (incarnation_id, partition, kind, first_offset, end_offset, records, min_ms, max_ms, data) "
               "VALUES (4, 3, 0, 5, ?, 2000, 0, 9000000000000, ?)", (end, blob))
    db.commit()
    db.close()
    path.chmod(0o444)
    return path


def shell(index, sql):
    done = subprocess.run(["sqlite3", "-readonly", "-bail", index], input=f".load {built('fencepost')}\n{sql};\n",
                          capture_output=True, text=True, cwd=index.parent)
    return done.returncode, done.stdout, done.stderr


def rows(index, sql):
    code, out, err = shell(index, sql)
    assert (code, err) == (0, "")
    return out.splitlines()


def test_record(index):
    assert rows(index, "SELECT topic, incarnation, partition, count(*), min(offset), sum(tombstone) FROM record") == [
        "orders|4|3|2000|5|286"]
    assert rows(index, "SELECT offset, ts, key_text(key), value_size, number, source_topic, source_partition, source_offset "
                       "FROM record WHERE topic = 'orders' AND offset >= 5 AND offset < 12") == [
        "5|1700000000000|0||0|payments|0|0",
        "6|1700000000036|c1|101||||",
        "7|1700000000072|cu2|102||||",
        "8|1700000000108|cus3|103|-27|||",
        "9|1700000000144|cust4|104||||",
        "10|1700000000180||105||orders|5|5000",
        "11|1700000000216|custom6|106|216|||",
    ]


def test_gap(index):
    assert rows(index, "SELECT start_offset, end_offset, class FROM gap WHERE partition = 3 LIMIT 3") == [
        "0|4|trimmed", "4|5|control", "105|1105|control"]
    assert rows(index, "SELECT count(*), max(end_offset) FROM gap") == ["22|21006"]


def test_functions(index):
    assert rows(index, "SELECT murmur2(''), home_partition('user-1', 12), fencepost_chunks_decoded()")[0].startswith("275646681|")


def test_crc32_is_pythons(index):
    """Of random keys up to 64 KiB, as Python's zlib has it, and over a part of the key."""
    random.seed(31)
    keys = [random.randbytes(random.choice((0, 1, 3, 4, 17, 100))) for _ in range(2000)] + [random.randbytes(65536)]
    counts = [random.randint(1, 5000) for _ in keys]
    values = ",".join(f"(x'{key.hex()}',{n})" for key, n in zip(keys, counts))
    got = rows(index, f"WITH k (key, n) AS (VALUES {values}) SELECT partition_by('crc32', key, n), "
                      "partition_by('crc32/windowed', key, n) FROM k")
    assert [tuple(line.split("|")) for line in got] == [
        (str(zlib.crc32(key) % n), str(zlib.crc32(key[:-8]) % n) if len(key) >= 8 else "") for key, n in zip(keys, counts)]


def test_nothing_is_written(index):
    before = index.read_bytes()
    for name in ("record", "gap"):
        code, _, err = shell(index, f"DELETE FROM {name}")
        assert code and f"table {name} may not be modified" in err
    assert rows(index, "SELECT count(*) FROM record JOIN gap USING (partition)") == ["44000"]
    assert index.read_bytes() == before
    assert [p.name for p in index.parent.iterdir()] == [index.name]


def test_a_damaged_chunk_is_named(index):
    index.chmod(0o644)
    db = sqlite3.connect(index)
    db.execute("UPDATE chunk SET data = CAST(substr(data, 1, length(data) - 1) || x'00' AS BLOB)")
    db.commit()
    db.close()
    code, out, err = shell(index, "SELECT count(*) FROM record")
    assert code and out == ""
    assert "chunk of incarnation 4, partition 3, first offset 5: the checksum does not match" in err
