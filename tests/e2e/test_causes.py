"""What puts records off home, named from the topic alone: one topic for each way, one audit for all of them."""
import json
import random
import zlib
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

import cli
import reference
from replaying import Index

N = 12
START = 1_700_000_000_000                                    # record times rise by a second from record to record


def user(i):
    return b"user-%d" % i


def murmur2(key, n=N):
    return reference.home(key, n)


def crc32(key, n=N):
    return zlib.crc32(key) % n


def fnv1a(key, n=N):
    h = 0x811c9dc5
    for byte in key:
        h = (h ^ byte) * 0x01000193 & 0xffffffff
    return (2**32 - h if h >> 31 else h) % n


def placed(place, keys):
    return [(user(i), place(user(i))) for i in keys]


def woven(*lists):
    """Their records in turns, evenly, each list in its order."""
    order = sorted((position / len(each), which, position) for which, each in enumerate(lists)
                   for position in range(len(each)))
    return [lists[which][position] for _, which, position in order]


RNG = random.Random(1)
GOOD = placed(murmur2, range(600))
CRC32 = placed(crc32, range(1000, 1300))
TOPICS = {
    "healthy": GOOD,
    "two-producers": woven(GOOD, CRC32),
    "one-percent": woven(GOOD * 5, CRC32[:30]),
    "switched": GOOD + CRC32,
    "over": GOOD + woven(GOOD[:300], CRC32) + GOOD,
    "all": placed(crc32, range(500)),
    "three-producers": woven(GOOD, CRC32, placed(fnv1a, range(2000, 2300))),
    "wrong-count": woven(GOOD, placed(lambda key: murmur2(key, 10), range(1000, 1300))),
    "few": GOOD + placed(crc32, range(1000, 1005)),
    "by-chance": GOOD + [(user(i), RNG.randrange(N)) for i in range(1000, 1300)],
    "by-turns": GOOD + [(user(i), turn) for turn in range(N) for i in range(1000, 1060)],
    "one-partition": GOOD + [(user(i), 5) for i in range(1000, 1060)],
    "empty": GOOD + [(b"", partition) for partition in range(N)],
    "empty-hashed": woven(GOOD, CRC32 + [(b"", crc32(b""))]),
    "crc32-is-right": woven(placed(crc32, range(600)), placed(murmur2, range(1000, 1300))),
}
SETTINGS = {"crc32-is-right": {"partitioner": "crc32"}}


def produce(broker, topic, records):
    placed_n = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for i, (key, partition) in enumerate(records):
        producer.produce(topic, b"v", key, partition, timestamp=START + 1000 * i,
                         on_delivery=lambda error, _: placed_n.append(error))
    assert producer.flush(30) == 0 and placed_n == [None] * len(records)


@pytest.fixture(scope="module")
def world(broker, fencepost, tmp_path_factory):
    """.audit .index .folder .config, and .findings by topic."""
    folder = tmp_path_factory.mktemp("causes")
    for topic, records in TOPICS.items():
        produce(broker, broker.create_topic(topic, N, {"retention.ms": -1}), records)
    config = folder / "fencepost.yaml"
    config.write_text(json.dumps({
        "index": "fencepost.db", "kafka": {"bootstrap.servers": broker.bootstrap}, "redis": "none",
        "pipelines": {topic: {"topic": topic, "horizon": "age:1ms", **SETTINGS.get(topic, {})} for topic in TOPICS}}))
    audit = fencepost.run(["audit", "-q", "-c", config, "-o", folder / "report"], cwd=folder)
    findings = {topic: [] for topic in TOPICS}
    for finding in cli.Report(folder / "report").findings:
        findings[finding["pipeline"]].append(finding)
    yield SimpleNamespace(audit=audit, index=Index(folder / "fencepost.db", broker.bootstrap), folder=folder,
                          config=config, findings=findings, fencepost=fencepost)
    for topic in TOPICS:
        broker.delete_topic(topic)


def causes(world, topic):
    assert world.audit.code == 2, world.audit.out + world.audit.err
    return [f for f in world.findings[topic] if f["check"] == "copartition-cause"]


def off_home(topic, place=murmur2, home=murmur2):
    """(index, key) of the records of a topic that stand off home, and where place puts them."""
    return [(i, key) for i, (key, partition) in enumerate(TOPICS[topic])
            if partition != home(key) and partition == place(key)]


def time_of(i):
    return START + 1000 * i


def members(finding):
    return [(m["partitioner"], m["part"], m["partitions"]) for m in finding["evidence"]["class"]]


def test_a_healthy_topic(world):
    assert world.findings["healthy"] == []
    assert world.index.query("SELECT sum(records) FROM placement JOIN topic USING (topic_id) WHERE topic = 'healthy'") \
        == [(len(GOOD),)]


@pytest.mark.parametrize("topic, pattern, over, share", [
    ("two-producers", "interleaved", False, 300 / 900), ("one-percent", "interleaved", False, 30 / 3030),
    ("switched", "switched", False, 300 / 900), ("over", "interleaved", True, 300 / 1800),
    ("all", "switched", False, 1)])
def test_a_producer_of_crc32(world, topic, pattern, over, share):
    [cause] = causes(world, topic)
    evidence, broken = cause["evidence"], off_home(topic, crc32)
    assert (evidence["kind"], evidence["confidence"]) == ("partitioner", "certain")
    assert members(cause) == [("crc32", "whole", N)]
    assert evidence["keys"] == len({key for _, key in broken}) and evidence["records"] == len(broken)
    assert evidence["first"]["time_ms"] == time_of(broken[0][0])
    assert evidence["last"]["time_ms"] == time_of(broken[-1][0])
    assert (evidence["pattern"], evidence["over"], evidence["exact"]) == (pattern, over, True)
    assert evidence["share"] == pytest.approx(share, rel=0.15)
    assert sum(p["records"] for p in evidence["partitions"]) == len(broken)
    assert {p["partition"] for p in evidence["partitions"]} == {crc32(key) for _, key in broken}
    assert 1 <= len(evidence["sample"]) <= 5
    for sample in evidence["sample"]:
        key = bytes.fromhex(sample["key_hex"])
        assert (sample["partition"], sample["home"], sample["placed"]) == (crc32(key), murmur2(key), crc32(key))
    assert "partitioner=murmur2_random" in cause["remedy"] and cause["severity"] == "error"
    assert cause["detail"].startswith("From 2023-11-14T" if over else "Since 2023-11-14T"), cause["detail"]
    assert f"keys of {topic} by crc32 over 12 partitions (librdkafka default" in cause["detail"]


def test_the_sentence(world):
    [cause] = causes(world, "two-producers")
    share, keys = 100 * cause["evidence"]["share"], len(off_home("two-producers", crc32))
    assert cause["detail"] == (
        "Since 2023-11-14T22:13:21.000Z a producer places keys of two-producers by crc32 over 12 partitions "
        "(librdkafka default consistent_random and its bindings (Python, .NET, Go, Node, PHP), ruby-kafka default, Sarama "
        "NewConsistentCRCHashPartitioner, kafka-go CRC32Balancer): "
        f"{keys} records of {keys} keys, about {share:.1f} % of the records with a key; interleaved with records at home.")


@pytest.mark.parametrize("topic", sorted(set(TOPICS) - {"healthy"}))
def test_breaks_carry_the_id_of_their_cause(world, topic):
    ids = {cause["id"] for cause in causes(world, topic)}
    breaks = [f for f in world.findings[topic] if f["check"] == "copartition-break"]
    assert breaks and {f["evidence"]["cause"] for f in breaks} == ids


def test_three_producers(world):
    found = {members(cause)[0][0]: cause["evidence"] for cause in causes(world, "three-producers")}
    assert set(found) == {"crc32", "fnv1a"}
    for name, place in (("crc32", crc32), ("fnv1a", fnv1a)):
        assert found[name]["confidence"] == "certain"
        assert found[name]["share"] == pytest.approx(300 / 1200, rel=0.15)
    broken = [i for i, (key, partition) in enumerate(TOPICS["three-producers"]) if partition != murmur2(key)]
    assert sum(evidence["records"] for evidence in found.values()) == len(broken)


def test_a_wrong_count(world):
    [cause] = causes(world, "wrong-count")
    assert cause["evidence"]["kind"] == "partition-count" and members(cause) == [("murmur2", "whole", 10)]
    assert "keys of wrong-count over 10 partitions, where there are 12" in cause["detail"]
    assert "partitions.before" in cause["remedy"]


def test_too_few_keys(world):
    [cause] = causes(world, "few")
    assert (cause["evidence"]["kind"], cause["evidence"]["confidence"]) == ("unknown", "ambiguous")
    assert cause["evidence"]["tested"]["needed_keys"] > cause["evidence"]["keys"]
    assert "too few keys to tell by what" in cause["detail"] and "more distinct keys" in cause["remedy"]


def test_placed_by_chance(world):
    [cause] = causes(world, "by-chance")
    assert (cause["evidence"]["kind"], cause["evidence"]["confidence"]) == ("unknown", "unknown")
    assert cause["evidence"]["tested"]["hypotheses"] >= 20 * 48 and cause["evidence"]["class"] == []
    assert "it cannot be said by what" in cause["detail"]


@pytest.mark.parametrize("topic, sign, words", [
    ("by-turns", "several-partitions", "the same keys are in several partitions at the same times"),
    ("one-partition", "one-partition", "all are in partition 5")])
def test_placed_by_something_else_than_the_key(world, topic, sign, words):
    [cause] = causes(world, topic)
    assert (cause["evidence"]["kind"], cause["evidence"]["sign"]) == ("not-the-key", sign)
    assert cause["evidence"]["keys"] == len({key for key, p in TOPICS[topic][len(GOOD):] if p != murmur2(key)})
    assert words in cause["detail"]


def test_empty_keys(world):
    [cause] = causes(world, "empty")
    evidence = cause["evidence"]
    assert (evidence["kind"], evidence["records"], evidence["keys"]) == ("empty-key", N - 1, 1)
    assert "11 records with an empty key stand off home in empty" in cause["detail"]


def test_an_empty_key_that_is_hashed_like_the_others(world):
    """What explains the others explains it."""
    [cause] = causes(world, "empty-hashed")
    assert members(cause) == [("crc32", "whole", N)]
    assert cause["evidence"]["records"] == len(off_home("empty-hashed", crc32)) > 250


def test_another_partitioner_is_right(world):
    [cause] = causes(world, "crc32-is-right")
    assert members(cause) == [("murmur2", "whole", N)]
    assert "let it place keys by crc32, as these do: librdkafka default" in cause["remedy"]


TABLES = ("cause", "cause_member", "cause_partition", "cause_key", "off_home_key")


def test_the_same_index_gives_the_same_answer(world):
    before = [world.index.query(f"SELECT * FROM {table}") for table in TABLES]
    assert all(before)
    done = world.fencepost.run(["check", "-q", "-c", world.config], cwd=world.folder)
    assert done.code == 2, done.err
    assert [world.index.query(f"SELECT * FROM {table}") for table in TABLES] == before
