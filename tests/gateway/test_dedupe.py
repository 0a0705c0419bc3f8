"""What tells deliveries apart: each sender's own id, what settings name instead, and for how long it is remembered."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

import tenure
from tenure.duration import parse
from tests.gateway.house import Answer, House, Served
from tests.gateway.signing import SENDERS, body_of, headers_of, settings_of
from tests.gateway.test_short_cut import ROUND
from tests.support.clock import MovedClock

IN_BODIES = {"telegram": "update_id", "stripe": "id", "slack": "event_id"}
"""Where senders write the id that do not put it into a header."""
IN_HEADERS = {"github": "d-{}", "standard": "msg_{}", "gitlab": "u-{}"}
"""What `headers_of` makes of an id."""
OWN = (*IN_BODIES, *IN_HEADERS)


def posted(served: Served, sender: str, id: int, way: str = "", **more: Any) -> Answer:
    """A delivery of this id, with more in its body."""
    named = {IN_BODIES[sender]: id if sender == "telegram" else str(id)} if sender in IN_BODIES else {}
    body = body_of(sender, **named, **more)
    return served.post(sender + way, body, headers_of(sender, body, id=str(id)))


def unique(house: House, answer: Answer) -> str | None:
    """The key that a job was stored under."""
    job = house.app.queue.get(answer.json["id"])
    assert job is not None
    return job.unique


@pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
@pytest.mark.parametrize("sender", OWN)
def test_an_id_that_came_before_is_a_duplicate_whatever_else_is_sent(
    light: House, sender: str, way: str
) -> None:
    served = light.serve(settings_of(sender, backlog=0))
    first, again = posted(served, sender, 1, way), posted(served, sender, 1, way, more="of it")
    assert again.json == {"ok": True, "id": first.json["id"], "duplicate": True}
    assert unique(light, first) == IN_HEADERS.get(sender, "{}").format(1)


@pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
@pytest.mark.parametrize("sender", OWN)
def test_another_id_is_another_delivery_though_all_else_is_the_same(
    light: House, sender: str, way: str
) -> None:
    served = light.serve(settings_of(sender, backlog=0))
    answers = [posted(served, sender, number, way) for number in (1, 2)]
    assert ["duplicate" in answer.json for answer in answers] == [False, False]
    own = IN_HEADERS.get(sender, "{}")
    assert [unique(light, answer) for answer in answers] == [own.format(1), own.format(2)]


def test_a_source_knows_nothing_of_what_another_was_sent(light: House) -> None:
    served = light.serve(settings_of("github"), settings_of("github", slug="other"))
    body = body_of("github")
    answers = [served.post(slug, body, headers_of("github", body)) for slug in ("github", "other")]
    assert len({answer.json["id"] for answer in answers}) == 2


FIRST = {"a": [{"b": "one"}, {"b": "x"}], "c": 1}
ALIKE = {"a": [{"b": "one"}, {"b": "y"}], "c": 2}
OTHER = {"a": [{"b": "two"}, {"b": "x"}], "c": 1}


@pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
@pytest.mark.parametrize(
    ("key", "sent", "same"),
    [
        ("json:a.0.b", [(FIRST, "1"), (ALIKE, "2"), (OTHER, "1")], [True, False]),
        ("json:a.1.b", [(FIRST, "1"), (OTHER, "2"), (ALIKE, "1")], [True, False]),
        ("header:X-Id", [(FIRST, "1"), (OTHER, "1"), (FIRST, "2")], [True, False]),
        ("body", [(FIRST, "1"), (FIRST, "2"), (ALIKE, "1")], [True, False]),
        # What names nothing leaves the body.
        ("json:a.2.b", [(FIRST, "1"), (FIRST, "2"), (ALIKE, "1")], [True, False]),
        ("header:X-Nowhere", [(FIRST, "1"), (FIRST, "2"), (ALIKE, "1")], [True, False]),
    ],
    ids=["json", "second", "header", "body", "no json", "no header"],
)
def test_a_generic_source_tells_deliveries_apart_by_what_its_key_names(
    light: House, key: str, sent: list[tuple[dict[str, Any], str]], same: list[bool], way: str
) -> None:
    served = light.serve(settings_of("generic", key=key, backlog=0))
    answers = []
    for event, name in sent:
        body = json.dumps(event).encode()
        answers.append(served.post("generic" + way, body, {**headers_of("generic", body), "X-Id": name}))
    assert [answer.status for answer in answers] == [200] * len(sent)
    assert [a.json["id"] == answers[0].json["id"] for a in answers[1:]] == same
    assert ["duplicate" in a.json for a in answers] == [False, *same]


@pytest.mark.parametrize("sender", ["github", "telegram"])
def test_a_key_of_the_settings_goes_before_the_sender_s_own(light: House, sender: str) -> None:
    served = light.serve(settings_of(sender, key="json:x", backlog=0))
    answers = [posted(served, sender, number, x=x) for number, x in ((1, "a"), (2, "a"), (1, "b"))]
    assert ["duplicate" in answer.json for answer in answers] == [False, True, False]
    assert unique(light, answers[2]) == "b"


def moved(house: House) -> MovedClock:
    """The house's app anew, on a clock of its own."""
    clock = MovedClock()
    house.app = tenure.App(house.url, clock=clock)

    @house.app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    return clock


@pytest.mark.parametrize("purged", [False, True], ids=["kept", "purged"])
def test_a_key_is_remembered_for_its_window_and_no_longer_whatever_becomes_of_the_job(
    house: House, *, purged: bool
) -> None:
    clock = moved(house)
    served = house.serve(settings_of("github", dedupe="1h", backlog=0))
    first = posted(served, "github", 1)
    queue = house.app.queue
    [claim] = queue.claim(1)
    assert queue.settle(claim, tenure.Done())
    if purged:
        assert queue.purge(tenure.Filter(states=["done"])) == 1
        assert queue.get(first.json["id"]) is None
    clock.advance("59m")
    for way in ("", ROUND):
        again = posted(served, "github", 1, way)
        assert again.json == {"ok": True, "id": first.json["id"], "duplicate": True}
    clock.advance("2m")
    new = posted(served, "github", 1)
    assert "duplicate" not in new.json
    assert new.json["id"] != first.json["id"]


WINDOWS = {
    "telegram": "7d",
    "github": "48h",
    "stripe": "7d",
    "slack": "48h",
    "standard": "7d",
    "gitlab": "48h",
    "generic": "7d",
}


@pytest.mark.parametrize("way", ["", ROUND], ids=["short", "long"])
def test_unless_the_settings_say_so_each_type_has_a_window_of_its_own(light: House, way: str) -> None:
    served = light.serve(*(settings_of(sender, backlog=0) for sender in SENDERS))
    told: dict[str, timedelta | None] = {}
    for sender in SENDERS:
        job = light.app.queue.get(posted(served, sender, 1, way).json["id"])
        assert job is not None
        told[sender] = job.unique_for
    assert told == {sender: parse(window, "window") for sender, window in WINDOWS.items()}
