"""Runs started at a steady pace, each with an outcome that is known beforehand."""

import json
import random
import threading
import time

import psycopg2

from .ask import passes

FLOWS = ("orders_v1", "orders_v2", "tally_v1", "tally_v2")
QUEUES = ("chaos_main", "chaos_mail", "chaos_bulk")
OPEN_RUNS = 80
PHASE_S = 15
QUICK_MS = (0, 2, 10, 30)
SLOW_MS = (0, 50, 200, 700)


def expected_output(flow, given):
    """What tests/plugins/flow_chaos.c makes of an input."""
    version = int(flow[-1])
    if flow.startswith("orders"):
        prepared = 3 * given["n"] + version
        total = 2 * prepared + 1 + version + (prepared + 7 if version == 2 else 0)
        return {"deliver": {"total": total, "pad": "x" * 1024 * given.get("kib", 0)}}
    return {"sum": sum(2 * x + version for x in range(given["n"] % 7 + 1))}


class Load:
    """Starts runs in a thread of its own until it is stopped.

    A start whose answer was lost may have happened or not: it is not repeated,
    and the audit accepts both. An acknowledged one must be there.
    """

    def __init__(self, asker, seed, ledger, runs_a_second):
        self.acknowledged = {}  # n: (run id, flow, input)
        self.unknown = {}  # n: (flow, input)
        self.failures = []
        self._asker = asker
        self._random = random.Random(seed)
        self._ledger = str(ledger)
        self._pause = 1.0 / runs_a_second
        self._number = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join(60)

    def _run(self):
        while not self._stop.wait(self._pause):
            try:
                if self._number % 20 == 0:
                    self._wait_for_room()
                self.start_run(self._random.choice(FLOWS))
            except psycopg2.Error as error:
                self.failures.append(f"start of a run: {error}")
                return
        self._asker.close()

    def _wait_for_room(self):
        """The backlog of a long fault must not outgrow the time that is left."""
        while not self._stop.is_set():
            if self._asker.value("select count(*) from pgflow.runs where status = 'started'") < OPEN_RUNS:
                return
            time.sleep(0.2)

    def _make_input(self, more):
        with self._lock:
            self._number += 1
            # By turns: handlers that are quick make hosts claim ahead, slow ones keep slots busy.
            quick = int(time.monotonic() / PHASE_S) % 2 == 0
            ms = self._random.choice(QUICK_MS if quick else SLOW_MS)
            made = {"n": self._number, "ms": ms, "file": self._ledger}
            if self._random.random() < 0.05:
                made["kib"] = self._random.choice((64, 512, 2048))
        return {**made, **more}

    def start_run(self, flow, **more):
        """Start one run now; gives its id, or None when the server said no or nothing."""
        given = self._make_input(more)
        try:
            run = self._asker.once("select run_id::text from pgflow.start_flow(%s, %s::jsonb)", flow, json.dumps(given))
        except psycopg2.Error as error:
            if not passes(error):
                raise
            self.unknown[given["n"]] = (flow, given)
            self._asker.close()
            time.sleep(0.05)
            return None
        self.acknowledged[given["n"]] = (run[0][0], flow, given)
        return run[0][0]

    def start_faulty(self, fault, count):
        """Runs whose step `work` does this on its first attempt; their ids."""
        started = []
        for i in range(count * 10):
            run = self.start_run("orders_v1" if i % 2 else "orders_v2", fault=fault)
            started += [run] if run else []
            if len(started) == count:
                break
        return started
