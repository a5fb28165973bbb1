"""W5: large inputs and outputs, against the same bytes moved by plain send, read and archive."""

import json
import random

from .drain import check_done, drain
from .server import Meter
from .workload import Reach, Workload


def payload(size):
    """JSON like that of real work: records that compression makes about three times smaller."""
    dice = random.Random(size)
    records = []
    length = 2
    while length < size:
        record = {"id": dice.getrandbits(40), "name": f"user {dice.getrandbits(30)}", "ok": dice.random() < 0.5}
        records.append(record)
        length += len(json.dumps(record)) + 2
    return json.dumps(records)


class Payloads(Workload):
    name, title = "W5", "inputs and outputs of a size, each run's output its input"
    reaches = [
        Reach("1 KB", "of_plain_time", "<=", 2), Reach("1 KB", "of_plain_wal", "<=", 2),
        Reach("100 KB", "of_plain_time", "<=", 2), Reach("100 KB", "of_plain_wal", "<=", 2),
        Reach("1 MB", "of_plain_time", "<=", 2), Reach("1 MB", "of_plain_wal", "<=", 2),
    ]

    def round(self, bench):
        return {
            name: self.measure(bench, payload(size), count)
            for name, (size, count) in bench.size["w5_payloads"].items()
        }

    def measure(self, bench, text, count):
        plain_seconds, plain_wal = self.plain(bench, text, count)
        with bench.database("bench_echo") as database:
            began = Meter(database)
            started = bench.pump.run(database, "start", "bench_echo", count, bench.pump.file(text))
            loaded = began.end()
            figures = drain(bench, database, "bench_echo", bench.modules("bench_echo"))
            check_done(database, "bench_echo", count)
            self.check_outputs(database, text, count)
        wal = loaded["wal_bytes"] + figures["wal_bytes"] * count
        figures["payload_bytes"] = len(text)
        figures["of_plain_time"] = (started["seconds"] + figures["seconds"]) / plain_seconds
        figures["of_plain_wal"] = wal / plain_wal
        return figures

    def plain(self, bench, text, count):
        """Seconds and WAL of two messages for each run: one for its input, one for its output."""
        with bench.database() as database:
            database.value("select pgmq.create('plain')")
            meter = Meter(database)
            moved = bench.pump.run(database, "move", "plain", 2 * count, bench.pump.file(text))
            return moved["seconds"], meter.end()["wal_bytes"]

    def check_outputs(self, database, text, count):
        same = database.value(
            "select count(*) from pgflow.runs where output = jsonb_build_object('echo', %s::jsonb)", text
        )
        assert same == count, f"{same} of {count} outputs are what went in"
