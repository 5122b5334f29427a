"""The reference pipeline itself: is what the auditor will be tested on really a pipeline that keeps the contract?"""
import json
import signal
import subprocess
import time

import pytest

import reference
from reference import CRASHED, FENCED, expected, home, is_reject, source_of

COUNT = 6
MIX = ["--poison", 0.01, "--null-keys", 0.02]


@pytest.fixture
def mock(pipeline_bin, redis_server, name):
    """A pipeline on a mock broker of its own."""
    broker = reference.Mock(pipeline_bin("mockbroker"), {name: COUNT, f"{name}-out": 3, f"{name}-dlq": 1})
    yield reference.Pipeline(pipeline_bin, broker.bootstrap, redis_server, name)
    assert broker.close() == 0


@pytest.fixture
def real(pipeline_bin, redis_server, broker, name):
    """A pipeline on the shared real broker."""
    for topic, partitions in ((name, COUNT), (f"{name}-out", 3), (f"{name}-dlq", 1)):
        broker.create_topic(topic, partitions)
    return reference.Pipeline(pipeline_bin, broker.bootstrap, redis_server, name)


@pytest.fixture(params=["mock", "real"])
def pipe(request):
    return request.getfixturevalue(request.param)


def check_outputs(pipe, records, outputs):
    """Each applied record has an output, whose value is its rank; nothing else has."""
    ranks = {source_of(r): b"%d" % rank
             for rs in reference.binding(records, COUNT).values() for rank, r in enumerate(rs, 1)}
    values = {}
    for o in outputs:
        values.setdefault(o.source, set()).add(o.value)
    assert values.keys() == ranks.keys()
    assert all(rank in values[source] for source, rank in ranks.items())


def check_rejects(pipe, records):
    """The DLQ holds the rejects, each with its own key and value, perhaps more than once, and nothing else."""
    rejects = {(source_of(r), r.key, r.value) for r in records if is_reject(r, COUNT)}
    assert rejects
    assert {(d.source, d.key, d.value) for d in pipe.read(pipe.dlq)} == rejects


def check_all(pipe):
    records = pipe.read()
    assert pipe.states() == expected("count", records, COUNT)
    check_outputs(pipe, records, pipe.read(pipe.output))
    check_rejects(pipe, records)
    ends = [max([r.offset + 1 for r in records if r.partition == p], default=0) for p in range(COUNT)]
    assert pipe.committed(COUNT) == ends


def wait(true, seconds=90):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.1)


# -- crashes -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(3))
def test_crashes_lose_nothing(pipe, seed):
    pipe.generate("--records", 3000, "--keys", 150, "--seed", seed, *MIX, "--tombstones", 0.02)
    pipe.generate("--records", 100, "--keys", 150, "--seed", seed + 100, "--partitioner", "crc32")
    crashed = pipe.crash("--state", "count", "--poison", "--batch", 200, seed=seed)
    assert crashed > 2
    check_all(pipe)


@pytest.mark.parametrize("point, emitted, committed", [
    ("partial", False, False), ("redis", False, False), ("produce", True, False), ("commit", True, True)])
def test_a_crash_point_is_where_it_says(mock, point, emitted, committed):
    mock.generate("--records", 50, "--keys", 1000, "--seed", 1)
    mock.run("worker", "--no-join", "--until-end", "--crash-after", point, "--lossy", code=CRASHED)
    records = mock.read()
    states, whole = mock.states(), expected("opaque", records, COUNT)
    assert 0 < len(states) < len(whole) if point == "partial" else states == whole
    assert len(mock.read(mock.output)) == (50 if emitted else 0)
    assert (max(mock.committed(COUNT)) > 0) == committed


def test_crash_at_counts_the_times(mock):
    mock.generate("--records", 100, "--keys", 1000, "--seed", 1)
    mock.run("worker", "--no-join", "--until-end", "--batch", 20, "--crash-after", "commit", "--crash-at", 3,
             code=CRASHED)
    assert sum(max(c, 0) for c in mock.committed(COUNT)) == 60


@pytest.mark.timeout(180)
def test_two_members_and_a_death(pipe, request):
    """A member dies without a farewell in the middle of its work, and its partitions come to the other."""
    pipe.generate("--records", 3000, "--keys", 150, "--seed", 11, *MIX)
    # the mock broker takes seconds to rebalance: with a shorter session its members never come together
    session = 6000 if "mock" in request.node.name else 1500
    words = ["--state", "count", "--poison", "--batch", 20, "--pause", 20, "--session", session]
    workers = [pipe.start(*words) for _ in range(2)]
    wait(lambda: sum(max(c, 0) for c in pipe.committed(COUNT)) > 300)
    workers[0].kill()
    workers[0].communicate()
    pipe.generate("--records", 500, "--keys", 150, "--seed", 12, *MIX)
    pipe.generate("--records", 50, "--keys", 150, "--seed", 13, "--partitioner", "crc32")
    wait(lambda: sum(pipe.committed(COUNT)) == 3550)
    workers[1].send_signal(signal.SIGTERM)
    out, err = workers[1].communicate(timeout=30)
    assert workers[1].returncode == 0, err
    check_all(pipe)
    assert min(pipe.epochs(COUNT)) >= 1 and max(pipe.epochs(COUNT)) >= 2


# -- the contract --------------------------------------------------------------------------------------------------

def test_a_replay_reemits_the_newest_and_skips_the_rest(pipe):
    pipe.generate("--records", 2000, "--keys", 100, "--seed", 3, *MIX)
    first = pipe.work("--state", "count", "--poison")
    before = pipe.states()
    again = pipe.work("--state", "count", "--poison", group=pipe.group + "-again")
    assert first["APPLY"] == sum(int(value) for _, _, value in before.values())
    assert (again["APPLY"], again["REBASE"], again["FENCE"]) == (0, 0, 0)
    assert again["REEMIT"] == len(before)
    assert again["SKIP"] == first["APPLY"] - len(before)
    assert again["DLQ"] == first["DLQ"] > 0
    assert pipe.states() == before
    newest = {f"{pipe.topic}/{p}/{o}": v for p, o, v in before.values()}
    outputs = pipe.read(pipe.output)
    assert len(outputs) == first["APPLY"] + len(before)
    assert all(o.value == newest[o.source] for o in outputs if o.source in newest)


@pytest.mark.parametrize("state", ["opaque", "last", "count", "sum"])
@pytest.mark.parametrize("tombstones", ["apply", "ignore", "delete"])
def test_states_and_tombstones(mock, state, tombstones):
    mock.generate("--records", 2000, "--keys", 200, "--seed", 5, "--tombstones", 0.2, "--numbers")
    mock.crash("--state", state, "--tombstones", tombstones, seed=5)
    assert mock.states() == expected(state, mock.read(), COUNT, tombstones)


@pytest.mark.parametrize("made, mapped, text", [
    ("raw", "raw", lambda k: k), ("binary", "raw", lambda k: k), ("odd", "raw", lambda k: k),
    ("binary", "hex", lambda k: k.hex().encode()),
    ("int32", "int32", lambda k: b"%d" % int.from_bytes(k, "big", signed=True)),
    ("int64", "int64", lambda k: b"%d" % int.from_bytes(k, "big", signed=True)),
    ("binary", "base64", lambda k: __import__("base64").b64encode(k)),
    ("uuid", "uuid", lambda k: str(__import__("uuid").UUID(bytes=k)).encode())])
def test_keys_of_every_format(mock, made, mapped, text):
    mock.generate("--records", 500, "--keys", 60, "--seed", 2, "--key-format", made)
    mock.work("--key-format", mapped)
    want = {text(key): state for key, state in expected("opaque", mock.read(), COUNT).items()}
    assert len(want) == 60
    assert mock.states() == want


def test_ttl_is_set_on_each_apply(mock):
    mock.generate("--records", 100, "--keys", 20, "--seed", 2)
    mock.work("--ttl", 60000)
    ttls = [mock.redis.pttl(key) for key in mock.redis.scan_iter(match=reference.glob(mock.prefix) + b"*")]
    assert len(ttls) == 20 and all(50000 < ttl <= 60000 for ttl in ttls)


def test_field_names_and_epoch_template(mock):
    mock.generate("--records", 100, "--keys", 20, "--seed", 2)
    mock.work("--field-value", "offset", "--field-offset", "o", "--field-partition", "p", "--epoch",
              f"{mock.topic}-{{{{owner}}}}-{{partition}}")
    assert mock.redis.get(f"{mock.topic}-{{owner}}-0") == b"1"
    for key, (partition, offset, value) in expected("opaque", mock.read(), COUNT).items():
        assert mock.redis.hgetall(mock.prefix + key) == {b"offset": value, b"o": b"%d" % offset,
                                                         b"p": b"%d" % partition}


def test_a_worker_without_its_epoch_is_fenced(mock):
    mock.generate("--records", 2000, "--keys", 500, "--seed", 4)
    worker = mock.start("--no-join", "--batch", 10, "--pause", 50)
    while not mock.states():
        time.sleep(0.02)
    for p in range(COUNT):
        mock.redis.incr(f"epoch:{mock.topic}:{p}")
    out, _ = worker.communicate(timeout=30)
    before = mock.states()
    assert worker.returncode == FENCED and json.loads(out)["FENCE"] > 0
    written = {(p, o) for p, o, _ in before.values()}
    committed = mock.committed(COUNT)
    late = [r for r in mock.read() if r.offset >= max(committed[r.partition], 0)]
    assert len(late) > 1000
    assert len(written & {(r.partition, r.offset) for r in late}) <= 10     # the batch that was under way
    mock.work()
    assert mock.states() == expected("opaque", mock.read(), COUNT)


def test_scripts_that_redis_forgot_are_loaded_again(mock, redis_factory, pipeline_bin):
    private = reference.Pipeline(pipeline_bin, mock.bootstrap, redis_factory(), mock.topic)
    private.generate("--records", 500, "--keys", 50, "--seed", 4)
    worker = private.start("--no-join", "--until-end", "--state", "count", "--batch", 10, "--pause", 10)
    while worker.poll() is None:
        private.redis.script_flush()
        time.sleep(0.01)
    assert worker.wait() == 0, worker.communicate()
    assert private.states() == expected("count", private.read(), COUNT)


def test_a_group_that_started_at_latest(real):
    real.generate("--records", 200, "--keys", 50, "--seed", 1)
    assert real.work("--reset", "latest")["records"] == 0
    assert real.states() == {}


# -- what only a real broker has -----------------------------------------------------------------------------------

def test_transactions(real, work):
    listed = work / "list"
    made = real.generate("--records", 600, "--keys", 60, "--seed", 8, "--transactions", "interleaved", "--list", listed)
    assert made["aborted"] > 50 and made["committed"] > 200 and made["aborted"] + made["committed"] == 600
    lines = [json.loads(line) for line in listed.read_text().splitlines()]
    committed = {(r.partition, r.offset) for r in real.read()}
    assert committed == {(x["partition"], x["offset"]) for x in lines if x["outcome"] == "committed"}
    everything = {(r.partition, r.offset): (r.key.hex(), r.value.hex())
                  for r in real.read(isolation="read_uncommitted")}
    assert everything == {(x["partition"], x["offset"]): (x["key_hex"], x["value_hex"]) for x in lines}
    real.work("--state", "count")
    assert real.states() == expected("count", real.read(), COUNT)


def test_an_open_transaction_stays_open(real, broker):
    real.generate("--records", 100, "--keys", 60, "--seed", 8)
    made = real.generate("--records", 30, "--keys", 60, "--seed", 9, "--transactions", "open")
    assert made["open"] == 30
    high, stable = broker.high_watermarks(real.topic), broker.offsets(real.topic)
    assert sum(high.values()) - sum(stable.values()) == 30
    assert real.work("--state", "count")["records"] == 100


def test_a_resize_rebases(real, broker):
    real.generate("--records", 500, "--keys", 60, "--seed", 8)
    real.work("--state", "count")
    [facts] = real.fault("partitions-added", "--to", 12)
    assert (facts["before"], facts["after"], broker.partition_count(real.topic)) == (6, 12, 12)
    before = real.states()
    made = real.generate("--records", 200, "--keys", 30, "--seed", 9)
    assert made["partitions"] == 12
    summary = real.work("--state", "count")
    moved = {r.key for r in real.read() if r.partition >= 6}
    assert summary["REBASE"] == len(moved) > 0
    states = real.states()
    assert {k for k in states if states[k][0] != before.get(k, states[k])[0]} == moved
    assert sum(int(v) for _, _, v in states.values()) == 700


def test_a_resize_under_load(real):
    """Producer and worker run while partitions are added: nobody's record is lost or refused for good reason."""
    worker = real.start("--state", "count", "--batch", 50, "--session", 3000)
    producer = subprocess.Popen(real.words("generate", "--records", 3000, "--keys", 100, "--rate", 1000, "--seed", 1),
                                stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    real.fault("partitions-added", "--to", 12)
    producer.communicate(timeout=30)
    real.generate("--records", 1000, "--keys", 100, "--seed", 2)
    time.sleep(6)
    worker.send_signal(signal.SIGTERM)
    out, err = worker.communicate(timeout=30)
    assert worker.returncode == 0, err
    summary = real.work("--state", "count")
    records = real.read()
    rejected = {d.source for d in real.read(real.dlq)}
    newest = {}
    for r in records:
        if source_of(r) not in rejected and r.partition == home(r.key, 12):
            newest[r.key] = max(newest.get(r.key, (r.partition, -1)), (r.partition, r.offset))
    states = real.states()
    assert {k: states[k][:2] for k in newest} == newest
    assert json.loads(out)["REBASE"] + summary["REBASE"] > 0
    assert sum(int(v) for _, _, v in states.values()) == len(records) - len(rejected)


# -- the generator and the mock --------------------------------------------------------------------------------------

def test_the_same_seed_makes_the_same_records(mock, pipeline_bin, redis_server, name):
    words = ["--records", 300, "--keys", 40, "--key-format", "odd", "--seed", 6, *MIX, "--tombstones", 0.1,
             "--start-ts", 1700000000000, "--duration", 300000]
    other = reference.Mock(pipeline_bin("mockbroker"), {name: COUNT})
    twin = reference.Pipeline(pipeline_bin, other.bootstrap, redis_server, name)
    try:
        assert mock.generate(*words) == twin.generate(*words)
        records = sorted(mock.read(), key=lambda r: r[:3])
        assert records == sorted(twin.read(), key=lambda r: r[:3])
    finally:
        other.close()
    assert sorted(r.timestamp for r in records) == [1700000000000 + 1000 * i for i in range(300)]
    assert all(r.partition == home(r.key, COUNT) for r in records if r.key is not None)
    keys = {r.key for r in records}
    assert {None, b"", b"{}", b"nul\0inside"} <= keys and max(len(k or b"") for k in keys) == 65536


def test_placement_by_an_old_count(mock):
    mock.generate("--records", 300, "--keys", 40, "--old-partitions", 4)
    assert all(r.partition == home(r.key, 4) for r in mock.read())


def test_numbers_and_rate(mock):
    begun = time.monotonic()
    mock.generate("--records", 100, "--keys", 5, "--numbers", "--rate", 200)
    assert time.monotonic() - begun >= 0.45
    assert all(-1000 <= int(r.value) <= 1000 for r in mock.read())


def test_the_mock_broker_ends_with_its_stdin(pipeline_bin):
    broker = reference.Mock(pipeline_bin("mockbroker"), {"t": 1})
    assert broker.bootstrap.startswith("127.0.0.1:")
    assert broker.close() == 0


@pytest.mark.parametrize("words, code, said", [
    (["worker"], 64, "--brokers is needed"),
    (["worker", "--state", "colour"], 64, "is needed"),
    (["fault", "fence-sideways", "-b", "x", "-t", "y"], 64, "there is no fault"),
    (["generate", "--records", "many"], 64, "is not a whole number"),
    (["generate", "-X", "no.such=1", "-b", "x", "-t", "y"], 1, "No such configuration property"),
    (["worker", "-b", "x", "-t", "y", "-g", "z", "-u", "/nowhere/sock"], 1, "cannot reach Redis at /nowhere/sock"),
])
def test_trouble_is_said(pipeline_bin, words, code, said):
    done = subprocess.run([pipeline_bin(words[0]), *words[1:]], capture_output=True, text=True, timeout=30)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
