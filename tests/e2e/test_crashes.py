"""Three hundred random crash schedules: whatever crashes where, a worker that keeps the order leaves nothing to find.

FENCEPOST_CRASHES=N makes it N schedules, a tenth of them on the real broker.
"""
import os
from collections import Counter

import pytest

import reference
from schedules import POINTS, ROUNDS, Fleet, Run, Schedule, as_found

SCHEDULES = int(os.environ.get("FENCEPOST_CRASHES", 300))
REAL = max(SCHEDULES // 10, 4)


def compare(fleet, code, report):
    """The audit has found what the oracle says, in every run and nothing else; gives what was found."""
    must, wrong = fleet.look(), []
    for run in fleet.runs:
        findings = [f for f in report.findings if f["pipeline"] == run.topic]
        found = as_found(findings, must[run.topic])
        if found != must[run.topic]:
            wrong.append(f"{run.schedule!r}\n  only found {sorted(found - must[run.topic], key=repr)[:5]}\n"
                         f"  not found {sorted(must[run.topic] - found, key=repr)[:5]}")
    assert not wrong, "\n".join(wrong)
    graver = any(check != "commit-missing" for faults in must.values() for check, *_ in faults)
    assert code == (2 if graver else 0)
    return must


def live(fleet):
    """All rounds, an audit after each. Only the partitions that nobody has committed yet may be told of."""
    for n in range(ROUNDS):
        fleet.round(n)
        must = compare(fleet, *fleet.audit())
        assert {check for faults in must.values() for check, *_ in faults} <= {"commit-missing"}
    fleet.round(ROUNDS)
    for index in ("fencepost.db", "another.db"):        # with what earlier runs know, and without
        assert set().union(*compare(fleet, *fleet.audit("--all", index=index)).values()) == set()
    crashes = sum((run.crashes for run in fleet.runs), Counter())
    print(f"{len(fleet.runs)} schedules, {dict(crashes)}")
    return crashes


@pytest.fixture
def on_mock(pipeline_bin, fencepost, redis_factory, work):
    """on_mock(schedules): a fleet on a mock broker and a Redis of its own."""
    brokers = []

    def fleet(plans):
        topics = {t: n for s in plans for t, n in ((s.name, s.partitions), (s.name + "-out", 1), (s.name + "-dlq", 1))}
        redis_server = redis_factory()
        brokers.append(reference.Mock(pipeline_bin("mockbroker"), topics))
        runs = [Run(s, pipeline_bin, brokers[-1].bootstrap, redis_server) for s in plans]
        return Fleet(runs, fencepost, redis_server, work)

    yield fleet
    for broker in brokers:
        broker.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_the_mock_broker(on_mock):
    plans = [Schedule(seed, f"c{seed:04}") for seed in range(SCHEDULES - REAL)]
    crashes = live(on_mock(plans))
    assert all(crashes[point] >= len(plans) // 10 for point in POINTS), crashes


def test_a_worker_that_breaks_the_order(on_mock):
    """The control: these workers commit before they write, and each crash loses a batch, which must be found."""
    fleet = on_mock([Schedule(seed, f"d{seed:04}", orderly=False) for seed in range(30)])
    found = set()
    for n in (*range(ROUNDS), ROUNDS):
        fleet.round(n)
        must = compare(fleet, *fleet.audit())
        found |= {check for faults in must.values() for check, *_ in faults}
    assert sum(run.crashes["commit"] for run in fleet.runs) > len(fleet.runs)
    assert sum(bool(faults) for faults in must.values()) > len(fleet.runs) // 2
    assert found >= {"fence-missing", "fence-regressed", "fence-undeleted", "fence-count"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_a_real_broker(pipeline_bin, fencepost, broker, redis_factory, work, name):
    plans = [Schedule(seed, f"{name}-{seed}", real=True) for seed in range(10000, 10000 + REAL)]
    for s in plans:
        for topic, partitions in ((s.name, s.partitions), (s.name + "-out", 1), (s.name + "-dlq", 1)):
            broker.create_topic(topic, partitions)
    redis_server = redis_factory()
    fleet = Fleet([Run(s, pipeline_bin, broker.bootstrap, redis_server) for s in plans], fencepost, redis_server, work)
    crashes = live(fleet)
    assert sum(crashes.values()) > len(plans)
