"""Forty expressions in forty zones, around every change of their clocks from 2000 to 2037, against an oracle that counts minutes."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tenure.cron import Cron
from tests.proof import depth
from tests.proof.tally import Tally
from tests.proof.time.oracle import Expression, Window, windows

EXPRESSIONS = (
    "* * * * *", "*/5 * * * *", "*/7 * * * *", "0 * * * *", "30 * * * *", "15,45 * * * *", "0 0-23 * * *", "59 */1 * * *",
    "30 2 * * *", "0 2 * * *", "0 3 * * *", "30 1 * * *", "15 1 * * *", "0 0 * * *", "30 0 * * *", "1 0 * * *",
    "59 23 * * *", "0 1,2,3 * * *", "30 2,3 * * *", "0 */2 * * *", "30 */3 * * *", "*/10 1-3 * * *", "*/20 0-4 * * *", "* 2 * * *",
    "0 2 * * SUN", "30 2 * * SUN", "0 3 * * MON-FRI", "0 0 * * 0,6", "0 2 * * SAT", "0 2 L * *", "0 3 * * SUN#2", "0 2 * * SUN#1",
    "0 2 28-31 3,10 *", "0 0 1 * *", "0 2 1-7 * SUN", "0 0,12 * JAN-MAR *", "0 30 2 * * *", "*/30 15 2 * * *", "20 0 * * * *", "45 59 1,23 * * *",
)  # fmt: skip
ZONES = (
    "Africa/Cairo", "Africa/Casablanca", "Africa/Tunis", "Africa/Windhoek", "America/Anchorage", "America/Asuncion",
    "America/Chicago", "America/Halifax", "America/Havana", "America/Los_Angeles", "America/Mexico_City", "America/New_York",
    "America/Nuuk", "America/Santiago", "America/Sao_Paulo", "America/St_Johns", "America/Caracas", "Antarctica/Troll",
    "Asia/Amman", "Asia/Baghdad", "Asia/Beirut", "Asia/Dhaka", "Asia/Gaza", "Asia/Jerusalem", "Asia/Pyongyang",
    "Asia/Tehran", "Atlantic/Azores", "Australia/Adelaide", "Australia/Lord_Howe", "Australia/Sydney", "Europe/Athens",
    "Europe/Berlin", "Europe/Chisinau", "Europe/Dublin", "Europe/Istanbul", "Europe/London", "Europe/Moscow",
    "Pacific/Apia", "Pacific/Auckland", "Pacific/Chatham",
)  # fmt: skip
FIRST, LAST = 2000, 2037
SAMPLE = 5
"""How many zones, expressions in each and changes of its clock `make test` looks at."""


def drawn_zones() -> list[str]:
    """All of them; at the depth of `make test`, those that the run's seed draws."""
    if depth.DEPTH != "test":
        return list(ZONES)
    return sorted(random.Random(f"{depth.seed()}-zones").sample(ZONES, SAMPLE))


def compare(cron: Cron, oracle: Expression, window: Window, draw: random.Random) -> int:
    """Whether both say the same of a window, asked from its start and from moments inside; how many fires there are."""
    expected = window.fires(oracle)
    about = f"{cron.expression} in {cron.tz} around {window.at}"
    assert cron.fires(window.start, window.end, 100_000) == expected, about
    for _ in range(2):
        after = window.start + timedelta(seconds=draw.randrange(8 * 3_600))
        following = next((fire for fire in expected if fire > after), None)
        found = cron.next(after)
        assert found == following if following is not None else found > window.end, f"{about}, from {after}"
    return len(expected)


def test_there_are_forty_zones_whose_clocks_change_and_forty_expressions() -> None:
    assert (len(set(EXPRESSIONS)), len(set(ZONES))) == (40, 40)
    still = [zone for zone in ZONES if not windows(zone, FIRST, LAST)]
    assert not still, f"their clocks never change: {still}"
    change = windows("Europe/Berlin", 2026, 2026)
    assert [w.at.isoformat() for w in change] == ["2026-03-29T01:00:00+00:00", "2026-10-25T01:00:00+00:00"]
    assert datetime.fromisoformat("2011-12-30T10:00:00+00:00") in [
        w.at for w in windows("Pacific/Apia", 2011, 2011)
    ]


@pytest.mark.timeout(depth.of(test=120, proof=600))
@pytest.mark.parametrize("which", range(depth.of(test=SAMPLE, proof=len(ZONES))))
def test_expressions_fire_as_the_wall_says_around_every_change_of_the_clock(
    which: int, seed: int, tally: Tally
) -> None:
    zone = drawn_zones()[which]
    draw = random.Random(f"{seed}-cron-{zone}")
    changes = windows(zone, FIRST, LAST)
    expressions = list(EXPRESSIONS)
    if depth.DEPTH == "test":
        expressions, changes = (
            draw.sample(expressions, SAMPLE),
            draw.sample(changes, min(len(changes), SAMPLE)),
        )
    for text in expressions:
        cron, oracle = Cron(text, zone), Expression(text)
        for window in changes:
            tally(windows=1, fires=compare(cron, oracle, window, draw))
    tally(zones=bool(changes))
