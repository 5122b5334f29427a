"""Other names, several topics, several pipelines, no Redis: each is clean, and one fault is found where it was done."""
import json
from types import SimpleNamespace

import pytest

from audited import Audited


@pytest.fixture
def pipeline(tools, broker, redis_server):
    return lambda **settings: Audited(tools, broker, redis_server, **settings)


def found(facts, check="fence-regressed"):
    return (check, facts.key_hex, facts.partition, facts.newest)


def test_other_names(pipeline):
    """Fields, epochs, and braces that are literal in the templates."""
    pipe = pipeline(field_value="offset", field_offset="o", field_partition="p", state="sum")
    pipe.key, pipe.prefix = f"{{{{tag}}}}{pipe.topic}:{{key}}:x", b"{tag}" + pipe.prefix
    epoch = f"{pipe.topic}-{{{{owner}}}}-{{partition}}"
    names = ["--field-value", "offset", "--field-offset", "o", "--field-partition", "p", "--epoch", epoch]
    pipe.generate("--records", 400, "--keys", 60, "--seed", 3, "--numbers")
    pipe.work(*names)
    assert set(pipe.redis.hkeys(pipe.hash(b"user-1:x"))) == {b"offset", b"p", b"o"}
    pipe.top["recent"] = "1h"
    audit = pipe.clean(epoch=epoch)
    keys = len(pipe.by_key())
    assert audit.check("fence-count").examined == audit.check("fence-regressed").examined == keys
    assert audit.check("epoch-missing").examined == audit.check("epoch-malformed").examined == 6
    [facts] = pipe.fault("fence-back", "--key-text", "user-1", *names[:6], "--epoch", epoch)
    audit = pipe.audit(code=2, epoch=epoch)
    assert audit.found() == {found(SimpleNamespace(**facts))}, str(audit)
    # under the standard names these hashes are no fences at all
    audit = pipe.audit(code=2, epoch=epoch, field_offset="offset", field_partition="partition", field_value="value")
    assert {f["check"] for f in audit.findings} == {"fence-malformed"} and len(audit.findings) == keys


def siblings(tools, broker, redis_server, count):
    """Pipelines of the same group, whose topics share a template."""
    pipes = []
    for n in range(count):
        mine = SimpleNamespace(**{**vars(tools), "name": f"{tools.name}-{n}"})
        pipe = Audited(mine, broker, redis_server, partitions=3, dlq=None)
        pipe.group, pipe.key, pipe.prefix = tools.name, tools.name + ":{topic}:{key}", \
            f"{tools.name}:{mine.name}:".encode()
        pipe.generate("--records", 300, "--keys", 50, "--seed", n)
        pipe.work()
        pipes.append(pipe)
    return pipes


@pytest.mark.parametrize("topics", ["list", "regex"])
def test_several_topics(tools, broker, redis_server, topics):
    one, two = siblings(tools, broker, redis_server, 2)
    named = [one.topic, two.topic] if topics == "list" else f"^{tools.name}-[01]$"
    audit = one.clean(topic=named)
    assert audit.check("fence-regressed").examined == len(one.by_key()) + len(two.by_key())
    assert {t["topic"] for t in audit.pipeline["topics"]} == {one.topic, two.topic}
    # the same key in both topics: only the one that lost something is told
    facts = two.harm("fence-back", b"user-3")
    audit = one.audit(code=2, topic=named)
    assert audit.found() == {found(facts)} and audit.one("fence-regressed").topic == two.topic, str(audit)


def test_several_pipelines(tools, broker, redis_server):
    """In one config; each has its own status, and the worst is the run's."""
    one, two = siblings(tools, broker, redis_server, 2)
    config = json.loads(one.configure(key=f"{tools.name}:{one.topic}:{{key}}").read_text())
    config["pipelines"][two.topic] = {**config["pipelines"][one.topic], "topic": two.topic,
                                      "key": f"{tools.name}:{two.topic}:{{key}}"}
    path = one.folder / "both.yaml"
    path.write_text(json.dumps(config))
    facts = two.harm("fence-lost", b"user-3")
    done = one.fencepost.run(["audit", "-q", "-c", path, "-o", "both"], cwd=one.folder)
    assert done.code == 2, done.out + done.err
    summary = json.loads((one.folder / "both/summary.json").read_text())
    assert {p["name"]: p["status"] for p in summary["pipelines"]} == {one.topic: "clean", two.topic: "findings"}
    assert f"{one.topic}  CLEAN" in done.out and f"{two.topic}  FINDINGS  fence-missing 1 of" in done.out
    assert facts.key in done.out


def test_without_redis(pipeline):
    pipe = pipeline()
    pipe.generate("--records", 300, "--keys", 50, "--seed", 1)
    pipe.work()
    config = json.loads(pipe.configure(key=None, epoch=None, state=None).read_text())
    config["redis"] = "none"
    (pipe.folder / "fencepost.yaml").write_text(json.dumps(config))
    done = pipe.fencepost.run(["audit", "-q", "-o", "out", "--format", "json"], cwd=pipe.folder)
    assert done.code == 0, done.out + done.err
    checks = {c["check"]: c["status"] for c in json.loads(done.out)["pipelines"][0]["checks"]}
    assert {name for name, status in checks.items() if status == "pass"} == {
        "copartition-break", "copartition-cause", "topic-resized", "commit-missing", "commit-below-log",
        "commit-beyond-log", "lso-stuck"}
    assert all(status == "skip" for name, status in checks.items() if name.startswith(("fence-", "epoch-")))
    [(partition, offset)] = pipe.produce([(b"user-1", b"v")], partition=(pipe.home(b"user-1") + 1) % 6)
    done = pipe.fencepost.run(["audit", "-q", "-o", "out2", "--format", "json"], cwd=pipe.folder)
    assert done.code == 2 and json.loads(done.out)["findings"]["error"] == 2
