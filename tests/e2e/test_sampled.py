"""An audit of a part of the keys: what it finds is true, what it says of the part is exact, and parts nest."""
import pytest

from audited import Audited


@pytest.fixture
def wide(tools, broker, redis_factory):
    """2,000 keys with two records and more, none of them recent."""
    pipe = Audited(tools, broker, redis_factory())
    pipe.top = {"recent": "1ms"}
    for n in range(2):
        pipe.produce((b"key-%d" % k, b"v") for k in range(2000))
    pipe.work("--batch", 2000)
    pipe.produce([(b"last", b"v")])
    return pipe


def stratum(audit, name="main"):
    [sample] = audit.pipeline["sample"]
    [found] = [s for s in sample["strata"] if s["stratum"] == name]
    return found


def test_parts(wide):
    pipe, found, sizes = wide, [], []
    for n in range(2000):
        if n % 3 == 0:
            pipe.redis.delete(pipe.hash(b"key-%d" % n))
        elif n % 3 == 1:
            pipe.redis.hset(pipe.hash(b"key-%d" % n), "value", "7")
        stranger = b"stranger-%d" % n
        pipe.redis.hset(pipe.hash(stranger), mapping={"partition": pipe.home(stranger), "offset": 1})
    for size in (40, 300, 1000000):
        pipe.top["sample.keys"] = size
        audit = pipe.audit("--redis-rate", "0", code=2, index=f"{size}.db")
        main = stratum(audit)
        by = {name: {bytes.fromhex(f["key_hex"]) for f in audit.findings if f["check"] == name}
              for name in ("fence-missing", "fence-count", "fence-orphan")}
        assert sum(map(len, by.values())) == len(audit.findings), str(audit)
        assert all(int(k[4:]) % 3 == 0 for k in by["fence-missing"])
        assert all(int(k[4:]) % 3 == 1 for k in by["fence-count"])
        assert all(k.startswith(b"stranger-") for k in by["fence-orphan"])
        # every bad key of the part was found: a third of its record keys each, and all strangers in it
        # the key that no worker has come to may be in the part, without a hash
        there = audit.check("fence-missing").examined - len(by["fence-missing"])
        assert there - audit.check("fence-ahead").examined in (0, 1)
        assert main["bad"] == len(by["fence-missing"]) + len(by["fence-count"])
        assert main["keys"] - len(by["fence-missing"]) - audit.check("fence-malformed").examined in (0, 1)
        if size < 2000:
            assert size / 4 < main["keys"] - len(by["fence-orphan"]) <= size + 1 and not main["whole"]
            assert main["bound_95_ppb"] > 1e9 * main["bad"] / main["decided"]
            assert f"{main['fraction_ppb'] / 1e7:.1f}"[:3] in audit.out, audit.out
        found.append(set().union(*by.values()))
        sizes.append(main["keys"])
    assert found[0] < found[1] < found[2] and len(found[2]) == 667 + 667 + 2000
    assert sizes[2] == 4001


def test_a_part_that_is_clean(wide):
    wide.top["sample.keys"] = 100
    audit = wide.clean("--redis-rate", "0")
    main = stratum(audit)
    n = main["decided"]
    assert 25 < n <= 101 and main["bad"] == 0
    assert abs(main["bound_95_ppb"] / 1e9 - (1 - 0.05 ** (1 / n))) < 1e-6      # the exact binomial bound for none in n
    audit = wide.clean("--redis-rate", "0", "--all")
    assert stratum(audit)["whole"] and audit.check("fence-regressed").examined == 2000


def test_memory_that_does_not_hold_the_sample(tools, broker, redis_factory):
    """Half of it, and half again; what was not looked at is not said to have been."""
    pipe = Audited(tools, broker, redis_factory())
    pipe.generate("--records", 30000, "--keys", 20000, "--seed", 1)
    pipe.work("--batch", 5000)
    audit = pipe.clean("--memory", "1M", "--redis-rate", "0")
    keys = audit.pipeline["sample"][0]["history_keys"]
    examined = audit.check("fence-regressed").examined
    assert 100 < examined < keys / 2
    assert audit.pipeline["sample"][0]["keys"] == examined
    for name in ("main", "recent"):
        part = stratum(audit, name)
        assert part["decided"] == part["keys"] <= examined and not part["whole"]
        assert 0.7 < part["fraction_ppb"] / 1e9 / (part["keys"] / keys) < 1.4
        assert abs(part["bound_95_ppb"] / 1e9 - (1 - 0.05 ** (1 / part["keys"]))) < 1e-5
    assert "does not fit in the memory" in audit.err
    # the record of a key outside the part is no reason to miss anything inside it
    [facts] = pipe.fault("fence-back", "--count", 1)
    assert len(pipe.audit("--redis-rate", "0", code=2).findings) == 1, facts
