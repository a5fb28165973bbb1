"""After the storm: is everything there, once, right, and explained?

Every check gives findings, one text each; none means that all is well. Nothing
here asks how long something took.
"""

import collections
import pathlib

from lib.paths import SOURCE

from .load import expected_output

SHOWN = 10
# No fault of this suite may bring a host to say one of these.
NEVER_SAID = ("result_abandoned", "foreign_messages", "body_mismatch", "out_of_memory", "task_refused", "unsupported", "illegal_state")


def findings(world, causes):
    """All checks. `causes`: how error texts of handlers may begin."""
    found = []
    for check in (runs, invariants, queues, counters, completions, words):
        found += check(world)
    found += attempts(world, causes)
    found += world.findings + world.load.failures + world.supervisor.problems()
    return found


def runs(world):
    """Acknowledged starts are there, unknown ones at most once, all with the right outcome."""
    found = []
    seen = collections.Counter()
    requested = {n: (flow, given) for n, (_, flow, given) in world.load.acknowledged.items()} | world.load.unknown
    for run in world.asker.rows("select run_id::text, flow_slug, status, (input ->> 'n')::int as n, output from pgflow.runs"):
        seen[run.n] += 1
        flow, given = requested.get(run.n, (None, None))
        if flow != run.flow_slug:
            found.append(f"run {run.run_id} of {run.flow_slug} was never asked for")
        elif run.status != "completed":
            found.append(f"run {run.run_id} of {flow} is {run.status}: {_errors(world, run.run_id)}")
        elif run.output != expected_output(flow, given):
            found.append(f"run {run.run_id} of {flow}, n {run.n}: wrong output {str(run.output)[:200]}")
    found += [f"run {n} was started {count} times" for n, count in seen.items() if count > 1]
    found += [f"run {n} was acknowledged and is gone" for n in world.load.acknowledged if n not in seen]
    return found


def _errors(world, run):
    return world.asker.rows(
        "select step_slug, task_index, status, attempts_count, requeued_count, released_count, left(error_message, 200)"
        " from pgflow.step_tasks where run_id = %s and status <> 'completed' limit 5", run
    )


def invariants(world):
    """tests/support/audit.sql: no illegal state, every message with its task."""
    sql = (SOURCE / "tests" / "support" / "audit.sql").read_text(encoding="utf-8")
    # Nobody knows how many rows its parts have; a nested loop over them takes minutes.
    world.asker.rows("set enable_nestloop = off")
    return [f"{row.rule}: {row.subject}" for row in world.asker.rows(sql)]


def queues(world):
    names = [row.name for row in world.asker.rows("select pgmq.format_table_name(queue_name, 'q') as name from pgmq.meta")]
    left = {name: world.asker.value(f'select count(*) from pgmq."{name}"') for name in names}
    return [f"{count} messages are left on {queue}" for queue, count in left.items() if count]


def counters(world):
    return [
        f"a counter is negative: {row}"
        for row in world.asker.rows(
            "select run_id, remaining_steps from pgflow.runs where remaining_steps < 0 union all"
            " select run_id, least(remaining_tasks, remaining_deps) from pgflow.step_states"
            " where least(remaining_tasks, remaining_deps) < 0 union all"
            " select run_id, least(attempts_count, claim_no, requeued_count, released_count) from pgflow.step_tasks"
            " where least(attempts_count, claim_no, requeued_count, released_count) < 0"
        )
    ]


def handler_ends(world):
    """How often the handler of each task came to its end, by its own account."""
    lines = [line.split() for line in pathlib.Path(world.ledger).read_text(encoding="utf-8").splitlines()]
    return collections.Counter((line[2], line[1], int(line[3])) for line in lines)


def tasks(world):
    return {
        (row.run_id, row.step_slug, row.task_index): row
        for row in world.asker.rows(
            "select run_id::text, step_slug, task_index, status, attempts_count, requeued_count, released_count"
            " from pgflow.step_tasks"
        )
    }


def completions(world):
    """A completed task has run, and not more often than its attempts and releases allow."""
    found = []
    ends = handler_ends(world)
    known = tasks(world)
    for task, row in known.items():
        allowed = row.attempts_count + row.released_count
        if row.status == "completed" and ends[task] == 0:
            found.append(f"task {task} completed, but its handler never came to its end")
        if ends[task] > allowed:
            found.append(f"the handler of task {task} ended {ends[task]} times in {allowed} attempts")
    found += [f"a handler ran for {task}, which nobody knows" for task in ends if task not in known]
    return found


def failed_attempts(world):
    """(task, attempt): the error, for every attempt that a host saw fail."""
    return {
        (record["run"], record["step"], record["task"], record["attempt"]): record.get("error") or ""
        for log in world.supervisor.logs()
        for record in log.find("handler_failed")
    }


def words(world):
    return [
        f"a host said {record['event']}: {record.get('msg')} {record.get('error') or ''}"
        for log in world.supervisor.logs()
        for record in log.records
        if record.get("event") in NEVER_SAID
    ]


def attempts(world, causes):
    """Each attempt beyond the first was lost with its host or failed by an injected fault."""
    failed = failed_attempts(world)
    by_task = collections.Counter(key[:3] for key in failed)
    found = [
        f"attempt {key[3]} of task {key[:3]} failed of itself: {error or 'no text'}"
        for key, error in failed.items()
        if not error.startswith(tuple(causes) or "\0")
    ]
    # A line that was dropped may have been the explanation.
    excused = sum(record["dropped"] for log in world.supervisor.logs() for record in log.find("log_dropped"))
    for task, row in tasks(world).items():
        unexplained = row.attempts_count - 1 - row.requeued_count - by_task[task]
        excused -= max(unexplained, 0)
        if unexplained > 0 > excused:
            found.append(f"{unexplained} attempts of task {task} are unexplained: {row}")
    return found
