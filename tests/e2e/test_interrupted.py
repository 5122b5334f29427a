"""An audit that is killed, and servers that pause or die under it: the next one is whole, and nobody is accused."""
import random
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from audited import Audit, Audited

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KEYS, RATE = 1500, ["--redis-rate", 1500]       # a second or two of sampling


def make(tools, broker, redis_server, **settings):
    """A worked-off pipeline with one lost fence, and what an audit of it must find."""
    pipe = Audited(tools, broker, redis_server, partitions=4, **settings)
    pipe.generate("--records", 6000, "--keys", KEYS, "--seed", 1, "--transactions", "interleaved", "--txn-size", 7)
    pipe.work()
    [(key, _)] = Counter(r.key for r in pipe.read()).most_common(1)
    facts = pipe.harm("fence-back", key, "--records", 2)
    pipe.must = {("fence-regressed", facts.key_hex, facts.partition, facts.newest)}
    return pipe


def begin(pipe, *options, index="fencepost.db"):
    """An audit in the background."""
    pipe.audits += 1
    out = pipe.folder / f"report-{pipe.audits}"
    words = ["audit", "-q", "-c", pipe.configure(index=index), "-o", out, *RATE, *options]
    return SimpleNamespace(process=pipe.fencepost.popen(words, cwd=pipe.folder), out=out, begun=time.monotonic())


def end(pipe, audit, timeout=60):
    out, err = audit.process.communicate(timeout=timeout)
    return Audit(SimpleNamespace(code=audit.process.returncode, out=out, err=err), audit.out, pipe.topic)


def check_whole(pipe, audit):
    assert (audit.code, audit.complete, audit.found()) == (2, True, pipe.must), str(audit)


def test_kills(tools, broker, redis_server):
    """kill -9 at random moments, with an index that is new or old; each time the next audit says all there is."""
    pipe, rng = make(tools, broker, redis_server), random.Random(1)
    whole = begin(pipe)
    check_whole(pipe, end(pipe, whole))
    took = time.monotonic() - whole.begun
    killed = 0
    for n in range(12):
        index = "fencepost.db" if n % 2 else f"index-{n}.db"
        audit = begin(pipe, index=index)
        time.sleep(rng.uniform(0, took))
        audit.process.kill()
        after = end(pipe, audit)
        if after.code == -9:
            killed += 1
        else:
            check_whole(pipe, after)
        assert not after.reported or after.found() == pipe.must     # whole, or not there
        check_whole(pipe, pipe.audit(*RATE, index=index))
    assert killed > 6


def test_a_broker_that_pauses(tools, broker_factory, redis_server):
    broker = broker_factory()
    pipe = make(tools, broker, redis_server)
    for n, moment in enumerate((0, 0.3, 0.8, 1.3)):
        audit = begin(pipe, index=f"index-{n}.db")
        time.sleep(moment)
        broker.pause()
        time.sleep(3)
        broker.resume()
        check_whole(pipe, end(pipe, audit))


def not_accused(pipe, audit):
    """Something could not be looked at: the audit says so, and what it found all the same is true."""
    assert audit.code in (1, 2) and not audit.complete, str(audit)
    assert audit.found() <= pipe.must, str(audit)
    assert audit.code == (2 if audit.found() else 1)
    assert audit.summary["trouble"] and audit.err


@pytest.mark.parametrize("tombstones, moment", [("apply", 0.2), ("delete", 0.6)])
def test_a_broker_that_dies(tools, broker_factory, redis_server, tombstones, moment):
    broker = broker_factory()
    pipe = make(tools, broker, redis_server, tombstones=tombstones)
    audit = begin(pipe, "--timeout", "5s")
    time.sleep(moment)
    broker.stop(clean=False)
    died = time.monotonic()
    audit = end(pipe, audit)
    assert time.monotonic() - died < 35         # a silent cluster is waited for once, not for each question
    not_accused(pipe, audit)
    assert {t["partition"] for t in audit.summary["trouble"]} >= set(range(4)), str(audit)
    assert audit.unverifiable("fence-missing") | audit.unverifiable("fence-regressed"), str(audit)
    broker.start()
    check_whole(pipe, pipe.audit(*RATE))


def test_a_redis_that_dies(tools, broker, redis_factory):
    redis_server = redis_factory(options={"appendonly": "yes", "appendfsync": "always"})
    pipe = make(tools, broker, redis_server)
    incomplete = 0
    for n, moment in enumerate((0.4, 0.8, 1.2)):
        audit = begin(pipe, "--timeout", "3s", index=f"index-{n}.db")
        time.sleep(moment)
        redis_server.stop(clean=False)
        audit = end(pipe, audit)
        redis_server.start()
        if audit.complete:          # all keys had been looked at
            check_whole(pipe, audit)
            continue
        incomplete += 1
        not_accused(pipe, audit)
        assert any(t["stage"] == "sample" for t in audit.summary["trouble"]), str(audit)
    assert incomplete
    pipe.redis = redis_server.client()
    check_whole(pipe, pipe.audit(*RATE))


def test_a_redis_that_comes_back(tools, broker, redis_factory):
    """It was killed and has all its data again, but a scan of it cannot go on."""
    redis_server = redis_factory(options={"appendonly": "yes", "appendfsync": "always"})
    pipe = make(tools, broker, redis_server)
    incomplete = 0
    for n, moment in enumerate((0.4, 0.8, 1.2)):
        audit = begin(pipe, index=f"index-{n}.db")
        time.sleep(moment)
        redis_server.stop(clean=False)
        redis_server.start()
        audit = end(pipe, audit)
        if audit.complete:          # the scan had come to its end
            check_whole(pipe, audit)
            continue
        incomplete += 1
        not_accused(pipe, audit)
        assert audit.found() == pipe.must, str(audit)       # keys are asked for one by one all the same
    assert incomplete
