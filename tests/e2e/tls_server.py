"""Certificates, a Redis server that shows them, and servers of something else."""
import socket
import ssl
import subprocess
import threading
from pathlib import Path

from child import free_port
from redis_server import RedisServer

# An authority's rules: any name, and the dates that the command line gives.
AUTHORITY = """[ca]
default_ca = this
[this]
database = {dir}/{name}.index
serial = {dir}/{name}.serial
new_certs_dir = {dir}
certificate = {dir}/{name}.pem
private_key = {dir}/{name}.key
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""


class Certificates:
    """Two authorities, `ours` and `theirs`, and what they sign: NAME.pem and NAME.key in .dir."""

    def __init__(self, folder):
        self.dir = folder
        for name in ("ours", "theirs"):
            self._openssl("req", "-x509", "-days", 36500, "-subj", f"/CN={name}", *self._key(name), "-out", self.pem(name))
            (folder / f"{name}.index").touch()
            (folder / f"{name}.serial").write_text("01\n")
            (folder / f"{name}.conf").write_text(AUTHORITY.format(dir=folder, name=name))
        self.sign("server", "IP:127.0.0.1,DNS:localhost")
        self.sign("named", "DNS:redis-1.invalid")
        self.sign("expired", "IP:127.0.0.1", end="20200201000000Z")
        self.sign("client", "DNS:auditor")
        self.sign("rsa-client", "DNS:auditor", kind=("rsa", "rsa_keygen_bits:2048"))
        self.sign("stranger", "DNS:auditor", by="theirs")
        self.sign("other-server", "DNS:redis-2.invalid", by="theirs")
        (folder / "empty").touch()
        (folder / "cut.pem").write_text(Path(self.pem("client")).read_text()[:200])
        self._openssl("pkey", "-in", self.key("client"), "-aes256", "-passout", "pass:x", "-out", folder / "locked.key")

    def pem(self, name):
        return str(self.dir / f"{name}.pem")

    def key(self, name):
        return str(self.dir / f"{name}.key")

    def sign(self, name, names, by="ours", end="20991231000000Z", kind=()):
        request = self.dir / f"{name}.csr"
        self._openssl("req", "-new", "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}", *self._key(name, *kind),
                      "-out", request)
        self._openssl("ca", "-batch", "-notext", "-config", self.dir / f"{by}.conf", "-startdate", "20200101000000Z",
                      "-enddate", end, "-in", request, "-out", self.pem(name))

    def _key(self, name, kind="ec", option="ec_paramgen_curve:prime256v1"):
        return ["-newkey", kind, "-pkeyopt", option, "-nodes", "-keyout", self.key(name)]

    @staticmethod
    def _openssl(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class TlsServer(RedisServer):
    """Beside its unix socket and its plain port it has .tls_port, with the certificate that show() chose."""

    def __init__(self, certificates, **options):
        self.certificates, self.tls_port = certificates, free_port()
        super().__init__("7.0", options={
            "tls-port": self.tls_port, "tls-cert-file": certificates.pem("server"),
            "tls-key-file": certificates.key("server"), "tls-ca-cert-file": certificates.pem("ours"),
            "tls-auth-clients": "no", **options})

    def show(self, name="server", auth="no"):
        self.client().execute_command("CONFIG", "SET", "tls-cert-file", self.certificates.pem(name), "tls-key-file",
                                      self.certificates.key(name), "tls-auth-clients", auth)

    def tls_url(self, user="", host="127.0.0.1"):
        return f"rediss://{user}{host}:{self.tls_port}/0"


class Stranger:
    """Listens; answers each connection with what a function makes of it, and hangs up."""

    def __init__(self, answer):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, args=(answer,), daemon=True).start()

    def _serve(self, answer):
        while True:
            try:
                with self.socket.accept()[0] as client:
                    answer(client)
            except ssl.SSLError:
                pass
            except OSError:
                if self.socket.fileno() < 0:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
