"""The whole way, on every broker with every Redis: a worker's pipeline is clean, one fence set back is one finding."""
import random
from types import SimpleNamespace

from audited import Audited


def test_core(tools, any_broker, any_redis):
    pipe = Audited(tools, any_broker, any_redis)
    made = pipe.generate("--records", 3000, "--keys", 200, "--seed", 7, "--poison", 0.01, "--null-keys", 0.01,
                         "--tombstones", 0.02)
    pipe.work("--poison")
    audit = pipe.clean()
    assert audit.check("fence-regressed").examined == audit.check("fence-count").examined == 200
    assert audit.check("fence-regressed").unverifiable == audit.check("fence-count").unverifiable == {}
    assert audit.check("copartition-break").examined > 0
    assert sum(h["records"] for h in audit.horizon().values()) == 3000 == made["records"]

    key = random.Random(7).choice(sorted({r.key for r in pipe.read() if r.key}))
    facts = pipe.harm("fence-back", key, "--records", 3, "--poison")
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-regressed", key.hex(), pipe.home(key), facts.newest)}, str(audit)
    finding = audit.one("fence-regressed")
    assert (finding.key, finding.redis_key, finding.topic) == (key.decode(), pipe.hash(key).decode(), pipe.topic)
    evidence = SimpleNamespace(**finding.evidence)
    assert evidence.kind == "offset" and evidence.recheckable is True
    assert evidence.fence == facts.fence
    assert evidence.expected == {"partition": pipe.home(key), "offset": facts.newest}
    assert (evidence.lost, evidence.first_lost["offset"], evidence.last_lost["offset"]) == \
        (3, facts.first_lost, facts.last_lost)
    times = {(r.partition, r.offset): r.timestamp for r in pipe.read()}
    assert evidence.first_lost["time_ms"] == times[pipe.home(key), facts.first_lost]
    assert evidence.last_lost["time_ms"] == times[pipe.home(key), facts.last_lost]
    assert finding.severity == "error" and audit.status == "findings" and audit.complete
