"""Healthy histories that look like a loss, and losses that look healthy: each once thought to lead the audit astray."""
from confluent_kafka import Producer

from audited import Audited


def produce(pipe, *pairs):
    """Records one by one, so that their order is theirs: (key, value)."""
    producer = Producer({"bootstrap.servers": pipe.bootstrap, "partitioner": "murmur2"})
    for key, value in pairs:
        producer.produce(pipe.topic, value, key)
    assert producer.flush(30) == 0


def crash(pipe, point, *args):
    """A worker that takes all there is as one batch and ends at a crash point."""
    words = [*pipe._told(), "--poison", "--crash-after", point, *args]
    pipe.run("worker", "--no-join", "--until-end", "--linger", 300, *words, code=42)


# -- the mapping -----------------------------------------------------------------------------------------------------

def strangers(redis_server, n=150):
    """Keys of others in the same database, so that the guard of the mapping has both sides."""
    pipe = redis_server.client().pipeline(transaction=False)
    for i in range(n):
        pipe.hset(f"stranger:{i}", "offset", i)
    pipe.execute()


def test_a_group_that_has_not_begun(tools, broker, redis_server):
    """No record key is in Redis, and none has to be: that says nothing about the key template."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server)
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    audit = pipe.audit(code=0)
    assert (audit.status, audit.complete, audit.pipeline["mapping"]) == ("clean", True, "unknown"), str(audit)
    assert {check for check, *_ in audit.found()} == {"commit-missing"}


def test_a_group_that_has_only_begun(tools, broker, redis_server):
    """Fewer than a hundred keys have to be in Redis, and one of them is lost."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server, partitions=1)
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    crash(pipe, "commit", "--batch", 1, "--commit-first")
    first = min(pipe.read(), key=lambda r: r.offset)
    assert pipe.committed(1) == [1]
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-missing", first.key.hex(), 0, 0)}, str(audit)


def test_all_keys_are_deleted(tools, broker, redis_server):
    """Sessions that all have ended leave no hash behind."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server, tombstones="delete")
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    pipe.generate("--records", 6000, "--keys", 300, "--seed", 2, "--tombstones", 1)
    pipe.work()
    assert pipe.states() == {}
    audit = pipe.clean()
    assert audit.check("fence-missing").examined > 250


# -- crashes between two audits --------------------------------------------------------------------------------------


def test_a_reject_that_is_not_in_the_dlq_yet(tools, broker, redis_server):
    """The fence has passed a poison record of its key, whose copy the crash kept from the DLQ."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"))
    pipe.work("--poison")
    produce(pipe, ("a", "poison"), ("a", "2"))
    crash(pipe, "redis")
    assert pipe.states() == {b"a": (0, 2, b"2")} and pipe.committed(1) == [1] and pipe.read(pipe.dlq) == []
    audit = pipe.clean()
    assert audit.unverifiable("fence-count") == {"above-commit": 1}, str(audit)
    pipe.work("--poison")
    assert pipe.clean().unverifiable("fence-count") == {}
    pipe.redis.hincrby(pipe.hash(b"a"), "value", 2)     # more than all of its records
    assert pipe.audit(code=2).found() == {("fence-count", b"a".hex(), 0, 2)}


def test_a_replay_before_a_delete_counts_anew(tools, broker, redis_server):
    """A batch with a delete was applied whole, then its beginning again: the number restarts where no delete is."""
    pipe = Audited(tools, broker, redis_server, partitions=1, tombstones="delete")
    produce(pipe, ("a", "1"))
    pipe.work()
    produce(pipe, ("a", "2"), ("a", None))
    crash(pipe, "redis", "--crash-at", 2)       # rounds of one record a key
    assert pipe.states() == {}
    crash(pipe, "redis")
    assert pipe.states() == {b"a": (0, 1, b"1")} and pipe.committed(1) == [1]
    audit = pipe.clean()
    assert audit.unverifiable("fence-count") == {"deleted-above": 1}, str(audit)
    produce(pipe, ("a", "3"))
    pipe.work()
    assert pipe.states() == {b"a": (0, 3, b"1")}
    assert pipe.clean().unverifiable("fence-count") == {}


# -- the DLQ ---------------------------------------------------------------------------------------------------------

def test_a_dlq_behind_an_open_transaction(tools, broker, redis_server):
    """Another producer's transaction hides the rejects behind it, which were applied to nothing and are no loss."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"), ("b", "poison"), ("a", "poison"))
    other = Producer({"bootstrap.servers": pipe.bootstrap, "transactional.id": pipe.topic})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(pipe.dlq, "elsewhere", "x", headers={"source": "elsewhere/0/0"})
    assert other.flush(30) == 0
    pipe.work("--poison")
    audit = pipe.clean()
    undecided = audit.unverifiable("fence-missing"), audit.unverifiable("fence-regressed")
    assert undecided == ({"dlq-incomplete": 1}, {"dlq-incomplete": 1}), str(audit)
    other.commit_transaction(30)
    audit = pipe.clean()
    assert audit.unverifiable("fence-missing") == audit.unverifiable("fence-regressed") == {}, str(audit)


def test_a_dlq_that_was_made_anew(tools, broker, redis_server):
    """Whoever has looked through the rejects deletes their topic; the index has not forgotten them."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"), ("b", "poison"), ("a", "poison"))
    pipe.work("--poison")
    pipe.clean()
    broker.delete_topic(pipe.dlq)
    broker.create_topic(pipe.dlq, 1)
    produce(pipe, ("c", "1"), ("d", "poison"))
    pipe.work("--poison")
    audit = pipe.audit(code=2)
    assert [(f["check"], f["topic"]) for f in audit.findings] == [("history-rewritten", pipe.dlq)], str(audit)
    pipe.clean()
    pipe.harm("fence-lost", b"c")       # it may have been rejected, into the DLQ that is gone
    assert pipe.clean().unverifiable("fence-missing") == {"dlq-incomplete": 1}


def test_a_reject_that_was_applied_after_all(tools, broker, redis_server):
    """A worker rejected a record and crashed before its commit; the repaired one that came after it applied it."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"), ("a", "poison"), ("b", "poison"))
    crash(pipe, "produce")
    pipe.work()
    assert pipe.states() == {b"a": (0, 1, b"2"), b"b": (0, 2, b"1")} and len(pipe.read(pipe.dlq)) == 2
    audit = pipe.clean()
    assert audit.unverifiable("fence-count") == {"rejected": 2}, str(audit)
    pipe.redis.hincrby(pipe.hash(b"a"), "value", 1)     # more than all of its records
    assert pipe.audit(code=2).found() == {("fence-count", b"a".hex(), 0, 1)}


def test_rejects_of_an_earlier_topic(tools, broker, redis_server):
    """The DLQ still names places of the topic that was deleted, where good records of the new one are."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "poison"), ("b", "1"))
    pipe.work("--poison")
    broker.delete_topic(pipe.topic)
    broker.create_topic(pipe.topic, 1)
    pipe.redis.flushdb()
    produce(pipe, ("a", "1"), ("b", "1"))
    pipe.work("--poison")
    assert pipe.states() == {b"a": (0, 0, b"1"), b"b": (0, 1, b"1")}
    assert pipe.clean().unverifiable("fence-count") == {"rejected": 1}


def test_a_delete_at_the_place_of_an_earlier_reject(tools, broker, redis_server):
    """So does a tombstone, which did delete its key."""
    pipe = Audited(tools, broker, redis_server, partitions=1, tombstones="delete")
    produce(pipe, ("b", "1"), ("a", "poison"))
    pipe.work("--poison")
    broker.delete_topic(pipe.topic)
    broker.create_topic(pipe.topic, 1)
    pipe.redis.flushdb()
    produce(pipe, ("a", "1"), ("a", None), ("b", "1"))
    pipe.work("--poison")
    assert pipe.states() == {b"b": (0, 2, b"1")}
    pipe.clean()


# -- the horizon -----------------------------------------------------------------------------------------------------

def test_a_horizon_by_age_proves_nothing_for_commits(tools, broker, redis_server):
    """Once the horizon was put down wrongly by age; later runs go by the commits alone."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"))
    pipe.work()
    produce(pipe, ("a", "2"))
    assert pipe.audit(code=2, horizon="age:100ms").found() == {("fence-regressed", b"a".hex(), 0, 1)}
    pipe.clean(horizon="committed")


def test_another_redis_is_filled_from_the_beginning(tools, broker, redis_server, redis_factory):
    """The pipeline moves: its group is reset, and what the old Redis had proven says nothing about the new one."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, ("a", "1"), ("b", "1"), ("c", "1"))
    pipe.work()
    pipe.clean()
    pipe.redis_server = redis_factory()
    pipe.redis, pipe.sock = pipe.redis_server.client(), pipe.redis_server.sock
    pipe.fault("commit-lowered", "--partition", 0, "--by", 3)
    pipe.work("--batch", 1, "--max-records", 1)
    assert pipe.states() == {b"a": (0, 0, b"1")} and pipe.committed(1) == [1]
    assert pipe.audit(code=2).found() == {("commit-regressed", None, 0, 1)}


# -- coordinators ------------------------------------------------------------------------------------------------------

def test_no_group_has_a_coordinator_yet(tools, broker_factory, redis_server):
    """A broker that has never had a group says for a moment that it is nobody's coordinator."""
    pipe = Audited(tools, broker_factory(), redis_server, partitions=1)
    pipe.generate("--records", 10)
    assert pipe.audit(code=0).found() == {("commit-missing", None, 0, None)}


def test_a_commit_that_was_reset_below_the_log(tools, broker, redis_server):
    """An earlier audit saw the group beyond the records that have expired since: they were processed."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, *[("a", str(i)) for i in range(10)])
    pipe.work()
    pipe.clean()
    pipe.fault("commit-lowered", "--partition", 0, "--by", 8)
    broker.delete_records(pipe.topic, {0: 6})
    assert pipe.audit(code=2).found() == {("commit-regressed", None, 0, 2)}
    produce(pipe, *[("a", str(i)) for i in range(10)])
    pipe.clean()
    broker.delete_records(pipe.topic, {0: 13})
    audit = pipe.audit(code=2)
    assert audit.one("commit-below-log").evidence["records"] == 3, str(audit)


def test_records_that_expired_unseen(tools, broker, redis_server):
    """Between two audits records came and expired, and nobody had processed them: what they were is not known."""
    pipe = Audited(tools, broker, redis_server, partitions=1)
    produce(pipe, *[("a", str(i)) for i in range(10)])
    pipe.work()
    pipe.clean()
    produce(pipe, *[("a", str(i)) for i in range(10)])
    broker.delete_records(pipe.topic, {0: 15})
    audit = pipe.clean()
    assert audit.unverifiable("commit-below-log") == {"never-indexed": 1}, str(audit)
    pipe.work()
    assert pipe.clean().unverifiable("commit-below-log") == {}
