"""Work that a host does not support: nothing starts, nothing is lost, the host ends."""

import json

from lib.exposition import get

ROUTED = ("routed_main", "routed_mail")


def deploy_stray(database):
    """A flow on the shared queue that no module here carries, and whose alias points elsewhere."""
    step = {
        "slug": "only", "stepType": "single", "dependencies": [], "options": {}, "whenUnmet": "skip",
        "whenExhausted": "fail", "requiredInputPattern": {"defined": False}, "forbiddenInputPattern": {"defined": False},
    }
    shape = {"flowSlug": "leftover", "queueMode": "routed", "routes": {"only": ROUTED[0]}, "options": {}, "steps": [step]}
    database.rows("select pgflow.ensure_deployment(%s::jsonb)", json.dumps(shape))


def test_unsupported_task_starts_nothing_pauses_and_ends_the_host(database, hosts):
    good = hosts.start(queue=ROUTED[0], plugins=["routed_v1"])
    deploy_stray(database)
    runs = database.rows(
        "select run_id::text from pgflow.start_flows('leftover', array['{\"secret\": \"body\"}'::jsonb, '{}', '{}'])"
        " as started(run_id)"
    )

    assert good.wait() == 78

    fatal = good.log.find("unsupported")
    assert len(fatal) == 1
    assert fatal[0]["level"] == "fatal" and fatal[0]["queue"] == ROUTED[0]
    assert "leftover" in json.dumps(fatal[0]) and "secret" not in good.said()
    tasks = database.rows("select status, attempts_count from pgflow.step_tasks")
    assert [tuple(task) for task in tasks] == [("queued", 0)] * 3
    assert database.value("select bool_and(vt <= clock_timestamp()) from pgmq.q_routed_main")
    assert database.value("select count(*) from pgmq.a_routed_main") == 0
    function = database.row("select * from pgflow.worker_functions where function_name = %s", f"pgflow-host/{ROUTED[0]}")
    assert not function.enabled and function.paused_at is not None
    assert function.pause_reason["queue"] == ROUTED[0]
    assert len(runs) == 3


def test_restart_after_a_pause_stands_by_and_says_how_to_repair(database, hosts):
    first = hosts.start(queue=ROUTED[0], plugins=["routed_v1"])
    deploy_stray(database)
    database.start_flow("leftover")
    assert first.wait() == 78

    second = hosts.start("--metrics-listen", "127.0.0.1:0", queue=ROUTED[0], plugins=["routed_v1"], wait=False)

    second.log.wait("standby")
    why = "standing by: the function was paused after unsupported work: no module for leftover.only"
    assert get(second, "/readyz") == (200, why + "\n")
    assert json.loads(get(second, "/status.json")[1])["host"]["word"] == why
    assert "leftover" in second.said()
    assert "enable" in second.said()
    assert second.running()


def test_other_function_with_the_right_modules_goes_on(database, hosts):
    good = hosts.start("--function", "good", queue=ROUTED[0], plugins=["routed_v1", "routed_v2"])
    mail = hosts.start("--function", "mail", queue=ROUTED[1], plugins=["routed_v1", "routed_v2"])
    run = database.start_flow("routed_v2")

    database.wait_run(run)

    assert database.run(run).output["deliver"]["version"] == "2.0.0"
    good.stop()
    mail.stop()


def test_foreign_messages_are_counted_and_the_first_twenty_are_named(database, hosts):
    hosts.start("--once", queue=ROUTED[0], plugins=["routed_v1"], wait=False).wait()
    database.rows("select pgmq.send_batch(%s, array_fill('{}'::jsonb, array[25]))", ROUTED[0])

    host = hosts.start("--concurrency", "30", queue=ROUTED[0], plugins=["routed_v1"])

    told = host.log.wait("foreign_messages")
    assert told["count"] == 25
    assert [int(number) for number in told["msg_ids"].split()] == list(range(1, 21))
