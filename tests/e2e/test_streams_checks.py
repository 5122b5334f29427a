"""The checks of streams on rows made by hand: each has a fault that it must find, alone and with these words, an input
that it must pass, and what it cannot decide."""
import random
import subprocess

import pytest

import report_index
from stream_looks import EVERYTHING, HOUR_MS, Looks, at, none, one


@pytest.fixture
def looks(tmp_path):
    return Looks(tmp_path / "fencepost.db")


# -- healthy -----------------------------------------------------------------------------------------------------------

def test_healthy(looks):
    looks.healthy(watch=EVERYTHING)
    looks.dlq()
    result = looks.check()
    none(result)
    told = {name: (c.status, c.examined) for name, c in result.checks.items()}
    assert told == {
        "stream-stuck": ("pass", 2), "stream-poison": ("pass", 2), "stream-trimmed-pending": ("pass", 2),
        "stream-trimmed-undelivered": ("pass", 1), "stream-dead-consumer": ("pass", 1),
        "stream-never-delivered": ("pass", 1), "stream-group-behind-restart": ("empty", 0),
        "stream-lost-pending": ("empty", 0), "stream-dlq-growing": ("empty", 0), "stream-unbounded": ("pass", 1),
        "stream-ids-ahead": ("pass", 1)}
    assert not any(c.unverifiable for c in result.checks.values())


def test_healthy_again(looks):
    for run in (1, 2):
        looks.healthy(run, watch=EVERYTHING)
        looks.dlq(run)
    result = looks.check()
    none(result)
    assert result.checks["stream-group-behind-restart"].examined == 1
    assert result.checks["stream-lost-pending"].examined == 2
    assert result.checks["stream-dlq-growing"].examined == 1


def test_what_is_not_configured_is_skipped(looks):
    looks.healthy()
    result = looks.check()
    assert {name for name, c in result.checks.items() if c.status == "skip"} == {
        "stream-dead-consumer", "stream-never-delivered", "stream-unbounded", "stream-dlq-growing"}


def test_empty_stream_and_idle_groups(looks):
    """Nothing to read, nobody reading; a consumer that waits long and holds nothing; entries read again, not too often."""
    looks.look(watch=EVERYTHING)
    empty = looks.stream(key=b"empty", length=0, last_generated="0-0", first_entry=None, last_entry=None, entries_added=0)
    looks.group(empty, name=b"nobody", consumers={}, last_delivered="0-0", entries_read=None)
    stream_id = looks.stream()
    looks.group(stream_id, name=b"waiting", consumers={b"w": dict(pending=0, idle_ms=HOUR_MS, inactive_ms=-1)})
    looks.group(stream_id, name=b"again", pending=[dict(entry=at(-9), deliveries=2), dict(entry=at(-8), deliveries=3)])
    none(looks.check())


# -- pending entries ---------------------------------------------------------------------------------------------------

def test_stuck(looks):
    looks.healthy(pending=[dict(entry=at(-20), idle_ms=600_000, deliveries=2), dict(entry=at(-10), idle_ms=599_999)],
                  consumers={b"worker-1": dict(idle_ms=700_000, inactive_ms=800_000)})
    result = looks.check(code=2)
    finding = one(result)
    assert (finding.pipeline, finding.scope) == (None, "streams/orders")
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-stuck", "error", "orders", "billing", "worker-1", at(-20))
    assert finding.detail == (f"Entry {at(-20)} of orders has been pending in group billing at consumer worker-1 for 600 s,"
                              " delivered 2 times; the consumer has not asked for anything for 700 s.")
    assert finding.evidence == {
        "idle_ms": 600_000, "idle_max_ms": 600_000, "delivered": "2026-11-30T02:20:00.000Z", "deliveries": 2,
        "added": "2026-11-30T02:29:59.980Z", "age_ms": 20, "consumer_alive": False, "consumer_idle_ms": 700_000,
        "consumer_inactive_ms": 800_000, "consumer_pending": 2, "dlq": None, "dlq_entry": None, "linked_by": None}
    assert finding.remedy == (
        f"Let a consumer that is alive take it over: redis-cli XAUTOCLAIM orders billing CONSUMER 600000 {at(-20)} COUNT 1 ;"
        " with 0 for the id and a larger COUNT, all that are late. When its work is done: redis-cli XACK orders billing "
        + at(-20))
    assert result.checks["stream-stuck"].examined == 2


def test_stuck_at_a_consumer_that_is_alive(looks):
    looks.healthy(pending=[dict(entry="5-3", idle_ms=9_000_000)])
    finding = one(looks.check())
    assert finding.detail.endswith("; the consumer is alive.")
    assert finding.evidence["consumer_alive"] is True
    assert finding.evidence["added"] is finding.evidence["age_ms"] is None      # 5-3 tells no time


def test_given_back_is_not_stuck(looks):
    looks.healthy(pending=[dict(entry=at(-20), idle_ms=None, consumer=None)])
    assert none(looks.check(), "stream-stuck").examined == 1


def test_given_back_can_be_poison(looks):
    looks.healthy(pending=[dict(entry=at(-20), idle_ms=None, deliveries=2**63 - 1, consumer=None),
                           dict(entry=at(-10), idle_ms=None, deliveries=3, consumer=None)])
    finding = one(looks.check())
    assert (finding.check, finding.consumer, finding.entry) == ("stream-poison", None, at(-20))


@pytest.mark.parametrize("deliveries, idle_ms, fault", [
    (4, 0, "stream-poison"), (3, 600_000, "stream-poison"), (3, 599_999, None), (2, 600_000, "stream-stuck")])
def test_the_border_of_poison(looks, deliveries, idle_ms, fault):
    looks.healthy(pending=[dict(entry=at(-20), idle_ms=idle_ms, deliveries=deliveries)])
    assert [f["check"] for f in looks.check().findings] == ([fault] if fault else [])


def test_poison_that_nobody_moved(looks):
    looks.healthy(watch=EVERYTHING, pending=[dict(entry=at(-20), idle_ms=1000, deliveries=4)])
    looks.dlq(entries=[(at(-5), at(-21), b"billing", 8)])
    result = looks.check()
    finding = one(result)
    assert (finding.check, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-poison", "orders", "billing", "worker-1", at(-20))
    assert finding.detail == (f"Entry {at(-20)} of orders is pending in group billing at consumer worker-1 after 4 deliveries,"
                              " the last 1000 ms ago, and is not in the dead-letter stream.")
    assert finding.evidence["in_dlq"] is False and finding.evidence["dlq"] == "orders:dlq"
    assert finding.remedy == (
        f"Look at it: redis-cli XRANGE orders {at(-20)} {at(-20)} ; copy it, with each field that it has: redis-cli XADD"
        f" orders:dlq '*' source {at(-20)} group billing FIELD VALUE ; then acknowledge it: redis-cli XACK orders billing"
        f" {at(-20)}")
    assert result.checks["stream-stuck"].examined == 0      # no subject of the later claim


@pytest.mark.parametrize("entry, linked_by", [
    ((at(-5), at(-20), b"billing", 8), "id"),
    ((at(-5), at(-20), None, 8), "id"),
    ((at(-5), None, None, 7), "content"),
    ((at(-5), None, b"billing", 7), "content"),
    ((at(-5), at(-20), b"mailing", 7), None),       # another group gave it up
    ((at(-5), at(-33), b"billing", 7), None),       # another entry with the same content
])
def test_poison_in_the_dead_letter_stream(looks, entry, linked_by):
    looks.healthy(watch=EVERYTHING, pending=[dict(entry=at(-20), deliveries=5)])
    looks.dlq(entries=[entry])
    finding = one(looks.check())
    assert finding.evidence["linked_by"] == linked_by
    assert finding.evidence["in_dlq"] is (linked_by is not None)
    if linked_by:
        assert "copied to the dead-letter stream but not acknowledged" in finding.detail
        assert finding.remedy.endswith(f"redis-cli XACK orders billing {at(-20)}")
        assert f"redis-cli XRANGE orders:dlq {at(-5)} {at(-5)} ;" in finding.remedy


@pytest.mark.parametrize("stream, cause", [
    (dict(max_deleted="0-0"), "trimmed"),
    (dict(max_deleted=at(-21)), "trimmed"),
    (dict(max_deleted=at(-20)), "deleted"),
    (dict(max_deleted=at(-20), first_entry=at(-10)), "deleted"),
    (dict(max_deleted=at(-15), first_entry=at(-30)), "deleted"),
    (dict(max_deleted=at(-15), first_entry=at(-16)), "trimmed or deleted"),
    (dict(max_deleted=None, entries_added=None, first_entry=at(-16)), "trimmed or deleted"),
])
def test_trimmed_pending(looks, stream, cause):
    looks.look()
    looks.group(looks.stream(**stream), pending=[
        dict(entry=at(-20), present=0, content=None, idle_ms=900_000, deliveries=9), dict(entry=at(-10))])
    result = looks.check()
    finding = one(result)
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-trimmed-pending", "error", "orders", "billing", "worker-1", at(-20))
    assert finding.detail == (f"Entry {at(-20)} of orders is pending in group billing at consumer worker-1, and is no longer"
                              f" in the stream: it was {cause}.")
    assert finding.evidence["cause"] == cause
    assert f"redis-cli XACK orders billing {at(-20)} ;" in finding.remedy
    assert [result.checks[f"stream-{name}"].examined for name in ("trimmed-pending", "poison", "stuck")] == [2, 1, 1]


def test_trimmed_after_it_was_copied(looks):
    looks.healthy(watch=EVERYTHING, pending=[dict(entry=at(-20), present=0, content=None)])
    looks.dlq(entries=[(at(-5), at(-20), b"billing", 8)])
    finding = one(looks.check())
    assert finding.check == "stream-trimmed-pending" and "The dead-letter stream has a copy." in finding.detail
    assert finding.evidence["dlq_entry"] == at(-5)


def test_not_looked_at_and_not_sampled(looks):
    """Of 50 pending entries 40 were listed, 3 kept, 2 acknowledged since; one was not asked for in the stream."""
    looks.healthy(pending=[dict(entry=at(-20), present=None, content=None), dict(entry=at(-19)), dict(entry=at(-18))])
    looks.index.db.execute("UPDATE stream_group SET pending = 50, listed = 40, acknowledged = 2, threshold = 9, trouble = 'x'")
    result = looks.check()
    none(result, "stream-trimmed-pending", not_looked_at=11, not_sampled=35)
    assert none(result, "stream-poison", not_looked_at=10, not_sampled=35).examined == 3
    assert none(result, "stream-stuck", not_looked_at=10, not_sampled=35).examined == 3


def test_names_that_a_shell_would_misread(looks):
    looks.look(watch=dict(dlq="it's"))
    stream_id = looks.stream(key=b"my orders")
    looks.group(stream_id, name=b"it's", consumers={b"\xff\n": {}},
                pending=[dict(entry=at(-20), deliveries=9, consumer=b"\xff\n")])
    looks.group(stream_id, name=b"\x00a'", pending=[dict(entry=at(-20), deliveries=9)])
    binary, quoted = looks.check().findings
    assert (quoted["stream"], quoted["group"], quoted["consumer"]) == ("my orders", "it's", "\\xff\\n")
    assert quoted["remedy"].endswith(f"redis-cli XACK 'my orders' 'it'\\''s' {at(-20)}")
    assert f"XADD 'it'\\''s' '*' source {at(-20)} group 'it'\\''s' FIELD VALUE" in quoted["remedy"]
    assert binary["remedy"].endswith(f"redis-cli XACK 'my orders' $'\\x00a\\'' {at(-20)}")


def test_a_shell_reads_names_back(looks):
    """Every word that is printed for a name is that name to bash, whatever bytes it has."""
    rng = random.Random(11)
    names = [bytes([b]) for b in range(1, 256)] + [b"", "\u202e\u00fc'\u65e5".encode(), b"-n", b"~", b"a=b", b"$(id)", b"\\x41", b"!!"]
    names += [bytes(rng.choice(b"'\"\\$` \n\xff\xc3\xbcab1*?") for _ in range(rng.randrange(1, 12))) for _ in range(200)]
    rows = ", ".join(f"(key_hex(key_shell(x'{name.hex()}')))" for name in names)
    words = report_index.tool(looks.path, "query", f"SELECT column1 FROM (VALUES {rows})").split()[1:]
    command = b"printf '%s\\0' " + b" ".join(bytes.fromhex(word) for word in words)
    read = subprocess.run(["bash", "--norc", "-c", command], capture_output=True, check=True).stdout.split(b"\0")[:-1]
    assert read == names


# -- entries that a group was never given ------------------------------------------------------------------------------

BEHIND = dict(last_delivered=at(-5000), entries_read=20)            # the stream begins at -1000 with its 31st entry
TRIMMED = dict(length=70, entries_added=100)


def trimmed(looks, stream=None, group=None, server=None):
    looks.look(server=server)
    looks.group(looks.stream(**{**TRIMMED, **(stream or {})}), **{**BEHIND, **(group or {})})
    return looks.check()


def test_trimmed_undelivered(looks):
    result = trimmed(looks)
    finding = one(result)
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-trimmed-undelivered", "error", "orders", "billing", None, None)
    assert finding.detail == (f"About 10 entries of orders were trimmed before group billing was given them: it stands at"
                              f" {at(-5000)}, and the stream begins at {at(-1000)}.")
    assert finding.evidence == {
        "last_delivered": at(-5000), "first_entry": at(-1000), "last_generated": at(-1), "lost": 10, "sure": "estimate",
        "entries_added": 100, "length": 70, "entries_read": 20, "max_deleted": "0-0", "run": None}
    assert "redis-cli XTRIM orders MINID ID" in finding.remedy


def test_all_trimmed_undelivered(looks):
    finding = one(trimmed(looks, dict(length=0, first_entry=None, last_entry=None)))
    assert finding.evidence["lost"] == 80 and finding.detail.endswith("and the stream is empty.")


@pytest.mark.parametrize("stream, group, server", [
    ({}, dict(entries_read=30), None),                                  # it was given all that is gone
    ({}, dict(last_delivered=at(-1000)), None),                         # it has passed the oldest
    (dict(entries_added=None, max_deleted=None), dict(last_delivered=at(-1000), entries_read=None), None),
    (dict(length=0, first_entry=None, last_entry=None), dict(last_delivered=at(-1)), None),
    (dict(length=100), dict(last_delivered="0-0", entries_read=None), None),    # new group, nothing was ever trimmed
    (dict(max_deleted=at(-2000)), dict(entries_read=30), None),         # workers that delete what they have done
    ({}, dict(entries_read=30), dict(version="7.0.15")),
    (dict(length=0, first_entry=None, last_entry=None, entries_added=0, last_generated="0-0"),
     dict(last_delivered="0-0", entries_read=None), None),
])
def test_nothing_was_trimmed_undelivered(looks, stream, group, server):
    # 7.0 without an append-only file
    if server:
        looks.look(server=server)
        looks.index.add("redis_info", server_id=looks.at[1].server_id, name="aof_enabled", value="0")
        looks.group(looks.stream(**{**TRIMMED, **stream}), **{**BEHIND, **group})
        result = looks.check()
    else:
        result = trimmed(looks, stream, group)
    assert none(result, "stream-trimmed-undelivered").examined == 1


@pytest.mark.parametrize("stream, group, server, reason", [
    ({}, dict(entries_read=None), None, "entries_read_unknown"),
    (dict(max_deleted=at(-2000)), {}, None, "entries_deleted"),
    (dict(entries_added=None, max_deleted=None), dict(entries_read=None, lag=None), None, "server_too_old"),
    ({}, {}, dict(version="7.2.6", second_repl_offset=17), "entries_read_stale"),
    ({}, {}, dict(version="7.2.6"), "entries_read_stale"),              # whether it has an append-only file is not known
    ({}, {}, False, "server_unknown"),
])
def test_trimmed_undelivered_is_not_known(looks, stream, group, server, reason):
    assert none(trimmed(looks, stream, group, server), "stream-trimmed-undelivered", **{reason: 1}).examined == 0


@pytest.mark.parametrize("info", ["aof_enabled", "rdb_last_load_keys_loaded"])
@pytest.mark.parametrize("value, sure", [("0", "estimate"), ("1", None)])
def test_trimmed_undelivered_on_an_old_master(looks, info, value, sure):
    """Before 7.4, only a server that cannot have read its counts from an append-only file knows them."""
    looks.look(server=dict(version="7.0.15"))
    looks.index.add("redis_info", server_id=looks.at[1].server_id, name=info, value=value)
    looks.group(looks.stream(**TRIMMED), **BEHIND)
    result = looks.check()
    if sure:
        assert one(result).evidence["sure"] == sure
    else:
        none(result, "stream-trimmed-undelivered", entries_read_stale=1)


@pytest.mark.parametrize("now, lost", [
    (dict(length=70, first_entry=at(-900)), 20),
    (dict(length=0, first_entry=None, last_entry=None), 90),
    (dict(length=90), None),                                            # nothing more is gone
    (dict(length=70, first_entry=at(-900), max_deleted=at(-950)), None),    # deleted, it may be
])
def test_trimmed_since_it_was_seen(looks, now, lost):
    """A group that began at an id of its own: only that its next entry was there an hour ago tells."""
    group = dict(last_delivered=at(-5000), entries_read=None, lag=None)
    looks.look(1)
    looks.group(looks.stream(1, length=90), 1, **group)
    looks.look(2)
    looks.group(looks.stream(2, **now), 2, **group)
    result = looks.check()
    if lost is None:
        none(result, "stream-trimmed-undelivered", entries_read_unknown=1)
        return
    finding = one(result)
    assert (finding.check, finding.evidence["lost"], finding.evidence["sure"], finding.evidence["run"]) == (
        "stream-trimmed-undelivered", lost, "seen", 1)
    assert finding.detail.startswith(f"At least {lost} entries of orders were trimmed before group billing was given them")


# -- backlog -------------------------------------------------------------------------------------------------------------

def backlog(looks, watch, stream=None, group=None, consumers=None):
    looks.look(watch=watch)
    looks.group(looks.stream(**(stream or {})), consumers=consumers, **(group or {}))
    return looks.check()


LAGGING = dict(last_delivered=at(-500), entries_read=89, lag=11)


def test_lag(looks):
    finding = one(backlog(looks, dict(lag_max=10), group=LAGGING))
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer) == (
        "stream-never-delivered", "warning", "orders", "billing", None)
    assert finding.detail == "11 entries wait for group billing of orders."
    assert finding.evidence["waiting"] == finding.evidence["lag"] == 11 and finding.evidence["abandoned"] is False
    assert finding.remedy.endswith("redis-cli XINFO CONSUMERS orders billing")


@pytest.mark.parametrize("consumers", [{}, {b"w": dict(pending=0, idle_ms=600_000)}])
def test_abandoned(looks, consumers):
    finding = one(backlog(looks, dict(lag_max=10), group=LAGGING, consumers=consumers))
    assert finding.detail == "11 entries wait for group billing of orders, and no consumer is active: the group is abandoned."
    assert finding.evidence["abandoned"] is True
    assert finding.remedy.endswith("redis-cli XGROUP DESTROY orders billing")


@pytest.mark.parametrize("group", [
    dict(LAGGING, lag=10), dict(LAGGING, lag=11, lag_after=10),
    dict(last_delivered=at(-1), lag=None), dict(last_delivered=at(-1), lag=70)])
def test_lag_within(looks, group):
    assert none(backlog(looks, dict(lag_max=10), group=group), "stream-never-delivered").examined == 1


def test_no_lag_when_the_newest_entries_were_deleted(looks):
    result = backlog(looks, dict(lag_max=10), dict(last_entry=at(-500)), dict(last_delivered=at(-500), lag=None))
    assert none(result, "stream-never-delivered").examined == 1


def test_lag_that_an_old_server_may_count_wrongly(looks):
    looks.look(watch=dict(lag_max=10), server=dict(version="7.2.6"))
    looks.group(looks.stream(), **LAGGING)
    none(looks.check(), "stream-never-delivered", lag_unknown=1)


def test_lag_that_only_the_stream_tells(looks):
    """A stream that begins above the group: all that it holds waits. A lag above the length counts trimmed entries."""
    finding = one(backlog(looks, dict(lag_max=10), dict(length=11), dict(last_delivered=at(-5000), entries_read=None, lag=None)))
    assert finding.evidence["waiting"] == 11


def test_lag_larger_than_the_stream(looks):
    none(backlog(looks, dict(lag_max=10), dict(length=9, entries_added=9), LAGGING), "stream-never-delivered")


@pytest.mark.parametrize("lag", [None, -3])
def test_lag_unknown(looks, lag):
    result = backlog(looks, dict(lag_max=10), group=dict(LAGGING, lag=lag))
    assert none(result, "stream-never-delivered", lag_unknown=1).examined == 0


@pytest.mark.parametrize("stream, group, text", [
    # all that the stream holds waits
    (dict(first_entry=at(-90_000)), dict(last_delivered=at(-95_000)), "100 entries wait for group billing of orders, the oldest for 90 s."),
    # even its newest entry is old
    (dict(first_entry=at(-90_000), last_entry=at(-61_000), last_generated=at(-61_000)), dict(last_delivered=at(-80_000), lag=5),
     "5 entries wait for group billing of orders, the oldest for at least 61 s."),
])
def test_backlog_age(looks, stream, group, text):
    stream = {"entries_added": 100, **stream}
    finding = one(backlog(looks, dict(backlog_age_max_ms=60_000), stream, group))
    assert (finding.check, finding.detail) == ("stream-never-delivered", text)
    assert finding.evidence["age_ms"] > 60_000


@pytest.mark.parametrize("stream, group", [
    (dict(first_entry=at(-60_000)), dict(last_delivered=at(-95_000))),
    ({}, dict(last_delivered=at(-60_000), last_delivered_after=at(-59_000))),
    (dict(first_entry=at(-90_000)), dict(last_delivered=at(-59_000))),
    (dict(first_entry=at(-90_000), last_entry=at(-80_000), last_generated=at(-1)), dict(last_delivered=at(-80_000))),
    (dict(first_entry=at(-90_000)), dict(last_delivered=at(-95_000), last_delivered_after=at(-1))),
])
def test_backlog_young_enough(looks, stream, group):
    assert none(backlog(looks, dict(backlog_age_max_ms=60_000), stream, group), "stream-never-delivered").examined == 1


@pytest.mark.parametrize("stream, group, reason", [
    (dict(first_entry=at(-90_000)), dict(last_delivered=at(-80_000)), "age_unknown"),
    (dict(first_entry="5-0", last_entry="9-0", last_generated="9-0"), dict(last_delivered="2-0"), "ids_no_times"),
    (dict(first_entry=at(-90_000), server_ms=None), dict(last_delivered=at(-95_000)), "clock_unknown"),
])
def test_backlog_age_unknown(looks, stream, group, reason):
    result = backlog(looks, dict(backlog_age_max_ms=60_000), stream, group)
    assert result.checks["stream-never-delivered"].unverifiable == {reason.replace("_", "-"): 1}
    assert not [f for f in result.findings if f["check"] == "stream-never-delivered"]
