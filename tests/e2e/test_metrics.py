"""/metrics, /healthz and /readyz of a running host."""

import re
import shutil
import subprocess

import pytest

from lib import exposition
from lib.exposition import get, scrape
from lib.paths import SOURCE, module
from lib.programs import run_host, wait_until
from test_guard import deploy_stray

LISTEN = ("--metrics-listen", "127.0.0.1:0")


def until_value(host, expected, name, **labels):
    """Wait until a scrape has this value, and give the scrape."""
    seen = []

    def asked():
        seen[:] = [scrape(host)]
        return seen[0].value(name, **labels) == expected

    wait_until(asked)
    return seen[0]


def step(name, **more):
    return {"queue": "faults", "flow": "faults", "step": name, **more}


@pytest.fixture
def faults(database, hosts):
    return hosts.start(*LISTEN, "--concurrency", "2", queue="faults", plugins=["faults"])


def test_tasks_are_counted_by_what_became_of_them(database, faults):
    database.wait_run(database.start_flow("faults", {"fault": "echo"}))
    database.wait_run(database.start_flow("faults", {"fault": "segv"}), "failed")

    text = until_value(faults, 1, "pgflow_tasks_total", **step("segv", outcome="failed"))
    assert text.value("pgflow_tasks_total", **step("echo", outcome="completed")) == 1
    assert text.value("pgflow_tasks_total", **step("segv", outcome="retrying")) == 1
    assert text.value("pgflow_task_seconds_count", **step("echo")) == 1
    assert text.value("pgflow_queue_wait_seconds_count", **step("segv")) == 2
    assert text.value("pgflow_claimed_messages_total", queue="faults", outcome="started") == 3
    assert text.value("pgflow_runner_exits_total", flow="faults", cause="signal") == 2
    assert text.value("pgflow_db_roundtrip_seconds_count", call="finish") == 3
    assert text.value("pgflow_slots", state="free") == 2


def test_time_on_the_queue_counts_from_when_a_task_was_visible(database, faults):
    with database._cursor() as cursor:
        # In one transaction: the host sees the message as it will have been for an hour.
        cursor.execute(
            "do $$ begin perform pgflow.start_flow('faults', '{\"fault\": \"echo\"}');"
            " update pgmq.q_faults set vt = clock_timestamp() - interval '1 hour'; end $$"
        )

    text = until_value(faults, 1, "pgflow_queue_wait_seconds_count", **step("echo"))
    assert text.value("pgflow_queue_wait_seconds_bucket", **step("echo", le="1800")) == 0
    assert 3600 <= text.value("pgflow_queue_wait_seconds_sum", **step("echo")) < 7200


def test_every_documented_metric_is_there(database, hosts):
    page = (SOURCE / "docs" / "operations" / "metrics.md").read_text()
    rows = re.search(r"\| metric \|.*?\n\n", page, re.S).group().strip().splitlines()[2:]
    documented = {name for row in rows for name in re.findall(r"`((?:pgflow|process)_\w+)`", row.split("|")[1])}
    host = hosts.start(*LISTEN, queue="noop", plugins=["noop"])
    database.wait_run(database.start_flow("noop"))

    wait_until(lambda: set(scrape(host).types) == documented)


def test_promtool_finds_nothing(database, faults):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (package prometheus)")
    database.wait_run(database.start_flow("faults", {"fault": "echo"}))
    wait_until(lambda: "pgflow_queue_messages" in scrape(faults).types)

    checked = subprocess.run(
        [promtool, "check", "metrics"], input=get(faults, "/metrics")[1], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_queue_is_shown_by_pair_and_state(database, faults):
    for _ in range(2):
        database.start_flow("faults", {"fault": "sleep", "ms": 60000})
    until_value(faults, 2, "pgflow_slots", state="busy")
    database.start_flow("faults", {"fault": "echo"})

    text = until_value(faults, 1, "pgflow_queue_messages", **step("echo", state="queued"))
    assert text.value("pgflow_queue_messages", **step("sleep", state="started")) == 2
    assert text.value("pgflow_queue_oldest_seconds", **step("echo")) > 0
    assert text.value("pgflow_queue_messages", queue="faults", flow="", step="", state="queued") == 0


def test_labels_are_those_of_the_given_modules_alone(database, hosts):
    """What lies on the queue of flows that nobody here knows is one series without a name."""
    host = hosts.start(*LISTEN, "--function", "first", queue="routed_main", plugins=["routed_v1"])
    database.start_flow("routed", {"ms": 60000})
    until_value(host, 1, "pgflow_slots", state="busy")
    deploy_stray(database)
    database.start_flow("leftover")

    # The guard stops it; it finishes what runs, so that it can still be asked.
    text = until_value(host, 1, "pgflow_guard_total", queue="routed_main")
    assert text.labels("pgflow_tasks_total", "flow") == {"routed_v1"}
    assert text.labels("pgflow_tasks_total", "step") == {"prepare", "work"}
    assert text.value("pgflow_claimed_messages_total", queue="routed_main", outcome="unsupported") == 1
    assert text.value("pgflow_worker_state", state="draining") == 1
    assert get(host, "/readyz") == (503, "stopping\n")
    until_value(host, 1, "pgflow_queue_messages", queue="routed_main", flow="", step="", state="queued")


def test_draining_runs_are_those_of_the_version_that_was_left(database, hosts):
    host = hosts.start(*LISTEN, queue="routed_main", plugins=["routed_v1", "routed_v2"])
    database.start_flow("routed_v1")  # nobody serves its last queue: it stays
    text = until_value(host, 0, "pgflow_draining_runs", flow="routed_v2")
    assert text.value("pgflow_draining_runs", flow="routed_v1") is None

    database.rows("select pgflow.activate_flow('routed', 'routed_v2', true)")

    text = until_value(host, 1, "pgflow_draining_runs", flow="routed_v1")
    assert text.value("pgflow_draining_runs", flow="routed_v2") is None
    assert text.value("pgflow_flow_active", flow="routed_v2", alias="routed") == 1
    assert text.value("pgflow_flow_active", flow="routed_v1", alias="routed") == 0


def test_refused_question_is_logged_once_and_costs_its_own_metrics_alone(database, hosts):
    database.rows("alter function pgflow.queue_stats(text) rename to queue_stats_gone")
    host = hosts.start(*LISTEN, queue="routed_main", plugins=["routed_v1", "routed_v2"])
    host.log.wait("metrics_incomplete")

    # Each switch is seen by a later round, in which the other question was refused before.
    for version in ("routed_v2", "routed_v1", "routed_v2"):
        database.rows(f"select pgflow.activate_flow('routed', '{version}', true)")
        text = until_value(host, 1, "pgflow_flow_active", flow=version, alias="routed")

    assert [line["call"] for line in host.log.find("metrics_incomplete")] == ["queue_stats"]
    assert "pgflow_queue_messages" not in text.types


def test_readyz_says_whether_it_claims_or_stands_by(database, hosts, faults):
    assert get(faults, "/readyz") == (200, "claiming\n")

    database.rows("select pgflow.disable_worker_functions('{pgflow-host/faults}')")
    faults.log.wait("standby")
    wait_until(lambda: get(faults, "/readyz") == (200, "standing by: the worker function is disabled\n"))
    assert scrape(faults).value("pgflow_worker_state", state="standby") == 1

    fresh = hosts.start(*LISTEN, queue="faults", plugins=["faults"], wait=False)
    fresh.log.wait("standby")
    assert get(fresh, "/readyz")[0] == 200


def test_readyz_turns_on_the_database_and_healthz_does_not(database, faults):
    until_value(faults, 0, "pgflow_queue_messages", **step("echo", state="queued"))

    database.server("stop")
    faults.log.wait("database_lost")
    try:
        assert get(faults, "/readyz") == (503, "no database\n")
        assert get(faults, "/healthz") == (200, "ok\n")
        away = scrape(faults)
    finally:
        database.server("start")

    assert away.value("pgflow_db_up") == 0 and away.value("pgflow_ready", queue="faults") == 0
    assert "pgflow_queue_messages" not in away.types  # an old depth is worse than none
    faults.log.wait("database_back")
    wait_until(lambda: get(faults, "/readyz") == (200, "claiming\n"))
    assert scrape(faults).value("pgflow_db_reconnects_total") >= 1


def test_other_paths_and_methods_are_refused(faults):
    assert get(faults, "/metrics/")[0] == 404
    assert get(faults, "/readyz?x=1")[0] == 200


def test_taken_port_ends_the_start_before_the_database_is_changed(database, hosts, faults):
    taken = exposition.address(faults)

    second = hosts.start("--metrics-listen", taken, queue="noop", plugins=["noop"], wait=False)

    assert second.wait() == 78
    failed = second.log.find("failed")[-1]["msg"]
    assert taken in failed and "a port of its own" in failed
    assert database.value("select count(*) from pgflow.flows where flow_slug = 'noop'") == 0


def test_check_does_not_need_the_port(database, faults):
    checked = run_host(
        "--plugin", module("faults"), "--metrics-listen", exposition.address(faults), "--check",
        env={"PGFLOW_DATABASE": database.url},
    )

    assert checked.returncode == 0, checked.stderr


def test_address_that_is_none_is_wrong_use():
    refused = run_host("--plugin", module("noop"), "--metrics-listen", "localhost")

    assert refused.returncode == 64
    assert "--metrics-listen" in refused.stderr and "127.0.0.1:9187" in refused.stderr


def test_without_the_option_nothing_listens(database, hosts):
    host = hosts.start(queue="noop", plugins=["noop"])

    assert host.log.find("metrics_listening") == []
    sockets = subprocess.run(["ls", "-l", f"/proc/{host.pid}/fd"], capture_output=True, text=True, check=False).stdout
    listening = {line.split()[9] for line in open(f"/proc/{host.pid}/net/tcp", encoding="ascii").readlines()[1:]
                 if line.split()[3] == "0A"}
    assert not any(f"socket:[{inode}]" in sockets for inode in listening)
