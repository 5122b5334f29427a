"""The program only reads. First the proof is proven: what it watches for, it sees."""
import re
import shutil
import time

import pytest
from confluent_kafka import Consumer, Producer

import cli
from handmade import Handmade
from observe import kafka_group_state, monitor_writes, redis_changes, undisturbed
import redis_server as redis_servers

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


# What an auditor needs, and no more.
KAFKA_ACLS = [("topic", "READ"), ("topic", "DESCRIBE"), ("topic", "DESCRIBE_CONFIGS"), ("group", "DESCRIBE")]


def audit(fencepost, pipeline, *options, **kwargs):
    """Runs an audit of a handmade pipeline into its folder's out/."""
    return fencepost.run(["audit", "-c", pipeline.config, "-o", pipeline.folder / "out", *options], cwd=pipeline.folder,
                         **kwargs)


def audit_anew(fencepost, pipeline, work):
    shutil.rmtree(work / "out", ignore_errors=True)
    return audit(fencepost, pipeline)


def assert_clean(done, report):
    assert done.code == 0, done.out + done.err
    assert report.summary["status"] == "clean"
    assert report.of_pipelines == []


def test_audit_writes_nothing(fencepost, read_report, any_broker, any_redis, name, work):
    pipeline = Handmade(any_broker, any_redis, name, work).make()
    before = redis_changes(any_redis)
    with monitor_writes(any_redis) as seen:
        done = undisturbed(any_broker, lambda: audit_anew(fencepost, pipeline, work))
    after = redis_changes(any_redis)
    assert_clean(done, read_report(work / "out"))
    assert {"SCAN", "HMGET"} <= seen.names(), "the audit was not seen at work"
    assert seen.writes == []
    assert after == before


def test_audit_of_a_broken_pipeline_writes_nothing(fencepost, read_report, broker_factory, redis_server, name, work):
    broker = broker_factory()           # of its own: on the shared one the state of hundreds of topics would be compared
    pipeline = Handmade(broker, redis_server, name, work).make()
    redis_server.client().delete(pipeline.redis_key("k7"))
    before = redis_changes(redis_server)
    with monitor_writes(redis_server) as seen:
        done = undisturbed(broker, lambda: audit_anew(fencepost, pipeline, work))
    after = redis_changes(redis_server)
    assert done.code == 2, done.out + done.err
    assert [(f["check"], f["key"]) for f in read_report(work / "out").of_pipelines] == [("fence-missing", "k7")]
    assert seen.writes == []
    assert after == before


def readme(pattern):
    """What README.md gives an operator to type."""
    return re.findall(pattern, (cli.ROOT / "README.md").read_text(), re.M)


@pytest.mark.parametrize("version", redis_servers.VERSIONS)
def test_audit_with_the_rights_that_the_readme_gives(fencepost, read_report, acl_broker, redis_factory, name, work, version):
    [rights] = readme(r"^ACL SETUSER auditor on >PASSWORD (.*)$")
    if version == "6.2":
        rights = rights.replace("%R~", "~")
    if version > "7.2":
        rights += " +client|no-touch"
    server = redis_factory(version, options={"user": f"auditor on >PASSWORD {rights}"})
    pipeline = Handmade(acl_broker, server, name, work).make()
    words = readme(r"^kafka-acls .* --allow-principal User:auditor (.*) --(topic|group) \S+$")
    assert len(words) == 2
    for operations, resource in words:
        for operation in re.findall(r"--operation (\w+)", operations):
            acl_broker.allow("auditor", resource, name, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).upper())
    pipeline.configure(kafka=acl_broker.sasl("auditor"), redis_url=f"redis://auditor:PASSWORD@127.0.0.1:{server.port}/0")
    assert_clean(audit(fencepost, pipeline), read_report(work / "out"))


def test_audit_where_topic_settings_are_hidden(fencepost, read_report, acl_broker, redis_server, name, work):
    pipeline = Handmade(acl_broker, redis_server, name, work).make()
    for resource, operation in KAFKA_ACLS:
        if operation != "DESCRIBE_CONFIGS":
            acl_broker.allow("auditor", resource, name, operation)
    pipeline.configure(kafka=acl_broker.sasl("auditor"))
    assert_clean(audit(fencepost, pipeline), read_report(work / "out"))


@pytest.mark.parametrize("hidden", ["READ", "group"])
def test_audit_without_a_needed_right_is_trouble(fencepost, acl_broker, redis_server, name, work, hidden):
    pipeline = Handmade(acl_broker, redis_server, name, work).make()
    for resource, operation in KAFKA_ACLS:
        if hidden not in (resource, operation):
            acl_broker.allow("auditor", resource, name, operation)
    pipeline.configure(kafka=acl_broker.sasl("auditor"))
    done = audit(fencepost, pipeline)
    assert done.code == 1, done.out + done.err
    assert "uthoriz" in done.err
