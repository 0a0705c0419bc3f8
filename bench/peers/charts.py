"""Pictures of bench/results/peers.json for the README: bars on white, in plain SVG, Tenure in colour."""

from __future__ import annotations

import json
import statistics
from html import escape
from typing import Any

from bench.measure import RESULTS

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
            (kept["contestants"][who]["title"], statistics.median(r[figure] for r in cell["rounds"]), who)
            for who, cell in kept["cells"].get(work, {}).items()
            if cell["rounds"] and not cell["failed"]
        ]
        bars.sort(key=lambda bar: bar[1], reverse=not low)
        (RESULTS / f"{name}.svg").write_text(_bars(title, bars), "utf-8")
    (RESULTS / "backlog.svg").write_text(
        _bars("Cost of a job as tables grow, against small tables", _growth(kept)), "utf-8"
    )


def _growth(kept: dict[str, Any]) -> list[tuple[str, float, str]]:
    """How many times as much a job costs at the head of a long line, and beside a long history."""
    found = []
    for work, words in (("depth", "a line of 1,000,000"), ("finished", "2,000,000 finished")):
        for who, cell in kept["cells"].get(work, {}).items():
            if rounds := [r for r in cell["rounds"] if "without" in r]:
                cost = statistics.median(r["without"] / r["rate"] for r in rounds)
                found.append((f"{kept['contestants'][who]['title']}, {words}", cost, who))
    return sorted(found, key=lambda bar: bar[1])


def _bars(title: str, bars: list[tuple[str, float, str]]) -> str:
    height = TOP + ROW * len(bars) + 16
    longest = max((value for _, value, _ in bars), default=1.0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="30" {_STYLE} font-size="16" font-weight="600" fill="{INK}">{escape(title)}</text>',
    ]
    for at, (label, value, who) in enumerate(bars):
        y = TOP + at * ROW
        length = max(1.0, (WIDTH - LEFT - RIGHT) * value / longest)
        ours = who.startswith("tenure")
        weight = ' font-weight="600"' if ours else ""
        lines += [
            (
                f'<text x="{LEFT - 10}" y="{y + 15}" {_STYLE} font-size="12" text-anchor="end" fill="{INK}"'
                f"{weight}>{escape(label)}</text>"
            ),
            f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{ROW - 9}" rx="2" fill="{OURS if ours else THEIRS}"/>',
            f'<text x="{LEFT + length + 6:.1f}" y="{y + 15}" {_STYLE} font-size="12" fill="{FAINT}">{_said(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    draw()
