"""TLS to Redis, against a server with certificates made here: what is trusted, what is refused, and in which words."""
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from handmade import Handmade
from redis_server import RedisServer
from sampling import fill, look  # noqa: F401 (one is a fixture)
from tls_server import Certificates, Stranger, TlsServer

SECRET = "tls-s3cret"
SECTION = """openssl_conf = init
[init]
ssl_conf = programs
[programs]
fencepost = redis
[redis]
"""

@pytest.fixture(scope="module")
def certificates():
    folder = Path(tempfile.mkdtemp(prefix="fencepost-tls-"))
    yield Certificates(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shared(certificates):
    server = TlsServer(certificates, user=f"auditor on >{SECRET} ~* +@read -@dangerous +info +ping")
    client = server.client()
    client.xgroup_create("orders", "workers", id="0", mkstream=True)
    client.xadd("orders", {"a": "1"})
    client.xreadgroup("workers", "w1", {"orders": ">"})
    yield server
    server.close()


@pytest.fixture
def server(shared):
    yield shared
    shared.show()


@pytest.fixture
def audit(fencepost, certificates, work):
    """audit(url): of one stream, with no broker; .code .out .err .seconds.

    redis: more keys of the redis section. streams: others, with keys of their own redis sections. section: OpenSSL's for
    fencepost. ca: SSL_CERT_FILE.
    """

    def run(url, ca="ours", section=None, timeout="20s", redis=None, streams=None):
        config = work / "fencepost.yaml"
        streams = {"orders": {}, **(streams or {})}
        config.write_text(json.dumps({"redis": {"url": url, **(redis or {})}, "streams": {
            name: {"key": "orders", "redis": own} for name, own in streams.items()}}))
        env = {"SSL_CERT_FILE": certificates.pem(ca) if ca else None, "SSL_CERT_DIR": None, "OPENSSL_CONF": None}
        if section is not None:
            (work / "openssl.cnf").write_text(SECTION + "".join(f"{k} = {v}\n" for k, v in section.items()))
            env["OPENSSL_CONF"] = work / "openssl.cnf"
        shutil.rmtree(work / "out", ignore_errors=True)
        began = time.monotonic()
        done = fencepost.run(["audit", "-q", "-c", config, "-o", work / "out", "--timeout", timeout], cwd=work, env=env)
        done.seconds = time.monotonic() - began
        return done

    return run


@pytest.fixture(scope="module")
def has_tls():
    """Whether the program has TLS, once it is known."""
    return []


@pytest.fixture
def tls(audit, server, has_tls):
    """As audit, where the program has TLS."""
    if not has_tls:
        has_tls.append("this build has no TLS" not in audit(server.tls_url()).err)
    if not has_tls[0]:
        assert subprocess.run(["pkg-config", "--exists", "libssl"]).returncode != 0, "libssl is here, and the program was built without it"
        pytest.skip("built without TLS")
    return audit


def client_certificate(certificates, name, **more):
    return {"Certificate": certificates.pem(name), "PrivateKey": certificates.key(name), **more}


def refused(done, server, *words, port=None):
    """It says at once what was being done, at which server and why, and ends with trouble."""
    address = f"redis 127.0.0.1:{port or server.tls_port}/0: "
    assert done.code == 1 and done.seconds < 10, done.err
    assert address in done.err and all(word in done.err for word in words), done.err
    assert "CLEAN" not in done.out and SECRET not in done.out + done.err


# -- who is trusted --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_certificate_that_names_the_host(tls, server, host):
    done = tls(server.tls_url(host=host))
    assert done.code == 0 and f"{host}:{server.tls_port}/0" in done.out, done.out + done.err


@pytest.mark.parametrize("ca", ["theirs", None])
def test_an_authority_that_is_not_trusted(tls, server, ca):
    refused(tls(server.tls_url(), ca=ca), server, "TLS: the server's certificate is not trusted", "SSL_CERT_FILE")


def test_an_authority_that_openssl_is_told_of(tls, server, certificates):
    done = tls(server.tls_url(), ca=None, section={"VerifyCAFile": certificates.pem("ours")})
    assert done.code == 0, done.err


def test_a_certificate_of_another_host(tls, server):
    server.show("named")
    refused(tls(server.tls_url()), server, "TLS: the server's certificate does not name 127.0.0.1")


def test_an_expired_certificate(tls, server):
    server.show("expired")
    refused(tls(server.tls_url()), server, "TLS: the server's certificate is not valid now: certificate has expired")


# -- whom the server trusts ------------------------------------------------------------------------------------------

VERSIONS = pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])


@VERSIONS
def test_a_client_certificate_that_is_demanded(tls, server, certificates, version):
    server.show(auth="yes")
    refused(tls(server.tls_url(), section={"MaxProtocol": version}), server, "TLS: the server demands a client's certificate")
    done = tls(server.tls_url(), section=client_certificate(certificates, "client", MaxProtocol=version))
    assert done.code == 0, done.err


@VERSIONS
def test_a_client_certificate_of_a_stranger(tls, server, certificates, version):
    server.show(auth="yes")
    refused(tls(server.tls_url(), section=client_certificate(certificates, "stranger", MaxProtocol=version)), server,
            "TLS: the server does not take this client's certificate", "tls-ca-cert-file")


@pytest.mark.parametrize("wrong,word", [
    ({"Certificate": "/nowhere.pem"}, "/nowhere.pem"), ({"PrivateKey": "{dir}/stranger.key"}, "values mismatch"),
    ({"Certificat": "{dir}/client.pem"}, "does not know")])
def test_a_section_that_cannot_be_obeyed(tls, server, certificates, wrong, word):
    wrong = {k: v.format(dir=certificates.dir) for k, v in wrong.items()}
    done = tls(server.tls_url(), section={**client_certificate(certificates, "client"), **wrong})
    refused(done, server, "section fencepost of OpenSSL's configuration file (OPENSSL_CONF)", word)


def test_a_section_for_another_program(tls, server, work):
    done = tls(server.tls_url(), section={})
    assert done.code == 0, done.err
    (work / "openssl.cnf").write_text(SECTION.replace("fencepost", "another"))
    done = tls(server.tls_url())
    assert done.code == 0, done.err


# -- what the redis section says --------------------------------------------------------------------------------------

def settings(certificates, ca="ours", cert=None, **more):
    files = {"tls.ca": certificates.pem(ca)} if ca else {}
    if cert:
        files.update({"tls.cert": certificates.pem(cert), "tls.key": certificates.key(cert)})
    return {**files, **more}


def test_a_client_certificate_of_the_section(tls, server, certificates, work):
    """It wins over that of OpenSSL's file, also where TLS would rather take a key of that kind. Relative paths work."""
    server.show(auth="yes")
    mine = {k: os.path.relpath(v, work) for k, v in settings(certificates, cert="rsa-client").items()}
    done = tls(server.tls_url(), ca=None, redis=mine, section={
        **client_certificate(certificates, "stranger"), "VerifyCAFile": certificates.pem("theirs")})
    assert done.code == 0, done.err
    refused(tls(server.tls_url(), redis=settings(certificates, cert="stranger")), server,
            "TLS: the server does not take this client's certificate")
    refused(tls(server.tls_url(), redis=settings(certificates)), server,
            "TLS: the server demands a client's certificate", "tls.cert and tls.key")


def test_an_authority_of_the_section_alone_counts(tls, server, certificates):
    done = tls(server.tls_url(), redis=settings(certificates, ca="theirs"), section={"VerifyCAFile": certificates.pem("ours")})
    refused(done, server, "TLS: the server's certificate is not trusted", f"tls.ca, {certificates.pem('theirs')}, must have")


def test_a_name_that_the_url_has_not(tls, server, certificates):
    server.show("named")
    done = tls(server.tls_url(), redis=settings(certificates, **{"tls.name": "redis-1.invalid"}))
    assert done.code == 0 and f"127.0.0.1:{server.tls_port}/0" in done.out, done.out + done.err
    done = tls(server.tls_url(), redis=settings(certificates, **{"tls.name": "redis-2.invalid"}))
    refused(done, server, "TLS: the server's certificate does not name redis-2.invalid")
    server.show()
    done = tls(server.tls_url(host="localhost"), redis=settings(certificates, **{"tls.name": "127.0.0.1"}))
    assert done.code == 0, done.err


def test_the_name_that_is_asked_for(tls, certificates):
    names = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.pem("server"), certificates.key("server"))
    context.sni_callback = lambda _socket, sni, _context: names.append(sni)
    with Stranger(lambda client: context.wrap_socket(client, server_side=True).close()) as stranger:
        address, host = (f"rediss://{host}:{stranger.port}/0" for host in ("127.0.0.1", "localhost"))
        done = tls(address, streams={"by-name": {"url": host}, "named": {"tls.name": "redis-1.invalid"},
                                     "by-address": {"url": host, "tls.name": "127.0.0.1"}})
    assert done.code == 1 and names == [None, "localhost", "redis-1.invalid", None], (names, done.err)


BAD_FILES = [
    *((key, "none.pem", "cannot read {path}: No such file or directory") for key in ("tls.ca", "tls.cert", "tls.key")),
    *((key, "cut.pem", "{path} has no " + what + " in PEM that OpenSSL takes: ")
      for key, what in (("tls.ca", "certificate"), ("tls.cert", "certificate"), ("tls.key", "key"))),
    ("tls.ca", "empty", "{path} has no certificate in PEM that OpenSSL takes: no certificate or crl found"),
    ("tls.ca", "", "{path} has no certificate"),
    ("tls.key", "server.key", "{path} is not the key of the certificate in {dir}/client.pem: key values mismatch"),
    ("tls.key", "rsa-client.key", "{path} is not the key of the certificate in {dir}/client.pem: of another kind"),
    ("tls.key", "locked.key", "{path}: it is encrypted with a pass phrase, and nobody is asked for one")]


def test_files_that_cannot_be_used(tls, server, certificates):
    """Of one server each, so that one run tells of them all."""
    folder = certificates.dir
    streams = {f"s{i}": settings(certificates, cert="client", **{key: str(folder / file)})
               for i, (key, file, _) in enumerate(BAD_FILES)}
    done = tls(server.tls_url(), redis=settings(certificates), streams=streams)
    assert done.code == 1 and "streams/orders  CLEAN" in done.out and "Enter" not in done.err, done.out + done.err
    said = done.err.splitlines()
    assert len(said) == len(BAD_FILES), done.err
    for i, (key, file, words) in enumerate(BAD_FILES):
        words = words.format(path=folder / file, dir=folder)
        assert f"streams/s{i}: redis 127.0.0.1:{server.tls_port}/0: TLS: {key}: {words}" in said[i]


def test_a_locked_key_of_openssl_s_file(tls, server, certificates):
    done = tls(server.tls_url(), section=client_certificate(certificates, "client", PrivateKey=certificates.dir / "locked.key"))
    refused(done, server, "section fencepost of OpenSSL's configuration file (OPENSSL_CONF)", "encrypted with a pass phrase")
    assert "Enter" not in done.err


def test_servers_that_want_different_certificates(tls, server, certificates):
    """In one run, with a third that speaks no TLS; and the words of the one that cannot be read name it alone."""
    server.show(auth="yes")
    other = TlsServer(certificates, **{"tls-cert-file": certificates.pem("other-server"),
                                       "tls-key-file": certificates.key("other-server"),
                                       "tls-ca-cert-file": certificates.pem("theirs"), "tls-auth-clients": "yes"})
    try:
        other.client().xadd("orders", {"a": "1"})
        other.client().xgroup_create("orders", "workers")
        theirs = {"url": other.tls_url(), **settings(certificates, "theirs", "stranger", **{"tls.name": "redis-2.invalid"})}
        plain = {"url": server.unix_url}
        done = tls(server.tls_url(), ca=None, redis=settings(certificates, cert="client"),
                   streams={"their-orders": theirs, "plain-orders": plain})
        assert done.code == 0 and not done.err, done.err
        done = tls(server.tls_url(), ca=None, redis=settings(certificates, cert="client"),
                   streams={"their-orders": {"url": other.tls_url()}, "plain-orders": plain})
    finally:
        other.close()
    assert done.code == 1 and all(f"streams/{s}  CLEAN" in done.out for s in ("orders", "plain-orders")), done.out + done.err
    assert [line.partition(": streams ")[2].split(":")[0] for line in done.err.splitlines()] == ["streams/their-orders"]
    assert "certificate is not trusted" in done.err


def test_pipelines_with_and_without(tls, fencepost, read_report, broker, server, certificates, name, work):
    server.show(auth="yes")
    pipeline = Handmade(broker, server, name, work).make()
    server.client().delete(pipeline.redis_key("k7"))
    config = pipeline.configure(pipeline={"redis": {"url": server.tls_url(), **settings(certificates, cert="client")}})
    config.write_text(config.read_text() + f"  plain: {{topic: {name}, group: {name}, key: '{pipeline.redis_key('{key}')}'}}\n")
    done = fencepost.run(["audit", "-q", "-c", config, "-o", work / "both"], cwd=work, env={"SSL_CERT_FILE": None})
    assert done.code == 2 and not done.err, done.err
    found = [(f["pipeline"], f["check"], f["key"]) for f in read_report(work / "both").of_pipelines]
    assert sorted(found) == sorted((which, "fence-missing", "k7") for which in (name, "plain")), found


def test_the_master_of_a_replica(tls, server, certificates, look):
    """It is asked with what the replica is asked with."""
    server.show(auth="yes")
    replica = TlsServer(certificates, **{"replicaof": f"127.0.0.1 {server.tls_port}", "tls-replication": "yes"})
    try:
        replica.child.wait_until(lambda: replica.client().info()["master_link_status"] == "up", timeout=20, step=0.01)
        seen = look(replica.tls_url(), ["catch-up=5000"], key='"s:{key}"', redis=settings(certificates, cert="client"))
        assert seen.counts.replica == "passed", seen.err
        seen = look(replica.tls_url(), ["catch-up=5000"], key='"s:{key}"', redis=settings(certificates))
        assert "demands a client's certificate" in seen.counts.replica, seen.counts.replica
    finally:
        replica.close()


# -- users ------------------------------------------------------------------------------------------------------------

def test_a_user(tls, server, work):
    done = tls(server.tls_url(user=f"auditor:{SECRET}@"))
    assert done.code == 0, done.err
    assert SECRET not in done.out + done.err
    refused(tls(server.tls_url(user=f"auditor:{SECRET}x@")), server, "wrong password for user auditor")
    written = [path for path in work.rglob("*") if path.is_file() and path.name != "fencepost.yaml"]
    assert len(written) > 3 and not [path for path in written if SECRET.encode() in path.read_bytes()]


# -- who does not speak TLS ------------------------------------------------------------------------------------------

def test_a_plain_client_at_a_port_with_tls(audit, server):
    refused(audit(f"redis://auditor:{SECRET}@127.0.0.1:{server.tls_port}/0"), server, "does it want TLS there (rediss://)?")


def test_tls_at_a_plain_port(tls, server):
    done = tls(f"rediss://auditor:{SECRET}@127.0.0.1:{server.port}/0", timeout="1s")
    refused(done, server, "does it speak TLS on this port (tls-port)", port=server.port)


def test_a_server_that_hangs_up(tls, server):
    with Stranger(lambda client: client.recv(1)) as stranger:
        done = tls(f"rediss://127.0.0.1:{stranger.port}/0")
    refused(done, server, "TLS: the connection broke before the server said anything", port=stranger.port)


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_server_of_something_else(audit, server, certificates, encrypted, request):
    """It answers, and what it says is no Redis: waiting will not help."""
    if encrypted:
        request.getfixturevalue("tls")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.pem("server"), certificates.key("server"))

    def answer(client):
        with context.wrap_socket(client, server_side=True) if encrypted else client as spoken:
            spoken.recv(1)
            spoken.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            spoken.recv(4096)       # no data is left unread: hanging up is no reset

    with Stranger(answer) as stranger:
        done = audit(f"redis{'s' * encrypted}://127.0.0.1:{stranger.port}/0")
    refused(done, server, "Protocol error", port=stranger.port)


# -- the same audit as over plain -------------------------------------------------------------------------------------

def test_an_audit_finds_the_same(tls, fencepost, read_report, broker, server, certificates, name, work):
    pipeline = Handmade(broker, server, name, work).make(records=20000, keys=5000)
    client = server.client()
    client.delete(pipeline.redis_key("k7"))
    client.hset(pipeline.redis_key("k8"), "offset", 10**9)
    client.hset(pipeline.redis_key("k9"), "offset", "x")
    found = []
    for url in (server.url, server.tls_url(), server.tls_url(user=f"auditor:{SECRET}@")):
        pipeline.configure(redis_url=url)
        shutil.rmtree(work / "out", ignore_errors=True)
        (work / "fencepost.db").unlink(missing_ok=True)
        done = fencepost.run(["audit", "-q", "-c", pipeline.config, "-o", work / "out"], cwd=work,
                             env={"SSL_CERT_FILE": certificates.pem("ours")})
        assert done.code == 2 and not done.err, done.err
        report = read_report(work / "out")
        [block] = report.summary["pipelines"]
        assert block["complete"]
        found.append(({c["check"]: (c["examined"], c["findings"], c["unverifiable"]) for c in block["checks"]},
                      [(f["id"], f["check"], f["key"]) for f in report.of_pipelines]))
    assert [len(findings) for _, findings in found] == [3, 3, 3]
    assert found[0] == found[1] == found[2]


def test_connections_that_break_are_made_again(tls, server, certificates, look, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", certificates.pem("ours"))
    client = server.client()
    fill(client, "s:", 10000)
    seen = look(server.tls_url(), ["scan"], prefix="s", redis={"rate": 5000}, wait=False)
    killed = set()
    while len(killed) < 2:
        assert seen.process.poll() is None, seen.finish().err
        for c in client.client_list():
            if c["name"] == "fencepost" and c["cmd"] in ("scan", "hmget", "pttl") and c["id"] not in killed:
                client.client_kill_filter(c["id"])
                killed.add(c["id"])
        time.sleep(0.02)
    seen.finish()
    assert seen.code == 0 and seen.counts.scan_complete, seen.err
    assert len(seen.by_key) == 10000
