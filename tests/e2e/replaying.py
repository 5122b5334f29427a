"""Replays by the tool, and what an index then holds, next to what other clients see."""
import json
import sqlite3
import subprocess
import time
from types import SimpleNamespace

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

import cli


class Index:
    """One index file, filled by build/tools/replay_tool."""

    def __init__(self, path, bootstrap):
        self.path = path
        self.bootstrap = bootstrap

    def argv(self, *args):
        return [str(cli.built("tools") / "replay_tool"), "-b", self.bootstrap, *map(str, args)]

    def popen(self, *args):
        """args: options, then topics."""
        options = [a for a in args if str(a).startswith("-")]
        topics = [a for a in args if not str(a).startswith("-")]
        return subprocess.Popen(self.argv(*options, self.path, *topics), text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def replay(self, *args, timeout=60):
        return ended(self.popen(*args), timeout)

    def query(self, sql, *values):
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        db.enable_load_extension(True)
        db.load_extension(str(cli.built("fencepost.so")))
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def incarnation(self, topic):
        """The current one."""
        [(found,)] = self.query("SELECT incarnation_id FROM incarnation WHERE topic = ? AND ended_run IS NULL", topic)
        return found

    def records(self, topic):
        """(partition, offset, ts, key, value size, value hash, kind) of the current incarnation, in order."""
        return sorted(self.query("""SELECT partition, offset, ts, key, value_size, value_hash, kind FROM record
            WHERE incarnation = ?""", self.incarnation(topic)), key=lambda r: r[:2])

    def progress(self, topic):
        """{partition: (first, next, gap)} of the current incarnation."""
        return {p: tuple(rest) for p, *rest in self.query("""SELECT partition, first_offset, next_offset, gap_offset
            FROM partition WHERE incarnation_id = ?""", self.incarnation(topic))}

    def gaps(self, topic):
        """[(partition, start, end, class)] of the current incarnation."""
        return sorted(self.query("SELECT partition, start_offset, end_offset, class FROM gap WHERE incarnation = ?",
                                 self.incarnation(topic)))

    def rewrites(self):
        """[(topic, partition, kind, offset, evidence)]"""
        return [(*row, json.loads(evidence)) for *row, evidence in self.query(
            "SELECT topic, partition, kind, offset, evidence FROM rewrite ORDER BY rewrite_id")]


def ended(process, timeout=60):
    """.code .err .topics (by name, parts included) .looks (of -g and -a) of a replay that ends by itself."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return SimpleNamespace(code=process.returncode, err=err, topics={t["topic"]: t for t in found if "parts" in t},
                           looks=next((t for t in found if "parts" not in t), None))


def await_word(process, word):
    """Until the tool says word; it then waits for go(process)."""
    line = process.stdout.readline()
    assert line.strip() == word, line + process.stderr.read()


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def produce(broker, topic, records, **settings):
    """records: (partition, key, value[, timestamp ms[, headers]])."""
    errors = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20, "log_level": 2, **settings})
    for partition, key, value, *rest in records:
        extra = dict(zip(("timestamp", "headers"), rest))
        while True:
            try:
                producer.produce(topic, value, key, partition=partition, on_delivery=lambda e, _: e and errors.append(e), **extra)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(60) == 0 and not errors, errors


BASE_MS = int(time.time()) * 1000    # recent, so that retention leaves the records alone


def numbered(partition, start, count, word="v"):
    return [(partition, f"k{i % 17}", f"{word}{i}", BASE_MS + i) for i in range(start, start + count)]


def consume(broker, topic, partitions, isolation="read_committed"):
    """{(partition, offset): (ts, key, value)} as an independent client reads them to the end."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "independent", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "enable.partition.eof": True, "isolation.level": isolation})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
    found, ends = {}, 0
    while ends < partitions:
        for message in consumer.consume(10000, 0.3):
            if message.error():
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ends += 1
            else:
                found[message.partition(), message.offset()] = (message.timestamp()[1], message.key(), message.value())
    consumer.close()
    return found


def generate(pipeline_bin, broker, topic, path, **options):
    """Runs the generator; gives the records that it delivered, as it lists them at path (None: no list)."""
    argv = [pipeline_bin("generate"), "-b", broker.bootstrap, "-t", topic, *(["--list", str(path)] if path else [])]
    for option, value in options.items():
        argv += [f"--{option.replace('_', '-')}", str(value)]
    subprocess.run(argv, check=True, capture_output=True, timeout=120)
    return [json.loads(line) for line in path.read_text().splitlines()] if path else None
