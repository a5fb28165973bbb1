"""pgflowctl day by day: queues, graphs, options, old runs, and looking again and again."""

import json
import os
import pty
import re
import signal
import subprocess
import time

from lib.exposition import Exposition
from lib.paths import CTL, PATIENCE, module
from lib.programs import Program, environment, run_ctl

DRIFTED = """update pgflow.flows set opt_timeout = 7 where flow_slug = 'chain'"""


def ctl(database, *arguments):
    return run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})


def answer(database, *arguments):
    """What the command says as JSON, and its exit status."""
    result = ctl(database, *arguments, "--json")
    assert result.stdout, result.stderr
    return json.loads(result.stdout), result.returncode


def compile_flow(database, name):
    described = json.loads(run_ctl("inspect", module(name), "--json").stdout)
    database.rows("select pgflow.ensure_deployment(%s)", json.dumps(described))
    return described["flowSlug"]


def test_options_are_those_of_the_module_after_compiling_it(database):
    compile_flow(database, "chain")

    said, status = answer(database, "options", module("chain"))

    assert (said, status) == ({"flow": "chain", "differences": [], "applied": False}, 0)


def test_options_that_differ_are_named_and_answer_no(database):
    compile_flow(database, "chain")
    database.rows(DRIFTED)

    text = ctl(database, "options", module("chain"))
    said, status = answer(database, "options", module("chain"))

    assert (text.returncode, status) == (1, 1)
    assert "timeout of the flow: 7 in the database" in text.stdout
    assert "--apply" in text.stderr
    assert said["differences"] == text.stdout.splitlines() and not said["applied"]
    assert database.value("select opt_timeout from pgflow.flows where flow_slug = 'chain'") == 7


def test_applied_options_are_the_stored_ones(database):
    compile_flow(database, "chain")
    database.rows(DRIFTED)

    said, status = answer(database, "options", module("chain"), "--apply")

    assert (said["applied"], len(said["differences"]), status) == (True, 1, 0)
    assert answer(database, "options", module("chain"), "--apply") == (
        {"flow": "chain", "differences": [], "applied": False},
        0,
    )
    assert database.value("select opt_timeout from pgflow.flows where flow_slug = 'chain'") != 7


def test_options_of_another_structure_are_refused(database):
    compile_flow(database, "routed_v1")
    database.rows("delete from pgflow.deps")

    result = ctl(database, "options", module("routed_v1"), "--apply")

    assert result.returncode == 1, result.stderr
    assert "routed_v1" in result.stderr


def test_options_of_a_flow_that_is_not_compiled_are_refused(database):
    result = ctl(database, "options", module("chain"))

    assert result.returncode == 64, result.stderr
    assert '"chain" does not exist' in result.stderr


def test_graph_is_the_same_from_the_module_and_from_the_database(database):
    compile_flow(database, "routed_v2")

    for form in (["--format", "mermaid"], ["--format", "dot"], ["--json"]):
        stored = ctl(database, "graph", "routed_v2", *form)
        of_file = run_ctl("graph", module("routed_v2"), *form)
        assert (stored.returncode, of_file.returncode) == (0, 0), stored.stderr + of_file.stderr
        assert stored.stdout == of_file.stdout != ""


def test_graph_takes_an_alias_and_names_steps_and_queues(database):
    compile_flow(database, "routed_v1")

    text = ctl(database, "graph", "routed").stdout

    assert text.startswith("---\ntitle: routed_v1\n---\nflowchart TD\n")
    assert "routed_main" in text and "routed_mail" in text and "s0 --> s1" in text


def test_graph_for_graphviz_has_every_step_and_dependency(database):
    compile_flow(database, "fan")

    dot = ctl(database, "graph", "fan", "--format", "dot").stdout

    assert dot.splitlines() == [
        'digraph "fan" {',
        "  node [shape=box];",
        '  s0 [label="make"];',
        '  s1 [label="each", shape=box3d];',
        '  s2 [label="count"];',
        "  s0 -> s1;",
        "  s1 -> s2;",
        "}",
    ]


def test_graph_of_an_unknown_flow_offers_the_nearest(database):
    compile_flow(database, "chain")

    result = ctl(database, "graph", "chian")

    assert result.returncode == 64
    assert "'chain'" in result.stderr


def test_prune_deletes_ended_runs_of_that_age_and_no_others(database):
    compile_flow(database, "chain")
    old, young, started = (database.start_flow("chain") for _ in range(3))
    for run in (old, young):
        database.rows("select pgflow.cancel_run(%s)", run)
    database.rows("update pgflow.runs set started_at = started_at - interval '9 days',"
                  " failed_at = failed_at - interval '8 days' where run_id = %s", old)
    database.rows("update pgflow.runs set started_at = started_at - interval '9 days' where run_id = %s", started)

    counted = answer(database, "prune", "--older-than", "7 days", "--dry-run")
    before = database.value("select count(*) from pgflow.runs")
    pruned = answer(database, "prune", "--older-than", "7 days", "--batch", "1")
    left = {row[0] for row in database.rows("select run_id::text from pgflow.runs")}

    assert counted == ({"runs": 1, "deleted": False}, 0) and before == 3
    assert pruned == ({"runs": 1, "deleted": True}, 0)
    assert left == {young, started}


def test_prune_wants_an_age(database):
    missing = ctl(database, "prune")
    unreadable = ctl(database, "prune", "--older-than", "soon")
    negative = ctl(database, "prune", "--older-than", "-1 day")

    counted = ctl(database, "prune", "--older-than", "-1 day", "--dry-run")

    assert [one.returncode for one in (missing, unreadable, negative, counted)] == [64] * 4
    assert "--older-than" in missing.stderr and "soon" in unreadable.stderr and "'30 days'" in unreadable.stderr
    assert negative.stderr == counted.stderr and "an age is not negative" in counted.stderr


def test_metrics_are_those_of_every_queue(database, hosts):
    hosts.start(queue="noop", plugins=["noop"])
    told = Exposition(ctl(database, "metrics").stdout)
    assert told.value("pgflow_database_queue_workers", queue="noop", state="working") == 1
    assert told.value("pgflow_database_queue_needed", queue="noop") == 1


def test_run_says_what_its_tasks_wait_for(database, hosts):
    compile_flow(database, "routed_v1")
    run = database.start_flow("routed_v1")
    told, _ = answer(database, "run", run)
    assert [(wait["state"], wait["reason"]) for wait in told["waits"]] == [("queued", "queue routed_main has no live worker")]
    assert "queue routed_main has no live worker" in ctl(database, "run", run).stdout

    hosts.start("--function", "other", queue="routed_mail", plugins=["routed_v1"])
    database.rows("update pgmq.q_routed_main set vt = clock_timestamp() + interval '1 hour'")
    told, _ = answer(database, "run", run)
    assert [wait["state"] for wait in told["waits"]] == ["delayed"]


def test_json_times_are_iso_8601_in_every_zone(database):
    compile_flow(database, "chain")
    database.start_flow("chain")
    for zone, offset in (("UTC", "Z"), ("Asia/Kolkata", r"\+05:30"), ("America/Caracas", "-04:00")):
        told = json.loads(run_ctl("runs", "--json", env={"PGFLOW_DATABASE": database.url, "PGTZ": zone}).stdout)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?" + offset, told[0]["started_at"]), told


def test_function_that_was_tried_is_deleted_once_nobody_uses_it(database, hosts):
    trial = hosts.start("--function", "trial", queue="noop", plugins=["noop"])
    refused = ctl(database, "functions", "delete", "trial")
    trial.stop()
    ctl(database, "functions", "disable", "trial")
    done = ctl(database, "functions", "delete", "trial")

    assert refused.returncode == 1 and "functions disable trial" in refused.stderr
    assert (done.returncode, done.stdout) == (0, "deleted trial\n")
    assert answer(database, "functions")[0] == []


def test_queue_counts_what_waits_and_who_works(database):
    compile_flow(database, "routed_v1")
    database.start_flow("routed_v1")

    said, _ = answer(database, "queue", "routed_main")
    everything, _ = answer(database, "queue")
    unknown = ctl(database, "queue", "routed_mian")

    database.rows("update pgmq.q_routed_main set vt = clock_timestamp() + interval '1 hour'")
    delayed, _ = answer(database, "queue", "routed_main")

    assert [(row["waiting"], row["ready"], row["running"], row["workers"]) for row in said] == [(1, 1, 0, 0)]
    assert [(row["waiting"], row["ready"], row["delayed"], row["oldest_seconds"]) for row in delayed] == [(1, 0, 1, None)]
    assert {row["queue"] for row in everything} == {"routed_main", "routed_mail"}
    assert unknown.returncode == 64 and "routed_main" in unknown.stderr


def test_plain_flow_that_is_retired_is_not_shown_as_active(database):
    compile_flow(database, "chain")
    before, _ = answer(database, "aliases")
    ctl(database, "retire", "chain")

    assert [row["state"] for row in before] == ["active"]
    assert [row["state"] for row in answer(database, "aliases")[0]] == ["retired"]


def test_filter_that_names_nothing_is_a_slip_and_no_empty_answer(database):
    compile_flow(database, "routed_v1")
    database.rows("select pgflow.register_worker(gen_random_uuid(), 'left_behind', 'fn', '{}')")

    slips = [ctl(database, *words) for words in (
        ("runs", "--flow", "ruoted_v1"), ("workers", "--queue", "routed_mian"), ("queue", "nothing_like_it"))]

    assert [(slip.returncode, slip.stdout) for slip in slips] == [(64, "")] * 3
    assert [slip.stderr for slip in slips] == [
        "pgflowctl: there is no flow 'ruoted_v1'; did you mean 'routed_v1'?\n",
        "pgflowctl: there is no queue 'routed_mian'; did you mean 'routed_main'?\n",
        "pgflowctl: there is no queue 'nothing_like_it'; pgflowctl queue lists all\n"]
    assert answer(database, "runs", "--flow", "routed") == ([], 0)
    assert answer(database, "workers", "--queue", "ROUTED_main") == ([], 0)
    assert [row["function"] for row in answer(database, "workers", "--queue", "left_behind")[0]] == ["fn"]


def test_schema_that_is_too_new_is_refused_by_every_command(database):
    database.rows("insert into pgflow.schema_migrations (version, oldest_host, name) values (9999, 1, 'later')")
    bearable = ctl(database, "migrate")
    database.rows("update pgflow.schema_migrations set oldest_host = 9998 where version = 9999")

    for words in (["migrate"], ["migrate", "--status"], ["aliases"], ["start", "x"], ["delete", "x", "--yes"]):
        result = ctl(database, *words)
        assert (result.returncode, result.stdout) == (78, ""), words
        assert "at version 9999 and runs programs from version 9998 on" in result.stderr
        assert "install a newer pgflow-host" in result.stderr
    assert bearable.returncode == 0 and "nothing to do" in bearable.stdout
    assert "install a newer pgflow-host" in ctl(database, "doctor").stdout


def test_every_command_that_answers_has_its_answer_in_json(database, hosts):
    hosts.start(queue="chain", plugins=["chain"])
    run = database.start_flow("chain")
    database.wait_run(run)

    for command in (
        ["migrate", "--status"], ["inspect", module("chain")], ["lint", module("chain")],
        ["exec", module("chain"), "--step", "first"], ["runs"], ["run", run], ["cancel", run], ["workers"], ["queue"],
        ["functions"], ["aliases"], ["activate", "chain", "chain"], ["coverage", "chain"], ["graph", "chain"],
        ["options", module("chain")], ["drain", "chain"], ["doctor"], ["prune", "--older-than", "1 day"],
        ["start", "chain"], ["delete", "chain"],
    ):
        assert answer(database, *command)[1] in (0, 1), command


def test_watch_shows_what_changes_until_it_is_interrupted(database):
    compile_flow(database, "chain")
    env = environment(PGFLOW_DATABASE=database.url)
    watching = Program([CTL, "runs", "--watch"], env, None)

    watching.output.wait_text("no runs")
    run = database.start_flow("chain")
    watching.output.wait_text(run)
    watching.signal(signal.SIGINT)

    assert watching.wait() == -signal.SIGINT


def test_watch_on_a_terminal_stays_in_one_place(database):
    compile_flow(database, "chain")
    ours, theirs = pty.openpty()
    watching = subprocess.Popen(
        [CTL, "runs", "--watch"], env=environment(PGFLOW_DATABASE=database.url), stdout=theirs, stdin=subprocess.DEVNULL
    )
    os.close(theirs)
    try:
        shown = read_until(ours, b"no runs")
        run = database.start_flow("chain")
        shown += read_until(ours, run.encode())
    finally:
        watching.kill()
        watching.wait(PATIENCE)
        os.close(ours)

    home = b"\x1b[H\x1b[2J"
    assert shown.startswith(home) and shown.count(home) >= 2


def read_until(terminal, wanted):
    text = b""
    end = time.monotonic() + PATIENCE
    while wanted not in text:
        assert time.monotonic() < end, text
        text += os.read(terminal, 65536)
    return text


def at_a_terminal(database, *arguments, **more):
    """The output of a pgflowctl whose stdout is a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", "60"], stdin=theirs, check=True)
    env = environment(PGFLOW_DATABASE=database.url, **more)
    subprocess.run([CTL, *arguments], env=env, stdout=theirs, stdin=subprocess.DEVNULL, check=True, timeout=PATIENCE)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:
        pass  # the end of a terminal
    os.close(ours)
    return text.decode()


def test_colour_is_for_terminals_and_only_if_wanted(database):
    compile_flow(database, "chain")

    assert "\x1b[" in at_a_terminal(database, "aliases")
    assert "\x1b[" not in at_a_terminal(database, "aliases", NO_COLOR="1")
    assert "\x1b[" in at_a_terminal(database, "aliases", NO_COLOR="")
    assert "\x1b[" not in ctl(database, "aliases").stdout


def test_tables_fit_the_terminal(database):
    compile_flow(database, "routed_v1")
    database.start_flow("routed_v1")
    database.rows("select pgflow.register_worker(gen_random_uuid(), 'routed_main', 'a-function-with-a-long-name',"
                  " array[('routed_v1', 'check')::pgflow.task_pair], '{\"host\": \"a-host-with-a-long-name\", \"pid\": 4000000}')")

    for command in ("runs", "workers", "queue", "functions", "aliases"):
        widths = [len(line) for line in at_a_terminal(database, command, NO_COLOR="1").splitlines()]
        assert max(widths) <= 60, command
