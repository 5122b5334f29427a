"""make bench: how fast fencepost is, measured against the tools it is compared with, in one run on one machine.

    SCALE=small|full [BENCH_JSON=FILE] bench.py

Every figure is the median of five rounds; within a round all contestants run one after another, so that whatever else the machine does
meets all of them. A ratio is the median of the rounds' ratios. Ends 1 where a limit is missed. docs/performance.md says what is
measured how.
"""
import json
import os
import platform
import signal
import statistics
import sys

from world import KEYS_PER, World, need_space
import contestants

ROUNDS = 5
MIB = 1 << 20
SCALES = {"small": {"records": 2_000_000, "growth": (1_000_000, 10_000_000), "python": 500_000},
          "full": {"records": 100_000_000, "growth": (1_000_000, 10_000_000, 100_000_000), "python": 2_000_000}}
SAMPLE_KEYS = 1_000_000
PENDING = (1_000_000, 4_000_000)
BROKEN = 10_000_000             # records, in the topics of both scales
PEAK_LIMIT = 512 * MIB


def main():
    scale = os.environ.get("SCALE", "small")
    if scale not in SCALES:
        sys.exit("SCALE is small or full")
    sizes = SCALES[scale]
    topics = sorted({sizes["records"], *sizes["growth"]})
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("bench: interrupted"))
    say_where(scale)
    need_space(topics, max(topics) // KEYS_PER)
    table = Table()
    with World() as world:
        names = {records: world.topic(records) for records in topics}
        replays(table, world, names[sizes["records"]], sizes)
        samples(table, SAMPLE_KEYS)
        pendings(table, PENDING)
        growth(table, world, names, sizes)
        misplaced(table, world, names[BROKEN], BROKEN)
    table.show()
    if os.environ.get("BENCH_JSON"):
        with open(os.environ["BENCH_JSON"], "w", encoding="utf-8") as f:
            json.dump(table.facts, f, indent=1)
    sys.exit(0 if table.held else 1)


def say_where(scale):
    with open("/proc/cpuinfo", encoding="ascii") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())
    print(f"SCALE={scale} on {os.cpu_count()} cores of {model}, {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 30} GiB, "
          f"{platform.system()} {platform.release()}, load {load()}")


def load():
    return "%.1f %.1f %.1f" % os.getloadavg()


class Table:
    """Rows as they are measured; facts is all of it for a machine."""

    def __init__(self):
        self.rows, self.growths, self.facts, self.held = [], [], {}, True

    def ratio(self, what, reference, runs, limit, note=""):
        """runs: two lists of Run, ours and the reference's, round by round; limit: the least ratio of their rates, or None."""
        ours, theirs = ([run.rate for run in side] for side in runs)
        ratios = [a / b for a, b in zip(ours, theirs)]
        ratio = statistics.median(ratios)
        held = limit is None or ratio >= limit
        self.held &= held
        self.rows.append((what, reference, spread(ours), spread(theirs), f"{ratio:.2f} ({min(ratios):.2f}-{max(ratios):.2f})",
                          f"{limit:.1f}" if limit else "", ("held" if held else "MISSED") if limit else "", note))
        self.facts[f"{what} / {reference}"] = {"ours": ours, "reference": theirs, "ratios": ratios, "ratio": ratio, "limit": limit,
                                               "held": held}

    def peak(self, records, peak, limit):
        held = peak <= limit
        self.held &= held
        self.rows.append((f"peak memory of an audit of {records:,}", "", f"{peak / MIB:.0f} MiB", "", "", f"<= {limit / MIB:.0f} MiB",
                          "held" if held else "MISSED", ""))
        self.facts["peak"] = {"records": records, "bytes": peak, "limit": limit, "held": held}

    def growth(self, records, run):
        self.growths.append((records, run))
        self.facts.setdefault("growth", []).append(
            {"records": records, "keys_sampled": run.keys, "wall": run.wall, "cpu": run.cpu, "stages": run.stages, "peak": run.peak,
             "index": run.index_bytes})

    def show(self):
        print("\nmedians of five rounds, (least-most); rates in records or keys a second")
        lay_out([("what", "against", "fencepost", "reference", "ratio", "to reach", "", ""), *self.rows])
        print("\na complete audit, from an empty index, as it grows; seconds")
        stages = list(dict.fromkeys(stage for _, run in self.growths for stage in run.stages))
        lay_out([("records", "keys looked at", *stages, "whole", "CPU", "peak MiB", "index MiB", "index B/record")] +
                [(f"{records:,}", f"{run.keys:,}", *(f"{run.stages.get(stage, 0):.2f}" for stage in stages), f"{run.wall:.2f}",
                  f"{run.cpu:.2f}", f"{run.peak / MIB:.0f}", f"{run.index_bytes / MIB:.0f}", f"{run.index_bytes / records:.1f}")
                 for records, run in self.growths])
        print(f"\nload at the end {load()}")


def spread(values):
    return f"{number(statistics.median(values))} ({number(min(values))}-{number(max(values))})"


def number(value):
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k"


def lay_out(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def rounds(what, *takes):
    """Five rounds; takes are functions without arguments. Gives a list of Runs a function."""
    runs = [[] for _ in takes]
    for i in range(ROUNDS):
        for take, kept in zip(takes, runs):
            kept.append(take())
        print(f"{what} {i + 1}/{ROUNDS}: " + ", ".join(f"{number(kept[-1].rate)}/s" for kept in runs) + f"; load {load()}", flush=True)
    return runs


def replays(table, world, name, sizes):
    records, some = sizes["records"], sizes["python"]
    contestants.bare(world, name, records)              # the log comes into the page cache
    ours, bare, java, python, tuned = rounds(
        "replay, bare librdkafka, ConsumerPerformance, Python, tuned", lambda: contestants.replay(world, name, records),
        lambda: contestants.bare(world, name, records), lambda: contestants.java(world, name, records),
        lambda: contestants.python(world, name, some), lambda: contestants.python(world, name, some, "tuned"))
    table.ratio("live replay into the index", "bare librdkafka, two handles", (ours, bare), 0.9)
    table.ratio("live replay into the index", "Kafka's ConsumerPerformance", (ours, java), 1.1)
    table.ratio("live replay into the index", "Python with a dict", (ours, python), 20, f"Python read {some:,} records")
    table.ratio("live replay into the index", "the same with our settings", (ours, tuned), None, "for comparison")
    for what, runs in (("replay", ours), ("bare", bare)):
        cpu = statistics.median(run.cpu for run in runs) / records * 1e9
        table.facts[f"{what} CPU ns/record"] = cpu
        print(f"{what}: {cpu:.0f} ns of CPU a record")


def samples(table, keys):
    ours, = rounds("sampling", lambda: contestants.sample(keys))
    parts = [run.parts for run in ours]
    limits = [contestants.rated(part["limit"]) for part in parts]
    table.ratio("sampling, rate unlimited", "1/(1/SCAN + 1/HMGET + 1/PTTL)", (ours, limits), 0.9,
                "SCAN %s, HMGET %s, PTTL %s" % tuple(number(statistics.median(p[n] for p in parts)) for n in ("scan", "hmget", "pttl")))


def pendings(table, sizes):
    """Of the first size the rates; of each, how much memory the look takes, with all of them suspects and with none."""
    for entries in sizes:
        with contestants.pending_server(entries) as server:
            if entries == sizes[0]:
                bare, counted, kept, suspects = rounds(
                    "pending entries: bare, counted, kept, suspects", lambda: contestants.bare_pending(server, entries),
                    lambda: contestants.pending(server, entries, keys=1), lambda: contestants.pending(server, entries, keys=entries),
                    lambda: contestants.pending(server, entries, keys=entries, idle="1ms"))
                reference = "a bare XPENDING loop"
                table.ratio("pending entries into the index", reference, (counted, bare), 0.5, "counted; above pending.keys")
                table.ratio("the same, all kept and looked for", reference, (kept, bare), 0.5, "XRANGE for each")
                table.ratio("the same, all looked at twice", reference, (suspects, bare), None, "every one a suspect")
            for keys in (100_000, 1_000_000):
                run = contestants.pending(server, entries, keys=keys, idle="1ms")
                table.facts.setdefault("pending peak", []).append({"entries": entries, "pending.keys": keys, "bytes": run.peak})
                print(f"{entries:,} pending entries, {keys:,} kept at most, all suspects: {run.seconds:.1f} s, {run.peak / MIB:.0f} MiB; "
                      f"load {load()}", flush=True)


def growth(table, world, names, sizes):
    for records in sizes["growth"]:
        server = world.redis(names[records], records)
        try:
            run = contestants.audit(world, names[records], server)
            table.growth(records, run)
            print(f"audit of {records:,}: {run.wall:.1f} s, {run.peak / MIB:.0f} MiB; load {load()}", flush=True)
            world.clear(run.index)
            if records == max(sizes["growth"]):
                table.peak(records, run.peak, PEAK_LIMIT)
                folds(table, world, names[records], server, records)
        finally:
            server.close()


def folds(table, world, name, server, records):
    """A tenth of the keys looked at, at every scale: what the standard of a million is to ten million keys."""
    audited = contestants.audit(world, name, server, **{"sample.keys": max(records // KEYS_PER // 10, 1)})
    ours, replay = rounds("fold, replay", lambda: contestants.fold(world, audited, records),
                          lambda: contestants.replay(world, name, records))
    table.ratio("fold", "the replay", (ours, replay), 2, f"{audited.keys:,} of {records // KEYS_PER:,} keys looked at")
    world.clear(audited.index)


def misplaced(table, world, name, records):
    """Eleven of twelve keys stand off home; one cause explains them."""
    ours, replay = [], []
    for i in range(ROUNDS):
        for run, kept in zip(contestants.broken(world, name, records), (ours, replay)):
            kept.append(run)
        print(f"fold, checks and attribution of misplaced keys {i + 1}/{ROUNDS}: {number(ours[-1].rate)}/s, replay {number(replay[-1].rate)}/s; "
              f"load {load()}", flush=True)
    table.ratio("fold, checks, attribution: all keys misplaced", "the replay", (ours, replay), 2,
                f"peak {max(run.peak for run in ours) / MIB:.0f} MiB")


if __name__ == "__main__":
    main()
