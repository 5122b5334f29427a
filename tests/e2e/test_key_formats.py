"""Key formats that a schema registry's serializers write: the Redis key does not hold the schema id."""
import json
import struct

import pytest

from audited import Audited
from sampling import hset, look  # noqa: F401 (look is a fixture)

UUID = bytes(range(16))


def varint(n):
    out = b""
    while n > 0x7f:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def confluent(schema, payload):
    return b"\0" + struct.pack(">i", schema) + payload


def avro(text):
    return varint(2 * len(text)) + text


# key.format -> the record key of a number
FORMATS = {
    "double": lambda n: struct.pack(">d", n),
    "int64-le": lambda n: struct.pack("<q", n),
    "confluent-avro-string": lambda n: confluent(1, avro(str(n).encode())),
    "confluent-avro-long": lambda n: confluent(7, varint(2 * n)),
    "confluent-json": lambda n: confluent(1, json.dumps(str(n)).encode()),
    "confluent-protobuf-string": lambda n: confluent(1, b"\0\x0a" + varint(len(str(n))) + str(n).encode()),
    "confluent-protobuf-long": lambda n: confluent(1, b"\0" + (b"\x08" + varint(n) if n else b"")),
    "glue-avro-long": lambda n: b"\3\0" + UUID + varint(2 * n),
}


def applied(pipe, client, records, text):
    """Writes the fences of a worker that applied records {key: [(partition, offset)]} and commits all."""
    for key, places in records.items():
        partition, offset = places[-1]
        client.hset(pipe.hash(text[key].encode()), mapping={"partition": partition, "offset": offset})
    pipe.commit({p: end for p, end in pipe.broker.high_watermarks(pipe.topic).items() if end})


def produced(pipe, keys):
    """Two records for each key; {key: its places in order}."""
    records = {}
    for _ in range(2):
        placed = pipe.produce([(key, b"v") for key in keys])
        for key in keys:
            records.setdefault(key, [])
    for record in pipe.read():
        records[record.key].append((record.partition, record.offset))
    assert len(placed) == len(keys)
    return records


@pytest.mark.parametrize("form", FORMATS)
def test_healthy_and_hurt(tools, broker, redis_factory, form):
    redis = redis_factory()
    pipe = Audited(tools, broker, redis, partitions=3, state="opaque", key_format=form, dlq=None, epoch="")
    keys = [FORMATS[form](n) for n in range(120)]
    records = produced(pipe, keys)
    text = {key: str(n) for n, key in enumerate(keys)}
    r = redis.client()
    applied(pipe, r, records, text)
    audit = pipe.clean()
    assert audit.check("fence-regressed").examined == 120, str(audit)
    # the guard knows the format
    wrong = pipe.audit(code=1, key_format="uuid", index="wrong.db")
    assert f"key.format: {form} would fit" in wrong.err, str(wrong)
    # one fence falls, one is not of the topic, and two keys are of no record key
    partition, offset = records[keys[7]][0]
    r.hset(pipe.hash(b"7"), "offset", offset)
    r.hset(pipe.hash(b"4711"), mapping={"partition": 0, "offset": 0})
    r.hset(pipe.hash(b"\xff\"" if form.endswith("json") else b"007"), mapping={"partition": 0, "offset": 0})
    audit = pipe.audit(code=2)
    unread = 0 if "string" in form else 1
    found = {("fence-regressed", keys[7].hex(), partition, records[keys[7]][-1][1]),
             ("fence-orphan", FORMATS[form](4711).hex(), 0, 0)}
    if not unread:
        found.add(("fence-orphan", confluent(1, (b"\0\x0a\x03" if "proto" in form else b"\x06") + b"007").hex(), 0, 0))
    assert {f[:2] for f in audit.found()} == {f[:2] for f in found}, str(audit)
    assert audit.unverifiable("fence-orphan") == ({"redis-key-unreadable": 1} if unread else {}), str(audit)


def test_record_keys_that_are_no_number(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=3, state="opaque", key_format="int64", dlq=None, epoch="")
    keys = [struct.pack(">q", n) for n in range(20)]
    records = produced(pipe, keys + [b"short", b""])
    applied(pipe, redis_server.client(), {key: records[key] for key in keys}, {key: str(n) for n, key in enumerate(keys)})
    audit = pipe.clean()
    for check in ("fence-malformed", "fence-missing", "fence-regressed"):
        assert audit.unverifiable(check) == {"no-redis-key": 2}, str(audit)
    assert audit.check("copartition-break").examined == 22, str(audit)


def test_redis_keys_that_are_no_number(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=3, state="opaque", key_format="int64", dlq=None, epoch="")
    keys = [struct.pack(">q", n) for n in range(20)]
    r = redis_server.client()
    applied(pipe, r, produced(pipe, keys), {key: str(n) for n, key in enumerate(keys)})
    for text in (b"007", b"+7", b"x"):
        r.hset(pipe.hash(text), mapping={"partition": 0, "offset": 0})
    audit = pipe.clean()
    assert audit.unverifiable("fence-orphan") == {"redis-key-unreadable": 3}, str(audit)
    assert "redis-key-unreadable" in audit.out


def test_two_schemas_share_a_redis_key(tools, broker, redis_server):
    """Keys 0 to 9 come under both ids: nothing can be said against their fences. Of the others all can be."""
    form = "confluent-avro-string"
    pipe = Audited(tools, broker, redis_server, partitions=3, state="opaque", key_format=form, dlq=None, epoch="")
    old = [confluent(1, avro(b"u%d" % n)) for n in range(40)]
    new = [confluent(2, avro(b"u%d" % n)) for n in range(10)] + [confluent(2, avro(b"n%d" % n)) for n in range(30)]
    records = produced(pipe, old + new)
    r = redis_server.client()
    applied(pipe, r, records, {key: key[6:].decode() for key in old + new})
    audit = pipe.clean()
    assert audit.unverifiable("fence-regressed") == {"shared-redis-key": 20}, str(audit)
    assert audit.unverifiable("fence-phantom") == {"shared-redis-key": 20}, str(audit)
    # a fence that falls is found under its own id, and not where it is shared
    for key in (old[20], new[15], old[3]):
        partition, offset = records[key][0]
        r.hset(pipe.hash(key[6:]), mapping={"partition": partition, "offset": offset})
    # what belongs to nobody has to be under one id or the other
    r.hset(pipe.hash(b"stray"), mapping={"partition": 0, "offset": 0})
    audit = pipe.audit(code=2)
    found = {(check, bytes.fromhex(key)) for check, key, _, _ in audit.found()}
    assert {(c, k) for c, k in found if c == "fence-regressed"} == {("fence-regressed", old[20]),
                                                                    ("fence-regressed", new[15])}, str(audit)
    assert {k[6:] for c, k in found if c == "fence-orphan"} == {b"stray"} and len(found) == 3, str(audit)
    # a sample of a part, beside the keys that are recent, says nothing else
    pipe.top = {"sample.keys": 12}
    part = pipe.audit(index="part.db")
    assert part.found() <= audit.found() and not part.pipeline["sample"][0]["strata"][0]["whole"], str(part)


def test_the_prefix_is_the_one_of_the_history(redis_server, look, name):
    r = redis_server.client()
    keys = [confluent(schema, avro(b"u%d" % n)) for n in range(50) for schema in (3, 4 + n % 2)]
    for n in range(60):
        hset(r, f"{name}:u{n}", partition=0, offset=1)
    seen = look(redis_server, ["scan", "ask"], keys=keys, prefix=name, key_format="confluent-avro-string")
    assert seen.counts.unparsed == 0 and seen.counts.taken == 60 and seen.counts.asked == 50
    assert {k for k in seen.by_key if k not in keys} == {confluent(3, avro(b"u%d" % n)) for n in range(50, 60)}
    # too many schemas to try: a key that none of those tried has may be of another
    keys = [confluent(schema, avro(b"u0")) for schema in range(17)]
    seen = look(redis_server, ["scan", "ask"], keys=keys, prefix=name, key_format="confluent-avro-string")
    assert (seen.counts.taken, seen.counts.unparsed, seen.counts.asked) == (1, 59, 16)
    # no schema at all
    seen = look(redis_server, ["scan", "ask"], keys=[], prefix=name, key_format="confluent-avro-string")
    assert (seen.counts.taken, seen.counts.unparsed) == (0, 60)


# -- windowed keys -----------------------------------------------------------------------------------------------------

def window(key, n, kind="windowed"):
    return key + struct.pack(">q", 1700000000000 + n * 60000) * (2 if kind == "session" else 1)


@pytest.mark.parametrize("kind, form", [("windowed", "raw"), ("session", "int64"), ("windowed", "confluent-avro-string")])
def test_windowed_keys(tools, broker, redis_factory, kind, form):
    """Every window of a key is a record of that key: three windows a key, one fence."""
    redis = redis_factory()
    pipe = Audited(tools, broker, redis, partitions=3, state="count", key_format=form, key_part=kind, dlq=None, epoch="")
    inner = {"raw": lambda n: b"u%d" % n, **FORMATS, "int64": lambda n: struct.pack(">q", n)}[form]
    text = {inner(n): (b"u%d" if form == "raw" else b"%d") % n for n in range(120)}
    for n in range(3):
        for p in range(3):
            pipe.produce([(window(key, n, kind), b"v") for key in text if pipe.home(key) == p], partition=p)
    short = pipe.produce([(b"1234567", b"v")], partition=0)
    newest = {}
    for record in pipe.read():
        if len(record.key) > 7:
            newest[record.key[:-16 if kind == "session" else -8]] = (record.partition, record.offset)
    r = redis.client()
    for key, (partition, offset) in newest.items():
        r.hset(pipe.hash(text[key]), mapping={"partition": partition, "offset": offset, "value": 3})
    pipe.commit(pipe.broker.high_watermarks(pipe.topic))
    audit = pipe.clean()
    assert audit.check("fence-count").examined == audit.check("fence-phantom").examined == 120, str(audit)
    assert audit.pipeline["sample"][0]["history_keys"] == 120 and len(short) == 1
    assert audit.unverifiable("copartition-break") == {"no-home": 1}, str(audit)
    # the guard knows of windows; as they are, such keys are no pipeline of orphans and missing fences
    wrong = pipe.audit(code=2, key_part="whole", key_format="base64", index="wrong.db")
    assert f"key.format: {form} with key.part: {kind} would fit" in wrong.err, str(wrong)
    # a window that was not applied, one applied twice, one off home
    lost, twice, off = (inner(n) for n in (5, 6, 7))
    r.hset(pipe.hash(text[lost]), "offset", newest[lost][1] - 1)
    r.hset(pipe.hash(text[twice]), "value", 4)
    [(_, offset)] = pipe.produce([(window(off, 9, kind), b"v")], partition=(pipe.home(off) + 1) % 3)
    audit = pipe.audit(code=2)
    assert {f[:3] for f in audit.found()} >= {
        ("fence-regressed", lost.hex(), pipe.home(lost)), ("fence-count", twice.hex(), pipe.home(twice)),
        ("copartition-break", off.hex(), (pipe.home(off) + 1) % 3)}, str(audit)
    assert {f["check"] for f in audit.findings} <= {"fence-regressed", "fence-count", "copartition-break",
                                                    "copartition-cause"}, str(audit)


def test_a_part_of_a_part(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, key_part="windowed", partitioner="crc32/session")
    audit = pipe.audit(code=64)
    assert "key.part: windowed has taken a part of the key already; valid: partitioner: crc32" in audit.err
