"""The house rules that a machine can hold: the arrows between the stages, who may speak, who may end the program, where SQL lives."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("sql", "ingest", "analyzer", "reports")

# folder -> folders whose headers it may include
ARROWS = {
    "sql": {"sql"},
    "ingest": {"ingest", "sql"},
    "analyzer": {"analyzer", "sql"},
    "reports": {"reports", "sql"},
}

# library headers -> folders that may include them
LIBRARIES = {
    "librdkafka/": {"ingest"},
    "hiredis/": {"ingest"},
    "yaml.h": {"ingest"},
    "zstd.h": {"sql", "reports"},
    "xxhash.h": {"sql", "ingest", "analyzer", "reports"},
    "openssl/": {"ingest", "reports"},
    "popt.h": set(),
}


def sources(folder, *endings):
    return sorted(p for e in endings for p in (ROOT / folder).glob("*." + e))


def includes(path):
    return re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', path.read_text(), re.M)


@pytest.mark.parametrize("stage", STAGES)
def test_stages_include_only_what_the_arrows_allow(stage):
    files = sources(stage, "c", "h")
    assert files, stage
    for path in files:
        for kind, name in includes(path):
            if kind == '"' and "/" in name:
                assert name.split("/")[0] in ARROWS[stage], f"{path.relative_to(ROOT)} includes {name}"


@pytest.mark.parametrize("stage", STAGES)
def test_stages_include_only_their_libraries(stage):
    for path in sources(stage, "c", "h"):
        for kind, name in includes(path):
            for library, folders in LIBRARIES.items():
                if kind == "<" and name.startswith(library):
                    assert stage in folders, f"{path.relative_to(ROOT)} includes <{name}>"


def without_comments(text):
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("call", [
    r"\bgetenv\s*\(", r"\bexit\s*\(", r"\babort\s*\(", r"\bclock_gettime\s*\(", r"\bgettimeofday\s*\(", r"\btime\s*\(NULL", r"\bfprintf\s*\(stderr",
    r"\bprintf\s*\(", r"\bperror\s*\(", r"\bsystem\s*\(", r"\bpopen\s*\(", r"\bstrtok\s*\(", r"\bsetlocale\s*\(",
])
def test_only_main_speaks_ends_and_reads_the_world(stage, call):
    for path in sources(stage, "c"):
        assert not re.search(call, without_comments(path.read_text())), f"{path.relative_to(ROOT)}: {call}"


@pytest.mark.parametrize("stage", STAGES)
def test_sql_is_not_glued_together(stage):
    glued = re.compile(r'printf\s*\([^;]*"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|WITH)\b[^;]*;', re.S)
    for path in sources(stage, "c"):
        assert not glued.search(path.read_text()), path.relative_to(ROOT)


def test_nothing_commits_joins_or_writes_to_kafka_or_redis():
    """The program has no call that could write: not one that is never reached, none at all."""
    kafka = r"\brd_kafka_(subscribe|commit\w*|offset_store|offsets_store|produce\w*|CreateTopics|DeleteTopics|CreatePartitions|DeleteRecords|AlterConfigs|" \
            r"IncrementalAlterConfigs|DeleteGroups|AlterConsumerGroupOffsets|DeleteConsumerGroupOffsets|CreateAcls|send_offsets_to_transaction)\s*\("
    redis = r'"(SET|HSET|DEL|UNLINK|EXPIRE|PEXPIRE|INCR|EVAL|EVALSHA|XADD|XACK|XCLAIM|XAUTOCLAIM|XREADGROUP|XDEL|XTRIM|XGROUP|FLUSHDB|FLUSHALL|CONFIG|' \
            r'PERSIST|RENAME|RESTORE|MIGRATE|SAVE|BGSAVE|SHUTDOWN|REPLICAOF)\b'
    for path in sources("ingest", "c"):
        text = re.sub(r'"CONFIG("\), BYTES\("GET"| GET")', "", path.read_text())        # the one of its kind that reads
        assert not re.search(kafka, text), path.relative_to(ROOT)
        assert not re.search(redis, text), path.relative_to(ROOT)


def test_libraries_of_the_stages_resolve_only_along_the_arrows():
    """What a stage calls of another is defined where the arrows say."""
    build = ROOT / "build"
    defined, wanted = {}, {}
    for stage in STAGES:
        out = subprocess.run(["nm", "-A", str(build / f"lib{stage}.a")], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            parts = line.split()
            if len(parts) >= 3 and parts[-2] in "TRDB":
                defined.setdefault(parts[-1], stage)
            elif len(parts) >= 2 and parts[-2] == "U":
                wanted.setdefault(stage, set()).add(parts[-1])
    for stage, names in wanted.items():
        for name in names:
            home = defined.get(name, stage)
            assert home in ARROWS[stage], f"{stage} calls {name}, which is defined in {home}"


def test_no_file_is_too_long():
    for folder in (".", *STAGES):
        for path in sources(folder, "c", "h"):
            assert len(path.read_text().splitlines()) <= 500, path.relative_to(ROOT)
