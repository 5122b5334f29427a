"""What an audit must find of a topic that was never resized: the fence checks once more, in the plainest way.

Nothing is shared with the program: records come from confluent-kafka, hashes from redis-py, homes from kafka-python.
"""
import re

import reference

INT64 = re.compile(rb"0|[1-9][0-9]*")
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")


def is_less(text, number):
    return INTEGER.fullmatch(text) is not None and int(text) < number


class World:
    """committed, uncommitted: records as reference.Pipeline.read gives them; commits, ends: {partition: offset}."""

    def __init__(self, committed, uncommitted, commits, ends, state, tombstones):
        self.commits, self.ends, self.state, self.tombstones = commits, ends, state, tombstones
        self.at = {(r.partition, r.offset): r for r in uncommitted}
        self.aborted = set(self.at) - {(r.partition, r.offset) for r in committed}
        self.keys = {}
        for r in sorted(committed, key=lambda r: r.offset):
            self.keys.setdefault(r.key, []).append(r)
        self.known = {r.key for r in uncommitted}

    def home(self, key):
        return reference.home(key, len(self.ends))

    def findings(self, hashes):
        """hashes: {key: {field: value}}, or None where something else stands there. A set as Audit.found() has it."""
        found = set()
        for key in self.keys.keys() | hashes.keys():
            fault = self.missing(key) if key not in hashes else self.fault(key, hashes[key])
            if fault:
                found.add((fault[0], key.hex(), *fault[1:]))
        for key, records in self.keys.items():
            for p in {r.partition for r in records} - {self.home(key)}:
                found.add(("copartition-break", key.hex(), p, min(r.offset for r in records if r.partition == p)))
                found.add(("copartition-cause", None, None, None))
        return found

    # -- what history demands --------------------------------------------------------------------------------------

    def mine(self, key):
        return [r for r in self.keys.get(key, []) if r.partition == self.home(key)]

    def moves(self, record):
        return record.value is not None or self.tombstones == "apply"

    def binding(self, key):
        below = [r.offset for r in self.mine(key) if self.moves(r) and r.offset < self.commits[self.home(key)]]
        return max(below, default=None)

    def deleted(self, key, below=None):
        """The newest tombstone that deletes, below an offset."""
        if self.tombstones != "delete":
            return -1
        return max((r.offset for r in self.mine(key) if r.value is None and (below is None or r.offset < below)),
                   default=-1)

    def missing(self, key):
        newest = self.binding(key)
        if newest is not None and self.deleted(key) < newest:
            return "fence-missing", self.home(key), newest
        return None

    # -- what a hash is --------------------------------------------------------------------------------------------

    def fault(self, key, fields):
        home = self.home(key)
        numbers = [(fields or {}).get(name) for name in (b"partition", b"offset")]
        if any(n is None or not INT64.fullmatch(n) or int(n) > 2**53 for n in numbers):
            return "fence-malformed", home, None
        at = partition, offset = int(numbers[0]), int(numbers[1])
        beyond = partition >= len(self.ends) or offset >= self.ends[partition]
        # that nobody wrote the key is certain only where the fence stands on what was read
        if key not in self.known and not (beyond and partition < len(self.ends)):
            return "fence-orphan", partition, offset
        if beyond:
            return "fence-ahead", partition, offset
        newest, tombstone = self.binding(key), self.deleted(key, self.commits[home])
        stands = offset if partition == home else -1
        if newest is not None and tombstone < newest and stands < newest:
            return "fence-regressed", home, newest
        if tombstone > (-1 if newest is None else newest) and partition == home and offset < tombstone:
            return "fence-undeleted", home, tombstone
        record = self.at.get(at)
        if record is not None and record.key != key:
            return "fence-phantom", partition, offset
        if at in self.aborted:
            return "fence-aborted", partition, offset
        if partition != home:
            return "fence-off-home", partition, offset
        if record is not None and not self.right(key, record, fields.get(b"value")):
            return {"last": "fence-value"}.get(self.state, "fence-count"), partition, offset
        return None

    def right(self, key, record, value):
        """Whether the value fits the record at the fence; also where that cannot be said."""
        if self.state == "opaque" or (record.value is None and (self.tombstones == "delete" or self.state == "last")):
            return True
        if self.state == "last":
            return value == record.value
        applied = [r for r in self.mine(key) if self.deleted(key, record.offset) < r.offset <= record.offset
                   and (self.moves(r) or r is record)]
        # a delete above the fence may have been applied, and the records before it once more, which counts from zero
        again = self.deleted(key) > record.offset
        if self.state == "count":
            return value == b"%d" % len(applied) or (again and is_less(value, len(applied)))
        return again or any(r.value is None for r in applied) or value == b"%d" % sum(int(r.value) for r in applied)
