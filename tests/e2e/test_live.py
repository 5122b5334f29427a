"""Audits while the pipeline runs: whatever producers, workers and the group do meanwhile, there is nothing to find."""
import contextlib
import signal
import subprocess
import threading
import time

import pytest
from confluent_kafka import KafkaException

import reference
from audited import Audited

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SESSION = 3000


class Live(Audited):
    """A pipeline at work: producers and workers in the background until stop()."""

    def __init__(self, tools, broker, redis_server, *worker, **settings):
        super().__init__(tools, broker, redis_server, **settings)
        self.worker_words = ["--session", SESSION, "--linger", 5, *worker]
        self.workers, self.producers = [], []
        self.killed = 0

    def produce(self, *words):
        """One more producer; it ends with its records, or is ended."""
        self.producers.append(subprocess.Popen(self.words("generate", *words), stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))

    def join(self):
        self.workers.append(self.start(*self.worker_words))

    def kill(self):
        """The oldest worker dies without a farewell."""
        worker = self.workers.pop(0)
        worker.kill()
        worker.communicate()
        self.killed += 1

    def begin(self, workers=2):
        """Workers, and the moment from which every partition has a commit."""
        for _ in range(workers):
            self.join()
        wait(self.all_commits)

    def all_commits(self, partitions=None):
        with contextlib.suppress(KafkaException):       # no coordinator yet
            return min(self.committed(partitions or self.partitions)) > 0

    def stop(self):
        """Producers, then workers, politely; the rest is worked off by one that comes to the end."""
        for producer in self.producers:
            producer.terminate()        # a transaction may stay open until its timeout
            producer.communicate()
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            _, said = worker.communicate(timeout=60)
            assert worker.returncode in (0, reference.FENCED), said
        self.producers, self.workers = [], []

    def watch(self, *options, **settings):
        """An audit of the running pipeline."""
        assert all(w.poll() is None for w in self.workers) and self.producers[-1].poll() is None, "it does not run"
        audit = self.audit(*options, code=0, timeout=120, **settings)
        assert audit.complete and audit.status == "clean", str(audit)
        return audit

    def settle(self):
        """When all is at rest, by other clients: Redis is what the records make of it. Then one audit more."""
        self.stop()
        records = self.read()
        last = {r.partition: r.offset for r in records}
        # a member of a group with dead ones may at first be given a part of the topic, and come to its end
        for _ in range(10 if self.killed else 1):
            self.work(*self.worker_words, "--batch", 500, join=self.killed > 0)
            commits = self.committed(self.partitions)
            if all(commits[p] > last[p] for p in last):
                break
        tombstones = self.settings.get("tombstones", "apply")
        assert self.states() == reference.expected(self.settings["state"], records, self.partitions, tombstones)
        self.clean()


def wait(true, seconds=60):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.1)


@pytest.fixture
def live(tools, broker, redis_factory):
    """live(*worker words, **settings): a pipeline with a Redis of its own, ended with the test."""
    redis_server, begun = redis_factory(), []       # a scan at a low rate would take long over the keys of others

    def make(*worker, **settings):
        begun.append(Live(tools, broker, redis_server, *worker, **settings))
        return begun[-1]

    yield make
    for pipe in begun:
        for process in pipe.producers + pipe.workers:
            process.kill()
            process.communicate()


@contextlib.contextmanager
def meanwhile(*steps, pause=0.4):
    """Runs the steps one after another on a thread, each after a pause."""
    trouble = []

    def run():
        try:
            for step in steps:
                time.sleep(pause)
                step()
        except Exception as e:      # a thread has nobody to raise to
            trouble.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert not trouble, trouble


FOREVER = ["--records", 100000000, "--value-size", 20]


def test_counts_with_transactions(live):
    """Four producers, whose transactions interleave and are committed or aborted; every record counts once."""
    pipe = live(state="count")
    pipe.produce(*FOREVER, "--keys", 3000, "--rate", 3000, "--seed", 1, "--transactions", "interleaved", "--txn-size", 5)
    pipe.begin()
    for n in range(4):
        audit = pipe.watch("--redis-rate", 3000)
        assert audit.check("fence-regressed").examined > 100 * n
    pipe.watch(index="another.db")
    pipe.stop()


@pytest.mark.parametrize("state", ["count", "last"])
def test_deletes(live, state):
    """Every other record deletes its key, so that hashes come and go all the time."""
    pipe = live(state=state, tombstones="delete")
    pipe.produce(*FOREVER, "--keys", 300, "--rate", 6000, "--tombstones", 0.5, "--seed", 2)
    pipe.begin()
    for rate in (200, 1000, 0):
        audit = pipe.watch("--redis-rate", rate)
        assert audit.check("fence-missing").examined + sum(audit.unverifiable("fence-missing").values()) > 100
    pipe.settle()


def test_full_speed(live):
    """As fast as producer and workers can; the workers fall behind and die as well."""
    pipe = live("--batch", 2000, state="last")
    pipe.produce(*FOREVER, "--keys", 20000, "--seed", 3, "--poison", 0.001, "--null-keys", 0.01)
    pipe.worker_words.append("--poison")
    pipe.begin()
    for _ in range(3):
        audit = pipe.watch()
        assert audit.check("fence-regressed").examined > 1000
    pipe.stop()


def test_retries(live):
    """Workers crash at random points and are replaced at once: batches are read again all the time."""
    pipe = live("--batch", 20, state="count")
    pipe.produce(*FOREVER, "--keys", 500, "--rate", 1500, "--seed", 4, "--poison", 0.02)
    pipe.worker_words.append("--poison")
    pipe.begin()
    stop = threading.Event()
    crashes = []

    def crash():
        words = ["--until-end", "--crash-prob", 0.02, *pipe.worker_words]
        while not stop.is_set():
            done = subprocess.run(pipe.words("worker", *pipe._told(), *words, "--crash-seed", len(crashes)),
                                  stdin=subprocess.DEVNULL, capture_output=True)
            crashes.append(done.returncode)

    thread = threading.Thread(target=crash)
    thread.start()
    try:
        for _ in range(4):
            pipe.watch("--redis-rate", 300)
    finally:
        stop.set()
        for worker in pipe.workers:
            worker.terminate()
        pipe.producers[-1].terminate()
        thread.join()
    assert reference.CRASHED in crashes
    pipe.killed = len(crashes)
    pipe.settle()


def test_the_group_rebalances(live):
    """Workers join and die during the audits."""
    pipe = live("--batch", 50, state="count")
    pipe.produce(*FOREVER, "--keys", 2000, "--rate", 2000, "--seed", 5)
    pipe.begin()
    for steps in ([pipe.join], [pipe.join, pipe.kill], [pipe.kill, pipe.join, pipe.kill]):
        with meanwhile(*steps):
            pipe.watch("--redis-rate", 1000)
    pipe.settle()


def test_partitions_are_added(live, broker):
    """The topic grows from 6 to 9 to 12 during two audits; producers notice late, and keys are rebased."""
    pipe = live("--batch", 50, state="count")
    pipe.produce(*FOREVER, "--keys", 1000, "--rate", 1500, "--seed", 6)
    pipe.begin()
    pipe.clean("--redis-rate", 1000)
    found = set()
    for total, before in ((9, [6]), (12, [6, 9])):
        pipe.settings["partitions.before"] = before
        with meanwhile(lambda: broker.add_partitions(pipe.topic, total),
                       lambda: pipe.produce(*FOREVER, "--keys", 1000, "--rate", 1500, "--seed", total)):
            found |= pipe.watch("--redis-rate", 500).found()
    assert {check for check, *_ in found} <= {"commit-missing", "fence-rebased"}
    assert all(partition >= 6 for check, _, partition, _ in found if check == "commit-missing")
    wait(lambda: pipe.all_commits(12))
    found = pipe.watch().found()
    assert {check for check, *_ in found} == {"fence-rebased"}


def test_all_are_killed(live):
    """What a pipeline left that was killed as a whole is no finding either."""
    pipe = live(state="count")
    pipe.produce(*FOREVER, "--keys", 500, "--rate", 3000, "--seed", 7)
    pipe.begin()
    while pipe.workers:
        pipe.kill()
    pipe.producers[-1].kill()
    pipe.clean()
    pipe.settle()

