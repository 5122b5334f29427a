"""Proof from outside of what was done to the servers: Redis's MONITOR, and Kafka's own state before and after."""
import ast
import contextlib
import re
import socket
import threading
import uuid

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import OffsetSpec

_LINE = re.compile(rb'\+[0-9.]+ \[(\d+) (\S+)\] (.*)\r\n', re.S)
_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')


class Command:
    """One command as the server ran it: .name in upper case, .args as bytes, .db, .client ("lua" inside a script)."""

    def __init__(self, db, client, args):
        self.db, self.client, self.args = db, client, args
        self.name = args[0].decode().upper()

    def __repr__(self):
        return f"{self.client}> {b' '.join(self.args)!r}"


class Monitor:
    """.commands: what other clients ran while it was open, in order. .writes: those that write, scripts' included.

    Redis does not show AUTH and administrative commands (CONFIG, ACL, DEBUG) in its MONITOR.
    """

    def __init__(self, server):
        self.commands = []
        self._server = server
        self._writers = _writers(server)
        self._end = uuid.uuid4().hex.encode()
        self._trouble = None
        self._socket, self._lines = _connect(server)
        _ask(self._socket, self._lines, b"MONITOR", b"+OK\r\n")
        self._socket.settimeout(None)           # a server may be idle for long; close() waits only so long
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def writes(self):
        return [c for c in self.commands if self._writers & _names(c)]

    def names(self):
        """The set of command names seen."""
        return {c.name for c in self.commands}

    def _read(self):
        try:
            while True:
                command = _parse(self._lines.readline())
                if command.args[-1] == self._end:
                    return
                self.commands.append(command)
        except (OSError, ValueError) as e:      # a thread has nobody to raise to; close() tells
            self._trouble = e

    def close(self):
        """Waits until all that ran before this call has been seen."""
        with contextlib.closing(_connect(self._server)[0]) as s:
            s.sendall(b"ECHO " + self._end + b"\r\n")
            self._thread.join(30)
        late = self._thread.is_alive()
        self._socket.close()
        if self._trouble or late:
            raise RuntimeError(f"MONITOR saw no end: {self._trouble}")


@contextlib.contextmanager
def monitor_writes(server):
    """with monitor_writes(redis_server) as seen: ...   afterwards seen.commands and seen.writes are complete."""
    seen = Monitor(server)
    try:
        yield seen
    finally:
        seen.close()


def redis_changes(server):
    """What moves with every write, however it came: the server's count of changes. (Not its number of keys: on a shared
    server those of other tests expire meanwhile.)"""
    return server.client().info()["rdb_changes_since_last_save"]


def kafka_group_state(broker):
    """Topics, all log ends (internal topics included), groups with their members and commits, as comparable data.

    Two equal snapshots mean: nothing produced, nothing committed, no group joined or made. A join and a commit each
    append to __consumer_offsets, so its ends prove it even for what came and went in between.
    """
    admin = broker.admin
    topics = sorted(admin.list_topics(timeout=10).topics)
    groups = [g.group_id for g in admin.list_consumer_groups().result(30).valid]
    return {
        "topics": {t: _topic_ends(broker, t) for t in topics},
        "groups": {g: _group(admin, g) for g in sorted(groups)},
    }


def undisturbed(broker, act, tries=3):
    """The result of act(), which must leave kafka_group_state as it was.

    The broker is shared: it may end a hanging transaction or an old member of another test meanwhile. A program that
    writes is seen at every try.
    """
    for _ in range(tries):
        before = kafka_group_state(broker)
        result = act()
        after = kafka_group_state(broker)
        if after == before:
            return result
    assert after == before
    return result


def _topic_ends(broker, topic):
    return {"start": broker.offsets(topic, OffsetSpec.earliest(), committed=False),
            "high watermark": broker.high_watermarks(topic),
            "last stable": broker.offsets(topic)}


def _group(admin, group):
    about = admin.describe_consumer_groups([group])[group].result(30)
    ask = [ConsumerGroupTopicPartitions(group)]
    commits = admin.list_consumer_group_offsets(ask, require_stable=False)[group].result(30).topic_partitions
    return {"state": about.state.name,
            "members": sorted((m.member_id, m.client_id) for m in about.members),
            "commits": {f"{c.topic}/{c.partition}": c.offset for c in commits}}


def _connect(server):
    """A bare connection that sends nothing of its own accord, so that MONITOR shows only what we mean."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(server.sock)
    lines = s.makefile("rb")
    if server.password:
        words = [w for w in ("AUTH", server.username, server.password) if w]
        _ask(s, lines, " ".join(words).encode(), b"+OK\r\n")
    return s, lines


def _ask(s, lines, command, expected):
    s.sendall(command + b"\r\n")
    answer = lines.readline()
    if answer != expected:
        raise RuntimeError(f"{command.split()[0].decode()}: {answer!r}")


def _parse(line):
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError(f"not a line of MONITOR: {line!r}")
    args = [ast.literal_eval('b"' + word.decode("ascii") + '"') for word in _WORD.findall(match[3])]
    return Command(int(match[1]), match[2].decode(), args)


def _names(command):
    """SET; for a command with subcommands also XGROUP|CREATE."""
    names = {command.name}
    if len(command.args) > 1:
        names.add(command.name + "|" + command.args[1].decode(errors="replace").upper())
    return names


def _writers(server):
    """The commands, and COMMAND|SUBCOMMANDs, that the server itself marks as writing."""
    def walk(entries):
        for entry in entries:
            if b"write" in entry[2] or "write" in entry[2]:
                yield entry[0].decode().upper()
            yield from walk(entry[9] if len(entry) > 9 else [])

    with contextlib.closing(server.client()) as client:
        client.set_response_callback("COMMAND", lambda reply, **_: reply)
        return set(walk(client.execute_command("COMMAND")))
