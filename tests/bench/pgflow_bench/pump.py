"""bench_pump, the plain client: the two floors, and the loads of the workloads."""

import json
import subprocess

from .drain import counted, per_task
from .server import Meter, wait_calm

BODY = """jsonb_build_object('flow_slug', 'noop', 'run_id', gen_random_uuid(), 'step_slug', 'noop', 'task_index', 0)"""


class Pump:
    def __init__(self, build, folder, patience=0):
        self._program = build / "bin" / "bench_pump"
        self._folder = folder
        self._patience = patience

    def file(self, text):
        """A file with this text, for an input or a message."""
        path = self._folder / "payload.json"
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, database, *arguments):
        command = [self._program, database.url, *(str(argument) for argument in arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=1800, text=True)
        return json.loads(done.stdout)

    def start_runs(self, database, flow, count, text="{}", width=100):
        """Queue runs; several in one call, so that a load does not take longer than its work."""
        width = min(width, count)
        started = self.run(database, "starts", flow, count, width, self.file(text))
        assert started["count"] == count, f"{started['count']} runs of {flow} instead of {count}: {width} at a time"

    def floor(self, database, count, width, kind):
        """Messages per second of a client that only reads and archives, and what each cost."""
        database.value("select pgmq.create('floor')")
        database.value(
            "select count(*) from pgmq.send_batch('floor', array(select " + BODY + " from generate_series(1, %s)))", count
        )
        figures = self.measure(database, count, "drain", "floor", width, kind)
        left = database.row(
            "select (select count(*) from pgmq.q_floor) as queued, (select count(*) from pgmq.a_floor) as archived"
        )
        assert tuple(left) == (0, count), f"left in queue and archive: {tuple(left)}"
        database.value("select pgmq.drop_queue('floor')")
        return figures

    def measure(self, database, count, *arguments):
        """What the client does with these arguments, as figures per task."""
        before = database.counters()
        wait_calm(self._patience)
        meter = Meter(database)
        done = self.run(database, *arguments)
        cost = meter.end()
        after = database.counters()
        assert done["count"] == count, f"{arguments[0]} did {done['count']} of {count}"
        return {
            "tasks": count,
            "seconds": done["seconds"],
            "rate": count / done["seconds"],
            **per_task(cost, count),
            **counted(before, after, count),
        }

    def floors(self, database, size):
        return {
            "F1": self.floor(database, size["floor_single"], 10, "single"),
            "F100": self.floor(database, size["floor_batch"], 100, "array"),
        }
