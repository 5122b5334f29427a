"""The program only reads. First the proof is proven: what it watches for, it sees."""
import time

from confluent_kafka import Consumer, Producer

from observe import kafka_group_state, monitor_writes, redis_changes

ODD = b'a"b\\c\r\n\x00\xff\x07 "x" \xc3\xa4'


def test_monitor_sees_everything_binary_safe(any_redis, name):
    r = any_redis.client()
    with monitor_writes(any_redis) as seen:
        r.hset(name, ODD, b"")
        r.hmget(name, ODD, "offset")
    assert [c.args for c in seen.commands if c.name != "CLIENT"] == \
        [[b"HSET", name.encode(), ODD, b""], [b"HMGET", name.encode(), ODD, b"offset"]]
    assert [c.name for c in seen.writes] == ["HSET"]


def test_monitor_tells_writes_from_reads(any_redis, name):
    r = any_redis.client()
    r.xadd(name, {"a": 1})
    before = redis_changes(any_redis)
    with monitor_writes(any_redis) as seen:
        r.scan(count=1000)
        r.pttl(name)
        r.xinfo_stream(name)
        r.info()
    assert seen.writes == []
    assert redis_changes(any_redis) == before
    with monitor_writes(any_redis) as seen:
        r.xgroup_create(name, "g")
        r.eval("redis.call('hset', KEYS[1], 'offset', 1)", 1, name + "-h")
    assert [(c.name, c.client == "lua") for c in seen.writes] == [("XGROUP", False), ("HSET", True)]
    assert redis_changes(any_redis) != before


def test_monitor_of_a_server_with_a_password(redis_factory):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    with monitor_writes(server) as seen:
        server.client().set("k", "v")
    assert [c.name for c in seen.writes] == ["SET"]


def consume_one(broker, topic, group, commit):
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                         "enable.auto.commit": False})
    consumer.subscribe([topic])
    until = time.monotonic() + 30
    while (message := consumer.poll(0.1)) is None or message.error():
        assert time.monotonic() < until
    if commit:
        consumer.commit(message, asynchronous=False)
    consumer.close()


def test_group_state_shows_records_joins_and_commits(any_broker, name):
    any_broker.create_topic(name, 2)
    states = [kafka_group_state(any_broker)]
    assert kafka_group_state(any_broker) == states[0]
    producer = Producer({"bootstrap.servers": any_broker.bootstrap})
    producer.produce(name, b"v", b"k", partition=1)
    assert producer.flush(30) == 0
    states.append(kafka_group_state(any_broker))
    assert states[1]["topics"][name]["high watermark"] == {0: 0, 1: 1}

    consume_one(any_broker, name, name + "-g", commit=False)
    states.append(kafka_group_state(any_broker))
    assert states[2] != states[1], "a join that left no commit goes unseen"

    consume_one(any_broker, name, name + "-g", commit=True)
    states.append(kafka_group_state(any_broker))
    assert states[3]["groups"][name + "-g"]["commits"] == {f"{name}/1": 1}
