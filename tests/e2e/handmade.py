"""A pipeline made by hand: records, the fences that a worker would have left, commits without a worker, a config.

It needs no program of the reference pipeline, so a test can say in Redis and Kafka commands what the world is like.
"""
import json

from confluent_kafka import Consumer, Producer, TopicPartition


class Handmade:
    """A topic of its own named `name`, the group `name`, Redis keys `state:NAME:KEY`; everything applied and committed.

    .records: {(partition, offset): (key, value)}; .fences: {key: (partition, offset)}; .config: the config file.
    """

    def __init__(self, broker, redis_server, name, folder, partitions=3):
        self.broker, self.redis_server, self.name, self.folder = broker, redis_server, name, folder
        self.partitions = partitions
        self.records, self.fences = {}, {}
        self.config = folder / "fencepost.yaml"
        broker.create_topic(name, partitions)

    def redis_key(self, key):
        return f"state:{self.name}:{key}"

    def produce(self, pairs):
        """Sends (key, value) pairs of text to the keys' home partitions."""
        trouble = []

        def delivered(error, message):
            if error:
                trouble.append(error)
            else:
                self.records[message.partition(), message.offset()] = (message.key().decode(), message.value().decode())

        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "partitioner": "murmur2"})
        for key, value in pairs:
            producer.produce(self.name, value, key, on_delivery=delivered)
        assert producer.flush(30) == 0 and not trouble, trouble

    def apply(self):
        """Writes into Redis what the fence contract makes of all records so far, and the epochs of a first owner."""
        with self.redis_server.client().pipeline(transaction=False) as pipe:
            for (partition, offset), (key, value) in sorted(self.records.items()):
                self.fences[key] = (partition, offset)
                pipe.hset(self.redis_key(key), mapping={"partition": partition, "offset": offset, "value": value})
            for partition in range(self.partitions):
                pipe.set(f"epoch:{self.name}:{partition}", 1)
            pipe.execute()

    def commit(self):
        """Commits the ends for the group, which nobody joins."""
        ends = self.broker.high_watermarks(self.name)
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": self.name})
        consumer.commit(offsets=[TopicPartition(self.name, p, o) for p, o in ends.items()], asynchronous=False)
        consumer.close()

    def configure(self, kafka=None, redis_url=None, pipeline=None):
        """Writes the config file; kafka and pipeline add lines to these sections."""
        kafka = {"bootstrap.servers": self.broker.bootstrap, **(kafka or {})}
        mine = {"topic": self.name, "group": self.name, "key": self.redis_key("{key}"),
                "epoch": f"epoch:{self.name}:{{partition}}", **(pipeline or {})}
        lines = ["kafka:", *_section(kafka, 1), "redis:", *_section({"url": redis_url or self.redis_server.url}, 1),
                 f"index: {json.dumps(str(self.folder / 'fencepost.db'))}", "pipelines:", f"  {self.name}:",
                 *_section(mine, 2)]
        self.config.write_text("\n".join(lines) + "\n")
        return self.config

    def make(self, records=400, keys=150):
        """All of it: a healthy pipeline with its config."""
        self.produce((f"k{i % keys}", f"v{i}") for i in range(records))
        self.apply()
        self.commit()
        self.configure()
        return self


def _section(entries, depth):
    return [f"{'  ' * depth}{name}: {json.dumps(value)}" for name, value in entries.items()]
