"""What happened, for people: faults, tasks, what was repeated, how long recovery took."""

import collections
import statistics

from . import audit


class Injections:
    """Counts the faults, and says which could not run here and why."""

    def __init__(self):
        self.count = collections.Counter()
        self.not_run = {}

    def lines(self):
        for name, count in sorted(self.count.items()):
            yield f"  {name:<20} {count:>5}"
        for name, why in sorted(self.not_run.items()):
            yield f"  {name:<20} not run: {why}"


def task_lines(world):
    known = audit.tasks(world).values()
    ends = audit.handler_ends(world)
    repeated = sum(1 for count in ends.values() if count > 1)
    lost = sum(1 for row in known if row.status != "completed")
    yield f"  runs started         {len(world.load.acknowledged):>8}  and {len(world.load.unknown)} starts whose answer was lost"
    yield f"  tasks                {len(known):>8}"
    yield f"  attempts             {sum(row.attempts_count for row in known):>8}"
    yield f"  tasks lost           {lost:>8}"
    yield f"  repeated after end   {repeated:>8}  tasks whose handler had finished when its host or runner was lost"
    yield f"  released uncounted {sum(row.released_count for row in known):>8}"
    yield f"  recovered            {sum(row.requeued_count for row in known):>8}"


def note_completions(world):
    """Turn moments of healing and lost claims into times, now that everything has ended."""
    for what, moment, worker in world.healed:
        seconds = world.asker.value(
            "select extract(epoch from min(completed_at))::float8 - %s from pgflow.step_tasks"
            " where completed_at > to_timestamp(%s) and (%s::uuid is null or last_worker_id = %s::uuid)",
            moment, moment, worker, worker
        )
        if seconds is not None:
            world.note_recovery(what, seconds)
    for what, moment, claims in world.lost_claims:
        for run, step, task in claims:
            seconds = world.asker.value(
                "select extract(epoch from max(completed_at))::float8 - %s from pgflow.step_tasks"
                " where run_id = %s and step_slug = %s and task_index = %s", moment, run, step, task
            )
            if seconds is not None:
                world.note_recovery(what, seconds)


def recovery_lines(world):
    for what, all_seconds in sorted(world.recoveries.items()):
        yield (
            f"  {what:<52} {len(all_seconds):>4} x"
            f"  median {statistics.median(all_seconds):6.2f} s  worst {max(all_seconds):6.2f} s"
        )


def log_lines(world):
    """Warnings and errors of the hosts by event: what an operator would have seen."""
    said = collections.Counter(
        (record["level"], record["event"])
        for log in world.supervisor.logs()
        for record in log.records
        if record.get("level") in ("warn", "error", "fatal")
    )
    for (level, event), count in sorted(said.items()):
        yield f"  {level:<6} {event:<28} {count:>6}"


def show(world, injections, found, stop_seconds):
    note_completions(world)
    print("\nfaults")
    print("\n".join(injections.lines()))
    print("\nwork")
    print("\n".join(task_lines(world)))
    print("\nrecovery")
    print("\n".join(recovery_lines(world)))
    print(f"  {'SIGTERM to all hosts at the end: all gone':<52}    1 x  {stop_seconds:6.2f} s")
    print("\nlogs of the hosts")
    print("\n".join(log_lines(world)))
    print(f"\naudit: {len(found)} findings")
    for finding in found[:audit.SHOWN]:
        print(f"  {finding}")
    if len(found) > audit.SHOWN:
        print(f"  ... and {len(found) - audit.SHOWN} more")
