"""Streams and consumer groups on real servers: the seven situations that every introduction walks through, each fault
with exactly its finding, and busy groups."""
import threading
import time

import pytest

from redis_server import VERSIONS
from streams import EVERYTHING, Streams, wait_until


@pytest.fixture
def streams(tools, any_redis):
    return Streams(tools, any_redis, **EVERYTHING)


def old(streams):
    """A server that does not count what a group was given."""
    return streams.server.kind == "6.2"


# -- the seven situations ----------------------------------------------------------------------------------------------

def test_ids_when_the_clock_is_behind(streams):
    """An id from the future, as a clock that stepped back leaves one: new ids stick to it."""
    streams.group()
    streams.add(3)
    streams.clean()
    seconds, micros = streams.redis.time()
    ahead = seconds * 1000 + micros // 1000 + 120_000
    streams.redis.xadd(streams.name, {"n": 1}, id=f"{ahead}-0")
    assert streams.add() == [f"{ahead}-1"]
    audit = streams.found(("stream-ids-ahead", None, None, None))
    assert 60_000 < audit.findings[0].evidence["ahead_ms"] <= 120_000
    assert audit.findings[0].evidence["last_generated"] == f"{ahead}-1"


def test_ids_half_a_minute_ahead(streams):
    seconds, _ = streams.redis.time()
    streams.redis.xadd(streams.name, {"n": 1}, id=f"{(seconds + 30) * 1000}-0")
    streams.clean()


def test_two_consumers_split_a_stream(streams):
    streams.group()
    added = streams.add(10)
    one, two = streams.read(5, "worker-1"), streams.read(5, "worker-2")
    assert sorted(one + two) == sorted(added)
    audit = streams.clean()
    assert audit.checks["stream-stuck"].examined == 10
    assert audit.checks["stream-dead-consumer"].examined == 2
    assert [(s["pending"], s["groups"], s["consumers"]) for s in audit.block["streams"] if s["role"] == "source"] == [
        (10, 1, 2)]


def test_acknowledging_clears_what_is_pending(streams):
    streams.group()
    streams.add(5)
    given = streams.read(5)
    streams.stale(given)
    streams.found(*[("stream-stuck", "billing", "worker-1", entry) for entry in given], **{"consumer.idle.max": "10h"})
    assert streams.ack(given) == 5
    audit = streams.clean()
    assert audit.checks["stream-stuck"].status == "empty"
    assert audit.checks["stream-lost-pending"].unverifiable == {"maybe-acknowledged": 5}
    assert audit.checks["stream-group-behind-restart"].examined == 1


def test_a_crash_and_then_xautoclaim(streams):
    streams.group()
    streams.add(3)
    given = streams.read(3, "worker-1")
    streams.stale(given)
    audit = streams.found(*[("stream-stuck", "billing", "worker-1", entry) for entry in given])
    assert all(f.evidence["deliveries"] == 1 and f.evidence["idle_ms"] >= 3_600_000 for f in audit.findings)
    assert "XAUTOCLAIM" in audit.findings[0].remedy
    claimed = streams.redis.execute_command("XAUTOCLAIM", streams.name, "billing", "worker-2", 600_000, "0")
    assert len(claimed[1]) == 3
    audit = streams.clean()
    assert audit.checks["stream-lost-pending"].examined == 3        # still pending, at another consumer
    streams.ack(given)
    streams.clean()


def test_a_restart_and_reading_again_from_0(streams):
    """A worker that comes back reads its own entries again: that is no fault until it has done so too often."""
    streams.group()
    streams.add(2)
    given = streams.read(2)
    for deliveries in (2, 3):
        assert streams.read(2, at="0") == given
        streams.clean()
    streams.read(2, at="0")
    audit = streams.found(*[("stream-poison", "billing", "worker-1", entry) for entry in given])
    assert {f.evidence["deliveries"] for f in audit.findings} == {4}


def test_trimming_with_pending_entries_left(streams):
    streams.group()
    added = streams.add(350)
    assert len(streams.read(350)) == 350
    streams.ack(added[3:])
    removed = streams.redis.xtrim(streams.name, maxlen=50, approximate=True)
    assert 3 < removed <= 300
    audit = streams.found(*[("stream-trimmed-pending", "billing", "worker-1", entry) for entry in added[:3]])
    assert {f.evidence["cause"] for f in audit.findings} == {"trimmed or deleted" if old(streams) else "trimmed"}
    streams.stale(added[:3]) if old(streams) else None      # later versions drop such entries when they are claimed
    audit = streams.found(*[("stream-trimmed-pending", "billing", "worker-1", entry) for entry in added[:3]])
    assert audit.checks["stream-stuck"].examined == audit.checks["stream-poison"].examined == 0
    streams.ack(added[:3])
    streams.clean()


def test_poison_to_the_dead_letter_stream(streams):
    """Not copied; copied and not acknowledged; acknowledged."""
    streams.group()
    streams.add(2)
    bad, good = streams.read(2)
    streams.ack([good])
    streams.stale([bad], ms=1000, deliveries=4)
    [finding] = streams.found(("stream-poison", "billing", "worker-1", bad)).findings
    assert finding.evidence["in_dlq"] is False and "is not in the dead-letter stream" in finding.detail
    copy = streams.bury(bad)
    audit = streams.found(("stream-poison", "billing", "worker-1", bad), ("stream-dlq-growing", "billing", None, None))
    finding = audit.findings[0]
    assert "copied to the dead-letter stream but not acknowledged" in finding.detail
    assert (finding.evidence["dlq_entry"], finding.evidence["linked_by"]) == (copy, "id")
    streams.ack([bad])
    streams.redis.execute_command("XGROUP", "DELCONSUMER", streams.name, "billing", "worker-1")
    audit = streams.clean()         # its consumer is gone, and the dead-letter stream shows where it went
    assert audit.checks["stream-lost-pending"].unverifiable == {}


def test_poison_that_was_copied_as_it_is(streams):
    streams.group()
    streams.add(note="only this entry says so")
    [bad] = streams.read(1)
    streams.stale([bad], ms=1000, deliveries=4)
    copy = streams.add(key=streams.dlq, note="only this entry says so")[0]
    [finding] = streams.found(("stream-poison", "billing", "worker-1", bad)).findings
    assert (finding.evidence["dlq_entry"], finding.evidence["linked_by"]) == (copy, "content")


# -- each fault, and what is none --------------------------------------------------------------------------------------

def test_the_last_attempt_may_still_run(streams):
    streams.group()
    streams.add(1)
    [entry] = streams.read(1)
    streams.stale([entry], ms=1000, deliveries=3)
    streams.clean()
    streams.stale([entry], deliveries=3)
    streams.found(("stream-poison", "billing", "worker-1", entry))


def test_deleted_by_its_id(streams):
    streams.group()
    streams.add(3)
    given = streams.read(3)
    streams.redis.xdel(streams.name, given[1])
    [finding] = streams.found(("stream-trimmed-pending", "billing", "worker-1", given[1])).findings
    assert finding.evidence["cause"] == "deleted"
    assert f"XACK {streams.name} billing {given[1]}" in finding.remedy


def test_trimmed_before_it_was_delivered(streams):
    streams.group()
    streams.add(10)
    streams.ack(streams.read(4))
    streams.redis.xtrim(streams.name, maxlen=3, approximate=False)
    if old(streams):
        assert streams.clean().checks["stream-trimmed-undelivered"].unverifiable == {"server-too-old": 1}
        return
    [finding] = streams.found(("stream-trimmed-undelivered", "billing", None, None)).findings
    assert (finding.evidence["lost"], finding.evidence["sure"]) == (3, "estimate")
    streams.read(1)                 # the group goes on behind the hole
    assert streams.clean().checks["stream-trimmed-undelivered"].examined == 1


def test_all_trimmed_before_it_was_delivered(streams):
    streams.group()
    streams.add(10)
    streams.ack(streams.read(4))
    streams.redis.xtrim(streams.name, maxlen=0, approximate=False)
    if not old(streams):
        [finding] = streams.found(("stream-trimmed-undelivered", "billing", None, None)).findings
        assert finding.evidence["lost"] == 6


@pytest.mark.parametrize("at", ["$", "4", "0"])
def test_groups_that_begin_on_a_trimmed_stream(streams, at):
    """What was gone before the group came was never meant for it."""
    added = streams.add(10)
    streams.redis.xtrim(streams.name, maxlen=3, approximate=False)
    streams.group(at=added[int(at)] if at == "4" else at)
    told = streams.clean().checks["stream-trimmed-undelivered"]
    if at == "$":
        assert (told.examined, told.unverifiable) == (1, {})
    else:
        assert told.unverifiable == {"server-too-old" if old(streams) else "entries-read-unknown": 1}
    for _ in range(3 if at != "$" else 0):
        streams.ack(streams.read(1))
        assert streams.clean().checks["stream-trimmed-undelivered"].examined == 1
    streams.add(2)
    assert streams.clean().checks["stream-trimmed-undelivered"].unverifiable == {}


@pytest.mark.parametrize("at", ["$", "4"])
def test_trimmed_since_it_was_seen(streams, at):
    """A group that began at an id of its own: the server cannot count for it, two looks can."""
    added = streams.add(10)
    streams.group(at=added[3] if at == "4" else at)
    streams.add(5)
    streams.clean()
    streams.redis.xtrim(streams.name, maxlen=2, approximate=False)
    if old(streams) or at == "4":
        # the oldest entry of before was one that the group had passed: nobody saw its next one
        assert set(streams.clean().checks["stream-trimmed-undelivered"].unverifiable) == {
            "server-too-old" if old(streams) else "entries-read-unknown"}
        return
    assert set(streams.clean().checks["stream-trimmed-undelivered"].unverifiable) == {"entries-read-unknown"}
    streams.add(3)
    streams.redis.xtrim(streams.name, maxlen=1, approximate=False)
    [finding] = streams.found(("stream-trimmed-undelivered", "billing", None, None)).findings
    assert (finding.evidence["lost"], finding.evidence["sure"]) == (4, "seen")


def test_workers_that_delete_what_they_have_done(streams):
    streams.group()
    streams.add(10)
    done = streams.read(6)
    streams.ack(done)
    streams.redis.xdel(streams.name, *done)
    audit = streams.clean()
    assert audit.checks["stream-trimmed-undelivered"].unverifiable == ({"server-too-old": 1} if old(streams) else {})


def test_a_consumer_that_is_gone(streams):
    streams.group()
    streams.add(2)
    streams.read(1, "gone")
    time.sleep(0.35)
    streams.read(1, "alive")
    audit = streams.found(("stream-dead-consumer", "billing", "gone", None), **{"consumer.idle.max": "300ms"})
    assert audit.findings[0].evidence["pending"] == 1


def test_backlog(streams):
    streams.group()
    streams.add(11)
    streams.ack(streams.read(1))
    streams.clean(**{"lag.max": 11})
    if old(streams):                # the length says that it may be more, and nothing says how many
        assert streams.clean(**{"lag.max": 9}).checks["stream-never-delivered"].unverifiable == {"lag-unknown": 1}
        return
    [finding] = streams.found(("stream-never-delivered", "billing", None, None), **{"lag.max": 9}).findings
    assert finding.evidence["waiting"] == 10


def test_backlog_of_a_group_that_nobody_reads(streams):
    streams.group()
    streams.add(3)
    time.sleep(0.3)
    [finding] = streams.found(("stream-never-delivered", "billing", None, None), **{"backlog.age.max": "200ms"}).findings
    assert finding.evidence["abandoned"] is True and finding.detail.endswith("the group is abandoned.")
    assert finding.evidence["age_ms"] >= 300
    streams.ack(streams.read(3))
    streams.clean(**{"backlog.age.max": "200ms"})


def test_unbounded(streams):
    streams.add(20)
    streams.found(("stream-unbounded", None, None, None), **{"length.max": 19})
    streams.redis.xtrim(streams.name, maxlen=15, approximate=False)
    streams.clean(**{"length.max": 10})


# -- compared with the look before --------------------------------------------------------------------------------------

def test_a_consumer_was_deleted(streams):
    streams.group()
    streams.add(3)
    given = streams.read(2, "worker-1") + streams.read(1, "worker-2")
    streams.clean()
    streams.redis.execute_command("XGROUP", "DELCONSUMER", streams.name, "billing", "worker-1")
    audit = streams.found(*[("stream-lost-pending", "billing", "worker-1", entry) for entry in given[:2]])
    assert audit.checks["stream-lost-pending"].examined == 3
    # the remedy, as it is printed
    words = audit.findings[0].remedy.split("redis-cli ")[-1].split()
    streams.redis.execute_command(*words)
    assert streams.redis.xpending(streams.name, "billing")["pending"] == 2
    streams.clean()


def test_a_group_was_made_anew_at_the_end(streams):
    streams.group()
    streams.add(3)
    given = streams.read(3)
    streams.clean()
    streams.redis.execute_command("XGROUP", "DESTROY", streams.name, "billing")
    streams.group(at="$")
    streams.found(*[("stream-lost-pending", "billing", "worker-1", entry) for entry in given])


def test_a_group_was_made_anew_at_the_beginning(streams):
    """What was pending is delivered again."""
    streams.group()
    streams.add(3)
    streams.read(3)
    streams.clean()
    streams.redis.execute_command("XGROUP", "DESTROY", streams.name, "billing")
    streams.group(at="0")
    [finding] = streams.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert finding.evidence["kind"] == "last-delivered-fell"


def test_a_group_is_gone(streams):
    streams.group()
    streams.group("mailing")
    streams.add(3)
    streams.read(3)
    streams.clean()
    streams.redis.execute_command("XGROUP", "DESTROY", streams.name, "billing")
    [finding] = streams.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert finding.evidence["kind"] == "group-vanished" and finding.evidence["pending_then"] == 3
    streams.clean()                 # told once


def test_a_group_and_a_stream_that_the_config_names_are_gone(streams):
    """They are faults, and they are not covered either."""
    streams.group()
    streams.add(3)
    streams.clean(group="billing")
    streams.redis.execute_command("XGROUP", "DESTROY", streams.name, "billing")
    audit = streams.audit(group="billing")
    assert [(f.check, f.group, f.evidence["kind"]) for f in audit.findings] == [
        ("stream-group-behind-restart", "billing", "group-vanished")]
    assert (audit.code, audit.block["complete"]) == (2, False)
    audit = streams.audit(group="billing")
    assert (audit.findings, audit.block["status"]) == ([], "incomplete")
    streams.redis.delete(streams.name)
    audit = streams.audit(group="billing")
    assert [(f.check, f.group, f.evidence["kind"]) for f in audit.findings] == [
        ("stream-group-behind-restart", None, "stream-vanished")]
    assert (audit.code, audit.block["complete"]) == (2, False)


def test_a_group_was_moved_back(streams):
    streams.group()
    added = streams.add(5)
    streams.ack(streams.read(5))
    streams.clean()
    streams.redis.execute_command("XGROUP", "SETID", streams.name, "billing", added[1])
    [finding] = streams.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert (finding.evidence["last_delivered"], finding.evidence["last_delivered_then"]) == (added[1], added[4])
    assert len(streams.read(9)) == 3
    streams.clean()


def test_a_stream_is_gone(streams):
    streams.group()
    streams.group("mailing")
    streams.add(3)
    streams.clean(key=streams.name + "*")
    streams.redis.delete(streams.name)
    audit = streams.audit(key=streams.name + "*")
    assert sorted((f.check, f.group, f.evidence["kind"]) for f in audit.findings) == [
        ("stream-group-behind-restart", group, "stream-vanished") for group in ("billing", "mailing")]


def test_a_stream_was_made_anew(streams):
    streams.group()
    streams.redis.xadd(streams.name, {"n": 1}, id="9000-0")
    streams.read(1)
    streams.clean()
    streams.redis.delete(streams.name)
    streams.group()
    streams.redis.xadd(streams.name, {"n": 1}, id="8000-0")
    [finding] = streams.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert finding.evidence["kind"] == "stream-recreated"


# -- healthy and busy --------------------------------------------------------------------------------------------------

def test_healthy_in_every_way(streams):
    """A group with no consumers and nothing to read, a consumer that waits, entries being worked on, an empty stream."""
    streams.group("done")
    streams.group("waits")
    streams.add(4)
    streams.ack(streams.read(4, group="done"), "done")
    streams.redis.execute_command("XGROUP", "DELCONSUMER", streams.name, "done", "worker-1")
    streams.ack(streams.read(4, group="waits"), "waits")
    streams.group("late", at="$")
    streams.redis.execute_command("XGROUP", "CREATE", streams.name + ":empty", "g", "$", "MKSTREAM")
    time.sleep(0.25)
    for _ in range(2):
        audit = streams.clean(key=streams.name + "*", **{"consumer.idle.max": "200ms", "backlog.age.max": "200ms"})
        assert not [f for check in audit.checks.values() for f in check.unverifiable], audit.out


@pytest.mark.parametrize("version", VERSIONS)
def test_eight_consumers_at_full_speed(tools, redis_factory, version):
    """Producers trim, workers read, acknowledge, read again and take over, while audits look: nothing is wrong."""
    server = redis_factory(version)
    streams = Streams(tools, server, **{"idle": "5s", "deliveries": 50, "lag.max": 50000, "backlog.age.max": "5s",
                                        "consumer.idle.max": "5s", "length.max": 200000})
    streams.group()
    stop, trouble, done = threading.Event(), [], [0] * 8

    def work(i):
        client = server.client()
        try:
            while not stop.is_set():
                for _, entries in client.xreadgroup("billing", f"worker-{i}", {streams.name: ">"}, count=50, block=50):
                    ids = [entry for entry, _ in entries]
                    if i % 2:
                        client.xreadgroup("billing", f"worker-{i}", {streams.name: "0"}, count=10)
                    client.xack(streams.name, "billing", *ids)
                    client.xdel(streams.name, *ids) if i == 3 else None
                    done[i] += len(ids)
                if i == 0:
                    client.execute_command("XAUTOCLAIM", streams.name, "billing", "worker-0", 4000, "0")
        except Exception as e:      # told by the test
            trouble.append(e)

    def produce():
        client = server.client()
        try:
            while not stop.is_set():
                with client.pipeline(transaction=False) as pipe:
                    for i in range(100):
                        pipe.xadd(streams.name, {"n": i}, maxlen=100_000, approximate=True)
                    pipe.execute()
                # A producer that outruns its workers would be a fault.
                wait_until(lambda: stop.is_set() or client.xlen(streams.name) < 90_000 and _waiting(client) < 2000)
        except Exception as e:
            trouble.append(e)

    def _waiting(client):
        pending = client.xpending(streams.name, "billing")["pending"]
        newest = client.xinfo_stream(streams.name)["last-generated-id"]
        [group] = client.xinfo_groups(streams.name)
        behind = len(client.xrange(streams.name, b"(" + group["last-delivered-id"], newest, count=2000))
        return pending + behind

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)] + [threading.Thread(target=produce)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(done) or trouble)
        for _ in range(4):
            before = sum(done)
            streams.clean()
            wait_until(lambda: sum(done) > before or trouble)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not trouble, trouble
    wait_until(lambda: streams.redis.xpending(streams.name, "billing")["pending"] >= 0)
    streams.clean()
