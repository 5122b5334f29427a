"""The checks of servers on what a server said, changed by hand: each row says what it changes, and what is said then.

The two runs that are changed were made by real audits of a master in order, with a replica.
"""
import shutil
import sqlite3
from types import SimpleNamespace

import pytest

from hygiene import Hygiene, in_step, replica_of
from redis_server import DEFAULT, RedisServer

NOW, THEN = 2, 1
HOUR = 3600


def info(run=NOW, **values):
    """INFO of a run says something else; None: nothing of it."""
    return [("DELETE FROM redis_info WHERE name = ? AND server_id IN "
             "(SELECT server_id FROM redis_server WHERE run_id = ?)", (name, run)) for name in values] + [
        ("INSERT INTO redis_info SELECT server_id, ?, ? FROM redis_server WHERE run_id = ?", (name, str(value), run))
        for name, value in values.items() if value is not None]


def row(run=NOW, **values):
    """So does its row."""
    return [(f"UPDATE redis_server SET {name} = {value} WHERE run_id = ?", (run,)) for name, value in values.items()]


def setting(name, value):
    if value is None:
        return [("DELETE FROM redis_setting WHERE name = ?", (name,))]
    return [("UPDATE redis_setting SET value = ? WHERE name = ?", (value, name))]


def gone(keys=1):
    """Fences are missing in the second run."""
    return [("UPDATE fence SET present = 0, type = NULL, partition = NULL, offset = NULL, ttl_ms = NULL, "
             "field_ttl_ms = NULL WHERE fence_id IN "
             "(SELECT fence_id FROM fence WHERE run_id = ? ORDER BY redis_key LIMIT ?)", (NOW, keys))]


def ttl(run, ms):
    """All fences of a run have a time to live."""
    return [("UPDATE fence SET ttl_ms = ? WHERE run_id = ? AND present", (ms, run))]


def lone(**more):
    return info(connected_slaves=0, slave0=None, min_slaves_good_slaves=None, **more)


NEW = row(process="'p'", replid="'r'", uptime_s=0)
WEAK = {"redis-replication-weak": "no-replicas"}
GONE = {"fence-missing": None}
SERVERS = [
    ("evicts", info(maxmemory=100, maxmemory_policy="allkeys-lru"), {"redis-evicting": "policy"}),
    ("evicts keys with a time", info(maxmemory=100, maxmemory_policy="volatile-ttl"), {"redis-evicting": "policy"}),
    ("a limit that refuses writes", info(maxmemory=100, maxmemory_policy="noeviction"), {}),
    ("a policy without a limit", info(maxmemory=0, maxmemory_policy="allkeys-lru"), {}),
    ("evicted once", info(maxmemory_policy="noeviction", evicted_keys=7), {"redis-evicting": "evicted"}),
    ("a limit that is not told", info(maxmemory=None), "redis-evicting info-incomplete"),
    ("a policy that is not told", info(maxmemory=100, maxmemory_policy=None), "redis-evicting info-incomplete"),

    ("the AOF failed", info(aof_last_write_status="err"), {"redis-not-durable": "aof-failed"}),
    ("the rewrite failed", info(aof_last_bgrewrite_status="err"), {"redis-not-durable": "aof-rewrite-failed"}),
    ("the RDB failed", info(rdb_last_bgsave_status="err"), {"redis-not-durable": "rdb-failed"}),
    ("the RDB failed, no AOF", info(rdb_last_bgsave_status="err", aof_enabled=0), {"redis-not-durable": "rdb-failed"}),
    ("alone", lone(aof_enabled=0), {**WEAK, "redis-not-durable": "alone"}),
    ("alone, and saved", lone(aof_enabled=0, rdb_changes_since_last_save=0), {**WEAK, "redis-not-durable": "alone"}),
    ("alone with an AOF", lone(), WEAK),
    ("an old RDB", info(aof_enabled=0, rdb_last_save_time=1000, rdb_changes_since_last_save=1),
     {"redis-not-durable": "old-rdb"}),
    ("an old RDB of all there is", info(aof_enabled=0, rdb_last_save_time=1000, rdb_changes_since_last_save=0), {}),
    ("saves nothing", row(uptime_s=0) + info(aof_enabled=0, rdb_changes_since_last_save=1, rdb_last_bgsave_time_sec=-1),
     {"redis-not-durable": "never-saved"}),
    ("saves nothing, and was told to", row(uptime_s=HOUR)
     + info(aof_enabled=0, rdb_changes_since_last_save=1, rdb_last_bgsave_time_sec=-1), {}),
    ("saves, but has not yet", setting("save", "3600 1") + row(uptime_s=0)
     + info(aof_enabled=0, rdb_changes_since_last_save=1, rdb_last_bgsave_time_sec=-1), {}),
    ("settings that are not told", setting("save", None) + row(uptime_s=0)
     + info(aof_enabled=0, rdb_changes_since_last_save=1, rdb_last_bgsave_time_sec=-1), {}),
    ("no AOF, no word of an RDB", info(aof_enabled=0, rdb_last_save_time=None), "redis-not-durable info-incomplete"),
    ("no word of persistence", info(aof_enabled=None), "redis-not-durable info-incomplete"),
    ("a replica without a file", row(role="'slave'") + row(THEN, role="'slave'")
     + info(aof_enabled=0, rdb_changes_since_last_save=9, rdb_last_save_time=1000, connected_slaves=0,
            master_link_status="up", master_last_io_seconds_ago=1), {}),
    ("a replica whose AOF failed", row(role="'slave'") + row(THEN, role="'slave'")
     + info(aof_last_write_status="err", master_link_status="up", master_last_io_seconds_ago=1),
     {"redis-not-durable": "aof-failed"}),

    ("promoted", row(replid="'r'", replid2="(SELECT replid FROM redis_server WHERE run_id = 1)", second_repl_offset=9),
     {"redis-failed-over": "promoted"}),
    ("another node was promoted", row(process="'p'", replid="'r'", second_repl_offset=9, uptime_s=HOUR,
                                      replid2="(SELECT replid FROM redis_server WHERE run_id = 1)"),
     {"redis-failed-over": "promoted"}),
    ("promoted twice", row(replid="'r'", replid2="'q'", second_repl_offset=9), {"redis-failed-over": "replaced"}),
    ("it forgot its history", row(replid="'r'", second_repl_offset=-1), {}),
    ("a replica with another history", row(role="'slave'", replid="'r'") + row(THEN, role="'slave'")
     + info(master_link_status="up", master_last_io_seconds_ago=1), {"redis-failed-over": "replaced"}),
    ("a master once", row(role="'slave'", replid="'r'") + info(master_link_status="up", master_last_io_seconds_ago=1),
     {"redis-failed-over": "role-changed"}),
    ("a replica once", row(replid="'r'") + row(THEN, role="'slave'"), {"redis-failed-over": "role-changed"}),
    ("restarted", NEW, {"redis-failed-over": "restarted"}),
    ("restarted with its history", row(process="'p'", uptime_s=0), {"redis-failed-over": "restarted"}),
    ("an older copy", row(process="'p'", uptime_s=0, repl_offset="repl_offset - 1"), {"redis-failed-over": "replaced"}),
    ("most keys are gone", NEW + info(db0="keys=9,expires=0,avg_ttl=0"), {"redis-failed-over": "replaced"}),
    ("it ran already", row(process="'p'", replid="'r'", uptime_s=HOUR), {"redis-failed-over": "replaced"}),
    ("another replica of the same master", row(process="'p'", role="'slave'", uptime_s=HOUR)
     + row(THEN, role="'slave'") + info(master_link_status="up", master_last_io_seconds_ago=1), {}),
    ("no word of history", row(replid="NULL"), "redis-failed-over identity-unknown"),
    ("no word then", row(THEN, process="NULL"), "redis-failed-over identity-unknown"),

    ("no replica", lone(), WEAK),
    ("a replica that syncs", info(slave0="ip=h,port=1,state=wait_bgsave,offset=0,lag=0"),
     {"redis-replication-weak": "lagging"}),
    ("a silent replica", info(slave0="ip=h,port=1,state=online,offset=5,lag=11"),
     {"redis-replication-weak": "lagging"}),
    ("a replica that is late", info(slave0="ip=h,port=1,state=online,offset=5,lag=10"), {}),
    ("one replica of two", info(slave1="ip=h,port=2,state=online,offset=5,lag=99", connected_slaves=2),
     {"redis-replication-weak": "lagging"}),
    ("takes writes alone", setting("min-replicas-to-write", "0"), {"redis-replication-weak": "min-replicas-off"}),
    ("an old name", setting("min-replicas-to-write", None) + setting("min-slaves-to-write", "0"),
     {"redis-replication-weak": "min-replicas-off"}),
    ("INFO knows", [("DELETE FROM redis_setting", ())], {}),
    ("nobody knows", [("DELETE FROM redis_setting", ())] + info(min_slaves_good_slaves=None),
     "redis-replication-weak settings-unknown"),
    ("nobody knows, but it is alone", [("DELETE FROM redis_setting", ())] + lone(), WEAK),
    ("no word of replicas", info(connected_slaves=None, slave0=None), "redis-replication-weak info-incomplete"),
    ("a link that is down", row(role="'slave'") + row(THEN, role="'slave'") + info(master_link_status="down"),
     {"redis-replication-weak": "link-down"}),
    ("a link that is silent", row(role="'slave'") + row(THEN, role="'slave'")
     + info(master_link_status="up", master_last_io_seconds_ago=11), {"redis-replication-weak": "lagging"}),

    ("ahead", row(server_us="host_us + 1100000", answered_in_us=90000), {"redis-clock-skew": None}),
    ("behind", row(server_us="host_us - 1100000", answered_in_us=90000), {"redis-clock-skew": None}),
    ("within the time of the answer", row(server_us="host_us + 3000000", answered_in_us=2000000), {}),
    ("a second", row(server_us="host_us + 1000000", answered_in_us=1), {}),
    ("no clock", row(server_us="NULL", host_us="NULL", answered_in_us="NULL"), "redis-clock-skew clock-unknown"),

    ("gone", gone(), GONE),
    ("gone, and expired", gone() + ttl(THEN, 0) + info(expired_keys=5), {**GONE, "redis-lost-keys": "expired"}),
    ("gone, and others have a time", gone() + ttl(NOW, 10**12) + info(expired_keys=5),
     {**GONE, "redis-lost-keys": "expired"}),
    ("gone before its time", gone() + ttl(THEN, 10**9) + info(expired_keys=5),
     GONE, "redis-lost-keys no-ttl-seen"),
    ("gone, and nothing expired", gone() + ttl(THEN, 0), GONE),
    ("gone, and others' keys expired", gone() + info(expired_keys=5), GONE, "redis-lost-keys no-ttl-seen"),
    ("others' keys expired", info(expired_keys=5), {}),
    ("expired before", gone() + ttl(THEN, 0) + info(expired_keys=5) + info(THEN, expired_keys=5), GONE),
    ("gone, and evicted", gone() + info(evicted_keys=3, maxmemory_policy="allkeys-lru"),
     {**GONE, "redis-lost-keys": "evicted", "redis-evicting": "evicted"}),
    ("gone, and others' evicted", gone() + info(evicted_keys=3, maxmemory_policy="volatile-lru"),
     {**GONE, "redis-evicting": "evicted"}, "redis-lost-keys no-ttl-seen"),
    ("gone with a restart", gone(2) + NEW + info(db0="keys=21,expires=0,avg_ttl=0"),
     {**GONE, "redis-failed-over": "restarted", "redis-lost-keys": "fewer"}),
    ("an older RDB", gone(2) + NEW + info(aof_enabled=0, rdb_last_load_keys_loaded=20, rdb_last_load_keys_expired=1),
     {**GONE, "redis-failed-over": "restarted", "redis-lost-keys": "fewer"}),
    ("as many as before", gone(2) + NEW
     + info(aof_enabled=0, rdb_last_load_keys_loaded=20, rdb_last_load_keys_expired=3),
     {**GONE, "redis-failed-over": "restarted"}),
    ("gone with a failover", gone() + row(process="'p'", replid="'r'", uptime_s=HOUR) + info(expired_keys=5),
     {**GONE, "redis-failed-over": "replaced"}, "redis-lost-keys another-process"),
    ("no counters", gone() + info(expired_keys=None), GONE, "redis-lost-keys counters-unknown"),
]


@pytest.fixture(scope="module")
def audited(fencepost, broker, tmp_path_factory):
    """A pipeline with an index of two runs that found nothing."""
    servers = []

    def start(*args, **kwargs):
        servers.append(RedisServer(*args, **kwargs))
        return servers[-1]

    try:
        tools = SimpleNamespace(fencepost=fencepost, name="hygiene-by-hand", folder=tmp_path_factory.mktemp("hygiene"))
        pipe = Hygiene(tools, broker, start())
        in_step(pipe.redis_server, replica_of(pipe.redis_server, start, DEFAULT))
        pipe.redis_server.client().config_set("min-replicas-to-write", 1)
        for _ in range(2):
            said = pipe.audit()
            assert (said.code, said.all, said.unverifiable) == (0, set(), {}), str(said)
        pipe.index = pipe.folder / "fencepost.db"
        shutil.copy(pipe.index, pipe.folder / "intact.db")
        yield pipe
    finally:
        for server in reversed(servers):
            server.close()


@pytest.mark.parametrize("changes, found, undecided", [pytest.param(*(r[1:] if len(r) == 4 else (
    r[1], {} if isinstance(r[2], str) else r[2], r[2] if isinstance(r[2], str) else "")), id=r[0]) for r in SERVERS])
def test_what_a_server_says(audited, changes, found, undecided):
    shutil.copy(audited.folder / "intact.db", audited.index)
    with sqlite3.connect(audited.index) as db:
        for statement, values in changes:
            assert db.execute(statement, values).rowcount or statement.startswith("DELETE"), statement
    db.close()
    said = audited.check()
    assert {check: said.kinds().get(check) for check in said.all - {"fence-expiring"}} == found, str(said)
    assert said.unverifiable == dict([undecided.split()] if undecided else []), str(said)
    grave = {f["severity"] for f in said.findings} & {"warning", "error"}
    assert said.code == (2 if grave else 0)
