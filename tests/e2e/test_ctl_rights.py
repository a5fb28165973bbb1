"""pgflowctl by logins with as few rights as their work needs."""

import os

import pytest

from lib.programs import run_ctl
from test_ctl_doctor import compile_flow


def login(database, name, *roles):
    database.rows(f"drop role if exists {name}")  # roles are the cluster's
    database.rows(f"create role {name} login" + (f" in role {', '.join(roles)}" if roles else ""))
    return {"PGFLOW_DATABASE": database.url.replace(os.environ["PGUSER"] + "@", f"{name}@")}


@pytest.mark.parametrize("role", ["pgflow_client", "pgflow_operator"])
def test_a_client_and_an_operator_start_a_run_and_wait_for_it(database, hosts, role):
    hosts.start(queue="chain", plugins=["chain"])

    result = run_ctl("start", "chain", "--wait", env=login(database, "starter", role))

    assert result.returncode == 0, result.stderr
    assert "completed after" in result.stdout


def test_a_client_is_told_of_a_run_that_failed(database):
    compile_flow(database, "chain")
    env = login(database, "starter", "pgflow_client")
    database.rows("create function fail() returns trigger language plpgsql security definer as $$ begin perform pgflow.cancel_run(new.run_id, 'no'); return null; end $$")
    database.rows("create constraint trigger fail after insert on pgflow.runs deferrable initially deferred for each row execute function fail()")

    result = run_ctl("start", "chain", "--wait", env=env)

    assert result.returncode == 1
    assert "cancelled" in result.stderr and "[CANCELLED] no" in result.stderr


def test_who_cannot_follow_a_run_starts_none(database):
    compile_flow(database, "chain")
    env = login(database, "starter", "pgflow_client")
    database.rows("revoke execute on function pgflow.get_run_with_states from pgflow_client")

    result = run_ctl("start", "chain", "--wait", env=env)

    assert result.returncode == 78
    assert "nothing was started" in result.stderr and 'grant pgflow_client to "starter"' in result.stderr
    assert database.rows("select from pgflow.runs") == []
    assert run_ctl("start", "chain", env=env).returncode == 0


@pytest.mark.parametrize("roles, word", [
    (["pgflow_worker"], "is a host's (pgflow_worker), as in the configuration of a host"),
    (["pgflow_client"], "as pgflow_client starts and follows runs"),
    ([], 'grant pgflow_operator to "somebody"')])
def test_a_login_without_the_right_is_told_which_it_wants(database, roles, word):
    result = run_ctl("runs", env=login(database, "somebody", *roles))

    assert result.returncode == 78
    assert word in result.stderr, result.stderr


def test_a_run_that_is_not_there_is_an_answer_and_no_wrong_use(database):
    unknown = "00000000-0000-4000-8000-000000000000"
    env = {"PGFLOW_DATABASE": database.url}

    assert run_ctl("run", unknown, env=env).returncode == 1
    assert run_ctl("cancel", unknown, env=env).returncode == 1
    assert run_ctl("run", "nonsense", env=env).returncode == 64


def test_an_age_beyond_history_prunes_nothing(database):
    result = run_ctl("prune", "--older-than", "100000 years", env={"PGFLOW_DATABASE": database.url})
    dry = run_ctl("prune", "--older-than", "100000 years", "--dry-run", env={"PGFLOW_DATABASE": database.url})

    assert (result.returncode, result.stdout) == (0, "0 runs deleted\n"), result.stderr
    assert (dry.returncode, dry.stdout) == (0, "0 runs would be deleted\n"), dry.stderr


@pytest.mark.parametrize("revoked", ["usage on schema pgflow", "execute on function pgflow.track_worker_function",
                                     "execute on function pgflow.heartbeat"])
def test_a_host_without_a_right_says_what_mends_it(database, hosts, revoked):
    env = login(database, "hosting", "pgflow_worker")
    host = None
    if "heartbeat" in revoked:
        host = hosts.start(queue="chain", plugins=["chain"], env=env)
    database.rows(f"revoke {revoked} from pgflow_worker")
    if host is None:
        host = hosts.start(queue="chain", plugins=["chain"], env=env, wait=False)

    status = host.wait()

    assert status == 78
    failed = host.log.text[-1]
    assert "permission denied" in failed and "grant pgflow_worker to it" in failed and "_apply_roles()" in failed, failed
