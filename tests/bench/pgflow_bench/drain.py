"""Hosts work off a prepared queue: the measurement that most workloads share.

The queue is filled, then locked, so that hosts come up, register and then stand at
its gate. All figures count from the moment it opens to the last result; what hosts
need to start and stop is in none of them, but for a handful of calls.
"""

import os

import psycopg2

from . import account
from .server import Meter, wait_calm

PATIENCE = 900
GATE_PATIENCE = 2  # s; hosts wait at the gate meanwhile, and release what they have not begun 5 s after they asked
BEST = ("--concurrency", "100", "--batch-size", "100")

# A wait begins when the task is queued, or when the gate opens.
TIMES = """
select count(*) as tasks, extract(epoch from max(t.completed_at))::float8 as last,
       extract(epoch from sum(t.completed_at - t.started_at))::float8 as held,
       1000 * extract(epoch from percentile_cont(0.5) within group (order by t.started_at - greatest(t.queued_at, m.opened)))::float8 as p50,
       1000 * extract(epoch from percentile_cont(0.99) within group (order by t.started_at - greatest(t.queued_at, m.opened)))::float8 as p99,
       count(*) filter (where t.completed_at <= m.closed) as metered,
       count(*) filter (where t.claim_no > 1) as claimed_again,
       count(*) filter (where t.attempts_count <> 1) as repeated
from (select to_timestamp(%s) as opened, to_timestamp(%s) as closed) m
cross join pgflow.step_tasks t
where t.queue_name = %s and t.status = 'completed' and t.completed_at >= m.opened
"""


class Gate:
    """Keeps claims out of a queue until it opens; reading is let through."""

    def __init__(self, database, queue):
        self._connection = psycopg2.connect(database.url)
        self._cursor = self._connection.cursor()
        self._cursor.execute(f'lock table pgmq."q_{queue}" in exclusive mode')

    def prepare(self):
        """The hosts are up: nothing to do, the queue is filled."""

    def open(self):
        """Gives the server's time at which it opened."""
        self._cursor.execute("select extract(epoch from clock_timestamp())::float8")
        opened = self._cursor.fetchone()[0]
        self._connection.commit()
        self._connection.close()
        return opened


class Burst:
    """Runs that come at once, to hosts that are at rest: started in one transaction, which commits when it opens."""

    def __init__(self, database, statement, *values):
        self._url = database.url
        self._start = (statement, values)

    def prepare(self):
        self._connection = psycopg2.connect(self._url)
        self._cursor = self._connection.cursor()
        self._cursor.execute(*self._start)

    def open(self):
        self._cursor.execute("select extract(epoch from clock_timestamp())::float8")
        opened = self._cursor.fetchone()[0]
        self._connection.commit()
        self._connection.close()
        return opened


def others_percent(cost):
    """How busy the machine was with something else meanwhile."""
    ours = cost["pg_cpu_s"] + cost["host_cpu_s"] + cost["runner_cpu_s"]
    return max(0.0, 100 * (cost["machine_cpu_s"] - ours) / (os.cpu_count() * cost["seconds"]))


def per_task(cost, tasks):
    return {
        "others_percent": others_percent(cost),
        "pg_cpu_ms": 1000 * cost["pg_cpu_s"] / tasks,
        "host_cpu_ms": 1000 * cost["host_cpu_s"] / tasks,
        "runner_cpu_ms": 1000 * cost["runner_cpu_s"] / tasks,
        "wal_bytes": cost["wal_bytes"] / tasks,
    }


def counted(before, after, tasks):
    """Per task, from the server's own counters. Calls are the transactions that the bench did not make."""
    made = {name: after[name] - before[name] for name in before}
    assert made["deadlocks"] == 0, f"{made['deadlocks']} deadlocks"
    return {
        "wal_syncs": made["syncs"] / tasks,
        "rows_written": made["written"] / tasks,
        "round_trips": (made["calls"] - made["asked"]) / tasks,
        "dead_tuples": made["dead_made"] / tasks,
        "hot_share": made["hot"] / made["updated"] if made["updated"] else 0.0,
        "dead_left": after["dead_left"],
    }


def wait_all_runs(database):
    """Wait until no run is left; looks at the latest first, which is one look-up."""
    latest = "select run_id from pgflow.runs where status = 'started' order by started_at desc limit 1"
    for (run,) in database.rows(latest):  # none, where the hosts were faster than this question
        database.until("select status <> 'started' from pgflow.runs where run_id = %s", run, patience=PATIENCE)
    database.until("select not exists (select from pgflow.runs where status = 'started')", patience=PATIENCE)


def drain(bench, database, queue, plugins, options=(), hosts=1, wait=wait_all_runs, gate=None):
    """The figures of one drain; the queue is filled already, or by the gate."""
    if bench.account:
        account.switch_on(database)
    before = database.counters()
    gate = gate or Gate(database, queue)
    wait_calm(bench.patience)
    with bench.hosts(database) as started:
        running = [
            started.start(*options, "--function", f"bench/{number}", queue=queue, plugins=plugins)
            for number in range(hosts)
        ]
        gate.prepare()
        wait_calm(min(bench.patience, GATE_PATIENCE))
        meter = Meter(database, running)
        opened = gate.open()
        wait(database)
        # Where work is left, the hosts finish what they hold before they stop: counted, but after the meter.
        closed = database.value("select extract(epoch from clock_timestamp())::float8")
        cost = meter.end()
        for host in running:
            host.signal(15)
        for host in running:
            assert host.wait() == 0, host.log.tail()
    after = database.counters()

    times = database.row(TIMES, opened, closed, queue)
    seconds = times.last - opened
    assert times.repeated == 0, f"{times.repeated} tasks needed more than one attempt"
    if bench.account:
        bench.say(account.text(f"{times.tasks} tasks on {queue}", account.read(database, times.tasks)))
    return {
        "tasks": times.tasks,
        "seconds": seconds,
        "rate": times.tasks / seconds,
        "claimed_again": times.claimed_again,
        "in_flight": times.held / seconds,
        "wait_p50_ms": times.p50,
        "wait_p99_ms": times.p99,
        **per_task(cost, times.metered),
        **counted(before, after, times.tasks),
    }


def check_done(database, queue, tasks):
    """Every task was completed, each once, and its message archived."""
    found = database.row(
        f'select (select count(*) from pgmq."q_{queue}") as left_over,'
        f' (select count(distinct message) from pgmq."a_{queue}") as archived,'
        " (select count(*) from pgflow.step_tasks where queue_name = %s and status = 'completed'"
        "  and attempts_count = 1) as completed,"
        " (select count(*) from pgflow.step_tasks) as tasks,"
        " (select count(*) from pgflow.runs where status <> 'completed') as unfinished",
        queue,
    )
    assert tuple(found) == (0, tasks, tasks, tasks, 0), f"not each of {tasks} tasks exactly once: {found}"

