"""The models of the fence contract against the Lua script in a real Redis.

The model of the script must agree with it on every state, however odd. The contract itself must agree wherever the
stored numbers are well formed, and wherever they are not, the strict reading must say so.
"""
import os
import random
import re
import subprocess
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import redis

import cli

SCRIPT = (cli.ROOT / "tests/pipeline/fence.lua").read_text()
WRONG = object()                # a key of the wrong type
TWO53, TWO63 = 2**53, 2**63


@dataclass
class Case:
    """What Redis holds (None: absent) and the record that comes in. state is None, WRONG or a dict of fields."""
    partition: int = 0
    offset: int = 5
    epoch: int = 0
    stored_epoch: object = None
    state: object = None
    home: int = None

    def __post_init__(self):
        self.home = self.partition if self.home is None else self.home

    def line(self):
        fields = self.state if isinstance(self.state, dict) else {}
        state = "-" if self.state is None else "!" if self.state is WRONG else "hash"
        return "\t".join([str(self.home), str(self.partition), str(self.offset), str(self.epoch),
                          coded(self.stored_epoch), state, coded(fields.get(b"partition")),
                          coded(fields.get(b"offset"))])


def coded(value):
    return "-" if value is None else "!" if value is WRONG else "=" + value.hex()


def fence(offset, partition=b"0", value=b"old"):
    """A state hash; a field that is None is left out."""
    fields = {b"value": value, b"offset": offset, b"partition": partition}
    return {k: v for k, v in fields.items() if v is not None} or None


# -- the grid ------------------------------------------------------------------------------------------------------

OFFSETS = [None, b"0", b"4", b"5", b"6", b"05", b"00", b" 5", b"5 ", b" 5 ", b"\t5", b"5\n", b" \v\f\r5", b"5.0",
           b"5.5", b".5e1", b"5.", b".", b"5e0", b"5E0", b"5e", b"1e3", b"1e400", b"-1e400", b"0x5", b"0X5", b"0x10",
           b"0x", b"0xg", b"0x1p3", b"0x.8", b" 0x5 ", b"-0x1", b"0b1", b"+5", b"-1", b"-0", b"--5", b"+", b"-", b"",
           b" ", b"abc", b"5 6", b"5x", b"5,0", b"inf", b"-inf", b"infinity", b"INF", b"nan", b"-nan", b"nan(1)",
           b"5\0", b"5\0abc", b"\0" b"5", b"0" * 80 + b"5", b"5" + b" " * 80, b"5" * 400, b"4.99999999999999999999",
           b"\xef\xbc\x95", b"\xa05", b"1_000", b"9007199254740991", b"9007199254740992", b"9007199254740993",
           b"9223372036854775807", b"9223372036854775808", b"18446744073709551615", b"18446744073709551616"]
PARTITIONS = [None, b"0", b"1", b"2", b"00", b"01", b" 0", b"0 ", b"+0", b"-0", b"-1", b"0.0", b"0x0", b"1e0", b"",
              b"abc", b"0\0", b"2147483647", b"2147483648", b"4294967296", b"9007199254740993",
              b"9223372036854775808"]
EPOCHS = [None, b"0", b"1", b"2", b"3", b"-1", b"-2", b"-0", b"02", b" 2", b"2 ", b"+2", b"2.5", b"2e0", b"0x2", b"",
          b"abc", b"inf", b"-inf", b"nan", b"2\0", b"9007199254740991", b"9007199254740992", b"9007199254740993",
          b"-9007199254740993", b"9223372036854775807", b"9223372036854775808", WRONG]
ARRIVING = [0, 4, 5, 6, 8, 16, 1000, TWO53 - 1, TWO53, TWO53 + 1, TWO63 - 1]
CALLERS = [-3, -1, 0, 1, 2, 3, TWO53 - 1, TWO53, TWO53 + 1, TWO63 - 1]


def grid():
    cases = [Case(offset=arriving, state=fence(stored)) for stored in OFFSETS for arriving in ARRIVING]
    cases += [Case(partition=p, offset=arriving, state=fence(offset, stored)) for stored in PARTITIONS
              for p in (0, 1, 2147483647) for arriving in (4, 5, 6) for offset in (b"5", b"abc", None)]
    cases += [Case(epoch=caller, stored_epoch=stored, state=state) for stored in EPOCHS for caller in CALLERS
              for state in (None, fence(b"4"), fence(b"abc"), WRONG)]
    cases += [Case(home=h, partition=p, epoch=e, stored_epoch=b"1", state=state) for h in (0, 1, 7) for p in (0, 1)
              for e in (0, 1) for state in (None, fence(b"5"), fence(b"abc"), WRONG)]
    rng = random.Random(20240607)
    for _ in range(3000):
        state = rng.choice([WRONG, None] + 12 * [fence(rng.choice(OFFSETS), rng.choice(PARTITIONS[:9]),
                                                       rng.choice([b"old", b"", None]))])
        cases.append(Case(partition=rng.choice([0, 0, 1]), offset=rng.choice(ARRIVING), epoch=rng.choice(CALLERS),
                          stored_epoch=rng.choice(EPOCHS), state=state))
    return cases


# -- the three answers ---------------------------------------------------------------------------------------------

def models(cases):
    """What the C code says: .script .contract .epoch .partition .offset for each case."""
    path = cli.built("tools") / "verdict_filter"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not there: run make tools")
    done = subprocess.run([path], input="".join(c.line() + "\n" for c in cases), capture_output=True, text=True,
                          check=True)
    names = ("script", "contract", "epoch", "partition", "offset")
    answers = [SimpleNamespace(**dict(zip(names, line.split("\t"), strict=True))) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    return answers


def keys_of(name, number):
    return f"{name}:{number}:state", f"{name}:{number}:epoch"


def fill(pipe, key, value):
    if value is WRONG:
        pipe.rpush(key, "x")
    elif isinstance(value, dict):
        pipe.hset(key, mapping=value)
    elif value is not None:
        pipe.set(key, value)


def run_script(server, name, cases):
    """Each case in the server: its reply (an exception where the script failed) and the state afterwards."""
    client = redis.Redis(unix_socket_path=server.sock)
    sha = client.script_load(SCRIPT)
    replies, after = [], []
    for first in range(0, len(cases), 500):
        with client.pipeline(transaction=False) as pipe:
            for number, case in enumerate(cases[first:first + 500]):
                state, epoch = keys_of(name, number)
                pipe.delete(state, epoch)
                fill(pipe, state, case.state)
                fill(pipe, epoch, case.stored_epoch)
            pipe.execute()
            for number, case in enumerate(cases[first:first + 500]):
                pipe.evalsha(sha, 2, *keys_of(name, number), case.partition, case.offset, case.epoch, "new")
            replies += pipe.execute(raise_on_error=False)
            for number, case in enumerate(cases[first:first + 500]):
                pipe.hgetall(keys_of(name, number)[0])
            after += pipe.execute(raise_on_error=False)
            for number in range(500):
                pipe.delete(*keys_of(name, number))
            pipe.execute()
    client.close()
    return replies, after


def script_answer(case, reply):
    """The verdict of worker and script: the worker looks at the home partition before it calls."""
    if case.partition != case.home:
        return "DLQ"
    if isinstance(reply, Exception):
        assert isinstance(reply, redis.exceptions.ResponseError)
        return "error"
    return reply[0].decode()


def number(text, lowest=0):
    """A well-formed stored number, or None; written independently of the C code."""
    if text is None or text is WRONG or not re.fullmatch(rb"0|-?[1-9][0-9]*", text):
        return None
    value = int(text)
    return value if lowest <= value < TWO53 and value > -TWO53 else None


def contract_answer(case):
    """The table of the contract; None where what is stored is not well formed."""
    epoch = 0 if case.stored_epoch is None else number(case.stored_epoch, lowest=-TWO53)
    if epoch is None or case.state is WRONG:
        return None
    stored = None
    if case.state is not None:
        stored = number(case.state.get(b"partition")), number(case.state.get(b"offset"))
        if None in stored:
            return None
    if case.partition != case.home:
        return "DLQ"
    if case.epoch < epoch:
        return "FENCE"
    if stored is None:
        return "APPLY"
    if stored[0] != case.partition:
        return "REBASE"
    return "APPLY" if case.offset > stored[1] else "REEMIT" if case.offset == stored[1] else "SKIP"


def written(case, verdict):
    """The state that the contract leaves behind."""
    state = dict(case.state) if isinstance(case.state, dict) else {}
    if verdict not in ("APPLY", "REBASE"):
        return state
    state.update({b"value": b"new", b"offset": b"%d" % case.offset})
    if verdict == "REBASE" or b"offset" not in (case.state or {}):
        state[b"partition"] = b"%d" % case.partition
    return state


# -- the tests -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def cases():
    return grid()


@pytest.fixture(scope="module")
def modelled(cases):
    return models(cases)


def test_model_is_the_script(any_redis, name, cases, modelled):
    assert len(cases) >= 2000
    replies, after = run_script(any_redis, name, cases)
    met = set()
    for case, model, reply, state in zip(cases, modelled, replies, after, strict=True):
        answer = script_answer(case, reply)
        met.add(answer)
        assert model.script == answer, case
        if case.state is not WRONG and answer != "DLQ":
            assert state == written(case, answer), case
        if answer == "REEMIT":
            assert reply[1] == case.state.get(b"value"), case
    assert met == {"APPLY", "REEMIT", "SKIP", "REBASE", "FENCE", "DLQ", "error"}


def test_well_formed_states_follow_the_contract(cases, modelled):
    plain = 0
    for case, model in zip(cases, modelled, strict=True):
        contract = contract_answer(case)
        assert model.contract == (contract or "-"), case
        if contract:
            plain += 1
            assert model.script == contract, case
    assert plain > 300


def test_accidents_are_malformed(cases, modelled):
    """Whatever is not well formed is named, by the field that is at fault."""
    for case, model in zip(cases, modelled, strict=True):
        assert (model.epoch in ("ok", "-")) == (case.stored_epoch in (None, WRONG)
                                                or number(case.stored_epoch, lowest=-TWO53) is not None), case
        if isinstance(case.state, dict):
            assert (model.partition == "ok") == (number(case.state.get(b"partition")) is not None), case
            assert (model.offset == "ok") == (number(case.state.get(b"offset")) is not None), case
        else:
            assert (model.partition, model.offset) == ("-", "-"), case


# What an odd state does to the pipeline, and which field is called malformed, in which word.
ODDITIES = [
    (Case(offset=3, state=fence(b"5", b"00")), "REBASE", "partition", "leading-zero"),
    (Case(offset=5, state=fence(b" 5 ")), "REEMIT", "offset", "not-decimal"),
    (Case(offset=16, state=fence(b"0x10")), "REEMIT", "offset", "not-decimal"),
    (Case(offset=1000, state=fence(b"1e3")), "REEMIT", "offset", "not-decimal"),
    (Case(offset=5, state=fence(b"05")), "REEMIT", "offset", "leading-zero"),
    (Case(offset=5, state=fence(b"+5")), "REEMIT", "offset", "signed"),
    (Case(offset=0, state=fence(b"-1")), "APPLY", "offset", "signed"),
    (Case(offset=TWO53, state=fence(b"9007199254740993")), "REEMIT", "offset", "inexact"),
    (Case(offset=TWO63 - 1, state=fence(b"9223372036854775808")), "REEMIT", "offset", "overflow"),
    (Case(offset=6, state=fence(b"abc")), "error", "offset", "not-decimal"),
    (Case(offset=6, state=fence(b"")), "error", "offset", "empty"),
    (Case(offset=3, state=fence(b"5", None)), "REBASE", "partition", "missing"),
    (Case(offset=101, state=fence(None)), "APPLY", "offset", "missing"),
    (Case(stored_epoch=b"abc"), "error", "epoch", "not-decimal"),
    (Case(epoch=2, stored_epoch=b" 3"), "FENCE", "epoch", "not-decimal"),
    (Case(epoch=3, stored_epoch=b"03"), "APPLY", "epoch", "leading-zero"),
]
# These states are well formed; the answer is what the contract says of them.
SURPRISES = [
    (Case(offset=5, state=fence(b"5", value=None)), [b"REEMIT", None]),
    (Case(epoch=0, stored_epoch=None), [b"APPLY"]),
    (Case(epoch=-1, stored_epoch=None), [b"FENCE"]),
    (Case(offset=7, state=fence(b"5")), [b"APPLY", 2]),
    (Case(offset=6, state=fence(b"5")), [b"APPLY"]),
    (Case(offset=900, partition=1, state=fence(b"5")), [b"REBASE"]),
]


def test_named_oddities(redis_server, name):
    odd = [case for case, *_ in ODDITIES]
    replies, _ = run_script(redis_server, name, odd)
    for (case, answer, field, word), reply, model in zip(ODDITIES, replies, models(odd), strict=True):
        assert script_answer(case, reply) == answer, case
        assert getattr(model, field) == word, case
        assert [w for w in (model.epoch, model.partition, model.offset) if w not in ("ok", "-")] == [word], case


def test_surprises(redis_server, name):
    replies, _ = run_script(redis_server, name, [case for case, _ in SURPRISES])
    assert replies == [reply for _, reply in SURPRISES]


@pytest.mark.parametrize("case", [Case(state=WRONG), Case(stored_epoch=WRONG)], ids=["state", "epoch"])
def test_wrong_type(redis_server, name, case):
    (reply,), _ = run_script(redis_server, name, [case])
    assert isinstance(reply, redis.exceptions.ResponseError) and "WRONGTYPE" in str(reply)
    assert models([case])[0].script == "error"
