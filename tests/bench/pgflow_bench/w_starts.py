"""Starts: how fast one connection queues runs, singly and in batches."""

from . import account
from .workload import Reach, Workload


class Starts(Workload):
    name, title = "starts", "runs started through one connection: one by one, and 100 in a call"
    # 3,000 and 10,000 a second where F1 was 2,300 and F100 45,000.
    reaches = [Reach("start_flow", "x_f1", ">=", 1.3), Reach("start_flows", "x_f100", ">=", 0.22)]

    def round(self, bench):
        return {
            "start_flow": self.start(bench, "start", bench.size["start_single"]),
            "start_flows": self.start(bench, "starts", bench.size["start_batch"], 100),
        }

    def start(self, bench, verb, count, *width):
        with bench.database("noop") as database:
            if bench.account:
                account.switch_on(database)
            figures = bench.pump.measure(database, count, verb, "noop", count, *width, bench.pump.file("{}"))
            if bench.account:
                bench.say(account.text(f"{count} runs by {verb}", account.read(database, count)))
            queued = database.row("select (select count(*) from pgmq.q_noop) as messages, (select count(*) from pgflow.runs) as runs")
            assert tuple(queued) == (count, count), f"{tuple(queued)} messages and runs instead of {count}"
        return figures
