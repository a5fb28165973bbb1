"""Two versions of one flow side by side: the alias decides, every run is wholly of one version."""

import pytest

from lib.programs import run_ctl

MAIN, MAIL = "routed_main", "routed_mail"
BOTH = ["routed_v1", "routed_v2"]


def versions(database, run):
    return {row.output["version"] for row in database.rows("select output from pgflow.step_tasks where run_id = %s", run)}


def active(database):
    return database.value("select active_flow_slug from pgflow.flow_aliases where alias = 'routed'")


@pytest.fixture
def logins(database):
    """Makes logins that have these roles and nothing else; gives their URL."""
    made = []

    def make(roles):
        made.append(f"login_{len(made)}_{database.name}")
        database.rows(f"create role {made[-1]} login in role {roles}")
        return database.url.replace("postgres@", f"{made[-1]}@")

    yield make
    for role in made:
        database.rows(f"drop role {role}")


def test_new_version_takes_over_when_every_queue_is_covered(database, hosts):
    """By the offer of hosts that log in as operators: the superuser is a member of every role."""
    hosts.start(queue=MAIN, plugins=["routed_v1"])
    hosts.start(queue=MAIL, plugins=["routed_v1"])
    first = database.start_flow("routed")
    database.wait_run(first)
    assert versions(database, first) == {"1.0.0"}
    hosts.end()

    hosts.start("--activate", "auto", queue=MAIN, plugins=BOTH)
    assert active(database) == "routed_v1"
    hosts.start("--activate", "auto", queue=MAIL, plugins=BOTH)
    database.until("select active_flow_slug = 'routed_v2' from pgflow.flow_aliases where alias = 'routed'")
    second = database.start_flow("routed")

    database.wait_run(second)
    assert versions(database, second) == {"2.0.0"}


def test_run_of_the_old_version_finishes_on_hosts_that_carry_both(database, hosts, tmp_path):
    ran = tmp_path / "ran"
    old = [hosts.start("--drain-timeout", "30", queue=queue, plugins=["routed_v1"]) for queue in (MAIN, MAIL)]
    run = database.start_flow("routed", {"ms": 1000, "file": str(ran)})
    database.until("select status = 'started' from pgflow.step_tasks where run_id = %s limit 1", run)
    database.rows("select pgflow.disable_worker_functions(array(select function_name from pgflow.worker_functions))")
    database.rows("select pgflow.deprecate_workers(array(select function_name from pgflow.worker_functions))")
    for host in old:
        # 69: it had stopped for the disable, and was deprecated before its row in stand-by was there.
        assert host.wait() in (0, 69)
    for queue in (MAIN, MAIL):
        hosts.start(queue=queue, plugins=BOTH, wait=False)

    database.rows("select pgflow.enable_worker_function(function_name) from pgflow.worker_functions")

    database.wait_run(run)
    assert versions(database, run) == {"1.0.0"}
    lines = [line.split()[:4] for line in ran.read_text().splitlines()]
    assert len(lines) == len({tuple(line) for line in lines}), "a handler that had finished ran again"


def test_manual_activation_leaves_the_switch_to_the_operator(database, hosts):
    """What a host does unless it is told otherwise."""
    for queue in (MAIN, MAIL):
        host = hosts.start(queue=queue, plugins=BOTH)
    first = host.log.wait("deployment", flow="routed_v1")
    told = host.log.wait("activation_waits", flow="routed_v2")
    assert active(database) == "routed_v1"

    switched = run_ctl(*told["to_switch"].split()[1:], env={"PGFLOW_DATABASE": database.url})

    assert (first["activation"], told["active_flow"], switched.returncode) == ("active", "routed_v1", 0), switched.stderr
    run = database.start_flow("routed")
    database.wait_run(run)
    assert versions(database, run) == {"2.0.0"}


def test_offer_of_a_host_that_is_no_operator_waits_and_moves_nothing(database, hosts, logins):
    worker, operator = logins("pgflow_worker"), logins("pgflow_worker, pgflow_operator")
    both = {queue: hosts.start("--activate", "auto", queue=queue, plugins=BOTH, env={"PGFLOW_DATABASE": worker}) for queue in (MAIN, MAIL)}

    told = both[MAIN].log.wait("activation_waits", flow="routed_v2")

    # Heartbeats repeat the offer, by now with every queue covered.
    database.until("select count(*) = 2 from pgflow.workers w where w.last_heartbeat_at > w.started_at")
    assert "an operator must activate it (pgflowctl activate routed routed_v2)" in told["missing"]
    assert active(database) == "routed_v1"
    both[MAIL].stop()
    hosts.start("--activate", "auto", queue=MAIL, plugins=BOTH, env={"PGFLOW_DATABASE": operator})
    database.until("select active_flow_slug = 'routed_v2' from pgflow.flow_aliases where alias = 'routed'")


def test_start_of_an_older_version_is_refused_while_a_worker_would_pause_for_it(database, hosts):
    for queue in (MAIN, MAIL):
        hosts.start(queue=queue, plugins=BOTH).stop()
    database.rows("select pgflow.activate_flow('routed', 'routed_v2', force => true)")
    waiting = database.start_flow("routed_v1")
    database.rows("select pgflow.cancel_run(%s, 'test')", waiting)
    alone = hosts.start("--function", "alone", queue=MAIN, plugins=["routed_v2"])

    refused = run_ctl("start", "routed_v1", env={"PGFLOW_DATABASE": database.url})

    for word in ("routed_v1", "routed_v2", "prepare", MAIN, "alone", alone.log.wait("ready")["worker"]):
        assert word in refused.stderr, refused.stderr
    assert refused.returncode != 0
    assert database.value("select bool_and(enabled) from pgflow.worker_functions")


def test_switch_is_refused_while_a_queue_has_no_worker_and_names_it(database, hosts):
    hosts.start("--activate", "manual", queue=MAIN, plugins=BOTH)

    answer = database.value(
        "do $$ begin perform pgflow.activate_flow('routed', 'routed_v2'); exception when others then"
        " perform set_config('test.answer', sqlerrm, false); end $$; select current_setting('test.answer')"
    )

    assert MAIL in answer
    assert active(database) == "routed_v1"


def test_task_on_a_private_queue_waits_for_its_own_host(database, hosts):
    hosts.start(queue="chain_private__first", plugins=["chain_private"])
    run = database.start_flow("chain_private")
    database.until("select count(*) = 1 from pgflow.step_tasks where run_id = %s and step_slug = 'second'", run)

    hosts.start(queue="chain_private__second", plugins=["chain_private"])
    hosts.start(queue="chain_private__third", plugins=["chain_private"])

    database.wait_run(run)
    assert database.value("select sum(attempts_count) from pgflow.step_tasks where run_id = %s", run) == 3
