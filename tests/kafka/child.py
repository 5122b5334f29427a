"""A server that a test starts: it ends when we end it, and at the latest when we die."""
import os
import random
import signal
import socket
import subprocess
import time


def free_port():
    """A loopback port that nobody listens on now, below the range that outgoing connections take theirs from."""
    rng = random.SystemRandom()
    for _ in range(1000):
        port = rng.randrange(15000, 32000)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port on loopback")


class Child:
    """One process, its output in a log file. A terminal's Ctrl-C does not reach it, the death of this process does."""

    def __init__(self, argv, log, env=None, cwd=None):
        self.log = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *map(str, argv)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=env, cwd=cwd)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def stop(self, clean=True, timeout=20):
        """Ends it, politely or not, and waits; one that will not go is killed."""
        self.signal(signal.SIGTERM if clean else signal.SIGKILL)
        self.signal(signal.SIGCONT)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait_until(self, ready, timeout=60, step=0.02):
        """Waits until ready() is true; if the process ends first, or never gets there, its log is in the error."""
        until = time.monotonic() + timeout
        while not ready():
            if not self.alive():
                raise RuntimeError(f"ended with {self.process.returncode} while starting:\n{self.tail()}")
            if time.monotonic() > until:
                self.stop(clean=False)
                raise RuntimeError(f"not ready after {timeout} s:\n{self.tail()}")
            time.sleep(step)

    def tail(self, size=4000):
        with open(self.log, "rb") as f:
            f.seek(max(0, os.path.getsize(self.log) - size))
            return f.read().decode(errors="replace")
