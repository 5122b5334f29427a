"""What the benchmarks run against: a broker with topics filled by load_topic, and a Redis as a faultless worker left it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "kafka"), str(ROOT / "tests" / "e2e")]

from confluent_kafka import Consumer, TopicPartition        # noqa: E402
from kafka_broker import Broker                             # noqa: E402
from redis_server import RedisServer                        # noqa: E402

BUILD = ROOT / os.environ.get("BUILD", "build")
PARTITIONS = 12
KEYS_PER = 10                   # records a key, on average
LOG_BYTES = 107                 # a record in the broker's log
INDEX_BYTES = 40                # a record in the index, with what a fold adds
REDIS_BYTES = 200               # a hash in Redis
GROUP = "bench"


def built(name):
    return str(BUILD / name)


def need_space(records, keys):
    """Ends the program where the disk or the memory is too small, and says what is needed."""
    folder = pathlib.Path(tempfile.gettempdir())
    disk = sum(records) * LOG_BYTES + max(records) * INDEX_BYTES + (1 << 30)
    memory = keys * REDIS_BYTES + (3 << 30)
    free = shutil.disk_usage(folder).free
    with open("/proc/meminfo", encoding="ascii") as f:
        available = next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable"))
    print(f"needs {disk / 1e9:.1f} GB in {folder} (TMPDIR), {free / 1e9:.1f} are free; and {memory / 1e9:.1f} GB of memory, "
          f"{available / 1e9:.1f} are available")
    if free < disk or available < memory:
        sys.exit("bench: not enough room")


class World:
    """A broker, a folder, and Redis servers of one topic each. Use with `with`."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-bench-"))
        self.end_ms = int(time.time() * 1000)
        self.broker = None
        try:
            self.broker = Broker(options={"log.retention.ms": "-1", "log.retention.check.interval.ms": 300000})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.broker:
            self.broker.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def topic(self, records):
        """A topic of that many records, a tenth as many keys, committed by GROUP to its end."""
        name = f"orders{records}"
        self.broker.create_topic(name, PARTITIONS, {"retention.ms": "-1"})
        self._load(name, records, "-b", self.broker.bootstrap)
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": GROUP})
        consumer.commit(offsets=[TopicPartition(name, p, o) for p, o in self.broker.offsets(name).items()], asynchronous=False)
        consumer.close()
        os.sync()
        return name

    def redis(self, name, records):
        """A Redis server with the state of the topic; the caller closes it."""
        server = RedisServer()
        try:
            self._load(name, records, "-u", server.sock)
            os.sync()
        except BaseException:
            server.close()
            raise
        return server

    def _load(self, name, records, *where):
        done = subprocess.run([built("bench/load_topic"), *where, "-n", str(records), "-k", str(records // KEYS_PER),
                               "-p", str(PARTITIONS), "-e", str(self.end_ms), name], check=True, capture_output=True, text=True)
        told = json.loads(done.stdout)
        print(f"loaded {name} {where[0]}: {records:,} records in {told['seconds']:.0f} s", flush=True)

    def config(self, name, server=None, index="audit", pipeline=None, **more):
        """A config for the topic and the index that it names; without a server there is no Redis. pipeline: more
        of its section; more: of the top level."""
        index = self.folder / f"{name}-{index}.db"
        config = {**more, "kafka": {"bootstrap.servers": self.broker.bootstrap}, "index": str(index),
                  "redis": {"url": server.unix_url, "rate": 0} if server else "none",
                  "pipelines": {"orders": {"topic": name, "group": GROUP, "key": "state:{key}",
                                           "epoch": "epoch:{topic}:{partition}", **(pipeline or {})}}}
        path = index.with_suffix(".yaml")
        path.write_text(json.dumps(config, indent=1))       # YAML holds JSON
        return path, index

    def clear(self, index):
        for path in self.folder.glob(index.name + "*"):
            path.unlink()
