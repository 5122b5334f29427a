"""The clients of tests/producers: built once a run, when a test first asks, and what each must turn out to be."""
import functools
import os
import random
import shutil
import subprocess
import sys
import uuid

import cli
import kafka_broker

SOURCES = cli.ROOT / "tests" / "producers"
FOLDER = cli.built("producers").resolve()


def _make(argv, cwd=SOURCES, env=None):
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([str(word) for word in argv], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True,
                          text=True, timeout=280)
    if done.returncode != 0:
        raise RuntimeError(f"{argv}: exit {done.returncode}\n{done.stdout}{done.stderr}")


@functools.cache
def _java():
    _make(["javac", "-d", FOLDER, "-cp", kafka_broker.jars(), "java/Produce.java"])
    return ["java", *kafka_broker.JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-Xmx128m",
            "-cp", f"{FOLDER}:{kafka_broker.jars()}", "Produce"]


@functools.cache
def _rdkafka():
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "rdkafka"], check=True, capture_output=True, text=True)
    program = FOLDER / "rdkafka"
    _make([*os.environ.get("CC", "gcc").split(), "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
           "-o", program, "rdkafka/produce.c", *flags.stdout.split()])
    return [program]


@functools.cache
def _python():
    return [sys.executable, SOURCES / "python" / "produce.py"]


@functools.cache
def _node():
    return [shutil.which("node") or "node", SOURCES / "node" / "produce.js"]


@functools.cache
def _go(name):
    """Without a network and without C: what is missing is for tests/install.sh to bring."""
    _make(["go", "build", "-o", FOLDER / name, f"./{name}"], SOURCES / "go",
          {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOPROXY": "off", "GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"})
    return [FOLDER / name]


class Producer:
    """One client with one setting. expected: its partitioner, by the name it has in sql/partitioner.h."""

    def __init__(self, program, expected, partitioner=None):
        self._program, self.expected, self.partitioner = program, expected, partitioner

    def argv(self, bootstrap, topic):
        """Builds the program where that was not done; gives the command, which reads keys from its standard input."""
        named = [self.partitioner] if self.partitioner else []
        return [*map(str, self._program()), bootstrap, topic, *named]

    def produce(self, bootstrap, topic, keys, timeout=60):
        """One record a key, to the end; gives subprocess.CompletedProcess with text output. 0: all were delivered."""
        return subprocess.run(self.argv(bootstrap, topic), input="".join(key.hex() + "\n" for key in keys),
                              capture_output=True, text=True, timeout=timeout)


PRODUCERS = {
    "java": Producer(_java, "murmur2"),
    "rdkafka": Producer(_rdkafka, "crc32"),
    "rdkafka-consistent": Producer(_rdkafka, "crc32", "consistent"),
    "rdkafka-consistent-random": Producer(_rdkafka, "crc32", "consistent_random"),
    "rdkafka-murmur2": Producer(_rdkafka, "murmur2", "murmur2"),
    "rdkafka-murmur2-random": Producer(_rdkafka, "murmur2", "murmur2_random"),
    "rdkafka-fnv1a": Producer(_rdkafka, "fnv1a", "fnv1a"),
    "rdkafka-fnv1a-random": Producer(_rdkafka, "fnv1a", "fnv1a_random"),
    "kafka-python": Producer(_python, "murmur2"),
    "kafkajs": Producer(_node, "murmur2"),
    "kafkajs-legacy": Producer(_node, "kafkajs_legacy", "LegacyPartitioner"),
    "franz-go": Producer(functools.partial(_go, "franz"), "murmur2"),
    "sarama": Producer(functools.partial(_go, "sarama"), "fnv1a"),
}

# Those that put the empty key anywhere.
EMPTY_IS_RANDOM = {"rdkafka", "rdkafka-consistent-random"}


def mixed_keys(count, seed=5):
    """Distinct keys as pipelines have them: texts, UUIDs, bytes that are no text, and some of more than 127 bytes."""
    rng = random.Random(seed)
    kinds = [lambda i: f"user-{i}".encode(), lambda i: str(uuid.UUID(int=rng.getrandbits(128), version=4)).encode(),
             lambda i: rng.randbytes(rng.randrange(5, 40)), lambda i: f"Käufer {i} €".encode(),
             lambda i: rng.randbytes(rng.randrange(128, 400)), lambda i: i.to_bytes(8, "big")]
    weights = [8, 5, 4, 1, 1, 1]
    keys = [kind(i) for i, kind in enumerate(rng.choices(kinds, weights, k=count))]
    assert len(set(keys)) == count
    return keys
