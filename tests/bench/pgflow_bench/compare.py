"""What got slower than a saved summary, by figures that another machine would not change."""

# Figures where more is better, and where less is; with the part that they may move without being named.
MORE = {"x_f1": 0.15, "x_f100": 0.15, "of_fastest": 0.1, "of_one_host": 0.1, "of_w1": 0.1, "least_share": 0.2}
LESS = {
    "pg_cpu_x_f1": 0.15, "wal_bytes": 0.1, "wal_syncs": 0.25, "rows_written": 0.05, "round_trips": 0.15,
    "dead_tuples": 0.1, "p50_ms": 0.3, "p99_ms": 0.5, "of_plain_time": 0.2, "of_plain_wal": 0.1,
    "cpu_percent": 0.5, "pss_mb": 0.1, "empty_claim_ms": 0.3, "index_mb": 0.15,
}


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
        for figure, now in figures.items()
        for before in [figure_of(baseline, name, variant, figure)]
        for change in [worse(figure, before, now)]
        if change
    ]
    return sorted(slower, key=lambda row: -row[5])


def figure_of(summary, name, variant, figure):
    return summary["workloads"].get(name, {}).get("variants", {}).get(variant, {}).get(figure)


def worse(figure, before, now):
    """(was, is, part by which it is worse), or None: within tolerance, or the rounds of the two overlap."""
    if before is None or not before["median"]:
        return None
    if figure in MORE:
        part, apart, tolerance = 1 - now["median"] / before["median"], now["max"] < before["min"], MORE[figure]
    elif figure in LESS:
        part, apart, tolerance = now["median"] / before["median"] - 1, now["min"] > before["max"], LESS[figure]
    else:
        return None
    return (before["median"], now["median"], part) if apart and part > tolerance else None


def text(slower):
    if not slower:
        return "Nothing is slower than the baseline."
    lines = [f"{len(slower)} figures are worse than the baseline:"]
    for name, variant, figure, was, now, part in slower:
        lines.append(f"  {name} {variant}: {figure} {was:.3g} -> {now:.3g} ({100 * part:.0f} % worse)")
    return "\n".join(lines)
