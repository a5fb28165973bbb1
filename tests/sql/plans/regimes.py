"""States of the planner's knowledge, and of what is dead in the tables. Each makes a world of so many runs and gives
it with the sessions to measure in: one that was at work before the runs came, and one that begins after them.
"""
import re
import subprocess

import paths
import world


def prepared(template, analyzed):
    """A world with the flows, nothing run yet but what the earlier session did to make all its plans."""
    made = world.World(template)
    made.deploy()
    if analyzed:
        made.owner.run("analyze")
    early = made.session()
    tour = paths.Tour(made, early)
    tour.hot()
    tour.housekeeping()
    return made, early


def burst(template, runs):
    """Never analyzed, and filled by one burst."""
    made, early = prepared(template, analyzed=False)
    made.fill(runs)
    return made, {"before": early, "after": made.session()}


def analyzed_empty(template, runs):
    """Analyzed while empty, then filled."""
    made, early = prepared(template, analyzed=True)
    made.fill(runs)
    return made, {"before": early, "after": made.session()}


def emptied(template, runs):
    """Analyzed with all runs open, then all of them ended, and nothing was vacuumed."""
    made, early = prepared(template, analyzed=False)
    made.fill(runs)
    made.owner.run("analyze")
    between = made.session()
    tour = paths.Tour(made, between)
    tour.hot()
    tour.housekeeping()
    made.end_all()
    return made, {"before": early, "between": between, "after": made.session()}


def worked_off(template, runs):
    """Never analyzed, never vacuumed: all of it has been worked off, and its dead rows lie there."""
    made, early = prepared(template, analyzed=False)
    made.fill(runs)
    made.end_all()
    return made, {"before": early, "after": made.session()}


def restored(template, runs):
    """Loaded from a dump, and not analyzed: only what making the indexes tells is known of the tables."""
    made, _ = prepared(template, analyzed=False)
    made.fill(runs)
    if server_major(made) > dump_major():
        # No pg_dump that reads this server: making the indexes anew leaves the same behind.
        made.owner.run(f"reindex database {made.name}")
        return made, {"after": made.session()}
    copy = world.World(None)
    copy.is_busy = True
    dump = subprocess.Popen(["pg_dump", "-Fc", "-d", made.name], stdout=subprocess.PIPE)
    subprocess.run(["pg_restore", "--exit-on-error", "-d", copy.name], stdin=dump.stdout, check=True)
    assert dump.wait() == 0
    made.close()
    return copy, {"after": copy.session()}


def server_major(made):
    return int(made.owner.one("show server_version_num")) // 10000


def dump_major():
    said = subprocess.run(["pg_dump", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return int(re.search(r"(\d+)", said)[1])


def watched(template, runs):
    """Worked off while somebody holds a snapshot from before: nothing dead can be told to be dead."""
    made, early = prepared(template, analyzed=False)
    watcher = made.session()
    watcher.run("begin isolation level repeatable read")
    watcher.run("select count(*) from pgflow.runs")
    made.fill(runs)
    made.end_all()
    return made, {"before": early, "after": made.session()}


REGIMES = {"burst": burst, "analyzed empty": analyzed_empty, "emptied": emptied, "worked off": worked_off, "restored": restored,
           "watched": watched}
