"""A config that maps keys wrongly is trouble, not two million lost fences; where it fitted before, the loss is real."""
import pytest

from audited import Audited

KEYS = 120


@pytest.fixture
def redis_alone(redis_factory):
    """A server whose keys are the test's own: the guard counts what the database holds."""
    return redis_factory()


def made(tools, broker, redis, form="raw", keys=KEYS, **settings):
    pipe = Audited(tools, broker, redis, key_format=form, **settings)
    words = {"hex": "binary", "base64": "binary"}
    for n in range(2):
        pipe.generate("--records", keys * 4, "--keys", keys, "--seed", n, "--key-format", words.get(form, form))
    pipe.work()
    assert len(pipe.by_key()) == len(pipe.states()) >= keys - 1
    return pipe


def assert_broken(audit, *words):
    assert audit.code == 1 and audit.findings == [], str(audit)
    assert audit.status == "incomplete" and audit.pipeline["mapping"] == "broken"
    for word in ("the mapping does not fit", *words):
        assert word in audit.err and word in audit.out, str(audit)
    assert all(c.examined == 0 and c.status != "pass" for n, c in audit.checks.items() if n.startswith("fence-"))


@pytest.mark.parametrize("form", ["int32", "int64", "uuid", "hex", "base64"])
def test_a_wrong_key_format(tools, broker, redis_alone, form):
    pipe = made(tools, broker, redis_alone, form)
    audit = pipe.audit(key_format="raw", index="wrong.db")
    assert_broken(audit, f"key.format: {form} would fit", "key.format: raw")
    assert audit.pipeline["mapping_hint"] == form
    # what Kafka alone shows is checked all the same
    assert audit.check("copartition-break").examined >= KEYS and audit.check("commit-beyond-log").examined == 6
    assert pipe.clean().pipeline["mapping"] == "fits"


def test_raw_keys_taken_for_numbers(tools, broker, redis_alone):
    """Most such keys have no number in them at all: they are no reason to call the pipeline empty."""
    pipe = made(tools, broker, redis_alone)
    assert_broken(pipe.audit(key_format="hex"), "key.format: raw would fit")


def test_a_wrong_template(tools, broker, redis_alone):
    pipe = made(tools, broker, redis_alone)
    audit = pipe.audit(key="states:{key}", index="wrong.db")
    assert_broken(audit, "none of", "states:{key}", "in any key.format", "redis.url")
    assert audit.pipeline["mapping_hint"] is None
    # again with the same wrong config: an earlier run that did not match proves nothing
    assert_broken(pipe.audit(key="states:{key}", index="wrong.db"))
    # and one of another config that matched proves nothing for this one
    pipe.clean(index="wrong.db")
    assert_broken(pipe.audit(key="states:{key}", index="wrong.db"))


def lose_all(pipe):
    """Every hash of the pipeline is gone, and the database is not empty."""
    for key in pipe.redis.scan_iter(match=pipe.prefix + b"*"):
        pipe.redis.delete(key)
    for n in range(200):
        pipe.redis.set(f"session:{n}", "x")


def test_what_matched_before_is_lost_now(tools, broker, redis_alone):
    pipe = made(tools, broker, redis_alone)
    pipe.clean()
    newest = {k: rs[-1] for k, rs in pipe.by_key().items()}
    lose_all(pipe)
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-missing", k.hex(), r.partition, r.offset) for k, r in newest.items()}, str(audit)
    assert audit.complete
    # without that earlier run nobody can tell loss from a wrong config
    assert_broken(pipe.audit(index="fresh.db"))


def test_an_empty_database_is_a_loss(tools, broker, redis_alone):
    """A wrong template finds no key too; but with nothing in Redis at all, no other mapping could fit either."""
    pipe = made(tools, broker, redis_alone)
    redis_alone.flush()
    audit = pipe.audit(code=2)
    keys = len(pipe.by_key())
    checks = {name: sum(f["check"] == name for f in audit.findings) for name in {f["check"] for f in audit.findings}}
    assert checks == {"fence-missing": keys, "epoch-missing": 6}, str(audit)


def test_few_keys_are_not_guarded(tools, broker, redis_alone):
    """With less than 100 keys on a side a coincidence is possible: the facts are told."""
    pipe = made(tools, broker, redis_alone, keys=60)
    lose_all(pipe)
    audit = pipe.audit(code=2)
    assert len(audit.findings) == len(pipe.by_key()) and {f["check"] for f in audit.findings} == {"fence-missing"}


def test_a_pipeline_that_has_not_begun(tools, broker, redis_alone):
    """Nothing was committed: that no key is there is as it should be, and not a wrong config."""
    pipe = Audited(tools, broker, redis_alone)
    pipe.generate("--records", 600, "--keys", 150, "--seed", 1)
    for n in range(200):
        pipe.redis.set(f"session:{n}", "x")
    audit = pipe.audit(code=0)
    assert {f["check"] for f in audit.findings} == {"commit-missing"}, str(audit)
    assert audit.unverifiable("fence-missing") == {"no-commit": len(pipe.by_key())}
