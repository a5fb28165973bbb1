"""What a call costs depends neither on how many runs there are nor on what the planner believes of them.

PGF_PLAN_RUNS names the two numbers of runs that are compared.
"""
import os
import pathlib

import pytest

import paths
import regimes
import world

SIZES = [int(number) for number in os.environ.get("PGF_PLAN_RUNS", "400,5000").split(",")]
RATIO = 1.5
SLACK = 10  # of a whole call: a level more of an index here and there
# What was queued or started and has ended keeps its place in the indexes of all that is queued or started, until a
# vacuum. Looks for all of that, some of them three times a call, read a page for so many; claims and results read none.
TASKS_A_PAGE = 50
LOOKS_FOR_ALL = {"release_tasks_except", "queue_coverage", "missing_coverage", "queue_stats", "drain_status",
                 "drain_status, drained", "deletion_blockers", "retire_flow", "host_status", "draining_runs"}
# Reads the table of runs as a whole twice, which has no index by flow, and no other table.
SCANS_OF_RUNS = {"delete_flow_and_data": 2}
RUNS_A_PAGE = 30


@pytest.fixture(scope="session")
def template():
    world.cluster.administer("alter system set autovacuum = off", "select pg_reload_conf()")
    return world.cluster.make_template()


def measure(template, make, runs):
    made, sessions = make(template, runs)
    try:
        costs = {}
        for age, session in sessions.items():
            tour = paths.Tour(made, session)
            tour.hot()
            tour.housekeeping()
            costs[age] = tour.costs
        return costs
    finally:
        made.close()


@pytest.mark.parametrize("name", regimes.REGIMES)
def test_costs_are_the_same_with_few_and_many_runs(template, name):
    few, many = (measure(template, regimes.REGIMES[name], runs) for runs in SIZES)
    lines, wrong = [], []
    for age in few:
        for path, (buffers, rows, units) in few[age].items():
            buffers_many, rows_many, units_many = many[age][path]
            pairs = ((buffers / units, buffers_many / units_many), (rows / units, rows_many / units_many))
            if name == "watched":
                pairs = ((0, 0), pairs[1])  # buffers are told, and bound by nothing
            dead = (SIZES[1] - SIZES[0]) / TASKS_A_PAGE if name in ("emptied", "worked off") and path in LOOKS_FOR_ALL else 0
            scanned = SCANS_OF_RUNS.get(path, 0) * (SIZES[1] - SIZES[0])
            allowed = (dead + scanned / RUNS_A_PAGE, scanned)
            is_wrong = any(big > RATIO * small + (SLACK + more) / units for (small, big), more in zip(pairs, allowed))
            line = (f"{name:15} {age:8} {path:26} buffers {buffers / units:9.1f} {buffers_many / units_many:9.1f}"
                    f"  rows {rows / units:8.1f} {rows_many / units_many:8.1f}")
            lines.append(line + ("  <--" if is_wrong else ""))
            wrong += [line] if is_wrong else []
    if "PGF_PLAN_TABLE" in os.environ:
        with pathlib.Path(os.environ["PGF_PLAN_TABLE"]).open("a") as table:
            table.write("\n".join(lines) + "\n")
    assert not wrong, "\n".join(wrong)
