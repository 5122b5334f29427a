"""A run that looks at less than it was told to is not complete, however clean the rest is."""
from types import SimpleNamespace

from audited import Audited
from cli import Report as read_report


def test_a_topic_of_a_pattern_that_is_gone_is_missed_once(tools, broker, redis_server):
    stays, goes = (Audited(SimpleNamespace(**{**vars(tools), "name": f"{tools.name}-{n}"}), broker, redis_server, partitions=2)
                   for n in (1, 2))
    for n, pipe in enumerate((stays, goes)):
        pipe.generate("--records", 60, "--keys", 20, "--seed", n)
        pipe.prefix = pipe.topic.encode() + b":"
        pipe.key = pipe.topic + ":{key}"
        pipe.group = stays.group
        pipe.work()
    pattern = {"topic": f"^{tools.name}-[0-9]$", "key": "{topic}:{key}", "dlq": None}
    stays.audit(code=0, **pattern)
    broker.delete_topic(goes.topic)
    missed = stays.audit(code=1, **pattern)
    assert (missed.status, missed.complete) == ("incomplete", False), str(missed)
    assert f"topic {goes.topic}, which run 1 looked at, is not there any more" in missed.err, str(missed)
    stays.audit(code=0, **pattern)


def test_all_keys_do_not_fit_the_memory(tools, broker, redis_server):
    pipe = Audited(tools, broker, redis_server, partitions=2)
    pipe.generate("--records", 40000, "--keys", 40000, "--seed", 3)
    pipe.work()
    part = pipe.audit("--all", "--memory", "1M", "--redis-rate", "0", code=1)
    assert (part.status, part.complete) == ("incomplete", False), str(part)
    assert "--memory holds only a part of them" in part.out, str(part)
    pipe.clean("--all", "--redis-rate", "0")


def test_a_topic_created_anew_between_two_looks(tools, broker, redis_server):
    """The sample is that of a history which is gone: nothing is lost by it, and the run says that it is not complete."""
    pipe = Audited(tools, broker, redis_server, partitions=2, dlq=None)
    pipe.generate("--records", 200, "--keys", 50, "--seed", 5)
    pipe.work()
    path = pipe.configure(horizon="age:8s")
    audit = tools.fencepost.popen(["audit", "-c", path, "-o", tools.folder / "out"], cwd=tools.folder)
    for line in audit.stderr:
        if "waiting" in line:
            break
    broker.delete_topic(pipe.topic)
    broker.create_topic(pipe.topic, 2)
    pipe.produce((b"new-%d" % n, b"v") for n in range(20))
    out, err = audit.communicate(timeout=60)
    assert audit.returncode in (1, 2), out + err
    assert "created anew, or its history rewritten, while it was looked at" in out + err
    report = read_report(tools.folder / "out")
    assert not report.summary["complete"]
    assert {f["check"] for f in report.of_pipelines} <= {"history-rewritten", "fence-ahead"}
