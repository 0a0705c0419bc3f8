"""What a source's settings come to: each as a mark of the job that is stored or of the answer, by both ways into the gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

import tenure
from tests.gateway.house import House, Served
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.gateway.test_short_cut import ROUND, asked_apps, said, spelled

ways = pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
Job = tenure.JobSeen


def life(job: Job) -> timedelta | None:
    return None if job.expires_at is None else job.expires_at - job.created_at


def line(job: Job) -> tuple[str | None, str | None]:
    return job.group, job.order


class Case(NamedTuple):
    """A setting, what is sent, and what comes of it in the stored job."""

    sender: str
    setting: dict[str, Any]
    event: dict[str, Any]
    seen: Callable[[Job], Any]
    wanted: Any


MESSAGE = {"message": {"chat": {"id": 42}}}
BUTTON = {"callback_query": {"from": {"id": 9}}}
LINE = {"line": {"of": "mine"}}
CASES = {
    "no expiry": Case("github", {}, {}, life, None),
    "expiry of all": Case("github", {"expiry": {"*": "3h"}}, {}, life, timedelta(hours=3)),
    "expiry of a type": Case("github", {"expiry": {"ping": 60, "*": "3h"}}, {}, life, timedelta(minutes=1)),
    "expiry of another type": Case("github", {"expiry": {"push": 60}}, {}, life, None),
    "expiry beside the sender's": Case(
        "telegram", {"expiry": {"message": "2h"}}, BUTTON, life, timedelta(seconds=150)
    ),
    "expiry instead of the sender's": Case(
        "telegram", {"expiry": {"callback_query": "2h"}}, BUTTON, life, timedelta(hours=2)
    ),
    "expiry 0": Case("telegram", {"expiry": {"callback_query": 0}}, BUTTON, life, None),
    "expiry 0 of all": Case("telegram", {"expiry": {"*": 0}}, MESSAGE, life, None),
    "expiry 0 of all but one": Case("telegram", {"expiry": {"*": 0}}, BUTTON, life, timedelta(seconds=150)),
    "order": Case("telegram", {}, MESSAGE, line, ("gateway.telegram:42", "start")),
    "order strict": Case("telegram", {"order": "strict"}, MESSAGE, line, ("gateway.telegram:42", "strict")),
    "order none": Case("telegram", {"order": "none"}, MESSAGE, line, (None, None)),
    "order_by json": Case(
        "telegram",
        {"order_by": "json:line.of"},
        {**MESSAGE, **LINE},
        line,
        ("gateway.telegram:mine", "start"),
    ),
    "order_by header": Case(
        "github", {"order_by": "header:X-Line"}, {}, line, ("gateway.github:x-1", "start")
    ),
    "order_by nothing": Case("telegram", {"order_by": "json:no.where"}, MESSAGE, line, (None, None)),
    "order none over order_by": Case(
        "github", {"order": "none", "order_by": "header:X-Line"}, {}, line, (None, None)
    ),
    "queue": Case("github", {"queue": "hooks"}, {}, lambda job: job.queue, "hooks"),
    "priority": Case("github", {"priority": 7}, {}, lambda job: job.priority, 7),
    "max_attempts": Case("github", {"max_attempts": 2}, {}, lambda job: job.max_attempts, 2),
}


@ways
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_setting_is_seen_in_the_stored_job(light: House, case: Case, way: str) -> None:
    served = light.serve(settings_of(case.sender, backlog=0, **case.setting))
    assert served.ask("GET", "/readyz").status == 200  # the store is open
    asked = asked_apps(served)
    body = body_of(case.sender, **case.event)
    if case.sender == "telegram":
        body = json.dumps({"update_id": 1, **case.event}).encode()
    headers = {**headers_of(case.sender, body), "X-Line": "x-1"}
    assert said(served, spelled(body, f"/{case.sender}{way}", headers)).startswith(b"HTTP/1.1 200 ")
    assert asked == ([f"/{case.sender}"] if way else [])
    [job] = light.app.queue.list()
    assert case.seen(job) == case.wanted


def answers(served: Served, sent: list[bytes]) -> list[tuple[bytes, bytes]]:
    """The status and the error of each answer."""
    heard = [said(served, one) for one in sent]
    return [(one[9:12], one.partition(b'"error":')[2].rstrip(b"}")) for one in heard]


@ways
@pytest.mark.parametrize("sender", ["stripe", "slack", "standard", "generic"])
@pytest.mark.parametrize(
    ("setting", "fresh", "stale"),
    [({}, 200, 400), ({"tolerance": "20s"}, 5, 60), ({"tolerance": "1h"}, 400, 4_000)],
    ids=["default", "shorter", "longer"],
)
def test_a_signed_timestamp_may_be_as_old_as_the_tolerance_says(
    light: House, sender: str, setting: dict[str, Any], fresh: int, stale: int, way: str
) -> None:
    served = light.serve(settings_of(sender, backlog=0, **setting))
    body, now = body_of(sender), time.time()
    given = [headers_of(sender, body, at=now + aside) for aside in (-fresh, fresh, -stale, stale)]
    told = answers(served, [spelled(body, f"/{sender}{way}", headers) for headers in given])
    assert told == [(b"200", b"")] * 2 + [(b"401", b'"stale timestamp"')] * 2


@ways
@pytest.mark.parametrize(
    ("setting", "most"), [({}, 64), ({"max_digits": 5}, 5), ({"max_digits": 90}, 90)], ids=repr
)
def test_a_number_may_be_as_long_as_max_digits_says(
    light: House, setting: dict[str, int], most: int, way: str
) -> None:
    served = light.serve(settings_of("github", backlog=0), **setting)
    bodies = [b'{"x": %s}' % (b"9" * digits) for digits in (most, most + 1)]
    sent = [spelled(body, "/github" + way, headers_of("github", body)) for body in bodies]
    assert answers(served, sent) == [(b"200", b""), (b"400", b'"number too long"')]
