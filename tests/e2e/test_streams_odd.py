"""Streams in odd states, and looks at them that break off: what is healthy stays unsuspected, what is not is told."""
import time

import pytest

from sampling import Impostor
from streams import Streams

EVERYTHING = {"lag.max": 1000, "backlog.age.max": "1m", "consumer.idle.max": "10m", "length.max": 100000}


@pytest.fixture
def streams(tools, redis_server):
    return Streams(tools, redis_server, **EVERYTHING)


@pytest.fixture
def each(tools, any_redis):
    return Streams(tools, any_redis, **EVERYTHING)


def told(audit):
    return sorted((f.check, f.group, f.entry) for f in audit.findings)


# -- looks that break off ----------------------------------------------------------------------------------------------

class Between:
    """Stands before the server; once armed it answers nothing from the first command on that begins with words."""

    def __init__(self, streams, *words):
        self.words, self.armed, self.died = [w.encode() for w in words], False, False
        self.impostor = Impostor(streams.server, self._rule)
        self.url = self.impostor.url

    def _rule(self, args, *_):
        if self.armed and args[:len(self.words)] == self.words:
            self.died = True
        return b"" if self.died else None


@pytest.mark.parametrize("words", [("XINFO", "STREAM"), ("XINFO", "GROUPS"), ("XINFO", "CONSUMERS"), ("XPENDING",),
                                   ("XRANGE",)], ids=" ".join)
def test_the_server_dies_amid_a_stream(streams, words):
    """Groups that were not reached are not gone, and what is compared with later is the last whole look at them."""
    groups = ("a", "b", "c")
    for group in groups:
        streams.group(group)
    added = streams.add(20)
    for group in groups:
        streams.read(10, group=group)
    between = Between(streams, *words)
    streams.options = ["--timeout", "300ms"]
    streams.clean(url=between.url)
    between.armed = True
    audit = streams.audit(url=between.url)
    assert between.died and audit.code == 1, audit.out + audit.err
    assert not audit.findings and not audit.block["complete"], told(audit)
    for check, subjects in (("stream-group-behind-restart", 3), ("stream-lost-pending", 30)):
        met = audit.checks[check]
        assert met.examined + sum(met.unverifiable.values()) == subjects, (check, vars(met), audit.out)
    between.armed = between.died = False
    streams.redis.xgroup_setid(streams.name, "c", "0")
    streams.redis.xgroup_destroy(streams.name, "b")
    streams.redis.xgroup_delconsumer(streams.name, "a", "worker-1")
    audit = streams.audit(url=between.url)
    between.impostor.close()
    assert told(audit) == sorted([("stream-group-behind-restart", "b", None), ("stream-group-behind-restart", "c", None)]
                                 + [("stream-lost-pending", "a", entry) for entry in added[:10]]), audit.out
    assert {f.evidence["run"] for f in audit.findings if f.entry} == {1}


# -- dead letters ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fields", [{"period": "2026-11"}, {"range": "0-100"}])
def test_dead_letters_with_values_that_look_like_ids(streams, fields):
    """The source of a dead letter is found behind values of its own that an id could be."""
    streams.group()
    [entry] = streams.add(1, **fields)
    streams.read(1)
    streams.bury(entry)
    for _ in range(4):
        streams.read(1, at="0")
    audit = streams.found(("stream-poison", "billing", "worker-1", entry))
    assert audit.findings[0].evidence["in_dlq"] is True, audit.findings[0].evidence
    streams.redis.xgroup_delconsumer(streams.name, "billing", "worker-1")
    streams.clean()


def test_plain_copies_with_values_that_look_like_ids(streams):
    streams.group()
    [entry] = streams.add(1, period="2026-11")
    streams.read(1)
    streams.redis.xadd(streams.dlq, {"period": "2026-11"})
    for _ in range(4):
        streams.read(1, at="0")
    audit = streams.found(("stream-poison", "billing", "worker-1", entry))
    assert audit.findings[0].evidence["in_dlq"] is True, audit.findings[0].evidence


# -- odd ids and states ------------------------------------------------------------------------------------------------

def test_the_largest_id_at_the_end_of_a_page(each):
    """A page that is full and ends with the largest id there is: none can be asked for behind it."""
    last = "18446744073709551615-18446744073709551615"
    each.group()
    with each.redis.pipeline(transaction=False) as pipe:
        for i in range(1, 100):
            pipe.xadd(each.name, {"n": i}, id=f"0-{i}")
        pipe.xadd(each.name, {"n": 0}, id=last)
        pipe.execute()
    assert len(each.read(100)) == 100
    audit = each.audit(redis={"url": each.server.unix_url, "rate": 1000})
    assert told(audit) == [("stream-ids-ahead", None, None)]
    assert audit.block["complete"] and audit.checks["stream-stuck"].examined == 100


def test_dlq_with_the_smallest_id(streams):
    streams.group()
    with streams.redis.pipeline(transaction=False) as pipe:
        for i in range(1, 51):
            pipe.xadd(streams.dlq, {"n": i}, id=f"0-{i}")
        pipe.execute()
    audit = streams.clean()
    assert audit.code == 0


def test_claimed_by_force_without_an_entry(each):
    each.group()
    each.add(3)
    each.redis.execute_command("XCLAIM", each.name, "billing", "c", 0, "0-0", "FORCE", "JUSTID")
    audit = each.audit()
    assert audit.block["complete"]


@pytest.mark.parametrize("at", ["$", "0", "mid"])
def test_groups_made_anywhere(each, at):
    added = each.add(20)
    each.redis.xtrim(each.name, maxlen=15, approximate=False)
    each.group(at=added[10] if at == "mid" else at)
    each.clean()
    each.clean()
    each.read(3)
    each.clean()
    each.redis.xdel(each.name, added[15])
    each.add(3)
    each.clean()
    each.ack(each.read(30))
    each.redis.xtrim(each.name, maxlen=2, approximate=False)
    audit = each.audit()
    each.redis.xtrim(each.name, maxlen=0, approximate=False)
    audit = each.audit()


def test_entries_read_after_deletes(each):
    """entries-read is an estimate of the server where entries were deleted; it does not fall."""
    each.group()
    seen = []
    for step in range(8):
        added = each.add(5)
        each.redis.xdel(each.name, added[1 + step % 3])
        each.ack(each.read(3 if step % 2 else 1) or ["0-1"])
        if step == 4:
            each.redis.xtrim(each.name, maxlen=6, approximate=False)
        seen.append(each.info().get("entries-read"))
        audit = each.audit()
        assert not [f for f in audit.findings if f.check == "stream-group-behind-restart"], (seen, [vars(f) for f in audit.findings])


def test_xsetid(each):
    each.group()
    each.add(5)
    each.ack(each.read(5))
    each.clean()
    each.redis.execute_command("XSETID", each.name, "99999999999999-1")
    audit = each.audit()
    assert told(audit) == [("stream-ids-ahead", None, None)]


def test_noack(each):
    each.group()
    each.add(20)
    each.redis.xreadgroup("billing", "w", {each.name: ">"}, count=10, noack=True)
    each.clean()
    each.redis.xreadgroup("billing", "w", {each.name: ">"}, count=10, noack=True)
    each.redis.xgroup_delconsumer(each.name, "billing", "w")
    each.clean()


def test_claimed_by_another_then_deleted(each):
    each.group()
    added = each.add(6)
    each.read(6, "one")
    each.clean()
    each.redis.xclaim(each.name, "billing", "two", 0, added[:3])
    each.ack(added[3:])
    each.redis.xautoclaim(each.name, "billing", "three", 0, "0", justid=True)
    each.clean()
    each.ack(added)
    audit = each.clean()


@pytest.mark.parametrize("how", ["claim", "justid", "autoclaim", "read", "restart"])
def test_acknowledged_by_one_that_never_read(tools, redis_factory, how):
    """A consumer that was never given anything by a read may hold entries, and acknowledge them."""
    server = redis_factory("8.2", options={"appendonly": "yes", "auto-aof-rewrite-percentage": 0})
    s = Streams(tools, server, **EVERYTHING)
    s.group()
    added = s.add(4)
    s.read(4, "one")
    if how == "claim":
        s.redis.xclaim(s.name, "billing", "two", 0, added)
    elif how == "justid":
        s.redis.xclaim(s.name, "billing", "two", 0, added, justid=True)
    elif how == "autoclaim":
        s.redis.xautoclaim(s.name, "billing", "two", 0, "0", justid=True)
    elif how == "restart":
        server.stop()
        server.start()
        s.redis = server.client()
    s.clean()
    s.ack(added)
    audit = s.audit()
    assert not told(audit)


def sampled(streams, keys):
    streams.top = {"pending.keys": keys}
    return streams.audit()


# -- samples -----------------------------------------------------------------------------------------------------------

def test_another_sample_than_before(each):
    """Entries that only one of two samples has are not lost."""
    each.group()
    added = each.add(3000)
    each.read(3000)
    for keys in (1000, 100, 3000, 50, 1000000):
        audit = sampled(each, keys)
        assert not told(audit), (keys, told(audit)[:3])
    each.redis.xgroup_delconsumer(each.name, "billing", "worker-1")
    audit = sampled(each, 100)
    assert 0 < len(told(audit)) and len(told(audit)) + sum(audit.checks["stream-lost-pending"].unverifiable.values()) == 3000


# -- names -------------------------------------------------------------------------------------------------------------

NAMES = [b"a b", b"a\0b", b"\xff\xfe", b"l1\nl2", b"'q\"", b"{}", b"*?[", b"\\", b"", b"-", b"$(id)", b"\x1b[31m", "é".encode()]


def test_binary_names(tools, each):
    each.redis.xgroup_create(each.name, "ok", "0", mkstream=True)
    added = each.add(2)
    for name in NAMES:
        each.redis.xgroup_create(each.name, name, "0")
        each.redis.xreadgroup(name, name, {each.name: ">"})
    audit = each.audit()
    assert not told(audit) and audit.block["complete"], audit.out
    for name in NAMES:
        each.redis.xclaim(each.name, name, name, 0, added, idle=3_600_000, justid=True)
    audit = each.audit()
    assert len([f for f in audit.findings if f.check == "stream-stuck"]) == 2 * len(NAMES), told(audit)
    assert len({f.id for f in audit.findings}) == len(audit.findings)
    for name in NAMES:
        each.redis.xgroup_delconsumer(each.name, name, name)
    audit = each.audit()
    lost = [f for f in audit.findings if f.check == "stream-lost-pending"]
    assert len(lost) == 2 * len(NAMES), audit.out


# -- rights ------------------------------------------------------------------------------------------------------------

def restricted(streams, command):
    """The address for a user who may do all but one command."""
    streams.redis.execute_command("ACL", "SETUSER", "auditor", "on", ">pw", "~*", "+@all", "-" + command)
    return f"redis://auditor:pw@127.0.0.1:{streams.server.port}/0"


def test_a_dlq_that_may_not_be_read(tools, redis_factory):
    """Nothing is said to be missing from a stream that was not read."""
    streams = Streams(tools, redis_factory(), **EVERYTHING)
    streams.group()
    [poison, moved] = streams.add(2)
    streams.read(1, "one")
    streams.read(1, "two")
    for _ in range(4):
        streams.read(1, "one", at="0")
    url = restricted(streams, "config")
    streams.audit(url=url)
    streams.bury(moved)
    streams.ack([moved])
    streams.redis.xgroup_delconsumer(streams.name, "billing", "two")
    url = restricted(streams, "xrevrange")
    audit = streams.audit(url=url)
    assert told(audit) == [("stream-poison", "billing", poison)] and not audit.block["complete"]
    assert audit.findings[0].evidence["in_dlq"] is None
    assert audit.findings[0].detail.endswith("and the dead-letter stream was not read to its end.")
    assert audit.checks["stream-lost-pending"].unverifiable == {"not-looked-at": 1}


def test_entries_that_may_not_be_read(tools, redis_factory):
    """Entries of which nothing could be settled were not left out by sampling."""
    streams = Streams(tools, redis_factory(), **EVERYTHING)
    streams.group()
    streams.add(5)
    streams.read(5)
    audit = streams.audit(url=restricted(streams, "xrange"))
    assert not told(audit) and not audit.block["complete"] and audit.code == 1
    for check in ("stream-stuck", "stream-poison", "stream-trimmed-pending"):
        assert audit.checks[check].unverifiable == {"not-looked-at": 5}, (check, vars(audit.checks[check]))


# -- groups that are asked for -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("watch", [{"group": "bil*"}, {"group": "g[1]"}, {"exclude": ["*"]}], ids=str)
def test_none_of_the_groups_is_asked_for(streams, watch):
    """A pattern beside all groups that there are is no clean bill; neither is a name that is taken for a pattern."""
    assert streams.audit(**watch).code == 1     # no stream yet
    streams.add(1)
    streams.clean(**watch)                      # nobody has read from it yet
    streams.group("g[1]")
    audit = streams.audit(**watch)
    assert audit.code == 1 and not audit.block["complete"] and "there are groups" in audit.err, audit.err
    streams.clean(group="g\\[1\\]")
