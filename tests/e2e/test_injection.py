"""One call that fails - an allocation, a function of libpq - anywhere between start and stop of a host.

For each place the host ends with a status of its own or goes on; it never crashes or hangs, and no task is lost or
finished twice. The short form tries some places of each function; PGFLOW_FAULTS=all tries every one, some minutes long.
"""

import json
import os
import signal
import subprocess

import pytest

from lib.paths import BUILD, HOST, SANITIZED, VALGRIND, module
from lib.programs import environment

pytestmark = pytest.mark.skipif(SANITIZED or VALGRIND, reason="the shim must come before the sanitizer's own malloc")

ALL = os.environ.get("PGFLOW_FAULTS") == "all"
SHIM = BUILD / "tests" / "e2e" / "libfaults_shim.so"
STATUSES = {0, 64, 69, 70, 78}

# Places tried in the short form; each list ends early where there are no more calls.
FEW = [1, 2, 3, 5, 8]
FUNCTIONS = {
    "PQconninfoParse": FEW,
    "PQconndefaults": FEW,
    "PQconnectStartParams": FEW,
    "PQconnectPoll": FEW,
    "PQsetnonblocking": FEW,
    "PQenterPipelineMode": FEW,
    "PQsendPrepare": FEW,
    "PQsendQueryPrepared": FEW,
    "PQsendQueryParams": [1, 4, 7, 10, 13],
    "PQpipelineSync": [1, 6, 11, 16],
    "PQflush": [1, 5, 9, 13],
    "PQconsumeInput": [1, 5, 9, 13],
    "PQgetResult": [1, 7, 13, 19, 25],
    "result_error": [1, 5, 9, 13, 17],
    "malloc": [1, 20, 50, 90, 140, 200, 270, 350, 440, 540],
}


class Faulty:
    """Hosts that serve one claim while one call of theirs fails."""

    def __init__(self, database, folder):
        self._database = database
        self._folder = folder
        self.runs = []
        self.ends = {}

    def try_place(self, function, n):
        """Whether there are so many calls."""
        hit = self._folder / "hit"
        hit.unlink(missing_ok=True)
        self.runs.append(self._database.start_flow("chain"))
        command = [HOST, "--queue", "chain", "--plugin", module("chain"), "--once", "--connect-timeout", "3"]
        command += ["--module-dir", self._folder / "copies", "--log-format", "json"]
        env = environment(
            PGFLOW_DATABASE=self._database.url, LD_PRELOAD=SHIM, PGFLOW_FAULT=f"{function}:{n}:{hit}"
        )
        try:
            done = subprocess.run(
                [str(part) for part in command], env=env, capture_output=True, text=True, timeout=60, check=False
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{function} {n}: hangs\n{(late.stderr or b'').decode()[-3000:]}") from None
        self._judge(f"{function} {n}", done)
        return hit.exists()

    def _judge(self, place, done):
        self.ends[done.returncode] = self.ends.get(done.returncode, 0) + 1
        # The one place without a way on: no memory for the call that would tell anybody.
        if done.returncode == -signal.SIGABRT and "no memory for a database call" in done.stderr:
            return
        assert done.returncode in STATUSES, f"{place}: ended with {done.returncode}\n{done.stderr[-3000:]}"
        # A supervisor may take 78 for "do not try again"; nothing here is the configuration's fault.
        assert done.returncode != 78 or "no given module can start" in done.stderr, f"{place}: {done.stderr[-3000:]}"
        if done.returncode != 0:
            assert done.stderr.strip(), f"{place}: said nothing about its end with {done.returncode}"

    def repair_and_finish(self, hosts):
        """Leases pass, an operator enables what was paused, a sound host serves what is left."""
        self._database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
        self._database.rows("select pgflow.requeue_stalled_tasks()")
        self._database.rows("select pgflow.enable_worker_function(function_name) from pgflow.worker_functions")
        host = hosts.start(queue="chain", plugins=["chain"])
        for run in self.runs:
            self._database.wait_run(run)
        host.stop()
        self._database.audit()
        outputs = self._database.rows("select distinct output::text from pgflow.runs")
        assert len(outputs) == 1, outputs
        assert json.loads(outputs[0][0])["third"]["step"] == "third"


def places(function):
    return range(1, 100_000) if ALL else FUNCTIONS[function]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_call_that_fails_crashes_nothing_and_loses_no_task(database, hosts, tmp_path, function):
    subprocess.run(
        [str(HOST), "--queue", "chain", "--plugin", str(module("chain")), "--once", "--module-dir", str(tmp_path / "copies")],
        env=environment(PGFLOW_DATABASE=database.url),
        capture_output=True,
        check=True,
    )
    faulty = Faulty(database, tmp_path)

    tried = 0
    for n in places(function):
        if not faulty.try_place(function, n):
            break
        tried += 1

    assert tried >= 1, "the function is not called at all"
    faulty.repair_and_finish(hosts)
    print(f"{function}: {tried} places, ends {faulty.ends}")
