"""murmur2 and the home partition against Kafka's own Java code, on random keys of a fixed seed."""
import os
import pathlib
import random
import subprocess

import pytest

import cli

SOURCE = pathlib.Path(__file__).with_name("Murmur2.java")


def questions():
    rng = random.Random(42)
    lines = [f"\t{n}" for n in (1, 2, 12, 2**31 - 1)]
    for _ in range(50000):
        length = rng.choice([rng.randrange(0, 9), rng.randrange(0, 40), rng.randrange(0, 600)])
        n = rng.choice([rng.randrange(1, 300), 2**rng.randrange(0, 31), rng.randrange(1, 2**31)])
        lines.append(f"{rng.randbytes(length).hex()}\t{n}")
    return "\n".join(lines) + "\n"


def answers(argv, asked):
    done = subprocess.run(argv, input=asked, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_java_agrees(kafka_jars):
    tool = cli.built("tools") / "murmur2_filter"
    if not os.access(tool, os.X_OK):
        pytest.fail(f"{tool} is not there: run make tools")
    asked = questions()
    theirs = answers(["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", kafka_jars, str(SOURCE)], asked)
    assert theirs[0] == "275646681\t0" and theirs[2] == "275646681\t9"
    assert len(theirs) == asked.count("\n")
    assert answers([str(tool)], asked) == theirs
    assert sum(line.startswith("-") for line in theirs) > 20000
