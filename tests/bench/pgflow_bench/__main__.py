"""tests/bench/run, once a PostgreSQL is there: measure, report, compare."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile

from . import compare, docs, report, summary
from .sizes import SCALES

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE.parent / "baseline.json"


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/bench/run",
        description="Measure this build beside what plain queue reading reaches in the same run.",
        epilog="Exit status: 0; 1 when --baseline found something slower. docs/performance.md says how to read it.",
    )
    parser.add_argument("--quick", action="store_true", help="smaller workloads, one round: minutes instead of half an hour")
    parser.add_argument("--smoke", action="store_true", help="a few tasks each: tests the bench, measures nothing")
    parser.add_argument("--rounds", type=int, help="rounds of each workload (default: 3; quick: 1)")
    parser.add_argument(
        "--patience", type=float, default=0, metavar="S",
        help="wait up to S seconds before each measurement for a moment in which nobody else works",
    )
    parser.add_argument("--workload", default="", metavar="W1,...", help="only these: " + ", ".join(names()))
    parser.add_argument("--account", action="store_true", help="also say which SQL functions the time of each drain and start goes to")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the summary")
    parser.add_argument(
        "--baseline", type=pathlib.Path, nargs="?", const=BASELINE, metavar="FILE",
        help="compare with a saved summary (default: tests/bench/baseline.json) and name what got slower",
    )
    parser.add_argument("--docs", action="store_true", help="put table and plot into docs/performance.md")
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE", help="measure nothing: read a summary")
    given = parser.parse_args()
    for file in (given.baseline, given.source):
        if file and not file.is_file():
            parser.error(f"no saved run in {file}; --json FILE saves one")
    given.workload = [name for name in given.workload.split(",") if name]
    unknown = [name for name in given.workload if name not in names()]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(names())}")
    return given


def names():
    from .workloads import NAMES

    return NAMES


def machine():
    from .server import Database

    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")]
    database = Database("template0")
    try:
        return {
            "processors": os.cpu_count(),
            "model": model[0] if model else platform.machine(),
            "kernel": platform.release().partition("-")[0],
            "postgresql": "PostgreSQL " + database.value("show server_version"),
            "fsync": database.value("show fsync"),
            "load": os.getloadavg()[0],
        }
    finally:
        database.close()


def measure(given, scale, folder):
    from .bench import Bench
    from .server import migrate
    from .workloads import chosen

    found = {
        "format": summary.FORMAT,
        "scale": scale,
        "at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "workloads": {},
    }
    migrate()
    bench = Bench(SCALES[scale], folder, given.account, given.patience)
    with bench.database() as database:
        floors = Floors(bench, database)
        for workload in chosen(given.workload):
            rounds = rounds_of(workload, given.rounds or bench.size["rounds"], bench, floors)
            found["workloads"][workload.name] = summary.summarise(workload, rounds)
            bench.say(report.workload_text(workload.name, found["workloads"][workload.name]))
    return found


class Floors:
    """Measured between all rounds; those of a round are the mean of the one before and the one after it."""

    def __init__(self, bench, database):
        self._bench, self._database = bench, database
        self._latest = self._measure()

    def _measure(self):
        return self._bench.pump.floors(self._database, self._bench.size)

    def around(self):
        before, self._latest = self._latest, self._measure()
        return summary.between(before, self._latest)


def rounds_of(workload, count, bench, floors):
    """[(floors, variants)]"""
    found = []
    try:
        for number in range(count):
            bench.say(f"{workload.name} round {number + 1}: {workload.title}")
            variants = workload.round(bench)
            found.append((floors.around(), variants))
    finally:
        workload.finish()
    return found


def main():
    # A TERM must run the ends of all `with`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    if given.source:
        found = json.loads(given.source.read_text(encoding="utf-8"))
    else:
        scale = "smoke" if given.smoke else "quick" if given.quick else "full"
        with tempfile.TemporaryDirectory(prefix="pgflow-bench.") as folder:
            found = measure(given, scale, pathlib.Path(folder))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(report.text(found))
    if given.docs:
        docs.write(found)
    if given.baseline:
        baseline = json.loads(given.baseline.read_text(encoding="utf-8"))
        slower = compare.compare(baseline, found)
        print(compare.text(slower, compare.noisy(baseline, found)))
        return 1 if slower else 0
    return 0


sys.exit(main())
