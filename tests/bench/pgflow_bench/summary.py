"""Rounds to medians: ratios to the floors of the same round, spread, and what was reached."""

import statistics

FORMAT = 1


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def between(before, after):
    """The mean of two measurements of the floors."""
    return {
        floor: {figure: (value + after[floor][figure]) / 2 for figure, value in figures.items()}
        for floor, figures in before.items()
    }


def with_ratios(figures, floors):
    """Rate and PostgreSQL CPU as multiples of what the plain clients needed a moment ago."""
    more = dict(figures)
    if "rate" in figures:
        more["x_f1"] = figures["rate"] / floors["F1"]["rate"]
        more["x_f100"] = figures["rate"] / floors["F100"]["rate"]
    if figures.get("pg_cpu_ms") and floors["F1"]["pg_cpu_ms"]:
        more["pg_cpu_x_f1"] = figures["pg_cpu_ms"] / floors["F1"]["pg_cpu_ms"]
    return more


def spreads(rounds):
    """{variant: {figure: spread}} of several {variant: {figure: number}}."""
    return {
        variant: {figure: spread([one[variant][figure] for one in rounds]) for figure in rounds[0][variant]}
        for variant in rounds[0]
    }


def summarise(workload, rounds):
    """rounds: [(floors, variants)] as measured."""
    variants = spreads([
        {name: with_ratios(figures, floors) for name, figures in found.items()} for floors, found in rounds
    ])
    return {
        "title": workload.title,
        "rounds": len(rounds),
        "floors": spreads([floors for floors, _ in rounds]),
        "variants": variants,
        "reaches": [reached(reach, variants) for reach in workload.reaches if reach.variant in variants],
    }


def reached(reach, variants):
    value = variants[reach.variant][reach.figure]["median"]
    return {**reach._asdict(), "value": value, "met": reach.met(value)}
