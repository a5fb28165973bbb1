"""pgflowctl, the operator's tool."""

import json
import os
import re
import subprocess

import pytest

from lib.paths import CTL, module
from lib.programs import environment, run_ctl


def ctl(database, *arguments):
    return run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})


def test_help_names_the_commands():
    result = run_ctl("--help")

    assert result.returncode == 0
    for command in ("migrate", "inspect", "start", "runs", "run", "workers"):
        assert command in result.stdout


def test_help_of_a_command_ends_with_examples():
    asked = run_ctl("help", "drain")

    assert asked.returncode == 0 and asked.stdout == run_ctl("drain", "--help").stdout
    assert "\nExamples:\n  pgflowctl drain" in asked.stdout
    assert run_ctl("help").stdout == run_ctl("--help").stdout


def test_unknown_command_offers_the_nearest():
    result = run_ctl("migarte")

    assert result.returncode == 64
    assert "migrate" in result.stderr


def test_migrate_makes_the_schema(empty_database):
    result = ctl(empty_database, "migrate")

    assert result.returncode == 0, result.stderr
    assert empty_database.value("select count(*) from pgflow.flows") == 0


def test_migrate_leaves_a_newer_schema_alone_and_says_so(database):
    database.rows("insert into pgflow.schema_migrations (version, oldest_host, name) values (1000, 1, 'to come')")

    result = ctl(database, "migrate")

    assert result.returncode == 0, result.stderr
    assert "at version 1000, newer than the" in result.stdout


@pytest.fixture
def no_roles(empty_database):
    """Roles belong to the cluster: those that another test's schema has made step aside."""
    roles = [name for (name,) in empty_database.rows("select rolname from pg_roles where rolname like 'pgflow_%'")]
    for role in roles:
        empty_database.rows(f"alter role {role} rename to hidden_{role}")
    yield
    for role in roles:
        empty_database.rows(f"alter role hidden_{role} rename to {role}")


def test_migrate_warns_an_owner_who_may_not_create_roles_with_the_statements(empty_database, no_roles):
    empty_database.rows("create role mere_owner login")
    empty_database.rows(f"alter database {empty_database.name} owner to mere_owner")

    result = run_ctl("migrate", env={"PGFLOW_DATABASE": empty_database.url.replace("postgres@", "mere_owner@")})

    assert result.returncode == 0, result.stderr
    assert 'warning: roles missing, and "mere_owner" may not create roles: pgflow_worker' in result.stderr
    assert "create role pgflow_worker nologin;" in result.stderr
    assert "select pgflow._apply_roles();" in result.stderr


def test_migrate_refuses_a_schema_that_is_not_ours(empty_database):
    empty_database.rows("create schema pgflow")
    empty_database.rows("create table pgflow.mine ()")

    result = ctl(empty_database, "migrate")

    assert result.returncode == 78, result.stderr
    assert "pgflow" in result.stderr


def test_database_that_is_down_is_69(tmp_path):
    result = run_ctl("runs", "--database", f"postgresql://postgres@/postgres?host={tmp_path}")

    assert result.returncode == 69, result.stderr


def test_inspect_shows_a_module_without_database():
    text = run_ctl("inspect", module("routed_v2"))
    machine = run_ctl("inspect", module("routed_v2"), "--json")

    assert (text.returncode, machine.returncode) == (0, 0), text.stderr + machine.stderr
    for word in ("routed_v2", "routed", "routed_main", "routed_mail", "check", "deliver"):
        assert word in text.stdout
    json.loads(machine.stdout)


def test_inspect_names_a_module_as_hosts_register_it(database, hosts):
    hosts.start(queue="noop", plugins=["noop"])
    registered = database.value("select info -> 'modules' -> 0 from pgflow.workers")

    text = run_ctl("inspect", module("noop"))
    machine = json.loads(run_ctl("inspect", module("noop"), "--json").stdout)

    assert machine["buildId"] == registered["buildId"] != ""
    assert machine["sha256"] == registered["sha256"]
    assert machine["flowSlug"] == "noop"
    assert registered["buildId"] in text.stdout and registered["sha256"] in text.stdout


def test_inspect_of_a_bad_module_is_78():
    result = run_ctl("inspect", module("wrong_magic"))

    assert result.returncode == 78
    assert "magic" in result.stderr


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json"], ["graph"], ["exec"]])
@pytest.mark.parametrize("fault", ["ctor_scribbles", "ctor_answers"])
def test_descriptor_that_a_constructor_spoils_is_78_and_shown_by_no_command(fault, command):
    result = run_ctl(*command, module(fault))

    assert (result.returncode, result.stdout) == (78, "")
    assert "constructor" in result.stderr


@pytest.mark.parametrize("command", [
    ["runs", "--config", "/dev/zero"], ["start", "x", "--input", "@/dev/zero"], ["rollout", "/dev/zero", "sql"],
    ["exec", module("noop"), "--input", "@/dev/zero"]])
def test_file_without_an_end_is_given_up_at_the_limit(database, command):
    result = ctl(database, *command)

    assert result.returncode == 64
    assert "'/dev/zero' is longer than " in result.stderr


@pytest.mark.parametrize("command", [
    ["runs", "--config", "/none"], ["start", "x", "--input", "@/none"], ["rollout", "/none", "sql"]])
def test_file_that_is_not_there_is_named_with_the_reason(database, command):
    result = ctl(database, *command)

    assert result.returncode == 64
    assert "cannot open '/none': No such file or directory" in result.stderr


def test_reader_that_has_enough_is_no_failure():
    ours, theirs = os.pipe()
    os.close(ours)

    result = subprocess.run([CTL, "--help"], stdout=theirs, stderr=subprocess.PIPE, env=environment(), check=False)
    os.close(theirs)

    assert (result.returncode, result.stderr) == (0, b"")


def test_answer_that_cannot_be_written_is_70_and_says_why():
    with open("/dev/full", "wb") as full:
        result = subprocess.run([CTL, "--help"], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)

    assert result.returncode == 70
    assert b"the answer could not be written: No space left" in result.stderr


UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def test_words_of_others_cannot_steer_the_terminal(database, hosts):
    """Colours, lines of their own, and U+202E, which turns the reading of what follows."""
    hosts.start(queue="faults", plugins=["faults"])

    started = ctl(database, "start", "faults", "--input", '{"fault": "error_escape"}', "--wait")
    run = started.stdout.splitlines()[0]
    shown = ctl(database, "run", run)
    as_json = ctl(database, "run", run, "--json")
    tried = run_ctl("exec", module("faults"), "--step", "error_escape")
    unknown = run_ctl("\x1b[31m\u202eruns")

    for result in (started, shown, as_json, tried, unknown):
        assert not UNSEEN.search(result.stdout + result.stderr), result
    for result in (started, tried, unknown):
        assert "[31m" in result.stderr, result.stderr
    assert started.stderr.splitlines()[-1].startswith("error_escape: a "), started.stderr
    assert sum(line.startswith("pgflowctl: run") for line in started.stderr.splitlines()) == 1, started.stderr
    assert "\\u202e" in as_json.stdout


def test_output_of_a_run_has_escapes_for_what_is_not_seen(database, hosts):
    hosts.start(queue="noop", plugins=["noop"])
    run = database.start_flow("noop")
    database.wait_run(run)
    database.rows("update pgflow.runs set output = to_jsonb(chr(8238) || chr(155) || 'x') where run_id = %s", run)

    for options in (["--output"], ["--json"]):
        shown = ctl(database, "run", run, *options).stdout
        assert not UNSEEN.search(shown) and "\\u202e\\u009bx" in shown, shown


def test_start_and_wait_runs_a_flow_and_run_shows_its_output(database, hosts):
    hosts.start(queue="chain", plugins=["chain"])

    started = ctl(database, "start", "chain", "--input", "{}", "--wait", "--json")
    run = database.value("select run_id::text from pgflow.runs")
    shown = ctl(database, "run", run)
    output = ctl(database, "run", run, "--output")

    assert started.returncode == 0, started.stderr
    assert run in started.stdout
    for word in ("chain", "first", "second", "third", "completed"):
        assert word in shown.stdout
    assert json.loads(output.stdout) == database.run(run).output


def test_start_of_a_failing_run_with_wait_answers_no(database, hosts):
    hosts.start(queue="faults", plugins=["faults"])

    result = ctl(database, "start", "faults", "--input", '{"fault": "permanent"}', "--wait")

    assert result.returncode == 1, result.stderr


def test_start_reads_its_input_from_a_file(database, hosts, tmp_path):
    hosts.start(queue="faults", plugins=["faults"])
    given = tmp_path / "input.json"
    given.write_text('{"fault": "echo", "n": 9007199254740993}')

    result = ctl(database, "start", "faults", "--input", f"@{given}", "--wait")

    assert result.returncode == 0, result.stderr
    assert database.value("select input->>'n' from pgflow.runs") == "9007199254740993"


def test_start_of_an_unknown_flow_is_refused_by_name(database):
    result = ctl(database, "start", "nobody", "--input", "{}")

    assert result.returncode != 0
    assert "nobody" in result.stderr


def test_input_that_is_not_json_is_refused(database):
    result = ctl(database, "start", "chain", "--input", "{not json")

    assert result.returncode == 64
    assert "input" in result.stderr.lower()


def test_workers_lists_hosts_with_queue_and_modules(database, hosts):
    host = hosts.start(queue="noop", plugins=["noop"])

    text = ctl(database, "workers")
    machine = ctl(database, "workers", "--json")

    assert text.returncode == 0, text.stderr
    assert "pgflow-host/noop" in text.stdout and str(host.pid) in text.stdout
    json.loads(machine.stdout)


def test_runs_lists_runs(database, hosts):
    hosts.start(queue="noop", plugins=["noop"])
    run = database.start_flow("noop")
    database.wait_run(run)

    result = ctl(database, "runs")

    assert result.returncode == 0, result.stderr
    assert run in result.stdout and "completed" in result.stdout
