"""Healthy histories that look like a loss, and losses that look healthy: each once thought to lead the audit astray."""
from audited import Audited


# -- the mapping ---------------------------------------------------------------------------------------------------

def strangers(redis_server, n=150):
    """Keys of others in the same database, so that the guard of the mapping has both sides."""
    pipe = redis_server.client().pipeline(transaction=False)
    for i in range(n):
        pipe.hset(f"stranger:{i}", "offset", i)
    pipe.execute()


def test_a_group_that_has_not_begun(tools, broker, redis_server):
    """No record key is in Redis, and none has to be: that says nothing about the key template."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server)
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    audit = pipe.audit(code=0)
    assert (audit.status, audit.complete, audit.pipeline["mapping"]) == ("clean", True, "unknown"), str(audit)
    assert {check for check, *_ in audit.found()} == {"commit-missing"}


def test_a_group_that_has_only_begun(tools, broker, redis_server):
    """Fewer than a hundred keys have to be in Redis, and one of them is lost."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server, partitions=1)
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    pipe.run("worker", "--no-join", "--state", "count", "--batch", 1, "--commit-first", "--crash-after", "commit", code=42)
    first = min(pipe.read(), key=lambda r: r.offset)
    assert pipe.committed(1) == [1]
    audit = pipe.audit(code=2)
    assert audit.found() == {("fence-missing", first.key.hex(), 0, 0)}, str(audit)


def test_all_keys_are_deleted(tools, broker, redis_server):
    """Sessions that all have ended leave no hash behind."""
    strangers(redis_server)
    pipe = Audited(tools, broker, redis_server, tombstones="delete")
    pipe.generate("--records", 600, "--keys", 300, "--seed", 1)
    pipe.generate("--records", 6000, "--keys", 300, "--seed", 2, "--tombstones", 1)
    pipe.work()
    assert pipe.states() == {}
    audit = pipe.clean()
    assert audit.check("fence-missing").examined > 250
