"""What got slower than a saved summary, by figures that another machine would not change.

Costs compare always. Times, and the ratios of times, compare only where both runs had the machine nearly to themselves.
"""

# Figures where more is better, and where less is; with the part that they may move without being named.
MORE_TIMED = {"x_f1": 0.15, "x_f100": 0.15, "of_fastest": 0.1, "of_one_host": 0.1, "of_w1": 0.1, "least_share": 0.2}
LESS_TIMED = {
    "pg_cpu_x_f1": 0.15, "p50_ms": 0.3, "p99_ms": 0.5, "of_plain_time": 0.2, "cpu_percent": 0.5, "empty_claim_ms": 0.3
}  # fmt: skip
LESS = {
    "wal_bytes": 0.1, "wal_syncs": 0.25, "rows_written": 0.05, "round_trips": 0.15, "dead_tuples": 0.1,
    "of_plain_wal": 0.1, "pss_mb": 0.1, "index_mb": 0.15,
}  # fmt: skip
QUIET = 25  # per cent of the processors that something else may have; the bench's own client is in it


def compare(baseline, found):
    """[(workload, variant, figure, was, is, part)], the worst first."""
    if (baseline["format"], baseline["scale"]) != (found["format"], found["scale"]):
        raise SystemExit(
            f"the baseline is a {baseline['scale']} run of format {baseline['format']}, this one is"
            f" {found['scale']}, {found['format']}: only the same compare"
        )
    slower = [
        (name, variant, figure, *change)
        for name, workload in found["workloads"].items()
        for variant, figures in workload["variants"].items()
        for before in [variant_of(baseline, name, variant)]
        for figure, change in worse_figures(before, figures)
    ]
    return sorted(slower, key=lambda row: -row[5])


def variant_of(summary, name, variant):
    return summary["workloads"].get(name, {}).get("variants", {}).get(variant, {})


def quiet(figures):
    return figures.get("others_percent", {"median": 0})["median"] <= QUIET


def noisy(baseline, found):
    """Variants whose times say nothing, because one of the two runs shared the machine."""
    return [
        f"{name} {variant}"
        for name, workload in found["workloads"].items()
        for variant, figures in workload["variants"].items()
        if not quiet(figures) or not quiet(variant_of(baseline, name, variant))
    ]


def worse_figures(before, now):
    """[(figure, change)] of one variant."""
    timed = quiet(before) and quiet(now)
    more = MORE_TIMED if timed else {}
    less = {**LESS, **LESS_TIMED} if timed else LESS
    for figure in before.keys() & now.keys():
        change = None
        if figure in more:
            change = lower(before[figure], now[figure], more[figure])
        elif figure in less:
            change = higher(before[figure], now[figure], less[figure])
        if change:
            yield figure, change


def lower(before, now, tolerance):
    """(was, is, part by which it is worse), or None: within tolerance, or the rounds of the two overlap."""
    if not before["median"] or now["max"] >= before["min"]:
        return None
    part = 1 - now["median"] / before["median"]
    return (before["median"], now["median"], part) if part > tolerance else None


def higher(before, now, tolerance):
    if not before["median"] or now["min"] <= before["max"]:
        return None
    part = now["median"] / before["median"] - 1
    return (before["median"], now["median"], part) if part > tolerance else None


def text(slower, left_out):
    lines = []
    if left_out:
        lines.append("The machine was shared; costs compared, but no times, of: " + ", ".join(left_out))
    lines.append(f"{len(slower)} figures are worse than the baseline{':' if slower else '.'}")
    for name, variant, figure, was, now, part in slower:
        lines.append(f"  {name} {variant}: {figure} {was:.3g} -> {now:.3g} ({100 * part:.0f} % worse)")
    return "\n".join(lines)
