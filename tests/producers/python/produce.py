"""kafka-python's producer with its default partitioner; the interface is in ../README.md."""
import sys

from kafka import KafkaProducer
from kafka.errors import KafkaError


def main():
    if len(sys.argv) != 3:
        sys.stderr.write("usage: produce.py BOOTSTRAP TOPIC\n")
        return 64
    _, bootstrap, topic = sys.argv
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    try:
        sent = [producer.send(topic, b"v", bytes.fromhex(line.rstrip("\n"))) for line in sys.stdin]
        producer.flush(60)
        for one in sent:
            one.get(0)
    except KafkaError as e:
        sys.stderr.write(f"produce.py: {e!r}\n")
        return 1
    finally:
        producer.close(5)
    return 0


sys.exit(main())
