"""Large maps, and inputs that jsonb cannot hold."""

import pytest

from lib.paths import SANITIZED, VALGRIND

pytestmark = pytest.mark.skipif(SANITIZED or VALGRIND, reason="size, not correctness of memory; too slow there")


def test_map_over_50000_elements_completes(database, hosts):
    hosts.start("--concurrency", "100", queue="fan", plugins=["fan"])

    run = database.start_flow("fan", {"n": 50000})

    database.wait_run(run, patience=240)
    assert database.value("select count(*) from pgflow.step_tasks where run_id = %s and attempts_count = 1", run) == 50002
    assert database.value("select jsonb_array_length(output) from pgflow.step_states where run_id = %s and step_slug = 'each'", run) == 50000
    assert database.value("select output->>49999 from pgflow.step_states where run_id = %s and step_slug = 'each'", run) == "99998"
    assert database.run(run).output == {"count": 50000}


def test_two_outputs_beyond_jsonb_fail_the_step_that_wants_both_and_nothing_else(database, hosts):
    """Two outputs of 130 MiB cannot stand in one object: jsonb stops at 256 MiB."""
    hosts.start("--once", queue="heavy", plugins=["heavy"]).wait()
    run = database.start_flow("heavy")
    # An older client completes both: the size matters here, not the way into the database.
    database.rows("select pgflow.start_tasks('heavy', array(select msg_id from pgmq.q_heavy), gen_random_uuid())")
    for step in ("left", "right"):
        database.rows(
            "select pgflow.complete_task(%s, %s, 0, to_jsonb(repeat('x', 130 * 1024 * 1024))) is null", run, step
        )
    small = database.start_flow("heavy", {"mib": 1})

    hosts.start(queue="heavy", plugins=["heavy"])

    database.wait_run(run, "failed", patience=120)
    join = database.row(
        "select status, attempts_count, error_message from pgflow.step_tasks where run_id = %s and step_slug = 'join'", run
    )
    assert (join.status, join.attempts_count) == ("failed", 1)
    assert "268435455" in join.error_message
    database.wait_run(small)
