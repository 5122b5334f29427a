"""The servers that the other tests stand on are the ones they think they are."""
import pytest


def test_broker_answers(any_broker, name):
    any_broker.create_topic(name, 3, {"retention.ms": 60000})
    about = any_broker.describe(name)
    assert about["partitions"] == 3
    assert about["config"]["retention.ms"] == "60000"
    assert any_broker.high_watermarks(name) == {0: 0, 1: 0, 2: 0}
    any_broker.add_partitions(name, 4)
    assert any_broker.partition_count(name) == 4
    any_broker.delete_topic(name)
    assert any_broker.partition_count(name) == 0


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
