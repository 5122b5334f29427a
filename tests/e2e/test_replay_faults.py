"""Replays that are killed, starved, forbidden or lied to: nothing is lost, nothing comes twice, nothing looks whole that is not."""
import os
import random
import signal
import subprocess
import time

import pytest

from replaying import Index, await_word, ended, generate, go, numbered, produce

KILLS = int(os.environ.get("REPLAY_KILLS", 25))


def parts(result, topic):
    return {p["partition"]: p for p in result.topics[topic]["parts"]}


def content(index, topic):
    """Everything that a replay decides about a topic, but how it was cut into chunks."""
    return index.records(topic), index.progress(topic), index.gaps(topic)


# -- kills ---------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def busy_topic(broker, pipeline_bin):
    """Plain records, interleaved transactions, a trimmed head, and an aborted tail."""
    topic = "kills"
    broker.create_topic(topic, 6)
    generate(pipeline_bin, broker, topic, None, records=300000, keys=5000, seed=1)
    generate(pipeline_bin, broker, topic, None, records=30000, keys=5000, transactions="interleaved", seed=2)
    generate(pipeline_bin, broker, topic, None, records=50, transactions="aborted", seed=3)
    broker.delete_records(topic, {0: 777})
    return topic


@pytest.fixture(scope="module")
def undisturbed(busy_topic, broker, tmp_path_factory):
    index = Index(tmp_path_factory.mktemp("undisturbed") / "index.db", broker.bootstrap)
    begun = time.monotonic()
    assert index.replay(busy_topic).code == 0
    return content(index, busy_topic), time.monotonic() - begun


@pytest.mark.slow
@pytest.mark.timeout(60 + 3 * KILLS)
def test_killed_at_any_moment(busy_topic, undisturbed, broker, work):
    """Kill after kill on one index until a replay gets through, then over again with a new one."""
    expected, seconds = undisturbed
    random.seed(20)
    kills, through = 0, 0
    while kills < KILLS:
        index = Index(work / f"index{through}.db", broker.bootstrap)
        code = None
        while code != 0:
            run = index.popen(busy_topic)
            # some early, and over the whole length of a replay
            wait = random.choice([random.uniform(0, seconds), random.uniform(0, seconds / 4)])
            try:
                code = run.wait(wait if kills < KILLS else 60)
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
                kills += 1
            run.communicate()
        assert content(index, busy_topic) == expected
        through += 1


def test_stopped_by_a_signal(busy_topic, undisturbed, broker, work):
    index = Index(work / "index.db", broker.bootstrap)
    run = index.popen("-o", busy_topic)
    await_word(run, "open")
    go(run)
    time.sleep(undisturbed[1] / 4)
    run.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    stopped = ended(run, 25)
    assert time.monotonic() - begun < 10
    if stopped.code != 0:
        assert any("stopped" in p["trouble"] for p in parts(stopped, busy_topic).values())
        assert all(p["covered"] or p["trouble"] for p in parts(stopped, busy_topic).values())
    assert index.replay(busy_topic).code == 0
    assert content(index, busy_topic) == undisturbed[0]


# -- brokers that go away ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def own_broker():
    import kafka_broker
    broker = kafka_broker.Broker()
    yield broker
    broker.close()


def test_a_broker_that_says_nothing(own_broker, name, work):
    own_broker.create_topic(name, 2)
    produce(own_broker, name, numbered(0, 0, 1000) + numbered(1, 0, 1000))
    index = Index(work / "index.db", own_broker.bootstrap)
    run = index.popen("-o", "-t3000", name)
    await_word(run, "open")
    own_broker.pause()
    try:
        begun = time.monotonic()
        go(run)
        result = ended(run, 40)
        assert time.monotonic() - begun < 20
    finally:
        own_broker.resume()
    assert result.code == 1
    for partition, part in parts(result, name).items():
        assert not part["covered"] and f"{name}/{partition}: at 0 of [0,1000):" in part["trouble"]
    assert index.replay(name).code == 0
    assert len(index.records(name)) == 2000


def test_a_broker_that_comes_back(own_broker, name, work):
    own_broker.create_topic(name, 2)
    produce(own_broker, name, numbered(0, 0, 1000) + numbered(1, 0, 1000))
    index = Index(work / "index.db", own_broker.bootstrap)
    run = index.popen("-o", "-t60000", name)
    await_word(run, "open")
    own_broker.stop()
    go(run)
    time.sleep(1)
    own_broker.start()
    assert ended(run, 60).code == 0
    assert len(index.records(name)) == 2000


def test_no_broker_at_all(work):
    index = Index(work / "index.db", "127.0.0.1:1")
    begun = time.monotonic()
    result = index.replay("-t2000", "orders")
    assert result.code == 1 and "127.0.0.1:1" in result.err and "refused" in result.err
    assert time.monotonic() - begun < 15


@pytest.mark.slow
def test_a_damaged_batch(own_broker, name, work):
    """The partition stops where the damage is, and says where; the others go on."""
    own_broker.create_topic(name, 2)
    for i in range(10):
        produce(own_broker, name, numbered(0, i * 100, 100) + numbered(1, i * 100, 100))
    own_broker.stop()
    [log] = (own_broker.dir / "data" / f"{name}-0").glob("*.log")
    raw = bytearray(log.read_bytes())
    at = raw.index(b"v650")
    raw[at + 1] ^= 1
    log.write_bytes(raw)
    own_broker.start()
    index = Index(work / "index.db", own_broker.bootstrap)
    result = index.replay("-t20000", name)
    assert result.code == 1
    assert parts(result, name)[1]["covered"]
    damaged = parts(result, name)[0]
    assert not damaged["covered"] and f"{name}/0: at 600 of [0,1000): a record batch is damaged" in damaged["trouble"]
    assert index.progress(name)[0][:2] == (0, 600)
    assert [r[1] for r in index.records(name) if r[0] == 0] == [*range(600)]


# -- what is read, and with which rights ---------------------------------------------------------------------------

def test_nothing_is_created_joined_or_committed(own_broker, name, work):
    own_broker.create_topic(name)
    produce(own_broker, name, numbered(0, 0, 100))
    before = set(own_broker.admin.list_topics(timeout=10).topics)
    index = Index(work / "index.db", own_broker.bootstrap)
    assert index.replay("-e", name).code == 0
    assert index.replay("-e", f"{name}-absent").code == 1
    assert set(own_broker.admin.list_topics(timeout=10).topics) == before
    assert "__consumer_offsets" not in before
    assert own_broker.admin.list_consumer_groups().result(10).valid == []


@pytest.fixture(scope="module")
def acl_broker():
    import kafka_broker
    broker = kafka_broker.Broker(acl=True)
    yield broker
    broker.close()


def sasl_options(broker):
    return [f"-X{k}={v}" for k, v in broker.sasl("auditor").items() if k != "bootstrap.servers"]


def test_least_rights(acl_broker, name, work):
    """READ and DESCRIBE are enough; without DESCRIBE_CONFIGS the policy is not known, and said so."""
    acl_broker.create_topic(name)
    produce(acl_broker, name, numbered(0, 0, 100))
    acl_broker.allow("auditor", "topic", name, "READ", "DESCRIBE")
    index = Index(work / "index.db", acl_broker.sasl_bootstrap)
    try:
        result = index.replay(*sasl_options(acl_broker), name)
    finally:
        acl_broker.disallow("auditor")
    assert result.code == 0, (result.err, result.topics)
    assert result.topics[name]["cleanup_policy"] is None
    assert index.query("SELECT compacted, policy_unknown FROM incarnation") == [(0, 1)]
    assert len(index.records(name)) == 100


def test_no_right_to_read(acl_broker, name, work):
    acl_broker.create_topic(name)
    produce(acl_broker, name, numbered(0, 0, 100))
    acl_broker.allow("auditor", "topic", name, "DESCRIBE")
    index = Index(work / "index.db", acl_broker.sasl_bootstrap)
    begun = time.monotonic()
    try:
        result = index.replay(*sasl_options(acl_broker), name)
    finally:
        acl_broker.disallow("auditor")
    assert time.monotonic() - begun < 20
    assert result.code == 1 and "authorization failed" in parts(result, name)[0]["trouble"].lower()


def test_wrong_password(acl_broker, name, work):
    index = Index(work / "index.db", acl_broker.sasl_bootstrap)
    begun = time.monotonic()
    result = index.replay(*sasl_options(acl_broker), "-Xsasl.password=wrong-word", name)
    assert time.monotonic() - begun < 20
    assert result.code == 1 and "uthentication" in result.err and "wrong-word" not in result.err


def test_mock_broker_answers_no_admin(work, pipeline_bin):
    mock = subprocess.Popen([pipeline_bin("mockbroker"), "--topic", "orders:4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        bootstrap = mock.stdout.readline().strip()
        index = Index(work / "index.db", bootstrap)
        subprocess.run([pipeline_bin("generate"), "-b", bootstrap, "-t", "orders", "--records", "5000"], check=True,
                       capture_output=True, timeout=60)
        begun = time.monotonic()
        result = index.replay("-e", "orders")
        assert time.monotonic() - begun < 5
        assert result.code == 0, (result.err, result.topics)
        assert len(index.records("orders")) == 5000
    finally:
        mock.kill()
        mock.wait()
