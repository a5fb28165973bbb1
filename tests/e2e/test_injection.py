"""One call that fails - an allocation, a function of libpq - anywhere between start and stop of a host.

For each place the host ends with a status of its own or goes on; it never crashes or hangs, and no task is lost or
finished twice. The short form tries some places of each function; PGFLOW_FAULTS=all tries every one, some minutes long.
Every allocation from a claim on is tried always, with rows so large that memory which is freed is unmapped, and in the
sanitizer's build.
"""

import json
import os
import signal
import subprocess

import pytest

from lib.paths import BUILD, COVERAGE, HOST, SANITIZED, VALGRIND, module
from lib.programs import environment

pytestmark = pytest.mark.skipif(VALGRIND, reason="valgrind has a malloc of its own")

ALL = os.environ.get("PGFLOW_FAULTS") == "all"
SHIM = BUILD / "tests" / "e2e" / "libfaults_shim.so"
STATUSES = {0, 64, 69, 70, 78}
MAPPED = 400_000  # bytes; glibc maps what is larger than 128 KiB

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

    def __init__(self, database, folder, flow="chain", queue="chain", run_input=None):
        self._database = database
        self._folder = folder
        self._flow = flow
        self._run_input = run_input
        self.command = [HOST, "--queue", queue, "--plugin", module(flow), "--once", "--connect-timeout", "3"]
        self.command += ["--module-dir", folder / "copies", "--log-format", "json"]
        self.runs = []
        self.ends = {}
        self.said = []

    def try_place(self, function, n):
        """Whether there are so many calls."""
        hit = self._folder / "hit"
        hit.unlink(missing_ok=True)
        self.runs.append(self._database.start_flow(self._flow, self._run_input))
        env = environment(
            PGFLOW_DATABASE=self._database.url, LD_PRELOAD=SHIM, PGFLOW_FAULT=f"{function}:{n}:{hit}"
        )
        if SANITIZED:  # the shim asks the sanitizer for memory, so it may come before it
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:allocator_may_return_null=1"
        try:
            done = subprocess.run(
                [str(part) for part in self.command], env=env, capture_output=True, text=True, timeout=60, check=False
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{function} {n}: hangs\n{(late.stderr or b'').decode()[-3000:]}") from None
        self._judge(f"{function} {n}", done)
        return hit.exists()

    def _judge(self, place, done):
        self.said.append(done.stderr)
        self.ends[done.returncode] = self.ends.get(done.returncode, 0) + 1
        # The one place without a way on: no memory for the call that would tell anybody.
        if done.returncode == -signal.SIGABRT and "no memory for a database call" in done.stderr:
            return
        assert done.returncode in STATUSES, f"{place}: ended with {done.returncode}\n{done.stderr[-3000:]}"
        # A supervisor may take 78 for "do not try again"; nothing here is the configuration's fault.
        assert done.returncode != 78 or "no given module can start" in done.stderr, f"{place}: {done.stderr[-3000:]}"
        if done.returncode != 0:
            assert done.stderr.strip(), f"{place}: said nothing about its end with {done.returncode}"

    def repair_and_finish(self, hosts, queues):
        """Leases pass, an operator enables what was paused, sound hosts serve what is left."""
        self._database.rows("update pgflow.step_tasks set recover_at = clock_timestamp() where status = 'started'")
        self._database.rows("select pgflow.requeue_stalled_tasks()")
        self._database.rows("select pgflow.enable_worker_function(function_name) from pgflow.worker_functions")
        sound = [hosts.start(queue=queue, plugins=[self._flow]) for queue in queues]
        for run in self.runs:
            self._database.wait_run(run)
        for host in sound:
            host.stop()
        self._database.audit()
        outputs = self._database.rows("select distinct output::text from pgflow.runs")
        assert len(outputs) == 1, [text[:200] for (text,) in outputs]
        return json.loads(outputs[0][0])


def places(function):
    return range(1, 100_000) if ALL else FUNCTIONS[function]


@pytest.mark.skipif(SANITIZED, reason="the plain build tries these")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_call_that_fails_crashes_nothing_and_loses_no_task(database, hosts, tmp_path, function):
    faulty = Faulty(database, tmp_path)
    serve_once(database, faulty)

    tried = 0
    for n in places(function):
        if not faulty.try_place(function, n):
            break
        tried += 1

    assert tried >= 1, "the function is not called at all"
    assert faulty.repair_and_finish(hosts, ["chain"])["third"]["step"] == "third"
    print(f"{function}: {tried} places, ends {faulty.ends}")


@pytest.mark.skipif(COVERAGE, reason="the counters ask for memory at the end, and crash without it")
def test_every_allocation_from_a_claim_on_may_fail_with_rows_that_are_mapped(database, hosts, tmp_path):
    elements = ["a" * MAPPED, "b" * MAPPED]
    faulty = Faulty(database, tmp_path, "spread", "spread_left", elements)
    serve_once(database, faulty)

    tried = 0
    while faulty.try_place("claim", tried + 1):
        tried += 1

    assert tried >= 20, "rows, tasks, texts and results are allocations"
    forgotten = [said for said in faulty.said if "there is no memory for a claimed task" in said]
    assert forgotten, "no place was the memory of a task"  # which place is whose is not the same in every run
    assert all("claims_given_back" in said for said in forgotten), forgotten
    output = faulty.repair_and_finish(hosts, ["spread_left", "spread_middle", "spread_right"])
    assert output["left"] == elements
    print(f"{tried} places, ends {faulty.ends}")


def serve_once(database, faulty):
    """Deploys the flow, so that the hosts with a fault find it."""
    env = environment(PGFLOW_DATABASE=database.url)
    subprocess.run([str(part) for part in faulty.command], env=env, capture_output=True, check=True)
