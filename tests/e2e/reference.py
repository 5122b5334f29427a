"""The reference pipeline's programs as objects, and an independent look at what they left behind.

Nothing here shares code with them: Kafka is read by confluent-kafka, Redis by redis-py, partitions are computed by
kafka-python.
"""
import json
import subprocess
from collections import defaultdict, namedtuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from kafka.partitioner.default import murmur2

Record = namedtuple("Record", "topic partition offset key value source timestamp")
CRASHED, FENCED = 42, 3


def home(key, count):
    """toPositive(murmur2(key)) % count."""
    return (murmur2(key) & 0x7fffffff) % count


class Mock:
    """A mock broker with topics, {name: partitions}. It ends with close(), or with this process."""

    def __init__(self, program, topics):
        words = [word for name, partitions in topics.items()
                 for word in ("--topic", f"{name}:{partitions}")]
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.bootstrap = self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(10)


class Pipeline:
    """One topic with its output and DLQ, a group, and a Redis (redis_server.RedisServer).

    bin: the fixture pipeline_bin. name keeps it apart from others: topic NAME, NAME-out, NAME-dlq, Redis keys NAME:{key}.
    """

    def __init__(self, bin, bootstrap, redis, name):
        self.bin = bin
        self.bootstrap = bootstrap
        self.redis = redis.client()
        self.sock = redis.sock
        self.topic, self.output, self.dlq = name, f"{name}-out", f"{name}-dlq"
        self.group = name
        self.key = name.replace("{", "{{").replace("}", "}}") + ":{key}"
        self.prefix = f"{name}:".encode()

    # -- the programs ----------------------------------------------------------------------------------------------

    def words(self, program, *args, group=None, key=None):
        words = [self.bin(program), *map(str, args), "-b", self.bootstrap, "-t", self.topic]
        if program != "generate":
            words += ["-u", self.sock, "-g", group or self.group, "--key", key or self.key]
        if program == "worker":
            words += ["--output", self.output, "--dlq", self.dlq]
        return words

    def run(self, program, *args, code=0, timeout=120, **kwargs):
        """Runs a program to its end; gives the JSON objects it printed. code: the exit status it must have."""
        done = subprocess.run(self.words(program, *args, **kwargs), capture_output=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, (done.returncode, done.stderr.decode(errors="replace")[-2000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def generate(self, *args, **kwargs):
        return self.run("generate", *args, **kwargs)[0]

    def work(self, *args, join=False, **kwargs):
        """One worker to the end of the topic, by default without joining the group."""
        words = ["--until-end"] if join else ["--until-end", "--no-join"]
        return self.run("worker", *words, *args, **kwargs)[-1]

    def crash(self, *args, seed, probability=0.03, join=False, limit=200):
        """Workers one after another, each with the next seed, until one lives to the end; gives how many crashed."""
        words = ["--until-end", *([] if join else ["--no-join"]), "--crash-prob", probability, *args]
        for n in range(limit):
            done = subprocess.run(self.words("worker", *words, "--crash-seed", seed * 1000 + n), capture_output=True,
                                  timeout=120, stdin=subprocess.DEVNULL)
            if done.returncode == 0:
                return n
            assert done.returncode == CRASHED, done.stderr.decode(errors="replace")[-2000:]
        raise AssertionError(f"no worker of {limit} came to the end")

    def start(self, *args, **kwargs):
        """A worker in the background, as subprocess.Popen."""
        return subprocess.Popen(self.words("worker", *args, **kwargs), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def fault(self, name, *args, **kwargs):
        """The facts of a fault: a list of objects."""
        return self.run("fault", name, *args, **kwargs)

    # -- what they left --------------------------------------------------------------------------------------------

    def read(self, topic=None, isolation="read_committed"):
        """All records of a topic, partition by partition."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "look", "isolation.level": isolation,
                             "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error",
                             "fetch.wait.max.ms": 10, "log_level": 2})
        topic = topic or self.topic
        try:
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
            return list(self._read(consumer, len(partitions)))
        finally:
            consumer.close()

    @staticmethod
    def _read(consumer, left):
        while left:
            m = consumer.poll(30)
            assert m is not None, "no answer"
            if m.error():
                if m.error().code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(m.error())
                left -= 1
                continue
            source = dict(m.headers() or []).get("source")
            yield Record(m.topic(), m.partition(), m.offset(), m.key(), m.value(), source and source.decode(),
                         m.timestamp()[1])

    def states(self):
        """{key: (partition, offset, value)} of all hashes, the numbers as int."""
        keys = list(self.redis.scan_iter(match=glob(self.prefix) + b"*", count=1000))
        pipe = self.redis.pipeline(transaction=False)
        for key in keys:
            pipe.hmget(key, "partition", "offset", "value")
        return {key[len(self.prefix):]: (int(p), int(o), v) for key, (p, o, v) in zip(keys, pipe.execute())}

    def epochs(self, count):
        return [int(self.redis.get(f"epoch:{self.topic}:{p}") or 0) for p in range(count)]

    def committed(self, count, group=None):
        """The group's commits by partition, -1001 for none."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group or self.group, "log_level": 2})
        try:
            asked = [TopicPartition(self.topic, p) for p in range(count)]
            return [tp.offset for tp in sorted(consumer.committed(asked, timeout=30), key=lambda tp: tp.partition)]
        finally:
            consumer.close()


def glob(text):
    """Bytes that MATCH takes literally."""
    for special in (b"\\", b"*", b"?", b"[", b"]"):
        text = text.replace(special, b"\\" + special)
    return text


def source_of(record):
    return f"{record.topic}/{record.partition}/{record.offset}"


def is_reject(record, count):
    """Whether the worker must send a record to the DLQ: in a wrong partition, or poison."""
    return record.key is not None and (record.partition != home(record.key, count) or
                                       (record.value or b"").startswith(b"poison"))


def binding(records, count, tombstones="apply"):
    """{key: [records that must move its fence, in order]}; a delete begins the list of its key anew."""
    keys = defaultdict(list)
    for r in sorted(records, key=lambda r: (r.partition, r.offset)):
        if r.key is None or is_reject(r, count):
            continue
        if r.value is None and tombstones == "delete":
            keys.pop(r.key, None)
        elif r.value is not None or tombstones == "apply":
            keys[r.key].append(r)
    return keys


def fold(state, records):
    """The value that a state of a kind must have after these records of one key."""
    if state == "count":
        return b"%d" % len(records)
    if state == "sum":
        return b"%d" % sum(int(r.value or b"0") for r in records)
    return records[-1].value or b""


def expected(state, records, count, tombstones="apply"):
    """{key: (partition, offset, value)} that Redis must hold after all records."""
    return {key: (rs[-1].partition, rs[-1].offset, fold(state, rs))
            for key, rs in binding(records, count, tombstones).items()}
