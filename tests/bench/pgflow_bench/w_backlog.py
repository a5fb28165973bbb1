"""W8: a queue with a past and a backlog; and one whose visible messages stand behind delayed ones."""

import contextlib

from .clones import clone_run, sizes
from .drain import check_done, drain
from .server import own_time
from .w_flows import noop_drain
from .workload import Reach, Workload

BATCH_READ = "select * from pgflow.read_and_claim_tasks('noop', 10, 5, '00000000-0000-4000-8000-000000000001')"
REGISTER = """
select pgflow.register_worker('00000000-0000-4000-8000-000000000001', 'noop', 'bench/empty',
                              array[('noop', 'noop')]::pgflow.task_pair[])
"""


class Backlog(Workload):
    name, title = "W8", "a long past and backlog; and many delayed messages ahead"
    reaches = [
        Reach("backlog", "of_w1", ">=", 0.8), Reach("delayed", "of_w1", ">=", 0.8),
        Reach("delayed", "empty_claim_ms", "<=", 1),
    ]

    def __init__(self):
        self._open = contextlib.ExitStack()
        self._backlog = self._delayed = None

    def round(self, bench):
        if self._backlog is None:
            self._backlog = self.load(bench, archived=True, delayed=False)
            self._delayed = self.load(bench, archived=False, delayed=True)
        plain = noop_drain(bench, bench.size["w1_runs"])
        figures = {"backlog": self.window(bench), "delayed": self.behind(bench)}
        for variant in figures.values():
            variant["of_w1"] = variant["rate"] / plain["rate"]
        return {**figures, "w1": plain}

    def load(self, bench, archived, delayed):
        database = self._open.enter_context(bench.database("noop"))
        count = bench.size["w8_backlog"]
        if archived:
            bench.pump.start_runs(database, "noop", 1)
            drain(bench, database, "noop", bench.modules("noop"))
            check_done(database, "noop", 1)
            clone_run(database, count, "a_noop")
        bench.pump.start_runs(database, "noop", 1)
        clone_run(database, count, "q_noop", delay="1 day" if delayed else "0")
        return database

    def window(self, bench):
        """The next part of the backlog, in the order in which it waits."""
        database = self._backlog
        last = database.value("select msg_id from pgmq.q_noop order by vt limit 1 offset %s", bench.size["w8_window"])

        def wait(_):
            database.until("select not exists (select from pgmq.q_noop where msg_id = %s)", last, patience=900)

        figures = drain(bench, database, "noop", bench.modules("noop"), wait=wait)
        return {**figures, **sizes(database)}

    def behind(self, bench):
        """Visible messages with a million delayed ones before them, and polls when only those are left."""
        database = self._delayed
        database.rows("update pgmq.q_noop set vt = vt + interval '1 day' where vt <= clock_timestamp()")
        bench.pump.start_runs(database, "noop", bench.size["w8_visible"])
        last = database.value("select run_id from pgflow.runs order by started_at desc limit 1")

        def wait(_):
            database.until("select status <> 'started' from pgflow.runs where run_id = %s", last, patience=900)
            database.until("select not exists (select from pgflow.step_tasks where status = 'started')")

        figures = drain(bench, database, "noop", bench.modules("noop"), wait=wait)
        figures["empty_claim_ms"] = self.empty_claims(database, bench.size["w8_empty_claims"])
        return {**figures, **sizes(database)}

    def empty_claims(self, database, count):
        """PostgreSQL's CPU for a claim that finds nothing, in ms."""
        registered = database.value(REGISTER)
        assert registered == "registered", registered
        backend = database.value("select pg_backend_pid()")
        database.rows(f"prepare poll as {BATCH_READ}")
        before = own_time(backend)
        for _ in range(count):
            rows = database.rows("execute poll")
            assert [row.outcome for row in rows] == ["empty"], rows
        return 1000 * (own_time(backend) - before) / count

    def finish(self):
        self._open.close()
        self._backlog = self._delayed = None
