"""A summary as text for people."""

import statistics

from . import compare

COLUMNS = (
    ("rate", "/s", "{:,.0f}"),
    ("x_f1", "x F1", "{:.2f}"),
    ("x_f100", "x F100", "{:.3f}"),
    ("pg_cpu_ms", "PG ms", "{:.3f}"),
    ("host_cpu_ms", "host ms", "{:.3f}"),
    ("runner_cpu_ms", "runner ms", "{:.3f}"),
    ("wal_bytes", "WAL B", "{:,.0f}"),
    ("wal_syncs", "syncs", "{:.3f}"),
    ("rows_written", "rows", "{:.2f}"),
    ("round_trips", "trips", "{:.3f}"),
    ("dead_tuples", "dead", "{:.2f}"),
    ("in_flight", "in flight", "{:.1f}"),
    ("wait_p50_ms", "wait p50 ms", "{:,.1f}"),
    ("wait_p99_ms", "wait p99 ms", "{:,.1f}"),
    ("others_percent", "others %", "{:.0f}"),
)
KNOWN = {figure for figure, _, _ in COLUMNS} | {"tasks", "seconds"}


def value(figures, figure, form):
    return form.format(figures[figure]["median"]) if figure in figures else ""


def noise(figures, figure):
    """Half of what lies between the rounds, in per cent of the median."""
    found = figures.get(figure)
    if not found or not found["median"]:
        return ""
    return f"{50 * (found['max'] - found['min']) / found['median']:.0f} %"


def rows_of(workload):
    """(name, tasks, cells, rest) of the variants, and of the floors where a rate stands beside them.

    rest: figures without a column.
    """
    rated = any("rate" in figures for figures in workload["variants"].values())
    floors = workload["floors"] if rated else {}
    for name, figures in [*floors.items(), *workload["variants"].items()]:
        cells = [value(figures, figure, form) for figure, _, form in COLUMNS]
        cells.insert(1, noise(figures, "rate"))
        rest = {figure: found["median"] for figure, found in figures.items() if figure not in KNOWN}
        yield name, int(figures["tasks"]["median"]), cells, rest


def heads():
    found = [head for _, head, _ in COLUMNS]
    found.insert(1, "+-")
    return ["", "tasks", *found]


def workload_text(name, workload):
    lines = [f"{name}: {workload['title']} ({workload['rounds']} rounds)"]
    table = [heads()]
    notes = []
    for row, tasks, cells, rest in rows_of(workload):
        table.append([row, f"{tasks:,}", *cells])
        if rest and row not in workload["floors"]:
            notes.append(f"  {row}: " + ", ".join(f"{figure} {number:,.3g}" for figure, number in rest.items()))
    used = [k for k in range(len(table[0])) if any(row[k] for row in table[1:])]
    widths = {k: max(len(row[k]) for row in table) for k in used}
    for row in table:
        lines.append("  " + "  ".join(row[k].ljust(widths[k]) if k == 0 else row[k].rjust(widths[k]) for k in used))
    return "\n".join([*lines, *notes, *reach_lines(workload), ""])


def reach_lines(workload):
    for reach in workload["reaches"]:
        state = "reached" if reach["met"] else "NOT REACHED"
        yield (
            f"  {state}: {reach['variant']} {reach['figure']} {reach['value']:.3g}"
            f" (wanted {reach['relation']} {reach['wanted']:g})"
        )


def shared(summary):
    """What to know of a run that had not the machine to itself; empty for one that had."""
    others = [
        figures["others_percent"]["median"]
        for workload in summary["workloads"].values()
        for figures in workload["variants"].values()
        if "others_percent" in figures
    ]
    middle = statistics.median(others) if others else 0
    if middle <= compare.QUIET:
        return ""
    return (
        f"Something else had {middle:.0f} % of the processors while this was measured (the median; `others %` has it for each"
        " line): rates and times are far from what the machine can do, and `x F1` flatters. Costs per task hold."
    )


def text(summary):
    machine = summary["machine"]
    head = (
        f"{summary['scale']} run of {summary['at']}: {machine['processors']} x {machine['model']},"
        f" {machine['postgresql']}, fsync {machine['fsync']}, load {machine['load']:.1f} at the start\n"
    )
    warning = shared(summary)
    return "\n".join([head, *([warning + "\n"] if warning else []), *(workload_text(*item) for item in summary["workloads"].items())])
