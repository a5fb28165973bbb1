"""`pgflowctl migrate` on a live database of pgflow: refused by name, and its workers never notice."""

import pytest

from lib import pgflow
from lib.programs import run_ctl
from lib.storm import Storm


@pytest.fixture(params=pgflow.RELEASES)
def old(request):
    with pgflow.pgflow_database(request.param) as database:
        database.release = request.param
        yield database


def test_migrate_refuses_a_database_of_pgflow_and_changes_nothing_under_running_work(old):
    before = pgflow.catalogue(old)
    pgflow.seed(old, 200, in_flight=20, stalled=2, orphans=3)
    kept = old.rows("select md5(string_agg(t::text, ',' order by t)) from pgflow.step_tasks t")
    storm = Storm(old, old.release, old.release)
    storm.until_completed(3)

    done = run_ctl("migrate", "--database", old.url)

    assert done.returncode == 78, done.stdout + done.stderr
    assert "pgflow" in done.stderr
    storm.until_completed(3)
    storm.settle()
    assert pgflow.catalogue(old) == before
    assert old.rows("select md5(string_agg(t::text, ',' order by t)) from pgflow.step_tasks t where flow_slug = 'Seed'") == kept


def test_the_account_of_a_storm_finds_a_helper_that_was_taken_away(old):
    """The harness sees what it is for: a worker reports a finished task as failed when a helper of complete_task is gone."""
    storm = Storm(old, old.release)
    storm.until_completed(2)
    old.rows("alter function pgflow.maybe_complete_run(uuid) rename to gone")
    old.until("select exists (select from pgflow.step_tasks where error_message is not null)")
    old.rows("alter function pgflow.gone(uuid) rename to maybe_complete_run")

    with pytest.raises(AssertionError, match="maybe_complete_run"):
        storm.settle()


def test_the_account_of_a_storm_finds_a_call_that_was_refused(old):
    storm = Storm(old, old.release)
    storm.until_completed(1)
    old.rows("alter function pgflow.start_flow(text, jsonb, uuid) rename to gone")
    try:
        assert storm.refused.wait(30)
    finally:
        old.rows("alter function pgflow.gone(text, jsonb, uuid) rename to start_flow")

    with pytest.raises(AssertionError, match="start_flow"):
        storm.settle()
