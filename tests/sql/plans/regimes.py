"""States of the planner's knowledge, and of what is dead in the tables. Each makes a world of so many runs and gives
it with the sessions to measure in: one that was at work before the runs came, and one that begins after them.
"""
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


REGIMES = {"burst": burst, "analyzed empty": analyzed_empty, "emptied": emptied, "worked off": worked_off}
