"""pgflowctl rollout, retire, delete, drain and coverage, as an operator who may do nothing else."""

import json
import os
import subprocess

import pytest
from lib import database as databases
from lib.programs import run_ctl


@pytest.fixture(scope="session")
def deployer(template):
    databases.administer("create role deployer login in role pgflow_operator")
    return "deployer"


@pytest.fixture
def ctl(database, deployer):
    url = database.url.replace(f"{os.environ['PGUSER']}@", f"{deployer}@")
    return lambda *arguments: run_ctl(*arguments, env={"PGFLOW_DATABASE": url})


def deploy(database, flow, alias=None, routes=None):
    database.rows("select pgflow.ensure_deployment(%s::jsonb)", json.dumps({
        "flowSlug": flow, "alias": alias or flow, "queueMode": "routed" if routes else "flow",
        **({"routes": routes} if routes else {}), "steps": [{"slug": "a"}]}))


def register(database, queue, function, pairs, build_id, standby=False):
    answer = database.value(
        "select pgflow.register_worker(gen_random_uuid(), %s, %s, %s::pgflow.task_pair[], %s, %s)", queue, function,
        "{" + ",".join(f'"({pair})"' for pair in pairs) + "}",
        json.dumps({"host": "here", "pid": 7, "modules": [{"flow": "v1", "buildId": build_id}]}), standby)
    # They stay live however slow the machine is.
    database.rows("update pgflow.workers set last_heartbeat_at = clock_timestamp() + interval '1 hour'")
    return answer


def write(tmp_path, entries, name="June's first"):
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps({"deployment": name, "entries": entries}))
    return file


# Build-ids.
OLD, NEW = "01d0", "0e3f"
REPLACE = {"functionName": "fn", "serves": {"queue": "q"}, "action": "replace", "enabled": True, "startMode": "process",
           "modules": [NEW]}


def test_check_answers_whether_the_database_would_load_the_manifest(database, ctl, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    register(database, "q", "fn", ["v1,a"], OLD)
    register(database, "q", "forgotten", ["v1,a"], OLD)

    bad = ctl("rollout", write(tmp_path, [REPLACE]), "check")
    machine = ctl("rollout", write(tmp_path, [REPLACE]), "check", "--json")
    good = ctl("rollout", write(tmp_path, [REPLACE, {**REPLACE, "functionName": "forgotten"}]), "check")

    assert bad.returncode == 1, bad.stderr
    assert 'function "forgotten" consumes queue "q" and is not in the manifest' in bad.stdout
    assert json.loads(machine.stdout) == [{"problem": 'function "forgotten" consumes queue "q" and is not in the manifest'}]
    assert good.returncode == 0 and "2 functions" in good.stdout, good.stderr
    assert database.value("select count(*) from pgflow.deployment_manifest") == 0


@pytest.mark.parametrize("text, said", [
    ("{", "manifest"), ("[]", "deployment"), ('{"deployment": "x"}', "entries"),
    ('{"deployment": "x", "entries": []}', "has no entries: name at least one function"), (None, "cannot open")])
def test_file_that_is_no_manifest_is_wrong_use(ctl, tmp_path, text, said):
    file = tmp_path / "manifest.json"
    if text is not None:
        file.write_text(text)

    result = ctl("rollout", file, "sql")

    assert result.returncode == 64, result.stdout
    assert said in result.stderr


def test_unknown_verb_offers_the_nearest(ctl, tmp_path):
    result = ctl("rollout", write(tmp_path, [REPLACE]), "statsu")

    assert result.returncode == 64
    assert "did you mean status" in result.stderr


def test_printed_sequence_runs_in_psql_and_status_follows_it(database, ctl, deployer, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    register(database, "q", "fn", ["v1,a"], OLD)
    file = write(tmp_path, [REPLACE])

    def status():
        result = ctl("rollout", file, "status", "--json")
        assert result.returncode in (0, 1), result.stderr
        return result.returncode, [row["name"] for row in json.loads(result.stdout) if row["state"] == "now"]

    printed = run_ctl("rollout", file, "sql")
    assert printed.returncode == 0, printed.stderr
    blocks = [block.strip() for block in printed.stdout.split("-- ---- ")[1:]]
    titles = [block.split(" ----")[0] for block in blocks]
    assert titles == [
        "1. Load the manifest", "2. Insert, and disable what is replaced", "3. Deprecate the old workers",
        "4. Wait until none of them works", "5. Deploy every new host, then confirm who stands by",
        "6. Set the final states", "7. Confirm the service", "8. Where it stands, at any time"]

    def psql(number, check=True):
        return subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", deployer, "-d", database.name], check=check,
            input="-- ---- " + blocks[number - 1], text=True, capture_output=True)

    assert status() == (1, ["load"])
    psql(1)
    assert status() == (1, ["fence"])
    psql(2)
    assert status() == (1, ["deprecate"])
    psql(3)
    assert status() == (1, ["wait"])
    assert psql(4, check=False).returncode == 3
    database.rows("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    assert status() == (1, ["deploy"])
    register(database, "q", "fn", [], NEW, standby=True)
    assert status() == (1, ["apply"])
    psql(6)
    assert status() == (1, ["confirm"])
    register(database, "q", "fn", ["v1,a"], NEW)
    assert status() == (0, [])
    text = ctl("rollout", file, "status")
    assert text.returncode == 0 and "done" in text.stdout and "now" not in text.stdout


def test_whole_sequence_ends_at_the_first_block_that_waits_and_goes_on_when_it_is_run_again(database, ctl, deployer, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    register(database, "q", "fn", ["v1,a"], OLD)
    file = write(tmp_path, [REPLACE])
    text = run_ctl("rollout", file, "sql").stdout

    def pipe():
        done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", deployer, "-d", database.name], check=False,
                              input=text, text=True, capture_output=True)
        return done.returncode, done.stderr

    first = pipe()
    assert first[0] == 3 and 'waits at step "wait"' in first[1], first
    database.rows("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    second = pipe()
    assert second[0] == 3 and 'waits at step "deploy"' in second[1], second
    register(database, "q", "fn", [], NEW, standby=True)
    third = pipe()
    assert third[0] == 3 and 'waits at step "confirm"' in third[1], third
    register(database, "q", "fn", ["v1,a"], NEW)
    before = database.rows("select worker_id, deprecated_at, stopped_at from pgflow.workers order by 1")
    assert pipe() == (0, "")
    assert pipe() == (0, "")
    assert database.rows("select worker_id, deprecated_at, stopped_at from pgflow.workers order by 1") == before
    assert database.value("select enabled from pgflow.worker_functions") is True


def test_abort_runs_its_stages_until_it_waits_and_goes_on_when_it_is_run_again(database, ctl, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    register(database, "q", "fn", ["v1,a"], OLD)
    file = write(tmp_path, [REPLACE])
    database.rows("select pgflow.load_manifest(%s), pgflow.fence_manifest(%s)", file.read_text(), "June's first")
    database.rows("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    database.rows("select pgflow.apply_deployment(%s, true)", "June's first")
    register(database, "q", "fn", ["v1,a"], NEW)

    waits = ctl("rollout", file, "abort")
    under_way = ctl("rollout", file, "status")
    database.rows("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    register(database, "q", "fn", [], OLD, standby=True)
    done = ctl("rollout", file, "abort")
    again = ctl("rollout", file, "abort", "--json")
    status = ctl("rollout", file, "status")

    assert waits.returncode == 1 and waits.stdout.split() [0] == "fenced" and "deprecated" in waits.stdout, waits.stdout
    assert "is still working" in waits.stderr and "has no live worker that stands by with the code from before" in waits.stderr
    assert under_way.returncode == 1 and under_way.stdout.startswith("aborting"), under_way.stdout
    assert done.returncode == 0 and done.stdout.startswith("restored"), done.stderr
    assert again.returncode == 0 and json.loads(again.stdout)["stage"] == "aborted", again.stdout
    assert status.returncode == 1 and status.stdout.startswith("aborted"), status.stdout
    assert database.value("select enabled from pgflow.worker_functions") is True


def test_deployment_that_a_later_one_took_over_is_superseded_and_one_that_is_closed_is_not_done(database, ctl, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    file = write(tmp_path, [REPLACE])
    for name, entries in (("June's first", [REPLACE]), ("later", [{**REPLACE, "modules": [OLD]}])):
        database.rows("select pgflow.load_manifest(%s), pgflow.fence_manifest(%s)",
                      json.dumps({"deployment": name, "entries": entries}), name)
        database.rows("select pgflow.apply_deployment(%s, true)", name)

    status = ctl("rollout", file, "status")
    closed = ctl("rollout", file, "close")
    after = ctl("rollout", file, "status", "--json")

    assert status.returncode == 0 and "superseded" in status.stdout, status.stdout
    assert 'deployment "later" took over function "fn" at' in status.stdout
    assert closed.returncode == 0 and closed.stdout == "closed\n", closed.stderr
    assert after.returncode == 1 and json.loads(after.stdout)[0]["state"] == "closed", after.stdout


def test_file_that_differs_is_to_be_loaded_before_the_deployment_begins_and_renamed_after(database, ctl, tmp_path):
    deploy(database, "v1", "v", {"a": "q"})
    database.rows("select pgflow.load_manifest(%s)", write(tmp_path, [REPLACE]).read_text())
    changed = write(tmp_path, [{**REPLACE, "modules": [OLD]}])

    before = ctl("rollout", changed, "status").stdout.splitlines()
    database.rows("select pgflow.fence_manifest(%s)", "June's first")
    after = ctl("rollout", changed, "status").stdout.splitlines()
    checked = ctl("rollout", changed, "check")

    assert before[:2] == ["now    0  file", "               the file differs from the manifest that was loaded: load it,"
                                            " or give it a name of its own"]
    assert after[:2] == ["now    0  file", "               the file differs from the manifest that was loaded, and whose"
                                           " deployment has begun: give the file a deployment name of its own"]
    assert checked.returncode == 1 and "give this one a name of its own" in checked.stdout


def test_sequence_of_a_new_version_names_its_flows(tmp_path):
    file = write(tmp_path, [
        {"functionName": "old", "serves": {"flow": "v1"}, "action": "keep-draining", "enabled": True, "startMode": "process"},
        {"functionName": "new-a", "serves": {"flow": "v2"}, "action": "add", "enabled": True, "startMode": "process"},
        {"functionName": "new-b", "serves": {"flow": "v2"}, "action": "add", "enabled": True, "startMode": "process"}])

    result = run_ctl("rollout", file, "sql")

    assert result.returncode == 0, result.stderr
    assert "rollout_fence('June''s first')" in result.stdout
    assert result.stdout.count("activate_flow(") == 1 and "'v2')" in result.stdout
    assert "rollout_drained('v1')" in result.stdout and "retire_flow('v1')" in result.stdout
    assert ":'" not in result.stdout
    assert "rollout_deprecate" not in result.stdout


def test_retire_is_refused_with_the_blockers_until_drained(database, ctl):
    deploy(database, "v1", "v")
    database.start_flow("v")

    refused = ctl("retire", "v1")
    drained = ctl("drain", "v1", "--json")
    database.rows("select pgflow.cancel_run(run_id, 'enough') from pgflow.runs")
    deploy(database, "v2", "v")
    database.rows("select pgflow.activate_flow('v', 'v2', force => true)")
    waited = ctl("drain", "v1", "--wait")
    retired = ctl("retire", "v1", "--json")
    undone = ctl("retire", "v1", "--undo")

    assert refused.returncode == 1 and "1 started run" in refused.stderr, refused.stderr
    assert drained.returncode == 1 and json.loads(drained.stdout)["started_runs"] == 1
    assert waited.returncode == 0 and "safe to retire" in waited.stdout, waited.stderr
    assert retired.returncode == 0 and json.loads(retired.stdout)["retired_at"] is not None, retired.stderr
    assert undone.returncode == 0, undone.stderr
    assert database.value("select retired_at from pgflow.flows where flow_slug = 'v1'") is None


def test_unknown_flow_offers_the_nearest(database, ctl):
    deploy(database, "triage")

    for command in ("retire", "delete", "drain"):
        result = ctl(command, "triagge")
        assert result.returncode == 64, command
        assert "did you mean 'triage'" in result.stderr, result.stderr


def test_alias_is_told_from_the_version_that_a_command_wants(database, ctl):
    deploy(database, "triage_v1", "triage")

    for command in (("retire", "triage"), ("delete", "triage", "--yes"), ("drain", "triage"), ("activate", "triage", "triage")):
        result = ctl(*command)
        assert result.returncode == 64, command
        assert "'triage' is an alias, which points at 'triage_v1'" in result.stderr, result.stderr
    assert database.value("select retired_at is null from pgflow.flows")


def test_delete_wants_yes_and_leaves_neighbours_on_a_shared_queue(database, ctl):
    deploy(database, "mine", routes={"a": "q"})
    deploy(database, "neighbour", routes={"a": "q"})
    for flow in ("mine", "neighbour"):
        database.start_flow(flow)

    asked = ctl("delete", "mine")
    refused = ctl("delete", "mine", "--yes")
    untouched = database.value("select count(*) from pgflow.flows")
    deleted = ctl("delete", "mine", "--yes", "--force", "--json")

    assert asked.returncode == 1 and "--yes" in asked.stdout, asked.stderr
    assert "mine: would be deleted with 1 run (1 started)" in asked.stdout and "1 started run\n" in asked.stdout
    assert refused.returncode == 1 and 'flow "mine" is in use: 1 started run' in refused.stderr, refused.stdout
    assert untouched == 2
    assert deleted.returncode == 0, deleted.stderr
    assert json.loads(deleted.stdout)["runs"] == 1
    assert [tuple(row) for row in database.rows("select flow_slug from pgflow.runs")] == [("neighbour",)]
    assert database.value("select count(*) from pgmq.q_q") == 1


def test_version_that_live_hosts_carry_is_deleted_by_force_alone(database, ctl):
    deploy(database, "v1", "v", {"a": "q"})
    deploy(database, "v2", "v", {"a": "q"})
    database.rows("select pgflow.activate_flow('v', 'v2', force => true)")
    register(database, "q", "fn", ["v1,a", "v2,a"], NEW)

    asked = ctl("delete", "v2", "--json")
    refused = ctl("delete", "v2", "--yes")
    forced = ctl("delete", "v2", "--yes", "--force")
    inactive = ctl("delete", "v1", "--yes")
    database.rows("select pgflow.mark_worker_stopped(worker_id) from pgflow.workers")
    unused = ctl("delete", "v1", "--yes")

    worker = database.value("select worker_id from pgflow.workers")
    carried = f'worker {worker} of function "fn" on queue "q" carries it'
    assert json.loads(asked.stdout)["in_use"] == ['alias "v" points at it', carried]
    assert refused.returncode == 1 and carried in refused.stderr and "by force" in refused.stderr, refused.stderr
    assert forced.returncode == 0 and "its alias pointed at it" in forced.stdout, forced.stderr
    assert inactive.returncode == 1 and carried in inactive.stderr, inactive.stderr
    assert unused.returncode == 1 and 'alias "v" points at it' in unused.stderr, unused.stderr
    assert [row[0] for row in database.rows("select flow_slug from pgflow.flows")] == ["v1"]


def test_coverage_functions_and_workers_answer_an_operator(database, ctl):
    deploy(database, "v1", "v", {"a": "q"})
    gap = ctl("coverage", "q", "--json")
    register(database, "q", "fn", ["v1,a"], OLD)
    covered = ctl("coverage", "q")

    assert gap.returncode == 1, gap.stderr
    assert json.loads(gap.stdout)[0]["step"] == "a"
    assert covered.returncode == 0, covered.stderr
    for command in (["functions"], ["workers"], ["aliases"], ["runs"]):
        result = ctl(*command, "--json")
        assert result.returncode == 0, (command, result.stderr)
    assert json.loads(ctl("functions", "--json").stdout)[0]["working"] == 1


def fence(database, name="June's first"):
    """Function fn, which works, is to be replaced."""
    deploy(database, "v1", "v", {"a": "q"})
    register(database, "q", "fn", ["v1,a"], OLD)
    database.rows("select pgflow.load_manifest(%s)", json.dumps({"deployment": name, "entries": [REPLACE]}))
    database.rows("select pgflow.fence_manifest(%s)", name)


def enabled(database):
    return database.value("select enabled from pgflow.worker_functions where function_name = 'fn'")


def test_functions_that_a_deployment_has_fenced_are_enabled_by_force_alone(database, ctl):
    fence(database)

    refused = ctl("functions", "enable", "fn")
    before = enabled(database)
    listed = ctl("functions")
    forced = ctl("functions", "enable", "fn", "--force")

    assert (refused.returncode, before) == (1, False), refused.stderr
    assert """function "fn" is fenced by deployment "June's first\"""" in refused.stderr
    assert "--force" in refused.stderr and "rollout MANIFEST status" in refused.stderr
    assert """deployment "June's first" has fenced it""" in listed.stdout, listed.stdout
    assert (forced.returncode, enabled(database)) == (0, True), forced.stderr


def test_workers_of_an_enabled_function_are_deprecated_by_force_alone(database, ctl):
    register(database, "q", "fn", [], OLD)
    live = "select count(*) from pgflow.workers where deprecated_at is null"

    refused = ctl("functions", "deprecate", "fn")
    before = database.value(live)
    wrong = ctl("functions", "disable", "fn", "--force")
    forced = ctl("functions", "deprecate", "fn", "--force")

    assert (refused.returncode, before) == (1, 1), refused.stderr
    assert 'function "fn" is enabled' in refused.stderr and "pgflowctl functions disable" in refused.stderr
    assert wrong.returncode == 64 and "--force is for enable and deprecate" in wrong.stderr
    assert (forced.returncode, database.value(live)) == (0, 0), forced.stderr
    database.rows("select pgflow.disable_worker_functions('{fn}')")
    assert ctl("functions", "deprecate", "fn").returncode == 0
