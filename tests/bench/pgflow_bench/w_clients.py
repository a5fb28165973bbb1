"""Clients: many that start runs one by one, each through a connection of its own, by pgbench.

A commit that notifies goes singly through a lock of the whole cluster: clients that had to notify would get no faster
by being many. With a host at work the runs are worked off meanwhile.
"""

import os
import re
import subprocess

from .workload import Reach, Workload

CLIENTS = (1, 2, 8, 16)
START = "select run_id from pgflow.start_flow('noop', '{}');"
TPS = re.compile(r"^tps = ([0-9.]+) \(without", re.MULTILINE)


class Clients(Workload):
    name, title = "clients", "runs started one by one by 1 to 16 clients (pgbench, prepared), alone and while a host works"
    reaches = [
        Reach(f"{many}{where}", figure, ">=", wanted)
        for where in ("", " with a host")
        for many, figure, wanted in ((8, "of_one_client", 4), (16, "of_eight_clients", 1))
    ]

    def round(self, bench):
        return {
            **self.figures(bench, "", self.alone),
            **self.figures(bench, " with a host", self.beside_a_host),
        }

    def figures(self, bench, where, measure):
        rates = measure(bench)
        found = {}
        for clients, rate in rates.items():
            tasks = clients * bench.size["client_starts"]
            found[f"{clients}{where}"] = {"tasks": tasks, "seconds": tasks / rate, "rate": rate, "of_one_client": rate / rates[1]}
        found[f"16{where}"]["of_eight_clients"] = rates[16] / rates[8]
        return found

    def alone(self, bench):
        with bench.database("noop") as database:
            return self.rates(bench, database)

    def beside_a_host(self, bench):
        with bench.database("noop") as database, bench.hosts(database) as hosts:
            host = hosts.start(plugins=bench.modules("noop"))
            found = self.rates(bench, database)
            # Nothing that was started may be left behind.
            database.until("select count(*) = 0 from pgflow.runs where status <> 'completed'", patience=300)
            host.stop()
        return found

    def rates(self, bench, database):
        script = bench.folder / "start.sql"
        script.write_text(START)
        found = {clients: self.rate(bench, database, script, clients) for clients in CLIENTS}
        started = database.value("select count(*) from pgflow.runs")
        wanted = sum(CLIENTS) * bench.size["client_starts"]
        assert started == wanted, f"{started} runs instead of {wanted}"
        return found

    def rate(self, bench, database, script, clients):
        command = [
            os.path.join(os.environ["PGBIN"], "pgbench"), "-n", "-M", "prepared", "-f", script, "-c", clients,
            "-t", bench.size["client_starts"], database.url,
        ]  # fmt: skip
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        return float(TPS.search(done.stdout).group(1))
