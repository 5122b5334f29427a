"""The program under test as a command, and its report directories as data."""
import csv
import io
import json
import os
import pathlib
import subprocess
from types import SimpleNamespace

ROOT = pathlib.Path(__file__).resolve().parents[2]


def built(name):
    """A path below the build directory that the tests were pointed at (BUILD, default build)."""
    return ROOT / os.environ.get("BUILD", "build") / name


class Fencepost:
    """The binary: env FENCEPOST, or the one in the build directory."""

    def __init__(self):
        self.path = os.environ.get("FENCEPOST") or str(built("fencepost"))

    def run(self, args, cwd=None, env=None, timeout=60, stdin=None):
        """Runs it to the end; .code .out .err. env adds to the environment; a value of None takes one away."""
        done = subprocess.run(self._argv(args), cwd=cwd, env=environment(env), timeout=timeout, capture_output=True,
                              text=True, errors="surrogateescape", input=stdin)
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    def popen(self, args, cwd=None, env=None, **kwargs):
        """Starts it with pipes on stdout and stderr; the caller ends it."""
        return subprocess.Popen(self._argv(args), cwd=cwd, env=environment(env), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **kwargs)

    def _argv(self, args):
        return [self.path, *map(str, args)]


def environment(changes=None):
    """This process's environment with changes, in a fixed locale and without what could steer the program."""
    env = {k: v for k, v in os.environ.items() if k not in ("REDISCLI_AUTH", "KCAT_CONFIG")}
    env["LC_ALL"] = "C.UTF-8"
    for name, value in (changes or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def unzstd(path):
    """The text of a compressed file, by the zstd command."""
    return subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True).stdout.decode()


class Report:
    """A report directory, read by other means than those that wrote it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    @property
    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    @property
    def manifest(self):
        return json.loads((self.path / "manifest.json").read_text())

    @property
    def metrics(self):
        return (self.path / "metrics.prom").read_text()

    @property
    def findings(self):
        return [json.loads(line) for line in unzstd(self.path / "findings.jsonl.zst").splitlines()]

    @property
    def of_pipelines(self):
        """The findings but those about servers and streams. The tests' servers have no replicas, which is worth a note."""
        return [f for f in self.findings if f["pipeline"]]

    @property
    def csv(self):
        return list(csv.DictReader(io.StringIO(unzstd(self.path / "findings.csv.zst"), newline="")))

    def of(self, check):
        """The findings of one check."""
        return [f for f in self.findings if f["check"] == check]
