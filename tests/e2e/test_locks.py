"""Somebody else holds, refuses or takes away what a host needs to report: no other task pays for it."""

import psycopg2
import psycopg2.extras
import pytest


class Lock:
    """A transaction of an operator who has gone to lunch."""

    def __init__(self, database, sql, *parameters):
        self._connection = psycopg2.connect(database.url)
        self._connection.cursor().execute(sql, parameters)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()


def claimed(database, run):
    database.until("select exists (select from pgflow.step_tasks where run_id = %s and status = 'started')", run)


def test_locked_run_holds_up_no_other_and_is_finished_once_afterwards(database, hosts, tmp_path):
    path = tmp_path / "ran"
    host = hosts.start("--concurrency", "2", queue="fan", plugins=["fan"])
    locked = database.start_flow("fan", {"n": 12, "ms": 100, "file": str(path)})
    database.until("select count(*) > 0 from pgflow.step_tasks where run_id = %s and step_slug = 'each'", locked)

    with Lock(database, "select from pgflow.runs where run_id = %s for update", locked):
        host.log.wait("call_failed", sqlstate="55P03")
        others = [database.start_flow("fan", {"n": 3}) for _ in range(3)]
        for run in others:
            database.wait_run(run)
        # More handlers than the host has slots: they do not wait for each other's reports.
        database.until("select count(*) >= 10 from pgflow.step_tasks where run_id = %s and status = 'started'", locked)
        assert database.run(locked).status == "started"

    database.wait_run(locked)
    assert database.value("select max(attempts_count) from pgflow.step_tasks") == 1
    ends = [line.split()[3] for line in path.read_text().splitlines()]
    assert sorted(ends, key=int) == [str(n) for n in range(12)], "a handler that had finished ran again"
    host.stop()
    database.audit()


def test_stop_gives_back_the_tasks_of_other_runs_while_one_is_locked(database, hosts):
    host = hosts.start("--concurrency", "2", "--drain-timeout", "0", queue="faults", plugins=["faults"])
    locked, free = (database.start_flow("faults", {"fault": "sleep", "ms": 60000}) for _ in range(2))
    claimed(database, locked)
    claimed(database, free)

    with Lock(database, "select from pgflow.runs where run_id = %s for update", locked):
        host.stop()
        assert database.task(free, "sleep").status == "queued"
        assert database.task(locked, "sleep").status == "started"

    assert host.log.find("left_unreported", count=1)


def refuse(database, condition, error):
    """The database takes no result of which `condition` is true."""
    database.rows(f"create function public.refuse() returns trigger language plpgsql as $$ begin raise {error}; end $$")
    database.rows(f"create trigger refuse before update on pgflow.step_tasks for each row when ({condition}) execute function public.refuse()")


def test_result_that_the_database_never_takes_fails_its_own_task_alone(database, hosts):
    hosts.start("--concurrency", "8", queue="faults", plugins=["faults"])
    refuse(database, "new.output ->> 'poison' is not null", "exception 'spoilt' using errcode = 'data_exception'")
    given = [{"fault": "echo", **({"poison": 1} if n == 7 else {})} for n in range(20)]
    runs = database.rows("select r::text from pgflow.start_flows('faults', %s::jsonb[]) r", [psycopg2.extras.Json(one) for one in given])

    for n, (run,) in enumerate(runs):
        database.wait_run(run, "failed" if n == 7 else "completed")
    poisoned = database.task(runs[7][0], "echo")
    assert (poisoned.attempts_count, poisoned.error_message) == (2, "spoilt")
    assert database.value("select count(*) from pgflow.step_tasks where status = 'completed' and attempts_count = 1") == 19


def test_result_that_is_taken_in_no_form_is_given_up_and_said(database, hosts):
    host = hosts.start(queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "sleep", "ms": 500})
    claimed(database, run)
    refuse(database, "old.status = 'started' and new.status <> 'started'", "exception 'spoilt' using errcode = 'data_exception'")

    assert host.log.wait("result_abandoned", run=run)["sqlstate"] == "22000"
    database.rows("drop trigger refuse on pgflow.step_tasks")
    database.wait_run(database.start_flow("faults", {"fault": "echo"}))
    host.stop()
    assert database.task(run, "sleep").status == "started", "recovery decides about it"


def test_result_is_kept_while_the_server_has_no_room_for_its_notification(database, hosts):
    host = hosts.start(queue="faults", plugins=["faults"])
    run = database.start_flow("faults", {"fault": "sleep", "ms": 500})
    claimed(database, run)
    # What a commit says while somebody listens in a transaction that never ends.
    refuse(database, "old.status = 'started' and new.status <> 'started'",
           "exception 'too many notifications in the NOTIFY queue' using errcode = 'program_limit_exceeded'")
    host.log.wait("call_failed", sqlstate="54000")

    database.rows("drop trigger refuse on pgflow.step_tasks")

    database.wait_run(run)
    assert database.task(run, "sleep").attempts_count == 1
    host.stop()


FINISH = "function pgflow.finish_tasks"


def test_result_is_kept_while_the_right_to_report_it_is_lost(database, hosts, worker_login):
    host = hosts.start(queue="faults", plugins=["faults"], env=worker_login.environment)
    run = database.start_flow("faults", {"fault": "sleep", "ms": 500})
    claimed(database, run)
    database.rows(f"revoke execute on {FINISH} from pgflow_worker")
    host.log.wait("call_failed", sqlstate="42501")

    database.rows(f"grant execute on {FINISH} to pgflow_worker")

    database.wait_run(run)
    assert database.task(run, "sleep").attempts_count == 1
    host.stop()


def test_host_that_lost_all_its_rights_says_so_and_ends(database, hosts, worker_login):
    host = hosts.start("--drain-timeout", "1", queue="faults", plugins=["faults"], env=worker_login.environment)
    run = database.start_flow("faults", {"fault": "sleep", "ms": 500})
    claimed(database, run)

    database.rows(f"revoke pgflow_worker from {worker_login.name}")

    assert host.wait() == 78
    assert "42501" in host.log.text[-1]
    assert host.log.find("left_unreported", count=1)


def test_reason_why_the_database_cannot_be_reached_is_told_again_when_it_changes(database, hosts, worker_login):
    host = hosts.start(queue="noop", plugins=["noop"], env=worker_login.environment)
    database.rows(f"alter role {worker_login.name} nologin")
    database.server("stop")
    before = host.log.wait("db_unreachable", connection=1)

    database.server("start")
    told = host.log.wait_text("is not permitted to log in")
    database.rows(f"alter role {worker_login.name} login")

    assert '"db_unreachable"' in told and "log in" not in before["error"]
    database.wait_run(database.start_flow("noop"))
    host.stop()
