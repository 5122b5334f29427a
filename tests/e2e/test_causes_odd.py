"""What looks like a cause and is none: relatives of known functions, luck under earlier counts, late records."""
import json
import random
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

import cli
import reference
from test_causes import CRC32, GOOD, N, START, crc32, fnv1a, placed, produce, time_of, user, woven

RNG = random.Random(3)
OLD = placed(lambda key: reference.home(key, 6), range(600))
PAUSE = [(b"pause", reference.home(b"pause", N))] * 400     # longer than producers may take to learn of a resize
KNOWN = {"partitions.before": [6]}


def windowed(count):
    return [(user(i) + (1_700_000_000_000 + i).to_bytes(8, "big"), reference.home(user(i), N)) for i in range(count)]


RELATIVES = {
    "digit-sum": [(user(i), sum(user(i)) % N) for i in range(600)],
    "text-number": [(b"%d" % i, i % N) for i in range(1000)],
    "number": [(i.to_bytes(8, "big"), i % N) for i in range(1000)],
}
TOPICS = {
    **RELATIVES, "crc32-after-resize": OLD + GOOD + PAUSE + woven(GOOD, CRC32),
    "chance-after-resize": OLD + GOOD + PAUSE + woven(GOOD, [(user(i), RNG.randrange(N)) for i in range(1000, 1300)]),
    "fnv1a-then-crc32": placed(fnv1a, range(600)) + placed(crc32, range(600)),
    "few-before-resize": OLD[:8] + GOOD, "unused": OLD, "windowed": windowed(300), "windowed-too": windowed(300),
}
SETTINGS = {"crc32-after-resize": KNOWN, "chance-after-resize": KNOWN,
            "windowed": {"key.part": "windowed"}, "windowed-too": {"key.part": "windowed"}}


def produce_late(broker, topic):
    """Six partitions grow to twelve, and the first record in a new one has a time of two hours before."""
    hour, change, producer = 3_600_000, START + 6000 * 60_000, Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(6000):
        producer.produce(topic, b"v", user(i % 800), reference.home(user(i % 800), 6), timestamp=START + 60_000 * i)
    producer.flush(30)
    moved = [i for i in range(800) if reference.home(user(i), N) >= 6]
    for i in range(800):
        producer.produce(topic, b"v", user(i), reference.home(user(i), N),
                         timestamp=change - 2 * hour if i == moved[0] else change + 1000 * i)
    assert producer.flush(30) == 0


def produce_many(broker, topic, keys):
    """More keys than a topic without fences is sampled for, all of them recent, and all off home."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 10**6})
    for i in range(keys):
        producer.produce(topic, b"v", user(i), crc32(user(i)), timestamp=START + i)
    assert producer.flush(60) == 0


@pytest.fixture(scope="module")
def world(broker, fencepost, tmp_path_factory):
    folder, names = tmp_path_factory.mktemp("causes-odd"), {topic: f"odd-{topic}" for topic in TOPICS}
    for topic, records in TOPICS.items():
        produce(broker, broker.create_topic(names[topic], N, {"retention.ms": -1}), records)
    pipelines = {topic: {"topic": names[topic], "horizon": "age:1ms", **SETTINGS.get(topic, {})} for topic in TOPICS}
    names["late"] = broker.create_topic("odd-late", N, {"retention.ms": -1})
    produce_late(broker, names["late"])
    pipelines["late"] = {"topic": names["late"], "horizon": "age:1ms"}
    pipelines["windowed"]["copartitioned.with"] = [names["windowed-too"]]
    pipelines["not-said"] = {"topic": names["crc32-after-resize"], "horizon": "age:1ms"}
    config = folder / "fencepost.yaml"
    config.write_text(json.dumps({"index": "fencepost.db", "kafka": {"bootstrap.servers": broker.bootstrap},
                                  "redis": "none", "pipelines": pipelines}))
    audit = fencepost.run(["audit", "-q", "-c", config, "-o", folder / "report"], cwd=folder)
    assert audit.code == 2, audit.out + audit.err
    findings = {pipeline: [] for pipeline in pipelines}
    for finding in cli.Report(folder / "report").findings:
        findings[finding["pipeline"]].append(finding)
    yield SimpleNamespace(findings=findings)
    for name in names.values():
        broker.delete_topic(name)


def causes(world, pipeline):
    return [f for f in world.findings[pipeline] if f["check"] == "copartition-cause"]


def off_home(topic):
    return [(i, key) for i, (key, partition) in enumerate(TOPICS[topic]) if partition != reference.home(key, N)]


@pytest.mark.parametrize("topic", RELATIVES)
def test_a_relative_of_a_known_function(world, topic):
    """It agrees with Java's String.hashCode far more often than luck, and is something else."""
    [cause] = causes(world, topic)
    assert (cause["evidence"]["kind"], cause["evidence"]["confidence"]) == ("unknown", "unknown"), cause["detail"]
    assert cause["evidence"]["keys"] == len(off_home(topic))


@pytest.mark.parametrize("pipeline", ["crc32-after-resize", "not-said"])
def test_luck_under_an_earlier_count(world, pipeline):
    """One in twelve keys of any other producer is where six partitions would have it: no producer goes by six."""
    [cause] = causes(world, pipeline)
    assert [m["partitioner"] for m in cause["evidence"]["class"]] == ["crc32"], cause["detail"]
    assert cause["evidence"]["keys"] == sum(partition != reference.home(key, N) for key, partition in CRC32)
    assert cause["evidence"]["share"] == pytest.approx(len(CRC32) / len(TOPICS["crc32-after-resize"]), rel=0.1)
    stale = [f["evidence"]["stale"] for f in world.findings[pipeline] if f["check"] == "topic-resized"]
    assert stale == ([] if pipeline == "crc32-after-resize" else [{"keys": 0, "records": 0}])


def test_chance_under_an_earlier_count(world):
    [cause] = causes(world, "chance-after-resize")
    assert (cause["evidence"]["kind"], cause["evidence"]["confidence"]) == ("unknown", "unknown"), cause["detail"]


def test_one_wrong_producer_after_another(world):
    """The keys that both put into one partition say nothing of when either of them was there."""
    begin = {m["partitioner"]: (cause["evidence"]["first"]["time_ms"], cause["evidence"]["last"]["time_ms"])
             for cause in causes(world, "fnv1a-then-crc32") for m in cause["evidence"]["class"]}
    assert set(begin) == {"fnv1a", "crc32"}
    for name, first, last in (("fnv1a", 0, 599), ("crc32", 600, 1199)):
        assert time_of(first) <= begin[name][0] < time_of(first + 20), name
        assert time_of(last - 20) < begin[name][1] <= time_of(last), name


def test_topics_of_windowed_keys_side_by_side(world):
    """key.part is not said of the other topic, and homes of its whole keys are nobody's fault."""
    assert world.findings["windowed"] == [] and world.findings["windowed-too"] == []


def test_a_late_record_begins_a_new_partition(world):
    """Its time is not when producers could know of the partition: those that went by six until then are not late."""
    [resized] = world.findings["late"]
    assert (resized["check"], resized["evidence"]["from"], resized["evidence"]["to"]) == ("topic-resized", 6, N)
    assert resized["evidence"]["stale"] == {"keys": 0, "records": 0}


def test_partitions_that_nobody_uses_yet(world):
    """As an audit sees it that comes before the producers know of the new partitions."""
    [resized] = world.findings["unused"]
    evidence = resized["evidence"]
    assert (resized["check"], evidence["from"], evidence["to"], evidence["begin"]) == ("topic-resized", 6, N, None)
    assert (evidence["keys"], evidence["to_rebase"]) == (len(OLD), len(off_home("unused")))
    assert "or its producers take it for one of so few" in resized["detail"]


def test_too_few_keys_from_before_a_resize(world):
    [cause] = causes(world, "few-before-resize")
    assert (cause["evidence"]["kind"], cause["evidence"]["confidence"]) == ("unknown", "ambiguous"), cause["detail"]
    assert "where 6 partitions would have them" in cause["remedy"] and "partitions.before" in cause["remedy"]


def test_more_recent_keys_than_are_sampled(broker, fencepost, tmp_path):
    keys, topic = 130_000, broker.create_topic("odd-many", N, {"retention.ms": -1})
    produce_many(broker, topic, keys)
    config = tmp_path / "fencepost.yaml"
    config.write_text(json.dumps({"index": "fencepost.db", "kafka": {"bootstrap.servers": broker.bootstrap},
                                  "redis": "none", "pipelines": {"many": {"topic": topic, "horizon": "age:1ms"}}}))
    audit = fencepost.run(["audit", "-q", "-c", config, "-o", tmp_path / "report"], cwd=tmp_path, timeout=30)
    assert audit.code == 2, audit.out + audit.err
    [cause] = [f for f in cli.Report(tmp_path / "report").findings if f["check"] == "copartition-cause"]
    broken = sum(crc32(user(i)) != reference.home(user(i), N) for i in range(keys))
    assert (cause["evidence"]["exact"], cause["evidence"]["keys"], cause["evidence"]["records"]) == (False, broken, broken)
    assert [m["partitioner"] for m in cause["evidence"]["class"]] == ["crc32"]
    broker.delete_topic(topic)
