"""W4 and the idle host: how soon a lone task begins, and what waiting for one costs."""

import pathlib
import random
import time

from .drain import others_percent
from .server import Meter, children, wait_calm
from .workload import Reach, Workload

LONGEST_WAIT = 0.5  # s, of the bench's --patience, before each of many samples
QUIET = 0.03  # s between samples: results are in, the host sleeps again


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Latency(Workload):
    name, title = "W4", "idle host: from the call of start_flow to the handler's first line"
    reaches = [
        Reach("listen", "p50_ms", "<=", 3), Reach("listen", "p99_ms", "<=", 15),
        Reach("polling", "max_ms", "<=", 1100),
    ]

    def round(self, bench):
        quiet = random.Random(1)
        return {
            "listen": self.sample(bench, (), bench.size["w4_samples"], lambda: QUIET * (1 + quiet.random())),
            "polling": self.sample(
                bench, ("--no-listen",), bench.size["w4_poll_samples"], lambda: quiet.uniform(*bench.size["w4_backed_off"])
            ),
        }

    def sample(self, bench, options, count, pause):
        waits, starts = [], []
        with bench.database("bench_clock") as database, bench.hosts(database) as hosts:
            database.rows("prepare start as select run_id from pgflow.start_flow('bench_clock', '{}')")
            host = hosts.start(*options, plugins=bench.modules("bench_clock"))
            meter = Meter(database, [host])
            for _ in range(count):
                time.sleep(pause())
                wait_calm(min(bench.patience, LONGEST_WAIT))
                wait, start = self.one(database)
                waits.append(wait)
                starts.append(start)
            cost = meter.end()
            host.stop()
            done = database.value("select count(*) from pgflow.runs where status = 'completed'")
            assert done == count, f"{done} of {count} runs completed"
        return {
            "tasks": count,
            "p50_ms": percentile(waits, 0.5),
            "p99_ms": percentile(waits, 0.99),
            "max_ms": max(waits),
            "start_p50_ms": percentile(starts, 0.5),
            "others_percent": others_percent(cost),
        }

    def one(self, database):
        """Milliseconds from the call of start_flow to the handler, and to its answer: a commit is in both."""
        began = time.time_ns()
        run = database.value("execute start")
        started = time.time_ns()
        database.until("select status = 'completed' from pgflow.runs where run_id = %s", run)
        handled = database.value("select (output->>'clock')::bigint from pgflow.runs where run_id = %s", run)
        return (handled - began) / 1e6, (started - began) / 1e6


class Idle(Workload):
    name, title = "idle", "a host with nothing to do, one idle runner"
    reaches = [Reach("host", "cpu_percent", "<=", 1), Reach("host", "pss_mb", "<=", 10)]

    def round(self, bench):
        seconds = bench.size["idle_seconds"]
        with bench.database("noop") as database, bench.hosts(database) as hosts:
            host = hosts.start(plugins=bench.modules("noop"))
            meter = Meter(database, [host])
            time.sleep(seconds)
            cost = meter.end()
            pids = [host.pid, *children(host.pid)]
            memory = sum(proportional_kib(pid) for pid in pids)
            host.stop()
        return {
            "host": {
                "tasks": 0,
                "seconds": cost["seconds"],
                "others_percent": others_percent(cost),
                "cpu_percent": 100 * (cost["host_cpu_s"] + cost["runner_cpu_s"]) / cost["seconds"],
                "pg_cpu_percent": 100 * cost["pg_cpu_s"] / cost["seconds"],
                "wal_bytes_per_s": cost["wal_bytes"] / cost["seconds"],
                "pss_mb": memory / 1024,
                "runners": len(pids) - 1,
            }
        }


def proportional_kib(pid):
    """Memory of a process, shared pages divided among those that share them."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise AssertionError(f"no Pss in /proc/{pid}/smaps_rollup")
