"""The checks of streams that compare a look with the one before, and those of consumers and whole streams, on rows made
by hand."""
import pytest

from stream_looks import EVERYTHING, HOUR_MS, NOW, WATCH, Looks, at, none, one


@pytest.fixture
def looks(tmp_path):
    return Looks(tmp_path / "fencepost.db")


def later(ms, seq=0):
    """An id of run 2's hour."""
    return at(HOUR_MS + ms, seq)


def two(looks, before=None, now=None, watch=None, server=None, stream_before=None, stream=None):
    """A healthy look, and one an hour later; what group, stream, watch and server have instead."""
    looks.look(1)
    looks.group(looks.stream(1, **(stream_before or {})), 1, **(before or {}))
    looks.look(2, watch, server)
    stream_id = looks.stream(2, **{**dict(last_generated=later(-1), last_entry=later(-1), entries_added=150), **(stream or {})})
    if now is not False:
        looks.group(stream_id, 2, **{**dict(last_delivered=later(-1), entries_read=150), **(now or {})})
    return looks.check()


FAILED_OVER = dict(process="p2", replid="b" * 40, replid2="a" * 40, second_repl_offset=5000)
RESTARTED = dict(process="p2", replid="b" * 40)
REPLACED = dict(replid="b" * 40, replid2="c" * 40, second_repl_offset=77)


# -- groups that moved back --------------------------------------------------------------------------------------------

def behind(result, kind):
    finding = one(result)
    assert (finding.check, finding.severity, finding.stream, finding.consumer, finding.entry) == (
        "stream-group-behind-restart", "error", "orders", None, None)
    assert finding.evidence["kind"] == kind and finding.evidence["run"] == 1
    return finding


@pytest.mark.parametrize("server", [None, FAILED_OVER, RESTARTED, REPLACED, False])
def test_last_delivered_fell(looks, server):
    finding = behind(two(looks, now=dict(last_delivered=at(-300), entries_read=70, lag=80), server=server),
                     "last-delivered-fell")
    assert finding.group == "billing"
    assert finding.detail == f"Group billing of orders stands at {at(-300)}, and stood at {at(-1)} in run 1."
    assert finding.evidence["last_delivered"] == at(-300) and finding.evidence["last_delivered_then"] == at(-1)
    assert finding.remedy.endswith(f"redis-cli XGROUP SETID orders billing {at(-1)}")
    assert "XGROUP SETID, nothing is wrong" in finding.remedy


def test_compared_with_the_last_reading_of_then(looks):
    behind(two(looks, before=dict(last_delivered=at(-500), last_delivered_after=at(-1)),
               now=dict(last_delivered=at(-300), last_delivered_after=later(-1))), "last-delivered-fell")


def test_moved_back_and_trimmed_since(looks):
    """What the group had been given before it moved back was trimmed after it was delivered."""
    result = two(looks, now=dict(last_delivered=at(-5000), entries_read=None, lag=None),
                 stream=dict(length=80, first_entry=at(-900)))
    behind(result, "last-delivered-fell")
    assert result.checks["stream-trimmed-undelivered"].unverifiable == {"entries-read-unknown": 1}


def test_entries_read_fell(looks):
    finding = behind(two(looks, now=dict(entries_read=60)), "entries-read-fell")
    assert finding.detail == "Group billing of orders was given 60 entries, and 100 by run 1."


@pytest.mark.parametrize("server, reason", [
    (FAILED_OVER, "failed_over"), (RESTARTED, "restarted"), (REPLACED, "replaced"), (False, "server_unknown"),
    (dict(role="slave"), "failed_over")])
@pytest.mark.parametrize("now", [{}, dict(entries_read=60), dict(entries_read=None, lag=None)])
def test_nothing_fell_on_another_server(looks, server, reason, now):
    """entries-read is not replicated before 7.4: that it fell says nothing there."""
    assert none(two(looks, now=now, server=server), "stream-group-behind-restart", **{reason: 1}).examined == 0


@pytest.mark.parametrize("server", [None, dict(replid="b" * 40)])       # a lone master may rename its history
@pytest.mark.parametrize("now", [{}, dict(entries_read=None, lag=None), dict(last_delivered=at(-1), entries_read=100, lag=50)])
def test_nothing_fell(looks, server, now):
    result = two(looks, before=dict(entries_read=100), now=now, server=server)
    assert none(result, "stream-group-behind-restart").examined == 1


def test_group_vanished(looks):
    finding = behind(two(looks, before=dict(pending=[dict(entry=at(-20))]), now=False), "group-vanished")
    assert finding.group == "billing"
    assert finding.detail == f"Group billing of orders is gone; in run 1 it stood at {at(-1)} with 1 pending."
    assert f"redis-cli XGROUP CREATE orders billing {at(-1)} ;" in finding.remedy


NO_GROUP = dict(trouble="the stream has no such group", last_delivered=None, entries_read=None, lag=None,
                consumers={}, listed=None, kept=None, acknowledged=None, threshold=None)


def test_group_that_the_config_names_vanished(looks):
    """A row says that it was looked for in vain. It is told once, and one that comes is compared with nothing."""
    named = dict(group_name="billing")
    looks.look(1, named)
    looks.group(looks.stream(1), 1, pending=[dict(entry=at(-20))])
    looks.look(2, named)
    looks.group(looks.stream(2), 2, **NO_GROUP)
    result = looks.check()
    behind(result, "group-vanished")
    assert result.checks["stream-trimmed-undelivered"].status == "empty"
    for run in (3, 4):
        looks.look(run, named)
        looks.group(looks.stream(run), run, **(NO_GROUP if run == 3 else {}))
        assert none(looks.check(), "stream-group-behind-restart").examined == 1


@pytest.mark.parametrize("watch", [dict(group_name="mail*"), dict(excluded='["billing"]')])
def test_group_that_is_not_watched_any_more(looks, watch):
    none(two(looks, now=False, watch=watch), "stream-group-behind-restart", watch_changed=1)


def test_stream_vanished(looks):
    looks.look(1)
    stream_id = looks.stream(1)
    looks.group(stream_id, 1, pending=[dict(entry=at(-20))])
    looks.group(stream_id, 1, name=b"mailing")
    looks.look(2)
    looks.stream(2, present=0, length=None, last_generated=None, first_entry=None, last_entry=None, max_deleted=None,
                 entries_added=None, groups=None, trouble="there is no such key")
    result = looks.check()
    assert [(f["check"], f["group"], f["evidence"]["kind"]) for f in result.findings] == [
        ("stream-group-behind-restart", group, "stream-vanished") for group in ("billing", "mailing")]
    assert result.findings[0]["detail"] == "The stream orders is gone, and group billing with it; in run 1 it was there."


def test_a_stream_that_stays_away_is_told_once(looks):
    test_stream_vanished(looks)
    looks.look(3)
    looks.stream(3, present=0, length=None, last_generated=None, first_entry=None, last_entry=None)
    none(looks.check())


def test_stream_without_groups_vanished(looks):
    looks.look(1)
    looks.stream(1, groups=0)
    looks.look(2)
    looks.stream(2, present=0, length=None, last_generated=None, first_entry=None, last_entry=None)
    finding = behind(looks.check(), "stream-vanished")
    assert finding.group is None and finding.detail == "The stream orders is gone; in run 1 it was there."


@pytest.mark.parametrize("stream", [dict(last_generated=at(-600)), dict(entries_added=99)])
def test_stream_recreated(looks, stream):
    """Its group is gone, or stands anew: the stream is the cause of either, and of what is no longer pending."""
    finding = behind(two(looks, before=dict(pending=[dict(entry=at(-20))]), now=dict(last_delivered="0-0", consumers={}),
                         stream=stream), "stream-recreated")
    assert finding.group == "billing" and "below group billing" in finding.detail


def test_stream_recreated_and_read_on(looks):
    behind(two(looks, before=dict(pending=[dict(entry=at(-20))]), now=dict(consumers={}), stream=dict(entries_added=99)),
           "stream-recreated")


def test_stream_recreated_without_the_group(looks):
    behind(two(looks, now=False, stream=dict(last_generated=at(-600))), "stream-recreated")


def test_a_look_that_failed_is_none(looks):
    """Compared with the newest look that could look; the one in between says nothing."""
    looks.healthy(1)
    looks.look(2)
    looks.stream(2, trouble="NOPERM", length=None, last_generated=None, first_entry=None, last_entry=None)
    looks.look(3)
    looks.group(looks.stream(3), 3, last_delivered=at(-300))
    behind(looks.check(), "last-delivered-fell")


@pytest.mark.parametrize("watch", [dict(name="others"), dict(redis="10.2.0.8:6379/0")])
def test_another_watch_or_server_is_no_look_before(looks, watch):
    looks.look(1, watch)
    looks.group(looks.stream(1), 1)
    looks.look(2)
    looks.group(looks.stream(2), 2, last_delivered=at(-300))
    assert none(looks.check(), "stream-group-behind-restart").status == "empty"


# -- pending entries that went away ------------------------------------------------------------------------------------

HELD = dict(pending=[dict(entry=at(-20)), dict(entry=at(-10))])


@pytest.mark.parametrize("consumers, words", [
    ({b"worker-2": {}}, "is deleted"), ({}, "is deleted"),
    ({b"worker-1": dict(inactive_ms=-1)}, "was deleted and made anew")])
def test_lost_with_its_consumer(looks, consumers, words):
    result = two(looks, before=HELD, now=dict(consumers=consumers, pending=[dict(entry=at(-10), consumer=None)]))
    finding = one(result)
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-lost-pending", "error", "orders", "billing", "worker-1", at(-20))
    assert finding.detail == (f"Entry {at(-20)} of orders was pending in group billing at consumer worker-1 in run 1; the"
                              f" consumer {words}, and nothing shows that the entry was acknowledged.")
    assert finding.remedy.endswith(f"redis-cli XCLAIM orders billing CONSUMER 0 {at(-20)} FORCE")
    assert finding.evidence["pending_then"] == 2 and finding.evidence["pending"] == 1
    assert result.checks["stream-lost-pending"].examined == 2


@pytest.mark.parametrize("consumers", [{b"worker-1": {}}, {b"worker-1": dict(inactive_ms=None)}])
def test_maybe_acknowledged(looks, consumers):
    result = two(looks, before=HELD, now=dict(consumers=consumers, pending=[dict(entry=at(-10))]))
    assert none(result, "stream-lost-pending", maybe_acknowledged=1).examined == 1


def test_will_be_delivered_again(looks):
    """The group stands below the entries: that it moved back is the fault, and they are not lost."""
    result = two(looks, before=HELD, now=dict(consumers={}, last_delivered=at(-30), entries_read=90))
    assert behind(result, "last-delivered-fell")
    assert result.checks["stream-lost-pending"].examined == 2


def test_moved_to_the_dead_letter_stream(looks):
    looks.look(1, EVERYTHING)
    looks.group(looks.stream(1), 1, **HELD)
    looks.dlq(1)
    looks.look(2, EVERYTHING)
    looks.group(looks.stream(2), 2, consumers={})
    looks.dlq(2, [(later(-9), at(-20), b"billing", 7), (later(-8), at(-10), b"mailing", 7)])
    result = looks.check()
    assert [(f["check"], f["entry"]) for f in result.findings] == [
        ("stream-lost-pending", at(-10)), ("stream-dlq-growing", None), ("stream-dlq-growing", None)]


def test_copied_as_it_is_to_the_dead_letter_stream(looks):
    for run in (1, 2):
        looks.look(run, EVERYTHING)
        looks.group(looks.stream(run), run, **(HELD if run == 1 else dict(consumers={})))
        looks.dlq(run, [(later(-9), None, None, 7)] if run == 2 else [])
    assert {f["check"] for f in looks.check().findings} == {"stream-dlq-growing"}


def test_told_as_trimmed_then(looks):
    none(two(looks, before=dict(pending=[dict(entry=at(-20), present=0, content=None)]), now=dict(consumers={})))


def test_lost_or_not_kept(looks):
    before = dict(HELD, listed=7, kept=2, acknowledged=1)
    result = two(looks, before=before, now=dict(consumers={}, threshold=1))
    assert none(result, "stream-lost-pending", not_sampled=6).examined == 0


def test_lost_or_not_looked_at(looks):
    result = two(looks, before=HELD, now=dict(consumers={}, trouble="timed out", listed=None, kept=None, acknowledged=None))
    none(result, "stream-lost-pending", not_looked_at=2)


# -- consumers ---------------------------------------------------------------------------------------------------------

def test_dead_consumer(looks):
    looks.healthy(watch=dict(consumer_idle_max_ms=60_000), consumers={
        b"gone": dict(pending=2, idle_ms=60_001, inactive_ms=90_000), b"alive": dict(pending=1, idle_ms=60_000),
        b"waits": dict(pending=0, idle_ms=HOUR_MS)})
    result = looks.check()
    finding = one(result)
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.consumer, finding.entry) == (
        "stream-dead-consumer", "warning", "orders", "billing", "gone", None)
    assert finding.detail == "Consumer gone of group billing of orders holds 2 pending entries and has not asked for more for 60 s."
    assert finding.evidence == {"pending": 2, "idle_ms": 60_001, "inactive_ms": 90_000, "consumer_idle_max_ms": 60_000,
                                "last_asked": "2026-11-30T02:28:59.999Z"}
    assert "redis-cli XAUTOCLAIM orders billing CONSUMER 600000 0 ;" in finding.remedy
    assert finding.remedy.endswith("redis-cli XGROUP DELCONSUMER orders billing gone")
    assert result.checks["stream-dead-consumer"].examined == 2


def test_consumers_that_were_not_looked_at(looks):
    looks.look(watch=dict(consumer_idle_max_ms=60_000))
    stream_id = looks.stream()
    looks.group(stream_id, consumers={b"w": dict(pending=1, idle_ms=None)})
    looks.group(stream_id, name=b"denied", consumers={}, pending=[], trouble="NOPERM")
    looks.index.db.execute("UPDATE stream_group SET consumers = 3, pending = 5 WHERE trouble = 'NOPERM'")
    none(looks.check(), "stream-dead-consumer", not_looked_at=4)


# -- the dead-letter stream --------------------------------------------------------------------------------------------

def test_dlq_growing(looks):
    old = [(at(-90), at(-95), b"billing", 1)]
    looks.healthy(1, watch=EVERYTHING)
    looks.dlq(1, old)
    looks.healthy(2, watch=EVERYTHING)
    looks.dlq(2, old + [(later(-9), at(-60), b"billing", 2), (later(-8), at(-50), b"billing", 3), (later(-7), None, None, 4)])
    result = looks.check(code=0)
    told = [(f["check"], f["severity"], f["stream"], f["group"], f["detail"]) for f in result.findings]
    assert told == [
        ("stream-dlq-growing", "info", "orders:dlq", None, "1 entry came to orders:dlq since run 1."),
        ("stream-dlq-growing", "info", "orders:dlq", "billing", "2 entries came to orders:dlq from group billing since run 1.")]
    assert result.findings[1]["evidence"] == {
        "entries": 2, "with_source": 2, "first": later(-9), "last": later(-8), "run": 1, "since": at(-90), "length": 4,
        "listed": 4, "added_in_all": 3}
    assert result.findings[1]["remedy"] == f"Read them: redis-cli XRANGE orders:dlq {later(-9)} {later(-8)}"
    assert result.checks["stream-dlq-growing"].examined == 1


def test_the_first_dead_letter(looks):
    looks.healthy(1, watch=EVERYTHING)
    looks.dlq(1, present=0, length=None, last_generated=None, entries_added=None, max_deleted=None)
    looks.healthy(2, watch=EVERYTHING)
    looks.dlq(2, [(later(-9), at(-60), b"billing", 2)])
    assert one(looks.check()).evidence["since"] == "0-0"


@pytest.mark.parametrize("now", [dict(), dict(entries=[])])
def test_a_dlq_that_stands_still(looks, now):
    old = [(at(-90), at(-95), b"billing", 1)]
    looks.healthy(1, watch=EVERYTHING)
    looks.dlq(1, old)
    looks.healthy(2, watch=EVERYTHING)
    looks.dlq(2, now.get("entries", old), last_generated=at(-90), entries_added=1)
    assert none(looks.check(), "stream-dlq-growing").examined == 1


def test_a_dlq_that_could_not_be_read(looks):
    looks.healthy(1, watch=EVERYTHING)
    looks.dlq(1)
    looks.healthy(2, watch=EVERYTHING)
    looks.dlq(2, trouble="NOPERM", length=None, last_generated=None)
    none(looks.check(), "stream-dlq-growing", not_looked_at=1)


# -- whole streams -----------------------------------------------------------------------------------------------------

def whole(looks, watch=None, **stream):
    looks.look(watch=watch)
    looks.stream(**stream)
    return looks.check()


OLD_SERVER = dict(entries_added=None, max_deleted=None)


@pytest.mark.parametrize("stream, words", [({}, "none was ever removed"), (OLD_SERVER, "no trimming was seen")])
def test_unbounded(looks, stream, words):
    finding = one(whole(looks, dict(length_max=99), **stream))
    assert (finding.check, finding.severity, finding.stream, finding.group) == ("stream-unbounded", "warning", "orders", None)
    assert finding.detail == f"The stream orders holds 100 entries, more than 99, and {words}."
    assert "XADD orders MAXLEN '~' 99 '*'" in finding.remedy


@pytest.mark.parametrize("stream", [dict(length=99, entries_added=99), dict(entries_added=101)])
def test_bounded(looks, stream):
    assert none(whole(looks, dict(length_max=99), **stream), "stream-unbounded").examined == 1


def test_trimmed_or_deleted(looks):
    none(whole(looks, dict(length_max=99), entries_added=101, max_deleted=at(-2000)), "stream-unbounded", deleted_or_trimmed=1)


@pytest.mark.parametrize("first, fault", [(at(-1000), True), (at(-900), False)])
def test_bounded_as_far_as_two_looks_tell(looks, first, fault):
    looks.look(1)
    looks.stream(1, **OLD_SERVER)
    looks.look(2, dict(length_max=99))
    looks.stream(2, first_entry=first, **OLD_SERVER)
    assert [f["check"] for f in looks.check().findings] == (["stream-unbounded"] if fault else [])


def test_ids_ahead(looks):
    finding = one(whole(looks, last_generated=at(60_001), last_entry=at(60_001)))
    assert (finding.check, finding.severity, finding.stream, finding.group, finding.entry) == (
        "stream-ids-ahead", "warning", "orders", None, None)
    assert finding.detail == f"The newest id of orders is {at(60_001)}, 60 s ahead of the server's clock."
    assert finding.evidence == {"last_generated": at(60_001), "server": "2026-11-30T02:30:00.000Z", "ahead_ms": 60_001}


def test_ids_far_ahead(looks):
    assert one(whole(looks, last_generated=f"{2**64 - 1}-0")).evidence["ahead_ms"] == 2**63 - 1 - NOW


@pytest.mark.parametrize("newest", [at(60_000), at(-HOUR_MS), "0-0", "5-1"])
def test_ids_not_ahead(looks, newest):
    assert none(whole(looks, last_generated=newest), "stream-ids-ahead").examined == 1


def test_ids_without_a_clock(looks):
    none(whole(looks, server_ms=None), "stream-ids-ahead", clock_unknown=1)


def test_streams_that_could_not_be_read(looks):
    result = whole(looks, {**EVERYTHING, "name": WATCH["name"]}, trouble="NOPERM", length=None, last_generated=None,
                   first_entry=None, last_entry=None, max_deleted=None, entries_added=None)
    none(result, "stream-ids-ahead", not_looked_at=1)
    none(result, "stream-unbounded", not_looked_at=1)
