"""The servers that hold the state, real ones of each version: each fault gives its finding, servers in order none."""
import time

import pytest
import redis

from hygiene import Hygiene, in_step, replica_of, until
from redis_server import VERSIONS

ALONE = {"redis-replication-weak": "no-replicas"}
REDIS_ACL = ("aud on >pw ~* +@read -@dangerous +info +hello +auth +ping +select +cluster|slots +readonly "
             "+client|setname")


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def alone(tools, broker, redis_factory, version):
    """A pipeline on a server of its own, which has an AOF and no replica."""
    return Hygiene(tools, broker, redis_factory(version, options={"appendonly": "yes"}))


@pytest.fixture
def pair(tools, broker, redis_factory, version):
    """One whose server has a replica, .replica, and insists on it."""
    pipe = Hygiene(tools, broker, redis_factory(version))
    pipe.replica = replica_of(pipe.redis_server, redis_factory, version)
    pipe.redis_server.client().config_set("min-replicas-to-write", 1)
    in_step(pipe.redis_server, pipe.replica)
    return pipe


# -- in order ----------------------------------------------------------------------------------------------------------

def test_a_server_in_order(pair):
    """Nothing is said, of the master and of the replica, and everything was examined."""
    pair.audit()
    said = pair.audit()
    assert (said.code, said.all, said.unverifiable) == (0, set(), {}), str(said)
    checks = ("evicting", "not-durable", "failed-over", "replication-weak", "lost-keys", "clock-skew")
    assert said.examined == {f"redis-{c}": 1 for c in checks} | {"redis-crossslot": 0}
    assert said.status["redis-crossslot"] == "skip"
    for _ in range(2):
        said = pair.audit(redis={"url": pair.replica.url})
    assert (said.code, said.all, said.unverifiable) == (0, set(), {}), str(said)
    assert said.status["redis-failed-over"] == "pass"


def test_facts(alone):
    """The clock and the settings are in the index, and the first run says that it cannot compare."""
    said = alone.audit()
    assert said.kinds() == ALONE and said.code == 0, str(said)
    assert said.status["redis-failed-over"] == said.status["redis-lost-keys"] == "empty"
    done = alone.fencepost.run(["sql", "-c", alone.config, "--format", "json",
                                "SELECT abs(server_us - host_us) < 1000000 AS near, answered_in_us > 0 AS took, "
                                "settings_trouble, (SELECT json_group_object(name, value) FROM redis_setting) "
                                "AS settings FROM redis_server"])
    assert '"near":1' in done.out and '"took":1' in done.out and '"settings_trouble":null' in done.out, done.out
    for setting in ("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "save", "min-replicas-to-write"):
        assert setting in done.out


def test_two_databases_are_one_server(alone):
    with alone.redis_server.client(db=3).pipeline() as pipe:
        for key, (partition, offset) in alone.fences.items():
            pipe.hset(alone.redis_key(key), mapping={"partition": partition, "offset": offset})
        pipe.execute()
    alone.redis_server.client().config_set("appendonly", "no")
    second = {"topic": alone.name, "group": alone.name, "key": alone.redis_key("{key}"), "redis": {"db": 3}}
    said = alone.audit(more={"second": second})
    assert said.kinds() == {**ALONE, "redis-not-durable": "alone"} and said.code == 2, str(said)
    assert len(said.servers) == 1 and said.examined["redis-not-durable"] == 1


@pytest.mark.parametrize("barred", ["acl", "renamed"])
def test_without_config(tools, broker, redis_factory, version, barred):
    """INFO alone must do: what only CONFIG knows is unverifiable, and no trouble."""
    if barred == "acl":
        options, login = {"user": REDIS_ACL}, {"user": "aud", "password": "pw"}
    else:
        options, login = {"rename-command": 'CONFIG ""'}, {}
    pipe = Hygiene(tools, broker, redis_factory(version, options=options))
    replica_of(pipe.redis_server, redis_factory, version)
    said = pipe.audit(redis=login)
    assert (said.code, said.all) == (0, set()), str(said)
    assert said.unverifiable == {"redis-replication-weak": "settings-unknown"}, str(said)
    assert said.summary["complete"] and "CONFIG" not in said.out + said.err
    trouble = pipe.fencepost.run(["sql", "-c", pipe.config, "SELECT settings_trouble FROM redis_server"]).out
    assert "CONFIG GET" in trouble, trouble


# -- eviction ----------------------------------------------------------------------------------------------------------

def test_a_policy_that_evicts(alone):
    client = alone.redis_server.client()
    client.config_set("maxmemory-policy", "allkeys-lru")
    assert alone.audit().kinds() == ALONE                # without a limit nothing is ever evicted
    client.config_set("maxmemory", "1gb")
    said = alone.audit()
    assert said.kinds() == {**ALONE, "redis-evicting": "policy"} and said.code == 2, str(said)
    assert said.found["redis-evicting"]["maxmemory"] == 2**30
    client.config_set("maxmemory-policy", "noeviction")
    assert alone.audit().kinds() == ALONE


def test_evicted_fences(alone):
    alone.audit()
    client = alone.redis_server.client()
    client.config_set("maxmemory-policy", "allkeys-random")
    client.config_set("maxmemory", 1)
    until(lambda: client.info("stats")["evicted_keys"] > 5)
    client.config_set("maxmemory", 0)
    evicted = client.info("stats")["evicted_keys"]
    said = alone.audit()
    assert said.kinds() == {**ALONE, "redis-evicting": "evicted", "redis-lost-keys": "evicted"}, str(said)
    assert said.found["redis-lost-keys"]["evicted"] == said.found["redis-evicting"]["evicted_keys"] == evicted
    missing = sum(f["check"] == "fence-missing" for f in said.findings)
    assert said.found["redis-lost-keys"]["fences_missing"] == missing > 0


# -- durability --------------------------------------------------------------------------------------------------------

def test_alone_without_aof(alone):
    alone.redis_server.client().config_set("appendonly", "no")
    said = alone.audit()
    assert said.kinds() == {**ALONE, "redis-not-durable": "alone"} and said.code == 2, str(said)


def test_replicas_without_any_file(pair):
    """A replica is a second place; what is not yet in an RDB is none where the RDB is a moment old."""
    client = pair.redis_server.client()
    until(lambda: client.info("persistence")["rdb_bgsave_in_progress"] == 0)
    client.config_set("appendonly", "no")
    for save in client.save, client.bgsave:
        time.sleep(2.1)                                  # the start of the server is no RDB
        save()
        until(lambda: client.info("persistence")["rdb_bgsave_in_progress"] == 0)
        assert pair.audit().kinds() == {}
        client.set("other", 1)
        assert pair.audit().kinds() == {}


# -- failover ----------------------------------------------------------------------------------------------------------

def test_promotion(pair):
    """Audited at the replica's address before and after; fences that moved back meanwhile are linked."""
    pair.audit(redis={"url": pair.replica.url})
    client = pair.replica.client()
    client.replicaof("NO", "ONE")
    for key, (partition, offset) in list(pair.fences.items())[:3]:
        client.hset(pair.redis_key(key), "offset", 0 if offset else offset)
    client.delete(pair.redis_key(next(reversed(pair.fences))))
    said = pair.audit(redis={"url": pair.replica.url})
    assert said.kinds() == {**ALONE, "redis-failed-over": "promoted"} and said.code == 2, str(said)
    evidence = said.found["redis-failed-over"]
    assert evidence["before"]["replid"] == evidence["now"]["replid2"] and evidence["now"]["second_repl_offset"] >= 0
    assert evidence["fences_missing"] == 1
    assert evidence["fences_regressed"] == sum(f["check"] == "fence-regressed" for f in said.findings) > 0
    assert evidence["pipelines"] == [pair.name]
    said = pair.audit(redis={"url": pair.replica.url})
    assert said.status["redis-failed-over"] == "pass", str(said)


def test_a_master_that_becomes_a_replica(pair, redis_factory, version):
    pair.audit()
    old, new = pair.redis_server.client(), pair.replica.client()
    new.replicaof("NO", "ONE")
    old.replicaof("127.0.0.1", pair.replica.port)
    until(lambda: old.info("replication")["master_link_status"] == "up")
    said = pair.audit()
    # it took the new master's history over, which continues its own
    assert said.kinds()["redis-failed-over"] in ("promoted", "role-changed") and said.code == 2, str(said)


def test_restart(alone):
    """With its data it is the same server: worth a note."""
    alone.audit()
    alone.redis_server.stop()
    time.sleep(1.1)
    alone.redis_server.start()
    said = alone.audit()
    assert said.kinds() == {**ALONE, "redis-failed-over": "restarted"} and said.code == 0, str(said)
    assert said.one["redis-failed-over"]["severity"] == "info"
    assert "restarted" in str(said.out)
    assert alone.audit().kinds() == ALONE


def test_restart_without_its_data(tools, broker, redis_factory, version):
    pipe = Hygiene(tools, broker, redis_factory(version))
    pipe.audit()
    pipe.redis_server.stop()
    pipe.redis_server.start()
    said = pipe.audit()
    assert said.found["redis-failed-over"]["kind"] == "replaced" and said.code == 2, str(said)
    assert said.found["redis-failed-over"]["fences_missing"] == len(pipe.fences)
    assert said.found["redis-lost-keys"]["kind"] == "fewer"
    assert said.found["redis-lost-keys"]["keys_before"] == len(pipe.fences) + pipe.partitions


def test_another_server_at_the_address(tools, broker, redis_factory):
    """It ran before the earlier run looked, so it is no restart."""
    pipe, other = Hygiene(tools, broker, redis_factory()), redis_factory()
    time.sleep(3.1)
    pipe.audit()
    pipe.redis_server.stop()
    other.client().config_set("port", pipe.redis_server.port)
    said = pipe.audit()
    assert said.found["redis-failed-over"]["kind"] == "replaced", str(said)
    assert "redis-lost-keys" not in said.found and said.unverifiable["redis-lost-keys"] == "another-process"


# -- replication -------------------------------------------------------------------------------------------------------

def test_replication(pair):
    client = pair.redis_server.client()
    client.config_set("min-replicas-to-write", 0)
    said = pair.audit()
    assert said.kinds() == {"redis-replication-weak": "min-replicas-off"} and said.code == 0, str(said)
    pair.redis_server.stop()
    until(lambda: pair.replica.client().info("replication")["master_link_status"] == "down")
    said = pair.audit("--timeout", "1s", redis={"url": pair.replica.url})
    assert said.kinds()["redis-replication-weak"] == "link-down", str(said)


# -- lost keys ---------------------------------------------------------------------------------------------------------

def test_fences_that_expired(alone):
    client = alone.redis_server.client()
    keys = list(alone.fences)[:4]
    for key in keys:
        client.pexpire(alone.redis_key(key), 1500)
    assert "redis-lost-keys" not in alone.audit().found
    time.sleep(1.7)
    said = alone.audit()
    evidence = said.found["redis-lost-keys"]
    assert (evidence["kind"], evidence["fences_missing"], evidence["ttl_run_out"]) == ("expired", 4, 4), str(said)
    assert said.all == {"fence-missing", *said.found}


def test_keys_of_others_that_expired(alone):
    """On a server that is shared, keys expire all the time: that says nothing of fences that never had a time."""
    client = alone.redis_server.client()
    alone.audit()
    for i in range(50):
        client.set(f"cache:{i}", 1, px=1)
    time.sleep(0.1)
    for i in range(50):
        client.get(f"cache:{i}")
    assert "redis-lost-keys" not in alone.audit().found      # nothing is missing
    client.delete(alone.redis_key("k1"))
    for i in range(50):
        client.set(f"cache:{i}", 1, px=1)
    time.sleep(0.1)
    for i in range(50):
        client.get(f"cache:{i}")
    said = alone.audit()
    assert said.all == {"fence-missing", "redis-replication-weak"}, str(said)
    assert said.unverifiable["redis-lost-keys"] == "no-ttl-seen"


def test_a_fence_that_was_deleted(alone):
    """Nothing expired and nothing was evicted: the server is not to blame."""
    alone.audit()
    alone.redis_server.client().delete(alone.redis_key("k1"))
    said = alone.audit()
    assert said.all == {"fence-missing", "redis-replication-weak"} and "redis-lost-keys" not in said.unverifiable


# -- slots -------------------------------------------------------------------------------------------------------------

SCRIPT = "return {redis.call('HGET', KEYS[1], 'offset'), redis.call('GET', KEYS[2])}"


@pytest.fixture
def cluster(tools, broker, redis_factory, version):
    """A pipeline on a lone node that has all slots."""
    server = redis_factory(version, options={"cluster-enabled": "yes"})
    server.client().execute_command("CLUSTER", "ADDSLOTS", *range(16384))
    until(lambda: b"cluster_state:ok" in server.client().execute_command("CLUSTER", "INFO", NEVER_DECODE=True))
    return Hygiene(tools, broker, server)


def rendered(pipe, template, key):
    home = pipe.fences[key][0]
    for mark, text in (("{{", "\1"), ("{key}", key), ("{topic}", pipe.name), ("{partition}", str(home)), ("}}", "\2")):
        template = template.replace(mark, text)
    return template.replace("\1", "{").replace("\2", "}")


def test_two_slots(cluster):
    said = cluster.audit()
    assert said.kinds() == {**ALONE, "redis-crossslot": "cluster"} and said.code == 2, str(said)
    evidence, client = said.found["redis-crossslot"], cluster.redis_server.client()
    for what in ("state", "epoch"):
        assert client.execute_command("CLUSTER", "KEYSLOT", evidence[f"{what}_key"]) == evidence[f"{what}_slot"]
    assert evidence["state_slot"] != evidence["epoch_slot"] and evidence["keys_from"] == "sample"
    assert evidence["keys"] == len(cluster.fences) and evidence["apart"] > 0
    with pytest.raises(redis.exceptions.ResponseError, match="slot"):
        client.eval(SCRIPT, 2, evidence["state_key"], evidence["epoch_key"])
    for way in evidence["templates"]:
        assert way["apart"] == 0 and way["state_slot"] == way["epoch_slot"] and way["cost"]
        for key in cluster.fences:
            client.eval(SCRIPT, 2, rendered(cluster, way["key"], key), rendered(cluster, way["epoch"], key))
        assert way["key"] in said.one["redis-crossslot"]["remedy"]
    assert "{{{key}}}" in evidence["templates"][1]["key"] and "{{{topic}}}" in evidence["templates"][0]["key"]


def test_one_slot(cluster):
    """With the first of the templates that the finding gives."""
    way = cluster.audit().found["redis-crossslot"]["templates"][0]
    client = cluster.redis_server.client()
    for key, (partition, offset) in cluster.fences.items():
        client.hset(rendered(cluster, way["key"], key), mapping={"partition": partition, "offset": offset})
        client.set(rendered(cluster, way["epoch"], key), 1)
    said = cluster.audit(key=way["key"], epoch=way["epoch"])
    assert said.kinds() == ALONE and said.status["redis-crossslot"] == "pass", str(said)
    assert said.code == 0, str(said)


def test_without_an_epoch(cluster):
    said = cluster.audit(epoch="")
    assert said.kinds() == ALONE and said.status["redis-crossslot"] == "skip", str(said)


@pytest.mark.parametrize("key_format, source", [("raw", "history"), ("hex", "template")])
def test_keys_that_redis_cannot_show(tools, broker, redis_server, key_format, source):
    """Without a sample the keys are those of the history, or any where these are not what stands in Redis."""
    pipe = Hygiene(tools, broker, redis_server)
    nowhere = {"cluster.plan": True, "url": "redis://127.0.0.1:1"}
    said = pipe.audit(redis=nowhere, **{"key.format": key_format})
    assert said.found["redis-crossslot"]["keys_from"] == source, str(said)
    said = pipe.audit(redis=nowhere, key="{{x}}{key}", epoch="{{x}}:{partition}", **{"key.format": key_format})
    assert "redis-crossslot" not in said.found, str(said)


def test_keys_with_tags_of_their_own(tools, broker, redis_server):
    """A record key with braces is a tag, unless one comes before it; a template that does not help it says so."""
    pipe = Hygiene(tools, broker, redis_server)
    pipe.produce([("a{b}c", "v"), ("}x", "v"), ("{}", "v"), ("{", "v"), ("€}ü{", "v")])
    pipe.apply()
    pipe.commit()
    said = pipe.audit(redis={"cluster.plan": True})
    topic, key = said.found["redis-crossslot"]["templates"]
    assert (topic["apart"], topic["keys"]) == (0, 25), str(said)
    assert key["apart"] == 1 and key["state_key"].endswith(":{}x}"), str(said)
    assert "but for 1 of 25 keys" in said.one["redis-crossslot"]["remedy"]
    said = pipe.audit(redis={"cluster.plan": True}, key="{{t}}:s:{key}", epoch="{{t}}:e:{partition}")
    assert "redis-crossslot" not in said.found, str(said)


@pytest.mark.parametrize("key, epoch, apart", [
    ("state:{key}", "epoch:{topic}:{partition}", True), ("s:{{{topic}}}:{key}", "e:{{{topic}}}:{partition}", False),
    ("{{all}}:s:{topic}:{key}", "{{all}}:e:{topic}:{partition}", False), ("{{a}}:{key}", "{{b}}:{partition}", True),
    ("{{a}}:s:{key}", "{{a}}{{b}}:{partition}", False), ("s:{{{key}}}", "epoch:{topic}:{partition}", True),
    ("{{}}{{x}}:{key}", "{{x}}:{partition}", True)])
def test_planned(tools, broker, redis_server, key, epoch, apart):
    """cluster.plan judges the templates, also where Redis has none of these keys."""
    pipe = Hygiene(tools, broker, redis_server)
    assert "redis-crossslot" not in pipe.audit(key=key, epoch=epoch).all
    said = pipe.audit(redis={"cluster.plan": True}, key=key, epoch=epoch)
    assert ("redis-crossslot" in said.found) == apart, str(said)
    said = pipe.audit(redis={"cluster.plan": True, "url": "redis://127.0.0.1:1"}, key=key, epoch=epoch)
    assert ("redis-crossslot" in said.found) == apart, str(said)
    if apart:
        assert said.found["redis-crossslot"]["kind"] == "plan"
        assert said.found["redis-crossslot"]["keys_from"] == "history"
        assert all(way["apart"] == 0 for way in said.found["redis-crossslot"]["templates"])


def test_a_node_without_the_slots(tools, broker, redis_factory, version):
    """What it says of other nodes is trouble; the templates are judged all the same."""
    pipe = Hygiene(tools, broker, redis_factory(version))
    node = redis_factory(version, options={"cluster-enabled": "yes"})
    said = pipe.audit(redis={"url": node.url})
    assert said.found["redis-crossslot"]["kind"] == "cluster" and not said.summary["complete"], str(said)
    assert said.found["redis-crossslot"]["keys_from"] == "history"
