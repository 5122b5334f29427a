"""The servers and the program that the end-to-end tests share.

One broker and one Redis of each version serve a whole run of the suite; each starts when a test first asks for it.
Tests keep apart by the fixture `name`. Whoever stops, pauses or reconfigures a server takes one of their own from
`broker_factory` or `redis_factory`.
"""
import itertools
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import cli
import kafka_broker
import redis_server as redis_servers

_serial = itertools.count(1)


def pytest_configure():
    """A polite end of the run closes the servers, as Ctrl-C does. After any other, they end with this process."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", returncode=143))


def _serve(start):
    server = start()
    try:
        yield server
    finally:
        server.close()


# -- Kafka -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def broker():
    """The shared broker of the default version (kafka_broker.Broker)."""
    yield from _serve(kafka_broker.Broker)


@pytest.fixture(scope="session")
def broker39():
    """The shared broker of the oldest version tested."""
    yield from _serve(lambda: kafka_broker.Broker("3.9.1"))


@pytest.fixture(scope="session", params=kafka_broker.VERSIONS)
def any_broker(request):
    """Each version in turn."""
    return request.getfixturevalue("broker" if request.param == kafka_broker.DEFAULT else "broker39")


@pytest.fixture(scope="session")
def acl_broker():
    """A shared broker whose SASL listener obeys ACLs; give rights for the test's own names only."""
    yield from _serve(lambda: kafka_broker.Broker(acl=True))


@pytest.fixture
def broker_factory():
    """Starts private brokers: broker_factory(version=, acl=, options=, heap=). They end with the test."""
    yield from _factory(kafka_broker.Broker)


@pytest.fixture(scope="session")
def kafka_jars():
    """The class path of the default version."""
    return kafka_broker.jars()


# -- Redis -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def redis70():
    yield from _serve(lambda: redis_servers.RedisServer("7.0"))


@pytest.fixture(scope="session")
def redis62():
    yield from _serve(lambda: redis_servers.RedisServer("6.2"))


@pytest.fixture(scope="session")
def redis82():
    yield from _serve(lambda: redis_servers.RedisServer("8.2"))


@pytest.fixture(scope="session")
def redis_server(redis70):
    """The shared server of the default version (redis_server.RedisServer)."""
    return redis70


@pytest.fixture(scope="session", params=redis_servers.VERSIONS)
def any_redis(request):
    """Each version in turn."""
    return request.getfixturevalue("redis" + request.param.replace(".", ""))


@pytest.fixture
def redis_factory():
    """Starts private servers: redis_factory(version=, options=, username=, password=). They end with the test."""
    yield from _factory(redis_servers.RedisServer)


def _factory(kind):
    started = []

    def start(*args, **kwargs):
        started.append(kind(*args, **kwargs))
        return started[-1]

    try:
        yield start
    finally:
        for server in reversed(started):
            server.close()


# -- the program and the test's own names --------------------------------------------------------------------------

@pytest.fixture(scope="session")
def fencepost():
    """The program under test: .run(args) gives .code .out .err, .popen(args), .path."""
    program = cli.Fencepost()
    if not os.access(program.path, os.X_OK):
        pytest.fail(f"{program.path} is not there: run make")
    return program


@pytest.fixture(scope="session")
def pipeline_bin():
    """The path of a program of the reference pipeline: pipeline_bin("worker")."""
    def path(name):
        program = cli.built("pipeline") / name
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not there: run make")
        return str(program)
    return path


@pytest.fixture(scope="session")
def read_report():
    """read_report(DIRECTORY): .summary .findings .csv .metrics .manifest, .of(check)."""
    return cli.Report


@pytest.fixture
def name(request):
    """A name no other test has: for topics, groups, pipelines and the prefix of Redis keys."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    return f"{words}-{next(_serial)}"


@pytest.fixture
def work():
    """A directory of the test's own with a short path, removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="fencepost-work-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tools(fencepost, pipeline_bin, name, work):
    """What a pipeline under audit (audited.Audited) needs besides its servers."""
    return SimpleNamespace(fencepost=fencepost, pipeline_bin=pipeline_bin, name=name, folder=work)
