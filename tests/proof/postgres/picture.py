"""`python -m tests.proof.postgres.picture`: jobs done in each tenth of a second, through every fault of a server, as a picture.

A primary with a synchronous standby is restarted, killed, robbed of its connections and replaced by the standby, while two
workers and two producers go on, untouched. The picture is docs/reliability-throughput.svg.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

import psycopg

import tenure
from bench.measure import say
from tests.proof import depth
from tests.proof.kills.crowd import Crowd, open_crowd
from tests.proof.ledger import Acks
from tests.proof.postgres.pair import Pair
from tests.proof.postgres.storm import Fault, Storm, populate
from tests.support.child import ROOT

__all__ = ["draw", "per_tenth"]

PICTURE = ROOT / "docs" / "reliability-throughput.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 920, 320, 56, 16, 92, 40
LINE, FILL, FAULT, INK, FAINT = "#2f6f4f", "#cfe3d8", "#f3d9d4", "#1f2328", "#6e7781"
_STYLE = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"'
_CALM = 2.5
_LINE_OF = 20_000
_DONE = "SELECT finished_at / 100000, count(*) FROM tenure.finished WHERE state = 'done' GROUP BY 1"


def per_tenth(crowd: Crowd) -> Counter[int]:
    """How many jobs were done in each tenth of a second since 1970."""
    return Counter({int(tenth): int(count) for tenth, count in crowd.scene.sql(_DONE)})


def draw(done: Counter[int], faults: Sequence[Fault], began: float, ended: float) -> str:
    """The picture, from one moment to another."""
    first, last = int(began * 10), int(ended * 10)
    most = max(done[tenth] for tenth in range(first, last))
    top = max(10, -(-most // 10) * 10)

    def x(moment: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (moment - began) / (ended - began)

    def y(count: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / top

    title = "Jobs done in each tenth of a second, through the faults of a PostgreSQL server"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(16, 28, title, size=15, weight=600, anchor="start"),
    ]
    for at, fault in enumerate(faults):
        left, right = x(fault.began), x(fault.back)
        lines += [
            f'<rect x="{left:.1f}" y="{TOP}" width="{max(right - left, 1.5):.1f}" height="{HEIGHT - TOP - BOTTOM}" fill="{FAULT}"/>',
            _text(left, TOP - 26 + 14 * (at % 2), fault.what, anchor="start"),
        ]
    for count in (0, top // 2, top):
        lines += [
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(count):.1f}" y2="{y(count):.1f}" stroke="#e4e7ea"/>',
            _text(LEFT - 8, y(count) + 4, f"{count}", colour=FAINT, anchor="end"),
        ]
    points = " ".join(f"{x(tenth / 10):.1f},{y(done[tenth]):.1f}" for tenth in range(first, last + 1))
    ground = f"{x(last / 10):.1f},{y(0):.1f} {x(first / 10):.1f},{y(0):.1f}"
    lines += [
        f'<polygon points="{points} {ground}" fill="{FILL}" fill-opacity="0.7"/>',
        f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.2"/>',
        *(
            _text(x(began + second), HEIGHT - BOTTOM + 18, f"{second} s", colour=FAINT)
            for second in range(0, int(ended - began) + 1, 5)
        ),
        _text(
            WIDTH - RIGHT,
            HEIGHT - 6,
            "red: the server is away, or its connections are being cut",
            colour=FAINT,
            anchor="end",
        ),
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 12,
    weight: int = 400,
    colour: str = INK,
    anchor: str = "middle",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" {_STYLE} font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _play(pair: Pair, crowd: Crowd, chance: random.Random) -> str:
    """Every kind of fault once, with calm between them; the picture of it."""
    # A line that never runs empty, so that a dip is a fault's and nobody else's.
    answers = crowd.scene.q.enqueue_many([tenure.NewJob(kind="waits", payload={})] * _LINE_OF)
    Acks(crowd.scene.folder / "acks-line").add(*(answer.id for answer in answers))
    populate(crowd, slots=3, pace=0.2)
    storm = Storm(crowd, chance)
    time.sleep(_CALM)
    began = time.time()
    name = "the crowd"
    with psycopg.connect(pair.primary.url(), autocommit=True) as admin:
        time.sleep(_CALM)
        storm.strike("20 connections cut", lambda: storm.terminate(admin, name, 20), times=20)
    for how in ("fast", "immediate", "kill"):
        time.sleep(_CALM)
        storm.restart(pair.primary, how)
    time.sleep(_CALM)
    storm.strike("failover", lambda: pair.fail_over("kill"))
    time.sleep(_CALM)
    ended = time.time()
    _send_home(crowd.scene.q)
    crowd.rest()
    made = crowd.balance("cancelled")
    for fault in storm.faults:
        say(
            f"{fault.what}: away {fault.back - fault.began:.2f} s, back at work {fault.recovered - fault.back:.2f} s later"
        )
    say(f"{made}")
    return draw(per_tenth(crowd), storm.faults, began, ended)


def _send_home(q: tenure.Queue) -> None:
    """Cancel what is left of the line."""
    line, after = tenure.Filter(states=["pending"]), None
    while True:
        after = q.cancel_many(line, limit=10_000, after=after).after
        if after is None:
            return


def main() -> None:
    depth.draw_seed()
    chance = random.Random(f"{depth.seed()}-picture")
    say(f"TENURE_SEED={depth.seed()}")
    with tempfile.TemporaryDirectory() as folder, Pair() as pair:
        reach = f"{pair.url}&application_name=the%20crowd"
        with open_crowd(pair.url, Path(folder), chance, g4=True, reach=reach) as crowd:
            PICTURE.write_text(_play(pair, crowd, chance), "utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
