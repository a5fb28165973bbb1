"""Hosts of a pinned function: who may serve, what the others show, and the way out."""

import json

import pytest

from lib.exposition import get, scrape
from lib.paths import module
from lib.programs import run_ctl, run_host, wait_until
from lib.rollout import build_ids

OLD, NEW = "routed_v1", "routed_v1_patched"
QUEUE, LISTEN = "routed_main", ("--metrics-listen", "127.0.0.1:0")


def pin(database, *sets, function="main", deployment="A"):
    """What an applied manifest leaves: sets of modules that may serve the function on its queue."""
    database.rows("update pgflow.function_pins set ended_at = clock_timestamp() where function_name = %s", function)
    database.rows("insert into pgflow.function_pins (function_name, deployment, queue_name, module_sets) values (%s, %s, %s, %s)",
                  function, deployment, QUEUE, json.dumps([build_ids(*one) for one in sets]))


def open_fence(database, name, function="main", deployment="A"):
    """A deployment that is loaded and has fenced the function, to replace its code."""
    entry = {"functionName": function, "serves": {"queue": QUEUE}, "action": "replace", "enabled": True, "startMode": "process",
             "modules": build_ids(name)}
    database.rows("select pgmq.create(%s)", QUEUE)
    database.rows("insert into pgflow.queues (queue_name, kind) values (%s, 'shared')", QUEUE)
    database.rows("select pgflow.load_manifest(%s)", json.dumps({"deployment": deployment, "entries": [entry]}))
    database.rows("select pgflow.fence_manifest(%s)", deployment)


def start(hosts, name, *options, function="main", wait=True):
    return hosts.start("--function", function, *LISTEN, *options, queue=QUEUE, plugins=[name], wait=wait)


def ctl(database, *arguments):
    return run_ctl(*arguments, env={"PGFLOW_DATABASE": database.url})


def status(host):
    return json.loads(get(host, "/status.json")[1])["host"]


def test_host_with_other_modules_stands_by_and_every_window_names_it(database, hosts):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    pin(database, [NEW])

    old = start(hosts, OLD, wait=False)
    told = old.log.wait("wrong_modules")
    old.log.wait("standby")
    said = f'deployment "A" gives function "main" to hosts that carry exactly {build_ids(NEW)[0]}'

    assert told["level"] == "warn" and told["detail"] == said
    assert get(old, "/readyz") == (503, f"standing by: wrong_modules: {said}\n")
    assert (status(old)["ready"], status(old)["word"], status(old)["standbyReason"]) == (
        False, f"standing by: wrong_modules: {said}", "wrong_modules")
    text = scrape(old)
    assert text.value("pgflow_standby", reason="wrong_modules") == 1 and text.value("pgflow_standby", reason="disabled") == 0
    assert text.value("pgflow_ready", queue=QUEUE) == 0
    doctor = ctl(database, "doctor").stdout
    assert f"wrong_modules: {said}" in doctor and "pgflowctl functions unpin main" in doctor, doctor
    assert "standing by: wrong_modules" in ctl(database, "workers").stdout
    assert json.loads(ctl(database, "workers", "--json").stdout)[0]["fence"] == "wrong_modules"
    wait_until(lambda: [one["fence"] for one in (json.loads(get(old, "/status.json")[1])["database"] or {"workers": []})["workers"]]
               == ["wrong_modules"])


def test_host_without_a_function_of_the_manifest_stands_by_beside_the_right_one(database, hosts):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    pin(database, [OLD])
    right = start(hosts, OLD)

    leftover = hosts.start(*LISTEN, queue=QUEUE, plugins=[OLD], wait=False)
    leftover.log.wait("not_in_manifest")
    leftover.log.wait("standby")

    assert get(right, "/readyz") == (200, "claiming\n")
    assert get(leftover, "/readyz")[0] == 503 and "not_in_manifest" in get(leftover, "/readyz")[1]
    assert scrape(leftover).value("pgflow_standby", reason="not_in_manifest") == 1
    assert "not_in_manifest" in ctl(database, "doctor").stdout


def test_host_at_work_when_the_pin_comes_finishes_and_stands_by(database, hosts):
    old = start(hosts, OLD)
    pin(database, [NEW])

    old.log.wait("wrong_modules")
    old.log.wait("standby")

    assert database.value("select count(*) from pgflow.workers where stopped_at is null and not standby") == 0


def test_several_builds_of_one_release_serve_beside_each_other(database, hosts):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    pin(database, [OLD], [NEW])

    for name in (OLD, NEW):
        assert get(start(hosts, name), "/readyz") == (200, "claiming\n")


def test_unpinned_function_takes_a_hot_fix_and_the_pin_tells_who_lifted_it(database, hosts):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    pin(database, [OLD])
    fix = start(hosts, NEW, wait=False)
    fix.log.wait("standby")

    done = ctl(database, "functions", "unpin", "main")
    again = ctl(database, "functions", "unpin", "main")

    assert done.returncode == 0 and done.stdout == "unpinned main\n", done.stderr
    assert again.returncode == 0, again.stderr
    fix.log.wait("ready")
    row = database.row("select unpinned_by, session_user as me, unpinned_at is not null as when from pgflow.function_pins")
    assert (row.unpinned_by, row.when) == (row.me, True)
    assert get(fix, "/readyz") == (200, "claiming\n")


def test_unpin_of_an_unknown_function_is_refused(database):
    result = ctl(database, "functions", "unpin", "mian")

    assert result.returncode == 64 and '"mian"' in result.stderr, (result.returncode, result.stderr)


def test_exit_if_disabled_and_check_tell_of_other_modules(database, hosts, tmp_path):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    pin(database, [NEW])
    given = ("--plugin", module(OLD), "--queue", QUEUE, "--function", "main", "--module-dir", tmp_path / "copies")

    ended = run_host(*given, "--exit-if-disabled", env={"PGFLOW_DATABASE": database.url})
    checked = run_host(*given, "--check", env={"PGFLOW_DATABASE": database.url})

    assert ended.returncode == 78 and "wrong_modules" in ended.stderr
    assert checked.returncode == 0 and "wrong_modules" in checked.stderr, checked.stderr


def test_a_function_that_was_paused_and_fenced_is_not_to_be_enabled_by_hand(database):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    given = ("--check", "--plugin", module(OLD), "--queue", QUEUE, "--function", "main")
    pause = "update pgflow.worker_functions set enabled = false, paused_at = clock_timestamp()"
    database.rows(pause)
    paused = run_host(*given, env={"PGFLOW_DATABASE": database.url})
    open_fence(database, NEW)
    database.rows(pause)
    fenced = run_host(*given, env={"PGFLOW_DATABASE": database.url})

    assert "pgflowctl functions enable main" in paused.stderr, paused.stderr
    assert "functions enable" not in fenced.stderr and "then fence again" in fenced.stderr, fenced.stderr


@pytest.mark.parametrize("protocol, answers", [("", ("disabled", "must_stop")), ('"protocol": 2,', ("wrong_modules", "wrong_modules"))])
def test_caller_that_announces_no_protocol_hears_words_of_0_1(database, hosts, protocol, answers):
    database.rows("select pgflow.track_worker_function('main', 'process')")
    info = '{%s "modules": [{"buildId": "01d0"}]}' % protocol
    register = ("select pgflow.register_worker(%s, %s, 'main', array[('f', 'a')]::pgflow.task_pair[], %s)")
    before, after = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
    database.rows(register, before, QUEUE, info)
    pin(database, [NEW])

    refused = database.value(register, after, QUEUE, info)
    fenced = database.value("select reason from pgflow.read_and_claim_tasks(%s, 1, 5, %s)", QUEUE, before)

    assert (refused, fenced) == answers
