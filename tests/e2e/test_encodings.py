"""Topics declared co-partitioned that hold the same keys as different bytes."""
import base64
import json
import sqlite3
import struct
import uuid
from contextlib import closing

import pytest
from confluent_kafka import Producer

import cli
import reference
from test_key_formats import avro, confluent, varint

GLUE = b"\3\0" + bytes(range(16))
ENCODINGS = {
    "text": lambda n: b"%d" % n,
    "line": lambda n: b"%d\n" % n,
    "json": lambda n: b'"%d"' % n,
    "int32": lambda n: struct.pack(">i", n),
    "int32-le": lambda n: struct.pack("<i", n),
    "int64": lambda n: struct.pack(">q", n),
    "int64-le": lambda n: struct.pack("<q", n),
    "double": lambda n: struct.pack(">d", n),
    "avro string 1": lambda n: confluent(1, avro(b"%d" % n)),
    "avro string 2": lambda n: confluent(2, avro(b"%d" % n)),
    "avro long": lambda n: confluent(1, varint(2 * n)),
    "protobuf long": lambda n: confluent(9, b"\0\x08" + varint(n)),
    "glue json": lambda n: GLUE + b'"%d"' % n,
    "uuid": lambda n: uuid.uuid5(uuid.NAMESPACE_OID, str(n)).bytes,
    "uuid text": lambda n: str(uuid.uuid5(uuid.NAMESPACE_OID, str(n))).encode(),
    "uuid upper": lambda n: str(uuid.uuid5(uuid.NAMESPACE_OID, str(n))).upper().encode(),
    "base64": lambda n: base64.b64encode(uuid.uuid5(uuid.NAMESPACE_OID, str(n)).bytes),
}
INT64, TEXT = "int64 big-endian", "UTF-8 text"
PAIRS = [("int64", "text", INT64, TEXT), ("text", "json", TEXT, "JSON-quoted text"), ("line", "text", "text with a newline", TEXT),
         ("int32", "int64", "int32 big-endian", INT64), ("int64", "int64-le", INT64, "int64 little-endian"),
         ("int32-le", "double", "int32 little-endian", "double big-endian"), ("uuid", "uuid text", "the 16 bytes of a UUID", TEXT),
         ("uuid text", "uuid upper", TEXT, "upper-case UUID text"),
         ("uuid", "base64", "bytes that the other topic writes as base64 text", TEXT),
         ("text", "avro string 1", TEXT, "Avro string behind a Confluent schema id (such as 1)"),
         ("avro string 2", "avro string 1", "Avro string behind a Confluent schema id (such as 2)",
          "Avro string behind a Confluent schema id (such as 1)"),
         ("avro long", "int64", "Avro long behind a Confluent schema id (such as 1)", INT64),
         ("protobuf long", "glue json", "Protobuf int64 behind a Confluent schema id (such as 9)",
          "JSON string behind an AWS Glue header")]


PARTITIONS, KEYS = 6, range(1, 301)      # 0 is the same in any byte order


class Topics:
    """Topics of keys, and pipelines over pairs of them, in one audit."""

    def __init__(self, tools, broker):
        self.broker, self.name, self.folder, self.fencepost = broker, tools.name, tools.folder, tools.fencepost
        self.pipelines = {}
        self.made = set()

    def make(self, encoding, numbers=KEYS, label="", partitions=PARTITIONS):
        """A topic with the numbers' keys at their homes; its name."""
        topic = f"{self.name}-{encoding}{label}".replace(" ", "-")
        if topic not in self.made:
            self.made.add(topic)
            self.broker.create_topic(topic, partitions)
            producer = Producer({"bootstrap.servers": self.broker.bootstrap, "partitioner": "murmur2"})
            for n in numbers:
                producer.produce(topic, b"v", ENCODINGS[encoding](n))
            assert producer.flush(30) == 0
        return topic

    def pair(self, name, source, other):
        self.pipelines[name] = {"topic": source, "copartitioned.with": [other], "horizon": "age:1s"}

    def audit(self, *options, **top):
        path = self.folder / "fencepost.yaml"
        path.write_text(json.dumps({**top, "index": "fencepost.db", "kafka": {"bootstrap.servers": self.broker.bootstrap},
                                    "pipelines": self.pipelines}))
        out = self.folder / "report"
        done = self.fencepost.run(["audit", "-q", "-c", path, "-o", out, *options], cwd=self.folder, timeout=120)
        assert done.code in (0, 2), done.err + done.out
        return cli.Report(out)

    def rows(self, table):
        """{pipeline or source topic: row}"""
        with closing(sqlite3.connect(self.folder / "fencepost.db")) as db:
            db.row_factory = sqlite3.Row
            return {row[0]: dict(row) for row in db.execute(f"SELECT {table}")}

    def breaks(self):
        return self.rows("pipeline, * FROM encoding_break")


@pytest.fixture
def topics(tools, broker):
    return Topics(tools, broker)


def causes(report):
    return {f["pipeline"]: f for f in report.findings if f["check"] == "copartition-cause"}


def apart(mine, theirs, numbers=KEYS):
    return sum(reference.home(ENCODINGS[mine](n), PARTITIONS) != reference.home(ENCODINGS[theirs](n), PARTITIONS)
               for n in numbers)


def test_pairs(topics):
    for mine, theirs, _, _ in PAIRS:
        topics.pair(f"{mine}/{theirs}", topics.make(mine), topics.make(theirs))
    report = topics.audit()
    found, told = topics.breaks(), causes(report)
    assert set(found) == set(told) == {f"{mine}/{theirs}" for mine, theirs, _, _ in PAIRS}
    assert len(report.findings) == len(PAIRS), report.findings
    for mine, theirs, words, other_words in PAIRS:
        row = found[f"{mine}/{theirs}"]
        there, elsewhere = (f"{topics.name}-{e}".replace(" ", "-") for e in (mine, theirs))
        assert (row["keys"], row["identical"], row["compared"], row["same"]) == (300, 0, 300, 300), row
        assert row["apart"] == apart(mine, theirs)
        assert row["detail"] == (
            f"{there} and {elsewhere} hold the same 300 keys under different encodings, {words} in {there} and "
            f"{other_words} in {elsewhere}, so that {row['apart']} of them lie in different partitions.")
        finding = told[f"{mine}/{theirs}"]
        assert (finding["detail"], finding["remedy"]) == (row["detail"], row["remedy"])
        assert (finding["severity"], finding["topic"], finding["evidence"]["kind"]) == ("error", there, "encoding")
        assert finding["evidence"]["topics"] == [there, elsewhere] and finding["evidence"]["apart"] == row["apart"]
        for source, other in json.loads(row["samples"]):
            assert any((ENCODINGS[mine](n).hex(), ENCODINGS[theirs](n).hex()) == (source, other) for n in KEYS)


def test_healthy(topics):
    """The same bytes; other keys; the same numbers, but few; a topic that is empty."""
    topics.pair("same", topics.make("text"), topics.make("text", KEYS, " again"))
    topics.pair("more", topics.make("int64", range(50)), topics.make("int64", range(3000), " all"))
    topics.pair("others", topics.make("text"), topics.make("int64", range(1000, 1300), " others"))
    topics.pair("few", topics.make("text", range(19), " few"), topics.make("int64", range(50)))
    topics.pair("some", topics.make("text", range(30, 300), " some"), topics.make("int64", range(50)))
    topics.pair("empty", topics.make("text"), topics.make("double", []))
    report = topics.audit()
    assert topics.breaks() == {} and report.findings == [], report.findings
    looked = topics.rows("topic, keys, identical FROM topic_encoding JOIN topic USING (topic_id)")
    assert len(looked) == 2 and {row["identical"] for row in looked.values()} == {0}


def test_sizes_and_counts(topics):
    """A part of the keys, on either side; a topic of another partition count."""
    topics.pair("part", topics.make("int64", range(100)), topics.make("text", range(3000)))
    topics.pair("whole", topics.make("text", range(3000)), topics.make("int64", range(100)))
    topics.pair("count", topics.make("int64", range(100)), topics.make("json", range(100), "", 4))
    topics.audit()
    found = topics.breaks()
    assert {name: (row["compared"], row["same"], row["apart"]) for name, row in found.items()} == {
        "part": (100, 100, apart("int64", "text", range(100))), "whole": (100, 100, apart("int64", "text", range(100))),
        "count": (100, 100, None)}
    assert found["whole"]["format"] == "raw" and found["whole"]["other_format"] == "int64"
    assert found["count"]["detail"].endswith("so that joins find none of them.")
    assert "LongSerializer or StringSerializer" in found["part"]["remedy"]


def test_a_second_producer(topics):
    """Most keys are the same bytes, and one producer writes JSON."""
    other = topics.make("text", range(1, 201), " mixed")
    producer = Producer({"bootstrap.servers": topics.broker.bootstrap, "partitioner": "murmur2"})
    for n in range(201, 301):
        producer.produce(other, b"v", ENCODINGS["json"](n))
    assert producer.flush(30) == 0
    topics.pair("mixed", topics.make("text"), other)
    report = topics.audit()
    row = topics.breaks()["mixed"]
    assert (row["keys"], row["identical"], row["compared"], row["same"]) == (300, 200, 100, 100), row
    assert set(causes(report)) == {"mixed"}


def test_a_sample(topics):
    """Of half of the keys, a quarter can be compared."""
    topics.pair("half", topics.make("text", range(3000)), topics.make("int64", range(3000)))
    topics.audit(**{"sample.keys": 2000})
    row = topics.breaks()["half"]
    assert 1300 < row["keys"] < 1700 and row["identical"] == 0 and 600 < row["compared"] == row["same"] < 900, row
