"""Pictures of bench/results/peers.json for the README: bars and lines on white, in plain SVG, Tenure in colour.

Who failed at something stands there too, without a bar.
"""

from __future__ import annotations

import json
import math
import statistics
from html import escape
from typing import Any

from bench.measure import RESULTS
from bench.peers.works import LINES

__all__ = ["draw"]

WIDTH, ROW, LEFT, RIGHT, TOP = 760, 26, 250, 90, 52
OURS, THEIRS, INK, FAINT = "#2f6f4f", "#b9c0c7", "#1f2328", "#6e7781"
_STYLE = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"'
CHARTS = {
    "drain": ("drain", "rate", "Jobs drained a second, one worker", False),
    "enqueue": ("enqueue", "rate", "Single enqueues a second (durable, but for those on Redis)", False),
    "latency": ("pickup", "p50", "Pick-up on an idle worker, median, in ms (shorter is better)", True),
}


def draw() -> None:
    """All charts, out of the kept results."""
    kept = json.loads((RESULTS / "peers.json").read_text("utf-8"))
    for name, (work, figure, title, low) in CHARTS.items():
        bars = [
            (kept["contestants"][who]["title"], _median(cell, figure), who)
            for who, cell in kept["cells"].get(work, {}).items()
        ]
        bars.sort(key=lambda bar: (bar[1] is None, (bar[1] or 0.0) * (1 if low else -1)))
        (RESULTS / f"{name}.svg").write_text(_bars(title, bars), "utf-8")
    title = "Cost of a job by the length of the line, in µs of time (a flat line is good)"
    (RESULTS / "backlog.svg").write_text(_lines(title, _costs(kept)), "utf-8")


def _median(cell: dict[str, Any], figure: str) -> float | None:
    values = [r[figure] for r in cell["rounds"] if figure in r]
    return statistics.median(values) if values and not cell["failed"] else None


def _costs(kept: dict[str, Any]) -> dict[str, tuple[str, dict[int, float]]]:
    """By contestant: its title, and what a job costs at the head of a line so long."""
    found = {}
    for who, cell in kept["cells"].get("depth", {}).items():
        rates = {n: _median(cell, f"of {n:,}") for n in LINES} | {
            kept["about"]["sizes"]["deep"]: _median(cell, "rate")
        }
        costs = {n: 1e6 / rate for n, rate in rates.items() if rate}
        found[who] = (kept["contestants"][who]["title"], costs)
    return found


def _lines(title: str, costs: dict[str, tuple[str, dict[int, float]]]) -> str:
    """Both axes by powers of ten; each line is named at its end."""
    numbers = [n for _, line in costs.values() for n in line]
    values = [v for _, line in costs.values() for v in line.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    left, width, top, height = 60, WIDTH - 60 - 190, TOP, 260
    first, last = math.log10(min(numbers)), math.log10(max(numbers))

    def at(n: int, value: float) -> tuple[float, float]:
        along = (math.log10(n) - first) / max(last - first, 1)
        up = (math.log10(value) - low) / max(high - low, 1)
        return left + width * along, top + height * (1 - up)

    parts = [*_head(title, top + height + 40)]
    for power in range(low, high + 1):
        _, y = at(min(numbers), 10**power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e3e6ea"/>')
        parts.append(_text(left - 8, y + 4, f"{10**power:g}", "end"))
    parts += [_text(at(n, 10**low)[0], top + height + 20, f"{n:,}", "middle") for n in sorted(set(numbers))]
    ends: list[float] = []
    for who, (name, line) in sorted(costs.items(), key=lambda one: -max(one[1][1].values(), default=0.0)):
        points = [at(n, line[n]) for n in sorted(line)]
        if not points:
            continue
        colour = OURS if who.startswith("tenure") else THEIRS
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = max(points[-1][1] + 4, ends[-1] + 15 if ends else 0.0)
        ends.append(y)
        parts.append(_text(points[-1][0] + 8, y, name, "start", bold=who.startswith("tenure")))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(x: float, y: float, words: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" {_STYLE} font-size="12" text-anchor="{anchor}" fill="{INK}"{weight}>{escape(words)}</text>'


def _head(title: str, height: int) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="30" {_STYLE} font-size="16" font-weight="600" fill="{INK}">{escape(title)}</text>',
    ]


def _bars(title: str, bars: list[tuple[str, float | None, str]]) -> str:
    longest = max((value for _, value, _ in bars if value is not None), default=1.0)
    lines = _head(title, TOP + ROW * len(bars) + 16)
    for at, (label, value, who) in enumerate(bars):
        y, ours = TOP + at * ROW, who.startswith("tenure")
        length = 0.0 if value is None else max(1.0, (WIDTH - LEFT - RIGHT) * value / longest)
        lines += [
            _text(LEFT - 10, y + 15, label, "end", bold=ours),
            f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{ROW - 9}" rx="2" fill="{OURS if ours else THEIRS}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 15}" {_STYLE} font-size="12" fill="{FAINT}">{_said(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _said(value: float | None) -> str:
    if value is None:
        return "failed"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    draw()
