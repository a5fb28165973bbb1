"""Two servers in the URL: a host works with the one that can be written to, and follows it."""

import os

import psycopg2
import pytest

from lib.programs import wait_until
from lib.standby import PORT, Standby


@pytest.fixture
def standby(database):
    made = Standby()
    try:
        yield made
    finally:
        made.close()


def both_servers(database):
    """The standby first: it is passed over because it cannot be written to."""
    host = os.environ["PGHOST"]
    return f"host={host},{host} port={PORT},{os.environ['PGPORT']} user={os.environ['PGUSER']} dbname={database.name}"


def on_the_promoted(database, sql, *parameters):
    connection = psycopg2.connect(
        host=os.environ["PGHOST"], port=PORT, user=os.environ["PGUSER"], dbname=database.name
    )
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows = cursor.fetchall()
    connection.close()
    return rows


def test_host_follows_the_writable_server_and_loses_nothing(database, hosts, standby, tmp_path):
    path = tmp_path / "ran"
    host = hosts.start(
        "--concurrency", "4", queue="chain", plugins=["chain"], env={"PGFLOW_DATABASE": both_servers(database)}
    )
    runs = [database.start_flow("chain", {"ms": 300, "file": str(path)}) for _ in range(6)]
    database.until("select count(*) >= 4 from pgflow.step_tasks where status = 'completed'")

    # A planned switch: the old primary stops in order and hands over all that it committed.
    database.server("stop")
    host.log.wait("database_lost")
    standby.promote()

    host.log.wait("database_back")
    assert wait_ends(database, runs) == {"completed"}
    lines = [tuple(line.split()[:4]) for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == 18
    host.stop()
    database.server("start")


def wait_ends(database, runs):
    """Wait on the promoted server until every run has ended; how they did."""
    def ended():
        return on_the_promoted(
            database, "select count(*) from pgflow.runs where run_id = any (%s::uuid[]) and status <> 'started'", runs
        ) == [(len(runs),)]

    wait_until(ended)
    return {row[0] for row in on_the_promoted(database, "select status from pgflow.runs")}
