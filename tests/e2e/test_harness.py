"""The servers that the other tests stand on are what they are taken for, and go when the run goes."""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

import kafka_broker
import redis_server as redis_servers


def produce(settings, topic, count):
    """Sends count records to partition 0; gives the errors of their deliveries."""
    errors = []
    producer = Producer({"log_level": 2, "message.timeout.ms": 10000, **settings})
    for i in range(count):
        producer.produce(topic, f"v{i}", f"k{i}", partition=0, on_delivery=lambda e, _: e and errors.append(e.name()))
    assert producer.flush(30) == 0
    return errors


def test_broker_answers(any_broker, name):
    any_broker.create_topic(name, 3, {"retention.ms": 60000})
    about = any_broker.describe(name)
    assert about["partitions"] == 3
    assert about["config"]["retention.ms"] == "60000"
    assert any_broker.high_watermarks(name) == {0: 0, 1: 0, 2: 0}
    any_broker.add_partitions(name, 4)
    assert any_broker.partition_count(name) == 4
    any_broker.alter_config(name, {"retention.ms": None, "cleanup.policy": "compact"})
    assert any_broker.describe(name)["config"]["cleanup.policy"] == "compact"
    any_broker.delete_topic(name)
    assert any_broker.partition_count(name) == 0


def test_records_can_be_deleted(any_broker, name):
    any_broker.create_topic(name)
    assert produce({"bootstrap.servers": any_broker.bootstrap}, name, 10) == []
    assert any_broker.delete_records(name, {0: 4}) == {0: 4}
    assert any_broker.log_starts(name) == {0: 4}
    assert any_broker.high_watermarks(name) == {0: 10}


def watermarks(settings, topic):
    consumer = Consumer({"group.id": "none", "log_level": 2, **settings})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    finally:
        consumer.close()


def wait_for(true, what, timeout=30):
    until = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def offsets_of(broker, topic):
    """The offsets that partition 0 still holds."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "enable.partition.eof": True,
                         "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(10)) is not None and not message.error():
        found.append(message.offset())
    consumer.close()
    return found


def test_retention_happens_within_a_test(any_broker, name):
    bootstrap = {"bootstrap.servers": any_broker.bootstrap}
    any_broker.create_topic(name, config={"retention.ms": 1, "segment.ms": 100})
    produce(bootstrap, name, 5)
    time.sleep(0.2)
    produce(bootstrap, name, 1)
    wait_for(lambda: any_broker.log_starts(name)[0] >= 5, "retention")


def test_compaction_happens_within_a_test(any_broker, name):
    bootstrap = {"bootstrap.servers": any_broker.bootstrap}
    any_broker.create_topic(name, config={"cleanup.policy": "compact", "segment.ms": 100,
                                          "min.cleanable.dirty.ratio": 0.01})
    for _ in range(3):      # keys k0..k4, three times; the last segment is never compacted
        produce(bootstrap, name, 5)
        time.sleep(0.2)
    wait_for(lambda: offsets_of(any_broker, name) == list(range(5, 15)), "the cleaner")


def test_a_kafka_command(broker, name):
    broker.create_topic(name)
    listed = broker.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", broker.bootstrap, "--list")
    assert name in listed.stdout.split()
    with pytest.raises(RuntimeError, match="exit 1"):
        broker.tool("org.apache.kafka.tools.TopicCommand", "--no-such-option")


def test_an_outage_keeps_address_and_records(broker_factory, name):
    broker = broker_factory()
    broker.create_topic(name)
    assert produce({"bootstrap.servers": broker.bootstrap}, name, 3) == []
    broker.stop()
    assert not broker.child.alive()
    broker.start()
    assert broker.high_watermarks(name) == {0: 3}


@pytest.mark.parametrize("version", kafka_broker.VERSIONS)
def test_acls_hold(broker_factory, version, name):
    broker = broker_factory(version, acl=True)
    broker.create_topic(name)
    assert produce({"bootstrap.servers": broker.bootstrap}, name, 1) == []
    auditor = broker.sasl("auditor")
    with pytest.raises(KafkaException, match="Unknown partition"):
        watermarks(auditor, name)
    broker.allow("auditor", "topic", name, "READ", "DESCRIBE")
    assert watermarks(auditor, name) == (0, 1)
    assert produce(auditor, name, 1) == ["TOPIC_AUTHORIZATION_FAILED"]
    broker.disallow("auditor")
    with pytest.raises(KafkaException, match="Unknown partition"):
        watermarks(auditor, name)
    assert produce(broker.sasl("admin"), name, 1) == []


def test_redis_is_of_the_version_asked_for(any_redis):
    assert any_redis.version.startswith(any_redis.kind + ".")
    r = any_redis.client()
    r.hset("k", mapping={"offset": 1})
    assert r.hgetall("k") == {b"offset": b"1"}
    any_redis.flush()
    assert r.dbsize() == 0


def test_redis_with_password(redis_factory):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    assert server.client().ping()
    with pytest.raises(Exception, match="(?i)auth"):
        server.client(password=None).ping()


@pytest.mark.parametrize("version", redis_servers.VERSIONS)
def test_replica_follows(redis_factory, version):
    master = redis_factory(version)
    replica = redis_factory(version, options={"replicaof": f"127.0.0.1 {master.port}"})
    master.client().set("k", "v")
    until = time.monotonic() + 20
    while replica.client().get("k") != b"v":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert replica.client().info("replication")["role"] == "slave"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_outlives_its_run(tmp_path, how):
    """A run inside this one starts a Redis server and is then ended in each way."""
    (tmp_path / "test_inner.py").write_text(textwrap.dedent("""
        import pathlib, time
        def test_inner(redis_server):
            pathlib.Path("started.tmp").write_text(f"{redis_server.child.pid} {redis_server.dir}")
            pathlib.Path("started.tmp").rename("started")
            time.sleep(60)
        """))
    here = pathlib.Path(__file__).parent
    run = subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-p", "conftest", "test_inner.py"], cwd=tmp_path,
                           env={**os.environ, "PYTHONPATH": f"{here}:{here.parent / 'kafka'}"},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a job in the background ignores it
    started = tmp_path / "started"
    while not started.exists():
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.05)
    pid, folder = started.read_text().split()
    run.send_signal(how)
    run.communicate(timeout=100)
    until = time.monotonic() + 10
    while pathlib.Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until, "the server lives on"
        time.sleep(0.02)
    if how != signal.SIGKILL:
        assert not pathlib.Path(folder).exists()
    else:
        subprocess.run(["rm", "-rf", folder], check=True)
