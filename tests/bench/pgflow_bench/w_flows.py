"""W1, W2, W6, W7: many small runs that wait when the hosts come."""

from .cold import cold_and_warm
from .drain import BEST, check_done, drain
from .workload import Reach, Workload

BURST = "select count(*) from pgflow.start_flows(%s, array_fill('{}'::jsonb, array[%s]))"


def noop_drain(bench, runs, options=(), hosts=1):
    """Runs of one step, all queued before; also what W6, W7 and W8 are held against."""
    with bench.database("noop") as database:
        bench.pump.start_runs(database, "noop", runs)
        figures = drain(bench, database, "noop", bench.modules("noop"), options, hosts)
        check_done(database, "noop", runs)
        shares = [row.tasks for row in database.rows(
            "select count(*) as tasks from pgflow.step_tasks group by last_worker_id")]
    if hosts > 1:
        least = min(shares) if len(shares) == hosts else 0
        figures["least_share"] = least * hosts / runs
    return figures


class SingleSteps(Workload):
    name, title = "W1", "single-step runs, queued before"
    reaches = [
        Reach("defaults", "x_f1", ">=", 3.5), Reach("defaults", "x_f100", ">=", 0.18),
        Reach("best", "x_f1", ">=", 6.5), Reach("best", "x_f100", ">=", 0.35), Reach("cold", "of_warm", ">=", 0.8),
    ]

    def round(self, bench):
        runs = bench.size["w1_runs"]
        return {"defaults": noop_drain(bench, runs), "best": noop_drain(bench, runs, BEST),
                **cold_and_warm(bench, "noop", runs, BURST, "noop", runs)}


class Chains(Workload):
    name, title = "W2", "runs of a three-step chain, queued before"
    reaches = [
        Reach("defaults", "x_f1", ">=", 2.2), Reach("best", "x_f1", ">=", 3.9), Reach("cold", "of_warm", ">=", 0.8),
    ]

    def round(self, bench):
        runs = bench.size["w2_runs"]
        return {"defaults": self.drain(bench, ()), "best": self.drain(bench, BEST),
                **cold_and_warm(bench, "chain", 3 * runs, BURST, "chain", runs)}

    def drain(self, bench, options):
        runs = bench.size["w2_runs"]
        with bench.database("chain") as database:
            bench.pump.start_runs(database, "chain", runs)
            figures = drain(bench, database, "chain", bench.modules("chain"), options)
            check_done(database, "chain", 3 * runs)
        return figures


class FourHosts(Workload):
    name, title = "W6", "four hosts on one queue"
    reaches = [Reach("four", "of_one_host", ">=", 0.8), Reach("four", "least_share", ">=", 0.5)]

    def round(self, bench):
        runs = bench.size["w6_runs"]
        one = noop_drain(bench, runs)
        four = noop_drain(bench, runs, hosts=4)
        four["of_one_host"] = four["rate"] / one["rate"]
        return {"one": one, "four": four}


class Mixed(Workload):
    name, title = "W7", "two flows of two versions with 20 steps each on one queue"
    modules = ("bench_red_v1", "bench_red_v2", "bench_blue_v1", "bench_blue_v2")
    steps = 20
    reaches = [Reach("mixed", "of_w1", ">=", 0.9)]

    def round(self, bench):
        runs = bench.size["w7_runs"]
        plain = noop_drain(bench, runs * self.steps)
        with bench.database(*self.modules, queue="bench_mixed") as database:
            self.start(database, runs)
            mixed = drain(bench, database, "bench_mixed", bench.modules(*self.modules))
            check_done(database, "bench_mixed", runs * self.steps)
        mixed["of_w1"] = mixed["rate"] / plain["rate"]
        return {"mixed": mixed, "w1": plain}

    def start(self, database, runs):
        """The four versions take turns, a few runs at a time."""
        for turn, first in enumerate(range(0, runs, 5)):
            few = min(5, runs - first)
            flow = self.modules[turn % len(self.modules)]
            database.rows("select pgflow.start_flows(%s, array_fill('{}'::jsonb, array[%s]))", flow, few)
