"""Old-style workers and clients that go on while something is done to their database, and the account afterwards."""

import collections
import threading

import psycopg2

from .ts_worker import TsWorker

SHAPE = {"steps": [{"slug": "split", "stepType": "single", "dependencies": []},
                   {"slug": "part", "stepType": "map", "dependencies": ["split"]},
                   {"slug": "join", "stepType": "single", "dependencies": ["part"]}]}
TASKS = 5


def handle(step, given, flow_input):
    return {"split": lambda: [1, 2, 3], "part": lambda: given * 2, "join": lambda: {"sum": sum(given["part"])}}[step]()


class Storm:
    """Workers of the releases named, and clients that start runs one after the other, until settle()."""

    def __init__(self, database, *releases, clients=2):
        self.database, self.errors, self.runs = database, [], []
        self._ended, self.refused = threading.Event(), threading.Event()
        self.workers = []
        for release in releases:
            worker = TsWorker(database.url, release, "Storm", SHAPE, handler=handle)
            assert worker.began.wait(60) and worker.error is None, worker.error
            self.workers.append(worker)
        self._clients = [threading.Thread(target=self._start_runs, daemon=True) for _ in range(clients)]
        for client in self._clients:
            client.start()

    def _start_runs(self):
        connection = psycopg2.connect(self.database.url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            while not self._ended.is_set():
                # Not more than the workers can follow.
                cursor.execute("select count(*) from pgflow.runs where flow_slug = 'Storm' and status = 'started'")
                if cursor.fetchone()[0] >= 20:
                    self._ended.wait(0.05)
                    continue
                try:
                    cursor.execute("select run_id from pgflow.start_flow('Storm', '{}')")
                    self.runs.append(cursor.fetchone()[0])
                except psycopg2.Error as error:
                    self.errors.append(str(error))
                    self.refused.set()
                    self._ended.wait(0.05)
        connection.close()

    def until_completed(self, more):
        """Wait until so many more runs have come to their end: work goes on."""
        before = self.database.value("select count(*) from pgflow.runs where flow_slug = 'Storm' and status <> 'started'")
        self.database.until("select count(*) >= %s from pgflow.runs where flow_slug = 'Storm' and status <> 'started'", before + more)

    def settle(self):
        """No more starts; what is open is worked off, and the workers end. Nothing may be lost, repeated or refused."""
        self._ended.set()
        for client in self._clients:
            client.join(60)
        self.database.until("select count(*) = 0 from pgflow.runs where flow_slug = 'Storm' and status = 'started'", patience=120)
        for worker in self.workers:
            worker.stop()
        self._account()

    def _account(self):
        refused = self.errors + [error for worker in self.workers for error in worker.refused]
        assert refused == [], f"calls were refused: {refused[:5]}"
        handled = sum((worker.handled for worker in self.workers), collections.Counter())
        again = {task: n for task, n in handled.items() if n > 1}
        assert again == {}, f"tasks were handled again: {again}"
        assert len(handled) == TASKS * len(self.runs), f"{len(handled)} tasks were handled of {TASKS * len(self.runs)}"
        ends = self.database.rows("select status, output, count(*) from pgflow.runs where flow_slug = 'Storm' group by 1, 2")
        assert ends == [("completed", {"join": {"sum": 12}}, len(self.runs))], f"runs ended otherwise: {ends}"
