"""The look at Redis, without Kafka: epochs, INFO, replicas, rights, and a server that refuses or fails."""

import os
import time
from contextlib import closing

import pytest

from observe import monitor_writes, redis_changes
from sampling import fill, hset, impostor, look, quoted, wait_for  # noqa: F401 (two are fixtures)

ACL = "+@read -@dangerous +info +hello +auth +ping +select +cluster|shards +cluster|slots +readonly +client|setname"
READS = {"SCAN", "HMGET", "PTTL", "HPTTL", "TYPE", "EXISTS", "GET", "INFO", "AUTH", "SELECT", "CLIENT", "PING"}


# -- epochs, INFO, replicas --------------------------------------------------------------------------------------


def test_epochs(any_redis, look, name):
    r = any_redis.client()
    for p, value in {0: 7, 1: -1, 2: "07", 4: "x", 5: 2**63, 1200: 3}.items():
        r.set(f"{name}:orders:{p}", value)
    r.hset(f"{name}:orders:6", "a", 1)
    seen = look(any_redis, ["epochs=1201"], key='"s:{key}"', epoch=quoted(name + ":{topic}:{partition}"))
    rows = {row["partition"]: row for row in seen.table("epoch")}
    assert len(rows) == 1201 and rows[1200]["value"] == 3
    assert {p: (rows[p]["present"], rows[p]["value"], rows[p]["malformed"]) for p in range(8)} == {
        0: (1, 7, None),
        1: (1, -1, None),
        2: (1, None, "leading-zero"),
        3: (0, None, None),
        4: (1, None, "not-decimal"),
        5: (1, None, "overflow"),
        6: (1, None, "not a string"),
        7: (0, None, None),
    }
    assert rows[0]["redis_key"] == f"{name}:orders:0".encode()


def test_info(any_redis, look):
    r = any_redis.client()
    r.set("one", 1)
    seen = look(any_redis, ["info", "info"], key='"s:{key}"')
    (server,) = seen.table("redis_server")
    info = r.info()
    assert server["address"] == f"unix:{any_redis.sock}/0"
    assert (server["role"], server["version"], server["process"], server["replid"], server["second_repl_offset"]) == (
        "master",
        info["redis_version"],
        info["run_id"],
        info["master_replid"],
        -1,
    )
    assert server["keys"] == seen.counts.server_keys > 0 and server["uptime_s"] >= 0
    values = {row["name"]: row["value"] for row in seen.table("redis_info")}
    for field in (
        "maxmemory_policy",
        "aof_enabled",
        "evicted_keys",
        "rdb_last_bgsave_status",
        "cluster_enabled",
        "tcp_port",
    ):
        assert values[field] == str(info[field])
    assert "cmdstat_info" in values


def test_database_number(redis_server, look, name):
    with closing(redis_server.client(db=5)) as r:
        hset(r, f"{name}:in5", partition=0, offset=1)
        seen = look(redis_server, ["info", "scan"], redis={"db": 5}, prefix=name)
        assert list(seen.by_key) == [b"in5"] and seen.counts.server_keys == 1
        r.flushdb()
    wrong = look(redis_server, ["scan"], redis={"db": 99}, prefix=name)
    assert wrong.code == 1 and "database 99" in wrong.err and "out of range" in wrong.err


def test_tcp(redis_server, look, name):
    hset(redis_server.client(), f"{name}:k", partition=0, offset=1)
    assert len(look(redis_server.url, ["info", "scan", "ask"], keys=[b"k", b"j"], prefix=name).rows) == 2


def test_replica(redis_factory, look):
    master = redis_factory()
    replica = redis_factory(options={"replicaof": f"127.0.0.1 {master.port}"})
    second = redis_factory(options={"replicaof": f"127.0.0.1 {replica.port}"})
    r = master.client()
    wait_for(lambda: second.client().info()["master_link_status"] == "up")
    hset(r, "s:k", partition=0, offset=1)
    for server in replica, second:
        seen = look(server.url, ["info", "catch-up=5000", "scan"], key='"s:{key}"')
        assert seen.counts.replica == "passed" and list(seen.by_key) == [b"k"], seen.err
        assert seen.table("redis_server")[0]["role"] == "slave"
    assert look(master.url, ["catch-up=5000"], key='"s:{key}"').counts.replica is None
    replica.client().config_set("masterauth", "wrong")
    second.client().execute_command("REPLICAOF", "127.0.0.1", "1")
    seen = look(second.url, ["catch-up=300", "scan"], key='"s:{key}"')
    assert (
        "master 127.0.0.1:1" in seen.counts.replica and "refused" in seen.counts.replica and list(seen.by_key) == [b"k"]
    )


def test_a_replica_that_lags(redis_factory, look):
    master = redis_factory()
    replica = redis_factory(options={"replicaof": f"127.0.0.1 {master.port}"})
    wait_for(lambda: replica.client().info()["master_link_status"] == "up")
    r = master.client()
    r.config_set("requirepass", "now")  # of which the replica does not know: once its link is cut, it stays so
    r.execute_command("AUTH", "now")

    def cut():
        for link in r.client_list(_type="replica"):
            r.client_kill_filter(_id=link["id"])
        return replica.client().info()["master_link_status"] == "down"

    wait_for(cut)
    r.hset("s:late", mapping={"partition": 0, "offset": 1})
    seen = look(replica.url, ["catch-up=300"], key='"s:{key}"')
    assert "wants a password" in seen.counts.replica
    replica.client().config_set("requirepass", "now")
    seen = look(replica.url, ["catch-up=300"], redis={"password": "now"}, key='"s:{key}"')
    assert "has not passed" in seen.counts.replica, seen.counts.replica


# -- rights and refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "version,pattern,acl",
    [
        ("6.2", "~", "+@read -@dangerous +info +hello +auth +ping +select +client|setname"),
        ("7.0", "%R~", ACL),
        ("8.2", "%R~", ACL),
        ("8.2", "%R~", ACL + " +client|no-touch"),
    ],
)
def test_only_reads_and_needs_no_more_than_its_rights(redis_factory, look, name, version, pattern, acl):
    server = redis_factory(version)
    r = server.client()
    r.execute_command("ACL", "SETUSER", name, "on", ">s3cret", f"{pattern}{name}:*", f"{pattern}epoch:*", *acl.split())
    fill(r, f"{name}:", 2500)
    r.set(f"{name}:string", 1)
    keys = [b"%d" % i for i in range(2000, 3000)] + [b"string"]
    before = redis_changes(server)
    with monitor_writes(server) as monitor:
        seen = look(
            server,
            ["info", "epochs=3", "scan", "ask", "formats", "catch-up=100"],
            keys=keys,
            redis={"user": name, "password": "s3cret"},
            prefix=name,
            epoch='"epoch:{topic}:{partition}"',
            state="last",
        )
    assert seen.code == 0 and len(seen.rows) == 3001, seen.err
    assert (
        monitor.writes == []
        and monitor.names() <= READS
        and {"SCAN", "HMGET", "PTTL", "TYPE", "EXISTS", "GET", "INFO"} <= monitor.names()
    )
    assert redis_changes(server) == before
    assert r.client_list() and not [c for c in r.client_list() if c["name"] == "fencepost"]


def test_reading_does_not_touch(redis82, look, name):
    r = redis82.client()
    hset(r, f"{name}:k", partition=0, offset=1)
    time.sleep(1.2)
    look(redis82, ["scan"], prefix=name)
    assert r.object("idletime", f"{name}:k") >= 1


@pytest.mark.parametrize(
    "missing,command,steps",
    [
        ("-hmget", "HMGET", ["scan"]),
        ("-pttl", "PTTL", ["ask"]),
        ("-scan", "SCAN", ["scan"]),
        ("-info", "INFO", ["info"]),
        ("-get", "GET", ["epochs=1"]),
        ("-exists", "EXISTS", ["formats"]),
        ("resetkeys", "HMGET", ["scan"]),
    ],
)
def test_missing_rights_are_named(any_redis, look, name, missing, command, steps):
    r = any_redis.client()
    r.execute_command(
        "ACL", "SETUSER", name, "reset", "on", ">s3cret", "~*", "+@read", "+info", "+ping", "+select", missing
    )
    hset(r, f"{name}:k", partition=0, offset=1)
    seen = look(
        any_redis, steps, keys=[b"k"], redis={"user": name, "password": "s3cret"}, prefix=name, epoch='"e:{partition}"'
    )
    words = seen.counts.scan_trouble if "scan" in steps else seen.err
    assert seen.code == (0 if "scan" in steps else 1)
    assert (
        f"user {name} may not run {command}" in words
        and "NOPERM" in words
        and f"ACL SETUSER {name} on %R~KEYS +@read" in words
    )
    assert f"redis unix:{any_redis.sock}/0" in words and "s3cret" not in words
    assert not seen.counts.scan_complete and seen.rows == []
    r.execute_command("ACL", "DELUSER", name)


def test_passwords(redis_factory, look, work):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    hset(server.client(), "s:k", partition=0, offset=1)

    def words(env=None, **redis):
        seen = look(server, ["scan"], key='"s:{key}"', redis=redis, env=env)
        assert "s3cret" not in seen.err and "wr0ng" not in seen.err
        return seen.err if seen.code else len(seen.rows)

    assert words(password="s3cret") == 1
    assert words(user="default", password="s3cret") == 1
    assert words(env={"REDISCLI_AUTH": "s3cret"}) == 1
    (work / "secret").write_text("s3cret\n")
    os.chmod(work / "secret", 0o600)
    assert words(password=f"file:{work}/secret") == 1
    assert "wants a password" in words() and "REDISCLI_AUTH" in words()
    assert "wrong password for user default" in words(password="wr0ng")
    assert "wrong password for user nobody" in words(user="nobody", password="wr0ng")
    open_server = redis_factory()
    seen = look(open_server, ["scan"], key='"s:{key}"', redis={"password": "wr0ng"})
    assert seen.code == 1 and "default user has none" in seen.err and "wr0ng" not in seen.err


def test_nobody_there(redis_factory, look, work):
    server = redis_factory()
    server.stop()
    tcp = look(server.url, ["scan"], key='"s:{key}"')
    assert tcp.code == 1 and "cannot connect: Connection refused" in tcp.err and f"127.0.0.1:{server.port}/0" in tcp.err
    unix = look(f"unix://{work}/none.sock", ["scan"], key='"s:{key}"')
    assert unix.code == 1 and "No such file or directory" in unix.err and "unixsocket" in unix.err
    name = look("redis://no-such-host.invalid:6379/0", ["scan"], key='"s:{key}"')
    assert name.code == 1 and "cannot connect" in name.err


def test_cluster_is_not_covered(redis_factory, look):
    server = redis_factory(options={"cluster-enabled": "yes"})
    down = look(server, ["scan", "ask"], keys=[b"k"], key='"s:{key}"')
    assert down.code == 1 and "cluster" in down.err and "not covered" in down.err
    r = server.client()
    r.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    wait_for(
        lambda: (
            b"cluster_state:ok" in r.execute_command("CLUSTER", "INFO")
            if isinstance(r.execute_command("CLUSTER", "INFO"), bytes)
            else r.execute_command("CLUSTER", "INFO").get("cluster_state") == "ok"
        )
    )
    hset(r, "s:k", partition=0, offset=1)
    one = look(server, ["info", "scan", "ask"], keys=[b"k", b"j"], key='"s:{key}"')
    assert one.code == 0 and len(one.rows) == 2, one.err
    assert {row["key"]: row["slot"] for row in one.rows} == {
        k: r.execute_command("CLUSTER", "KEYSLOT", b"s:" + k) for k in (b"k", b"j")
    }
    assert {row["node"] for row in one.rows} == {f"unix:{server.sock}/0"}
    slot = r.execute_command("CLUSTER", "KEYSLOT", "s:j")
    r.execute_command("CLUSTER", "DELSLOTS", slot)
    gone = look(server, ["info", "ask"], keys=[b"j"], key='"s:{key}"')
    assert gone.code == 1 and "cluster" in gone.err


def test_refusals_in_words(impostor, look):
    def refuse(command, words):
        def rule(args, number, count):
            return words if args[0] == command else None

        seen = look(impostor(rule, 10).url, ["timeout=1000", "ask"], keys=[b"1"], key='"s:{key}"')
        assert seen.code == 1
        return seen.err

    assert "refused as a write (READONLY You can't" in refuse(
        b"HMGET", b"-READONLY You can't write against a read only replica.\r\n"
    )
    assert "slot 3999 is served by another node of the cluster: cluster mode is not covered" in refuse(
        b"HMGET", b"-MOVED 3999 127.0.0.1:6381\r\n"
    )
    assert "HMGET: ERR some \\x07 proxy \\xff" in refuse(b"HMGET", b"-ERR some \x07 proxy \xff\r\n")
    assert "another shape" in refuse(b"HMGET", b"*1\r\n$1\r\nx\r\n")
    assert "another shape" in refuse(b"PTTL", b"+OK\r\n")
    assert "Protocol error" in refuse(b"HMGET", b"%1\r\n+a\r\n+b\r\n")
    assert "PING: DENIED" in refuse(b"PING", b"-DENIED Redis is running in protected mode\r\n")
    loading = refuse(b"HMGET", b"-LOADING Redis is loading the dataset in memory\r\n")
    assert "gave up after 1 s" in loading and "LOADING" in loading
    assert "gave up after 1 s" in refuse(b"PING", b"-LOADING Redis is loading the dataset in memory\r\n")


def test_an_unknown_auth_does_not_repeat_the_password(impostor, look):
    def rule(args, number, count):
        if args[0] == b"AUTH":
            return b"-ERR unknown command `AUTH`, with args beginning with: `s3cret`\r\n"

    seen = look(impostor(rule).url, ["ask"], redis={"password": "s3cret"}, key='"s:{key}"')
    assert seen.code == 1 and "AUTH as user default was refused" in seen.err and "s3cret" not in seen.err


def test_no_reply_in_time(impostor, look):
    seen = look(
        impostor(lambda args, number, count: False if args[0] == b"PTTL" else None, 10).url,
        ["timeout=1000", "ask"],
        keys=[b"1"],
        key='"s:{key}"',
    )
    assert seen.code == 1 and "no reply within 1 s" in seen.err


def test_a_stop_is_noticed(impostor, look):
    seen = look(
        impostor(lambda args, number, count: False if args[0] == b"PTTL" else None, 10).url,
        ["timeout=60000", "ask"],
        keys=[b"1"],
        key='"s:{key}"',
        wait=False,
    )
    time.sleep(0.5)
    begun = time.monotonic()
    seen.process.terminate()
    assert seen.finish().code == 1 and "stopped" in seen.err and time.monotonic() - begun < 2


def test_a_stop_during_a_slow_scan(redis_server, look, name):
    fill(redis_server.client(), f"{name}:", 5000)
    seen = look(redis_server, ["scan"], redis={"rate": 100}, prefix=name, wait=False)
    time.sleep(0.5)
    seen.process.terminate()
    assert seen.finish(10).code == 0 and not seen.counts.scan_complete and "stopped" in seen.counts.scan_trouble


# -- lost connections --------------------------------------------------------------------------------------------


def test_lost_connections_are_taken_up_again(impostor, look):
    """The connection breaks again and again, at any command; nothing is missed, nothing is there twice."""

    def rule(args, number, count):
        return b"" if count > 700 + 97 * number % 2500 else None

    middle = impostor(rule, 6000)
    keys = [b"%d" % i for i in range(5000, 7000)]
    seen = look(middle.url, ["info", "scan", "ask"], keys=keys, key='"s:{key}"')
    assert seen.code == 0 and seen.counts.scan_complete, (seen.err, seen.counts.scan_trouble)
    assert len(seen.rows) == 7000 and len(seen.by_key) == 7000
    assert {int(k): row["offset"] for k, row in seen.by_key.items() if row["present"]} == {i: i for i in range(6000)}
    assert middle.connections > 10


def test_not_ready_for_a_while(impostor, look):
    begun = []

    def rule(args, number, count):
        begun.append(time.monotonic())
        if 0.1 < time.monotonic() - begun[0] < 0.8:
            return [
                b"-LOADING Redis is loading the dataset in memory\r\n",
                b"-BUSY Redis is busy running a script.\r\n",
                b"-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
            ][count % 3]
        return None

    seen = look(impostor(rule, 3000).url, ["info", "scan", "ask"], keys=[b"1", b"x"], key='"s:{key}"')
    assert seen.code == 0 and len(seen.rows) == 3001, (seen.err, seen.counts.scan_trouble)


def test_a_server_killed_during_the_scan(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 20_000)
    seen = look(server, ["timeout=1000", "info", "scan"], redis={"rate": 10_000}, key='"s:{key}"', wait=False)
    time.sleep(0.7)
    server.stop(clean=False)
    seen.finish()
    assert seen.code == 0 and not seen.counts.scan_complete
    assert "gave up after 1 s: cannot connect" in seen.counts.scan_trouble
    assert 0 < len(seen.rows) < 20_000 and len(seen.by_key) == len(seen.rows)


def test_a_server_that_stays_away_is_waited_for_once(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 10_000)
    seen = look(
        server,
        ["timeout=3000", "scan", "ask"],
        keys=[b"%d" % i for i in range(10_000)],
        redis={"rate": 5_000},
        key='"s:{key}"',
        wait=False,
    )
    time.sleep(0.7)
    begun = time.monotonic()
    server.stop(clean=False)
    seen.finish()
    assert seen.code == 1 and "gave up after 3 s: cannot connect" in seen.counts.scan_trouble
    assert "ask for keys: gave up after 3 s: cannot connect" in seen.err and time.monotonic() - begun < 5


def test_a_server_restarted_during_the_scan(redis_factory, look):
    server = redis_factory()
    fill(server.client(), "s:", 20_000)
    seen = look(
        server,
        ["timeout=20000", "info", "scan", "ask"],
        keys=[b"%d" % i for i in range(100)],
        redis={"rate": 10_000},
        key='"s:{key}"',
        wait=False,
    )
    time.sleep(0.7)
    server.stop(clean=False)
    server.start()
    hset(server.client(), "s:1", partition=0, offset=77)
    seen.finish()
    assert seen.code == 0 and not seen.counts.scan_complete
    assert "restarted or replaced during the scan" in seen.counts.scan_trouble
    assert set(seen.by_key) >= {b"%d" % i for i in range(100)} and len(seen.by_key) == len(seen.rows)


def test_rediss_names_a_tunnel(look):
    seen = look("rediss://example.invalid:6380/0", ["scan"], key='"s:{key}"')
    assert seen.code == 1 and (
        "stunnel" in seen.err and "connect=example.invalid:6380" in seen.err or "cannot connect" in seen.err
    )
