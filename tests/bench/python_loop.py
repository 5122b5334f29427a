"""The script that people write first: a consumer, and a dict that knows of each key its newest record and how many it has.

    python_loop.py SERVERS TOPIC RECORDS [tuned]

reads that many records from the beginning, one by one as the examples of confluent-kafka do, and prints a JSON object. It
leaves the client's settings as they are; tuned gives it those of fencepost.
"""
import json
import sys
import time

from confluent_kafka import Consumer, TopicPartition

SETTINGS = {"group.id": "python-loop", "enable.auto.commit": False}
TUNED = {"queued.min.messages": 200000, "queued.max.messages.kbytes": 32768, "fetch.wait.max.ms": 10, "check.crcs": True}


def read(consumer, records):
    keys, count = {}, 0
    while count < records:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise RuntimeError(message.error())
        key = message.key()
        known = keys.get(key)
        keys[key] = (message.partition(), message.offset(), message.timestamp()[1], known[3] + 1 if known else 1)
        count += 1
    return keys, count


def main(servers, topic, records, tuned=None):
    begun = time.monotonic()
    consumer = Consumer({"bootstrap.servers": servers, **SETTINGS, **(TUNED if tuned else {})})
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
    keys, count = read(consumer, int(records))
    seconds = time.monotonic() - begun
    print(json.dumps({"records": count, "seconds": round(seconds, 3), "rate": round(count / seconds), "keys": len(keys)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
