"""The plot of docs/performance.md: one SVG, drawn here, so that no program needs a library for it."""

from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 860, 200, 110
ROW, GAP, HEAD = 20, 44, 34
SPAN = WIDTH - LEFT - RIGHT
FLOOR, BAR, REACHED, MISSED, LINE = "#9aa5b1", "#2f6db5", "#2e8b57", "#d08a2e", "#333333"
LONGEST = 2.0  # of the second panel: what is reached twice over fills it


def svg(found):
    rates, reaches = rate_rows(found), reach_rows(found)
    height = HEAD + ROW * len(rates) + GAP + HEAD + ROW * len(reaches) + 20
    second = HEAD + ROW * len(rates) + GAP
    body = [
        title(0, f"Tasks per second ({found['scale']} run, {found['at']})"),
        *rate_panel(HEAD, rates),
        title(second, "Measured over wanted (the line is what is wanted; longer is better)"),
        *reach_panel(second + HEAD, reaches),
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *body,
        "</svg>",
        "",
    ])


def rate_rows(found):
    """(label, spread, colour): every variant that has a rate, after the two floors of its workload."""
    rows = []
    for name, workload in found["workloads"].items():
        variants = {variant: figures for variant, figures in workload["variants"].items() if "rate" in figures}
        if not rows and variants:
            rows += [(floor, figures["rate"], FLOOR) for floor, figures in workload["floors"].items()]
        rows += [(f"{name} {variant}", figures["rate"], BAR) for variant, figures in variants.items()]
    return rows


def reach_rows(found):
    """(label, attained, text): attained is 1 where the figure is exactly what is wanted."""
    rows = []
    for name, workload in found["workloads"].items():
        for reach in workload["reaches"]:
            value, wanted = reach["value"], reach["wanted"]
            attained = value / wanted if reach["relation"] == ">=" else wanted / value if value else LONGEST
            rows.append((f"{name} {reach['variant']} {reach['figure']}", attained, f"{value:.3g} of {wanted:g}"))
    return rows


def rate_panel(top, rows):
    longest = max((spread["max"] for _, spread, _ in rows), default=1)
    for place, (label, spread, colour) in enumerate(rows):
        y = top + ROW * place
        length = SPAN * spread["median"] / longest
        low, high = (LEFT + SPAN * spread[end] / longest for end in ("min", "max"))
        yield from bar(y, label, length, colour, f"{spread['median']:,.0f}", beyond=high - LEFT)
        yield f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y + ROW / 2}" y2="{y + ROW / 2}" stroke="{LINE}"/>'


def reach_panel(top, rows):
    x = LEFT + SPAN / LONGEST
    yield f'<line x1="{x}" x2="{x}" y1="{top - 4}" y2="{top + ROW * len(rows) + 4}" stroke="{FLOOR}"/>'
    for place, (label, attained, text) in enumerate(rows):
        colour = REACHED if attained >= 1 else MISSED
        yield from bar(top + ROW * place, label, SPAN * min(attained, LONGEST) / LONGEST, colour, text)


def bar(y, label, length, colour, text, beyond=0.0):
    yield f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
    yield f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" fill="{colour}"/>'
    yield f'<text x="{LEFT + max(length, beyond) + 6:.1f}" y="{y + 14}">{escape(text)}</text>'


def title(y, text):
    return f'<text x="10" y="{y + 20}" font-size="14" font-weight="bold">{escape(text)}</text>'
