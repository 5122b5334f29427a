"""Indexes made by hand for the reports: rows as ingest and analyzer write them, without Kafka and Redis."""
import json
import sqlite3
import subprocess
from zlib import crc32

import cli

HOUR = 3_600_000_000
STARTED = 1_796_005_800_000_000  # 2026-11-30T02:30:00Z
ALL = 2**63 - 1

PIPELINE = dict(mapping_sha256="m", kafka="localhost:9092", group_id="orders-processor", redis="10.2.0.7:6379/0", key_template="state:{key}",
                key_format="raw", state="opaque", tombstones="apply", isolation="read_committed", horizon="committed",
                from_kind="beginning", rejects="dlq", recent_ms=600000, group_state="Empty", group_members=0, group_us=STARTED,
                mapping="fits")
TOPIC = dict(role="source", incarnation_id=1, partitions=2, partitions_at_start=2, cleanup_policy="delete", retention_ms=604800000,
             timestamp_type="CreateTime", main_threshold=ALL, recent_threshold=ALL, main_keys=4, recent_keys=2, recent_from_ms=STARTED // 1000,
             history_keys=4, redis_keys=4, redis_keys_taken=4, scan_complete=1)


def tool(*args, code=0, env=None, **kwargs):
    """Runs report_tool and gives its stdout."""
    done = subprocess.run([str(cli.built("tools/report_tool")), *map(str, args)], capture_output=True, timeout=120,
                          env=cli.environment(env), **kwargs)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


class Index:
    """A new index at path."""

    def __init__(self, path):
        self.path = path
        tool(path, "new")
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA journal_mode = MEMORY")
        self.add("incarnation", incarnation_id=1, cluster="c", topic="orders", isolation="read_committed", begun_run=1)

    def add(self, table, **row):
        names = ", ".join(f'"{name}"' for name in row)
        return self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values())).lastrowid

    def run(self, run, reached="checked", **row):
        """A run with its stages; an hour between runs."""
        start = STARTED + (run - 1) * HOUR
        self.add("run", run_id=run, **dict(dict(command="audit", tool="fencepost 0.1.0", config="/etc/fencepost.yaml", config_sha256="c" * 64,
                                                started_us=start, reached=reached), **row))
        self.add("setting", run_id=run, name="fail.on", value="warning")
        for i, stage in enumerate(("replay", "sample", "check")):
            self.add("stage", run_id=run, name=stage, started_us=start + i * 1_500_000, duration_us=1_500_000)
        return run

    def pipeline(self, run, name="orders", **row):
        return self.add("pipeline", run_id=run, name=name, **dict(PIPELINE, **row))

    def topic(self, run, pipeline_id, topic="orders", partitions=2, **row):
        """A topic whose partitions were all looked at: 1,000 records each."""
        topic_id = self.add("topic", run_id=run, pipeline_id=pipeline_id, topic=topic, **dict(TOPIC, **row))
        for partition in range(partitions):
            self.add("horizon", run_id=run, topic_id=topic_id, partition=partition, log_start=0, committed=900, last_stable=1000,
                     high_watermark=1000, last_high_watermark=1000, indexed_start=0, indexed_end=1000, start_offset=0, end_offset=900,
                     end_source="committed", records=1000)
        return topic_id

    def fence(self, run, topic_id, key, strata=1, **row):
        self.add("fence", run_id=run, topic_id=topic_id, key=key, redis_key=b"state:" + key, strata=strata, sampled_us=STARTED,
                 **dict(dict(hash=crc32(key), present=1), **row))

    def check(self, run, name, ordinal, pipeline="orders", severity="error", status="pass", examined=4, findings=0, kept=None, **row):
        self.add("check_result", run_id=run, pipeline=pipeline, name=name, ordinal=ordinal, severity=severity, title=name, status=status,
                 examined=examined, findings=findings, kept=findings if kept is None else kept, **row)

    def finding(self, run, name, ordinal, key=None, pipeline="orders", severity="error", evidence=None, **row):
        defaults = dict(topic="orders", partition=1, offset=10, key=key, redis_key=None if key is None else b"state:" + key,
                        detail="the fence is not where it should be", remedy="replay the key")
        self.add("finding", run_id=run, name=name, pipeline=pipeline, ordinal=ordinal, id=f"{name}-{ordinal}", severity=severity,
                 evidence=json.dumps(evidence or {}), **dict(defaults, **row))

    def server(self, run, address="10.2.0.7:6379", **row):
        self.add("redis_server", run_id=run, address=address, read_us=STARTED, **dict(
            dict(role="master", version="7.0.15", process="p1", replid="8f3c" + "0" * 36, replid2="0" * 40, repl_offset=1, uptime_s=5, keys=4),
            **row))


def healthy(path, run=1):
    """A run that looked at everything and found nothing."""
    index = Index(path)
    healthy_run(index, run)
    return index


def healthy_run(index, run, **row):
    index.run(run, **row)
    topic_id = index.topic(run, index.pipeline(run))
    index.server(run)
    for i, key in enumerate((b"user-1", b"user-2", b"user-3", b"user-4")):
        index.fence(run, topic_id, key, strata=1 if i < 2 else 3)
    index.check(run, "fence-malformed", 1)
    index.check(run, "fence-regressed", 5)
    index.check(run, "commit-missing", 9, severity="info", status="pass", examined=2)
    for verdict, records in (("APPLY", 1990), ("REEMIT", 10), ("ignored", 3), ("unsampled", 7)):
        index.add("verdict_count", run_id=run, pipeline="orders", verdict=verdict, records=records)
    return topic_id
