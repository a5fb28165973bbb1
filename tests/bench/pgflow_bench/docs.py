"""The results part of docs/performance.md, and its plot docs/performance.svg."""

import pathlib
import re

from . import plot, report

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
PART = re.compile(r"(<!-- results: [^>]*-->\n).*(<!-- end of results -->)", re.DOTALL)


def write(found):
    page = DOCS / "performance.md"
    old = page.read_text(encoding="utf-8")
    new, count = PART.subn(lambda match: match[1] + results(found) + match[2], old)
    if count != 1:
        raise SystemExit(f"{page} has {count} parts between `<!-- results: … -->` and `<!-- end of results -->`, not one")
    page.write_text(new, encoding="utf-8")
    (DOCS / "performance.svg").write_text(plot.svg(found), encoding="utf-8")


def results(found):
    machine = found["machine"]
    return "\n".join([
        "",
        f"A {found['scale']} run of {found['at']}: {machine['processors']} processors ({machine['model']}), Linux"
        f" {machine['kernel']}, {machine['postgresql']}, fsync {machine['fsync']}. A load of {machine['load']:.1f} was"
        " on the machine when it began; medians of the rounds.",
        "",
        *([report.shared(found), ""] if report.shared(found) else []),
        "![Tasks per second, and how far the wanted ratios were reached](performance.svg)",
        "",
        *reach_table(found),
        *(line for item in found["workloads"].items() for line in workload_table(*item)),
    ])


def reach_table(found):
    yield "| workload | variant | figure | wanted | measured | |"
    yield "|---|---|---|---|---|---|"
    for name, workload in found["workloads"].items():
        for reach in workload["reaches"]:
            yield (
                f"| {name} | {reach['variant']} | `{reach['figure']}` | {reach['relation']} {reach['wanted']:g} |"
                f" {reach['value']:.3g} | {'reached' if reach['met'] else 'not reached'} |"
            )
    yield ""


def workload_table(name, workload):
    heads = report.heads()
    rows = list(report.rows_of(workload))
    cells = [[row, f"{tasks:,}", *values] for row, tasks, values, _ in rows]
    used = [k for k in range(len(heads)) if k == 0 or any(row[k] for row in cells)]
    yield f"### {name}: {workload['title']}"
    yield ""
    yield "| " + " | ".join(heads[k] for k in used) + " |"
    yield "|" + "---|" * len(used)
    for row in cells:
        yield "| " + " | ".join(row[k] for k in used) + " |"
    yield ""
    for row, _, _, rest in rows:
        if rest and row not in workload["floors"]:
            yield f"- {row}: " + ", ".join(f"`{figure}` {number:,.3g}" for figure, number in rest.items())
    yield ""
