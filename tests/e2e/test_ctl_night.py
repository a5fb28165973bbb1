"""A failed night put right with pgflowctl: what failed and why, then retry, resume and cancel, of many runs at once."""

import json
import os
import pty
import re
import signal
import subprocess
import uuid

import psycopg2
import pytest

from lib.paths import CTL, PATIENCE, SOURCE
from lib.programs import Program, environment, run_ctl, wait_until

CAUSES = {"format": 60, "disk": 30, "url": 10}


def ctl(database, *arguments):
    return run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})


def answer(database, *arguments):
    result = ctl(database, *arguments, "--json")
    assert result.stdout, result.stderr
    return json.loads(result.stdout), result.returncode


def start(database, cause, count, file=None):
    inputs = [json.dumps({"cause": cause, "n": n, **({"file": str(file)} if file else {})}) for n in range(count)]
    return [str(run) for run, in database.rows("select pgflow.start_flows('night', %s::jsonb[])", inputs)]


def until_nothing_runs(database):
    database.until("select count(*) = 0 from pgflow.runs where status = 'started'")


@pytest.fixture
def night(database, hosts, tmp_path):
    """A hundred runs that failed on V1 for three reasons, and five that completed."""
    host = hosts.start(queue="night_v1", plugins=["night_v1"])
    runs = {cause: start(database, cause, count, tmp_path / "work") for cause, count in CAUSES.items()}
    runs["none"] = start(database, "none", 5)
    until_nothing_runs(database)
    return runs, host


def works(tmp_path, step):
    return sum(line.split()[1] == step for line in (tmp_path / "work").read_text().splitlines())


def test_a_failed_night_is_grouped_and_resumed_onto_the_fixed_version(database, hosts, night, tmp_path):
    runs, old = night
    groups, _ = answer(database, "runs", "--failed", "--since", "1d", "--group-by", "error")
    assert [(g["name"], g["runs"]) for g in groups] == [
        ("row <n> has no price", 60), ("no space left for document <n>", 30), ("the host of page <n> is unknown", 10)]
    assert {g["name"]: g["runs"] for g in answer(database, "runs", "--failed", "--group-by", "step")[0]} == {
        "parse": 60, "store": 30, "fetch": 10}
    builds, _ = answer(database, "runs", "--failed", "--group-by", "build")
    assert [g["runs"] for g in builds] == [100] and re.fullmatch("[0-9a-f]{64}", builds[0]["name"])
    assert [g["runs"] for g in answer(database, "runs", "--failed", "--group-by", "host")[0]] == [100]
    assert answer(database, "runs", "--failed", "--build", builds[0]["name"][:12], "--count")[0] == {"runs": 100}

    hosts.start(queue="night_v2", plugins=["night_v2"])
    counted = answer(database, "resume", "--failed", "--error", "no price|no space", "--onto", "night_v2", "--dry-run")
    resumed, status = answer(database, "resume", "--failed", "--error", "no price|no space", "--onto", "night_v2", "--yes")
    until_nothing_runs(database)

    assert counted == ({"runs": 90}, 0) and status == 0
    assert {r["run"] for r in resumed} == set(runs["format"]) | set(runs["disk"])
    assert all(r["refused"] is None for r in resumed)
    new = [r["new_run"] for r in resumed]
    assert database.rows("select status, count(*)::int from pgflow.runs where run_id = any (%s::uuid[]) group by 1", new) == [("completed", 90)]
    # Nothing that was finished ran again: 100 fetches of V1, 90 of them completed; 90 parses, then 60 again; 30 stores, then 90.
    assert (works(tmp_path, "fetch"), works(tmp_path, "parse"), works(tmp_path, "store")) == (100, 90 + 60, 30 + 90)
    assert database.rows("select output ->> 'by', count(*)::int from pgflow.step_states where run_id = any (%s::uuid[]) and step_slug = 'parse' group by 1 order by 1", new) == [
        ("night_v1", 30), ("night_v2", 60)]
    database.audit()
    # Once more finds nothing: what was resumed is left out.
    again = ctl(database, "resume", "--failed", "--error", "no price|no space", "--onto", "night_v2", "--yes")
    assert (again.returncode, again.stdout) == (0, "0 runs resumed\n")


def test_a_run_is_retried_with_a_corrected_input(database, night):
    runs, _ = night
    wrong = runs["url"][0]

    first = ctl(database, "retry", wrong, "--input", '{"cause": "none"}')
    again = ctl(database, "retry", wrong)
    with_again, _ = answer(database, "retry", wrong, "--again")

    said = re.fullmatch(rf"{wrong} is retried as ([0-9a-f-]{{36}})\n", first.stdout)
    assert said and first.returncode == 0
    assert database.wait_run(said[1]).input == {"cause": "none"}
    assert again.returncode == 1 and f"{wrong} is not retried: it was restarted as run {said[1]} at " in again.stdout
    database.until("select status = 'failed' from pgflow.runs where run_id = %s", with_again[0]["new_run"])


def test_runs_that_cannot_be_resumed_are_named_with_the_reason_and_answer_no(database, night):
    runs, _ = night
    nobody = str(uuid.uuid4())

    one = ctl(database, "resume", runs["none"][0], nobody, runs["format"][0])
    until_nothing_runs(database)  # On V1 it fails again: a failed run as any other.
    some = ctl(database, "resume", "--status", "completed,failed", "--flow", "night", "--yes")

    assert one.returncode == 1
    assert one.stdout.splitlines()[:2] == [
        f"{runs['none'][0]} is not resumed: it completed: nothing is left to resume; retry_runs starts it over",
        f"{nobody} is not resumed: there is no run {nobody}; it may have been pruned or deleted with its flow"]
    assert some.returncode == 1
    assert some.stdout == ("100 runs resumed, 5 not:\n"
                           "       5  it completed: nothing is left to resume; retry_runs starts it over\n")


def test_many_runs_are_restarted_only_after_a_yes_to_their_number(database, night):
    refused = ctl(database, "retry", "--failed", "--step", "fetch")

    assert (refused.returncode, refused.stdout) == (64, "")
    assert refused.stderr == ("pgflowctl: 10 runs will be retried. Continue? Nobody can be asked here: give --yes, or "
                              "--dry-run to see what it would be\n")
    for said, status, restarts in (("n\n", 1, 0), ("y\n", 0, 10)):
        ours, theirs = pty.openpty()
        asking = subprocess.Popen([CTL, "retry", "--failed", "--step", "fetch"], stdin=theirs, stdout=theirs, stderr=theirs,
                                  env=environment(PGFLOW_DATABASE=database.url))
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, said.encode())
        assert asking.wait(PATIENCE) == status
        os.close(ours)
        assert b"10 runs will be retried. Continue? [y/N]" in shown
        assert database.value("select count(*) from pgflow.run_restarts") == restarts


def test_runs_at_work_are_cancelled_by_what_they_have_in_common(database):
    database.rows("select pgflow.create_flow('idle')")
    database.rows("select pgflow.add_step('idle', 'a')")
    database.rows("select pgflow.create_flow('other')")
    database.rows("select pgflow.add_step('other', 'a')")
    database.rows("select pgflow.start_flows('idle', array_fill('{}'::jsonb, array[250]))")
    kept = database.start_flow("other")

    dry = ctl(database, "cancel", "--flow", "idle", "--dry-run")
    done = ctl(database, "cancel", "--flow", "idle", "--reason", "wrong list", "--yes")

    assert dry.stdout == "250 runs would be cancelled\n"
    assert (done.returncode, done.stdout) == (0, "250 runs cancelled, 0 had ended before\n")
    assert database.rows("select flow_slug, status, count(*)::int from pgflow.runs group by 1, 2 order by 1") == [
        ("idle", "cancelled", 250), ("other", "started", 1)]
    assert database.value("select count(*) from pgflow.step_states where error_message = '[CANCELLED] wrong list'") == 250
    assert database.run(kept).status == "started"


def test_a_resume_of_many_that_was_killed_goes_on_without_doubling(database):
    database.rows("select pgflow.create_flow('many')")
    database.rows("select pgflow.add_step('many', 'a')")
    database.rows("select pgflow.start_flows('many', array_fill('{}'::jsonb, array[7000]))")
    assert ctl(database, "cancel", "--flow", "many", "--yes").returncode == 0
    env = environment(PGFLOW_DATABASE=database.url)
    command = ["resume", "--status", "cancelled", "--flow", "many", "--yes"]

    # Held up behind its first page: one of the runs of the second is locked.
    lock = psycopg2.connect(database.url)
    second_page = database.value("select run_id from pgflow.find_runs('{\"status\": \"cancelled\"}', max_runs => 7000) offset 5500 limit 1")
    with lock, lock.cursor() as cursor:
        cursor.execute("select from pgflow.runs where run_id = %s for update", (second_page,))
        killed = Program([CTL, *command], env, None)
        database.until("select count(*) = 5000 from pgflow.run_restarts")
        wait_until(lambda: database.value("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == 1)
        killed.signal(signal.SIGKILL)
        killed.wait()
    lock.close()
    database.until("select count(*) = 0 from pg_stat_activity where application_name like 'pgflowctl%%' and state <> 'idle'")
    before = database.value("select count(*) from pgflow.run_restarts")
    result = ctl(database, *command)

    assert before in (5000, 7000)  # The server may have finished the page that it had begun.
    assert (result.returncode, result.stdout) == (0, f"{7000 - before} runs resumed\n")
    assert database.value("select count(distinct restart_of_run_id) from pgflow.run_restarts") == 7000
    assert database.value("select count(*) from pgflow.run_restarts") == 7000
    database.audit()


def test_lists_go_beyond_a_page_and_know_their_slips(database):
    database.rows("select pgflow.create_flow('many')")
    database.rows("select pgflow.add_step('many', 'a')")
    runs = [str(r) for r, in database.rows("select pgflow.start_flows('many', array_fill('{}'::jsonb, array[2500]))")]

    listed, _ = answer(database, "runs", "--limit", "5000")
    table = ctl(database, "runs", "--limit", "5000")

    assert [row["run"] for row in listed] == sorted(runs, reverse=True)
    assert len(table.stdout.splitlines()) == 2501
    assert ctl(database, "runs", "--count").stdout == "2500\n"
    for words, error in (
        (["runs", "--error", "("], "parentheses () not balanced"), (["runs", "--since", "yesterdayish"], "yesterdayish"),
        (["runs", "--build", "0123456789"], 'no worker is known that carried build "0123456789"'),
        (["runs", "--group-by", "colour"], 'runs cannot be grouped by "colour"'),
        (["runs", "--failed", "--status", "failed"], "give one of the two"),
        (["runs", "--status", "failed,done"], "--status 'done'"),
        (["resume"], "name the runs, or find them by options, as in: pgflowctl resume --failed --since 1d"),
        (["resume", "x"], "'x' is no run id"), (["resume", runs[0], "--failed"], "not both"),
        (["resume", "--failed", "--again"], "--again is for runs that you name"),
        (["resume", runs[0], "--dry-run"], "--dry-run counts what the options find"),
        (["retry", runs[0], runs[1], "--input", "{}"], "--input is for one run that you name"), (["cancel"], "name the run, or find runs"),
    ):
        result = ctl(database, *words)
        assert result.returncode == 64 and error in result.stderr, (words, result)


def test_the_commands_of_the_page_on_failed_runs_put_a_night_right(database, hosts, night):
    hosts.start(queue="night_v2", plugins=["night_v2"])
    page = (SOURCE / "docs/operations/failed-runs.md").read_text()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.S) for line in block.splitlines()]
    assert len(commands) >= 9

    for command in commands:
        asks = re.match("pgflowctl (resume|retry)", command) and "--dry-run" not in command
        result = subprocess.run(["sh", "-c", command + (" --yes" if asks else "")], capture_output=True, text=True, timeout=PATIENCE,
                                env=environment(PGFLOW_DATABASE=database.url, PATH=f"{CTL.parent}:{os.environ['PATH']}"))
        assert result.returncode == 0, (command, result)
    until_nothing_runs(database)

    assert database.rows("select r.status, count(*)::int from pgflow.run_restarts x join pgflow.runs r using (run_id) group by 1 order by 1") == [
        ("completed", 60), ("failed", 40)]
    database.audit()


def test_a_start_that_is_repeated_with_its_key_starts_nothing(database):
    database.rows("select pgflow.create_flow('order')")
    database.rows("select pgflow.add_step('order', 'a')")

    first, again, other, wrong = (ctl(database, "start", "order", "--idempotency-key", key, "--input", given)
                                  for key, given in (("k", '{"n": 1}'), ("k", '{"n": 1}'), ("l", '{"n": 1}'), ("k", '{"n": 2}')))

    assert first.stdout == again.stdout != other.stdout and (first.returncode, again.returncode) == (0, 0)
    assert wrong.returncode == 64 and 'idempotencyKey "k" was used with another input' in wrong.stderr
    assert database.value("select count(*) from pgflow.runs") == 2
