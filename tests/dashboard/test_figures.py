"""Figures and failures as workers count them, on the pages that show them."""

from __future__ import annotations

import pytest

from tenure.figures import ErrorTally, Histogram, Tally
from tests.dashboard.house import House, Served


@pytest.mark.parametrize("span", ["5m", "1h", "6h", "24h", "7d"])
def test_what_workers_count_is_drawn_where_it_happened(page: Served, house: House, span: str) -> None:
    house.q.add_figures(
        "w1",
        [
            Tally("mail", "send", 90, 10, 2, Histogram([0.5] * 90), Histogram([2.0] * 90)),
            Tally("bulk", "load", 30, 0, 0, Histogram([0.5] * 10), Histogram([2.0] * 10)),
        ],
    )
    told = page.get("/api/overview", span=span).json
    series = told["series"]
    assert (sum(series["done"]), sum(series["failed"]), sum(series["dead"])) == (120, 10, 2)
    assert sum(series["done"][-2:]) == 120  # the minute may have turned meanwhile
    assert [wait for wait in series["wait_p95"] if wait is not None] == [pytest.approx(0.5, rel=0.1)]
    assert [ran for ran in series["run_p50"] if ran is not None] == [pytest.approx(2.0, rel=0.1)]
    assert told["now"]["rate"] > 0
    assert told["now"]["error_rate"] == pytest.approx(10 / 130, abs=0.001)


def test_many_failures_are_said_to_be_wrong(page: Served, house: House) -> None:
    house.q.add_figures("w1", [Tally("mail", "send", 10, 10, 0)])
    [one] = page.get("/api/overview").json["wrong"]
    assert (one["link"], one["text"]) == ("#/errors", "50% of the attempts of the last minutes failed")


def test_failures_alike_are_one_group_with_when_and_how_many(page: Served, house: House) -> None:
    job = house.dead("send")
    house.q.add_figures("w1", [], [ErrorTally("abc", "send", "ValueError", "no such thing", job, 7, 2)])
    [group] = page.get("/api/errors", span="24h").json["groups"]
    assert (group["fingerprint"], group["kind"], group["error_kind"]) == ("abc", "send", "ValueError")
    assert (group["message"], group["count"], group["dead"], group["sample_id"]) == (
        "no such thing",
        7,
        2,
        job,
    )
    assert sum(group["spark"]) == 7
    assert group["first_seen"] <= group["last_seen"]
    assert group["snoozed_until"] is None
    house.q.add_figures("w1", [], [ErrorTally("def", "send", "KeyError", "gone", job, 1, 0)])
    page.act("snooze_error", name="abc")
    assert [one["fingerprint"] for one in page.get("/api/errors", fingerprint="def").json["groups"]] == [
        "def"
    ]
    assert page.get("/api/errors", fingerprint="nothing").json["groups"] == []
    assert len(page.get("/api/errors").json["groups"]) == 2
    [group] = page.get("/api/errors", fingerprint="abc").json["groups"]
    assert group["snoozed_until"] > group["last_seen"]


def test_what_workers_tell_later_is_added_to_what_is_drawn(page: Served, house: House) -> None:
    for done in (3, 4):
        house.q.add_figures("w1", [Tally("mail", "send", done)])
        page.act("resume", name="mail")  # what is kept for a moment is forgotten
        assert sum(page.get("/api/overview").json["series"]["done"]) == (3 if done == 3 else 7)
