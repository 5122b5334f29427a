"""Pipelines that stand in each other's way, and configs that look at nothing: found, or trouble, and never clean."""
import json
import time
from types import SimpleNamespace

import pytest

from audited import Audited


def named(tools, suffix):
    return SimpleNamespace(**{**vars(tools), "name": f"{tools.name}-{suffix}"})


@pytest.fixture
def nested(tools, broker, redis_server):
    """The templates NAME:{key} and NAME:vip:{key} on one Redis, nothing applied yet."""
    outer, inner = (Audited(named(tools, n), broker, redis_server, partitions=3, dlq=None) for n in ("all", "vip"))
    for pipe, prefix in (outer, tools.name + ":"), (inner, tools.name + ":vip:"):
        pipe.key, pipe.prefix = prefix + "{key}", prefix.encode()
    return outer, inner


def audit(pipes, code, out, folder=None, **pipelines):
    """All pipes in one config; {pipeline: (status, its findings as check and key)} and what was said."""
    one = pipes[0]
    config = json.loads(one.configure().read_text())
    for pipe in pipes:
        config["pipelines"].update(json.loads(pipe.configure().read_text())["pipelines"])
    path = one.folder / "all.yaml"
    path.write_text(json.dumps(config))
    done = one.fencepost.run(["audit", "-q", "-c", path, "-o", out], cwd=one.folder)
    assert done.code == code, done.out + done.err
    from cli import Report
    report = Report(one.folder / out)
    return {p["name"]: (p["status"], {(f["check"], f["key"]) for f in report.findings if f["pipeline"] == p["name"]})
            for p in report.summary["pipelines"]}, done


def test_templates_within_each_other(nested):
    """Each hash is one pipeline's: that of the longer template."""
    outer, inner = nested
    for n, pipe in enumerate(nested):
        pipe.generate("--records", 300, "--keys", 80, "--seed", n)
        pipe.work()
    told, _ = audit(nested, 0, "clean")
    assert told == {outer.topic: ("clean", set()), inner.topic: ("clean", set())}
    lost = {pipe.topic: ("findings", {("fence-missing", pipe.fault("fence-lost", "--count", 1)[0]["key"])}) for pipe in nested}
    assert audit(nested, 2, "lost")[0] == lost


def test_a_template_that_takes_all_keys_of_another(nested):
    """Of the other one nothing is looked at, which is not clean."""
    outer, inner = nested
    outer.produce((b"vip:%d" % n, b"v") for n in range(120))
    outer.work()
    outer.redis.delete(*outer.redis.keys(outer.prefix + b"*"))
    inner.produce((b"%d" % n, b"v") for n in range(120))
    inner.work()
    told, done = audit(nested, 1, "out")
    assert told == {outer.topic: ("incomplete", set()), inner.topic: ("clean", set())}
    assert "none of 120 record keys has a Redis key of its own" in done.err and "longer template" in done.out


@pytest.mark.parametrize("form", ["int32", "int64", "uuid", "json"])
def test_keys_that_are_not_of_the_format(tools, broker, redis_server, form):
    """Such keys have no Redis key: none, or next to none, is looked at."""
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.produce((b"user-%d" % n, b"v") for n in range(130))
    pipe.work()
    found = pipe.audit(code=1, key_format=form, index="wrong.db")
    assert found.status == "incomplete" and found.findings == [] and found.pipeline["mapping"] == "broken", str(found)
    assert "the mapping does not fit" in found.out and "key.format: raw would fit" in found.err
    pipe.clean()


def test_few_keys_of_which_none_is_of_the_format(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.produce((b"k%d" % n, b"v") for n in range(5))
    pipe.work()
    assert pipe.audit(code=1, key_format="uuid").status == "incomplete"


def test_a_key_of_another_format_is_no_broken_mapping(tools, broker, redis_server):
    """Where it fitted before, a few keys that cannot be written are unverifiable, and no more."""
    pipe = Audited(tools, broker, redis_server, partitions=3, key_format="int32")
    pipe.produce((n.to_bytes(4, "big"), b"v") for n in range(20))
    pipe.work()
    pipe.clean()
    time.sleep(1.1)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    time.sleep(1.1)
    pipe.produce([(b"odd", b"v")])
    pipe.commit({p: sum(1 for r in pipe.read() if r.partition == p) for p in range(3)})
    for options in ["--since", since], []:
        assert pipe.audit(*options, code=0).unverifiable("fence-missing") == {"no-redis-key": 1}


def test_renamed_and_moved(tools, broker, redis_server):
    """Another name or another address of the same is another pipeline or server: nothing is compared with the past."""
    pipe = Audited(tools, broker, redis_server, partitions=3)
    pipe.generate("--records", 200, "--keys", 40, "--seed", 1)
    pipe.work()
    pipe.clean()
    pipe.redis.set(f"epoch:{pipe.topic}:0", 0)
    config = json.loads(pipe.configure().read_text())
    config["pipelines"] = {"renamed": config["pipelines"][pipe.topic]}
    (pipe.folder / "renamed.yaml").write_text(json.dumps(config))
    for n, url in enumerate([redis_server.unix_url, redis_server.url]):
        done = pipe.fencepost.run(["audit", "-q", "-c", "renamed.yaml", "-o", f"r{n}", "-u", url], cwd=pipe.folder)
        assert done.code == 0, done.out + done.err
    assert {f["check"] for f in pipe.audit(code=2).findings} == {"epoch-regressed"}


def test_passwords_are_not_in_the_list_of_processes(tools, broker, redis_factory):
    server = redis_factory(options={"requirepass": "s3cret"}, password="s3cret")
    pipe = Audited(tools, broker, server, partitions=1)
    pipe.produce((b"k%d" % n, b"v") for n in range(60))
    path = pipe.configure()
    process = pipe.fencepost.popen(["audit", "-q", "-c", path, "-u", f"redis://:s3cret@127.0.0.1:{server.port}/0",
                                    "-X", "sasl.password=s3cret", "--redis-rate", "20"], cwd=pipe.folder)
    try:
        until = time.monotonic() + 20
        while not (pipe.folder / "fencepost.db").exists() and time.monotonic() < until:
            time.sleep(0.02)
        with open(f"/proc/{process.pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
        assert process.poll() is None and b"redis://***" in b" ".join(words) and b"s3cret" not in b" ".join(words), words
        assert b"sasl.password=******" in words and str(path).encode() in words
        process.terminate()
        out, err = process.communicate(timeout=30)
        assert "s3cret" not in out + err
        assert all(b"s3cret" not in p.read_bytes() for p in pipe.folder.iterdir() if p.is_file() and p.name != path.name)
    finally:
        process.kill()
        process.wait()
