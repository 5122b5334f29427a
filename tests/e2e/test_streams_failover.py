"""Streams whose master dies: what its replica knows less of is no loss, and what is lost is said."""
import os

import pytest

from redis_server import VERSIONS
from streams import EVERYTHING, Streams, wait_until


@pytest.fixture(params=VERSIONS)
def pair(request, tools, redis_factory):
    """A master, its replica, and a stream with 10 entries of which 5 are pending. Both are seen at one address."""
    master = redis_factory(request.param)
    replica = redis_factory(request.param, options={"replicaof": f"127.0.0.1 {master.port}"})
    streams = Streams(tools, master, **EVERYTHING)
    # An address that leads to whoever is the master, as a name in front of a pair does.
    streams.link = tools.folder / "redis.sock"
    os.symlink(master.sock, streams.link)
    streams.master, streams.replica = master, replica
    streams.settings["redis"] = {"url": f"unix://{streams.link}"}
    streams.group()
    streams.add(10)
    streams.given = streams.read(5)
    caught_up(streams)
    return streams


def caught_up(streams):
    def offsets():
        info = streams.replica.client().info("replication")
        return info["master_link_status"] == "up" and \
            info["slave_repl_offset"] == streams.master.client().info("replication")["master_repl_offset"]
    wait_until(offsets)


def promote(streams):
    client = streams.replica.client()
    client.replicaof("NO", "ONE")
    streams.master.stop(clean=False)
    streams.link.unlink()
    os.symlink(streams.replica.sock, streams.link)
    streams.redis = client


def test_failover_when_counters_fall(pair):
    """Reading again with 0 is not replicated: the promoted replica counts fewer deliveries, and that is no loss."""
    for _ in range(2):
        pair.read(5, at="0")
    pair.clean()
    [before] = {row["times_delivered"] for row in pair.redis.xpending_range(pair.name, "billing", "-", "+", 9)}
    caught_up(pair)
    promote(pair)
    [after] = {row["times_delivered"] for row in pair.redis.xpending_range(pair.name, "billing", "-", "+", 9)}
    assert (before, after) == (3, 1)
    audit = pair.clean()
    assert audit.checks["stream-group-behind-restart"].unverifiable == {"failed-over": 1}
    assert audit.checks["stream-lost-pending"].examined == 5
    audit = pair.clean()            # from here the new master is the measure
    assert audit.checks["stream-group-behind-restart"].examined == 1


def test_failover_when_the_group_moves_back(pair):
    """The replica misses the newest deliveries: the entries are given again, and were not lost."""
    pair.replica.client().replicaof("127.0.0.1", 1)         # it is cut off
    pair.read(3)
    pair.clean()
    promote(pair)
    [finding] = pair.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert finding.evidence["kind"] == "last-delivered-fell"
    assert finding.evidence["last_delivered"] == pair.given[-1]
    assert "redis-failed-over" in finding.remedy


def test_failover_when_the_stream_loses_entries(pair):
    pair.replica.client().replicaof("127.0.0.1", 1)
    lost = pair.add(2)
    pair.clean()
    promote(pair)
    [finding] = pair.found(("stream-group-behind-restart", "billing", None, None)).findings
    assert finding.evidence["kind"] == "stream-recreated" and finding.evidence["last_generated_then"] == lost[-1]


def test_failover_and_counts_of_what_was_read(pair):
    """Before 7.4 a replica does not count what a group is given: what it counts is no ground for a loss."""
    pair.ack(pair.read(9))
    pair.add(5)
    caught_up(pair)
    promote(pair)
    pair.redis.xtrim(pair.name, maxlen=4, approximate=False)
    audit = pair.audit()
    found = [(f.check, f.evidence["lost"]) for f in audit.findings if f.check == "stream-trimmed-undelivered"]
    told = audit.checks["stream-trimmed-undelivered"].unverifiable
    if pair.server.kind == "8.2":
        assert found == [("stream-trimmed-undelivered", 1)]
    else:
        assert found == [] and set(told) <= {"entries-read-stale", "entries-read-unknown", "server-too-old"} and told
