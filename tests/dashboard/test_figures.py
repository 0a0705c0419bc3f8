"""Figures and failures as workers count them, on the pages that show them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

import tenure
from tenure.clock import from_micros
from tenure.dashboard import series
from tenure.figures import ErrorTally, Histogram, Tally
from tests.dashboard.house import House, Served


@pytest.mark.parametrize("span", ["5m", "1h", "6h", "24h", "7d"])
def test_what_workers_count_is_drawn_where_it_happened(page: Served, house: House, span: str) -> None:
    house.q.add_figures(
        "w1",
        [
            Tally("mail", "send", 90, 10, 2, Histogram([0.5] * 90), Histogram([2.0] * 90)),
            Tally("bulk", "load", 30, 0, 0, Histogram([0.5] * 10), Histogram([2.0] * 10), cancelled=3),
        ],
    )
    told = page.get("/api/overview", span=span).json
    series = told["series"]
    assert [sum(series[name]) for name in ("done", "failed", "dead", "cancelled")] == [120, 10, 2, 3]
    assert [rate for rate in series["error_rate"] if rate is not None] == [pytest.approx(10 / 130, abs=1e-4)]
    assert sum(series["done"][-2:]) == 120  # the minute may have turned meanwhile
    assert [wait for wait in series["wait_p95"] if wait is not None] == [pytest.approx(0.5, rel=0.1)]
    assert [ran for ran in series["run_p50"] if ran is not None] == [pytest.approx(2.0, rel=0.1)]
    assert told["now"]["rate"] > 0
    assert told["now"]["error_rate"] == pytest.approx(10 / 130, abs=0.001)


def test_a_queue_that_is_worked_as_fast_as_it_fills_is_told_and_can_be_paused(
    page: Served, house: House
) -> None:
    house.q.add_figures("w1", [Tally("mail", "send", 90)])
    house.q.beat("w2", queues=["bulk"])
    told = {row["name"]: row for row in page.get("/api/queues").json["queues"]}
    assert {name: row["ready"] for name, row in told.items()} == {"bulk": 0, "mail": 0}
    assert told["mail"]["rate"] > 0 == told["bulk"]["rate"]
    assert page.act("pause", name="mail").json["done"] == 1
    assert [row["name"] for row in page.get("/api/queues").json["queues"] if row["paused"]] == ["mail"]


def test_many_failures_are_said_to_be_wrong(page: Served, house: House) -> None:
    house.q.add_figures("w1", [Tally("mail", "send", 10, 10, 0)])
    [one] = page.get("/api/overview").json["wrong"]
    assert (one["link"], one["text"]) == ("#/errors", "50% of the attempts of the last minutes failed")


def test_failures_alike_are_one_group_with_when_and_how_many(page: Served, house: House) -> None:
    job = house.q.enqueue("send").id
    house.q.add_figures("w1", [], [ErrorTally("abc", "send", "ValueError", "no such thing", job, 7, 2, "app/mail.py:41 in send")])  # fmt: skip
    [group] = page.get("/api/errors", span="24h").json["groups"]
    assert (group["fingerprint"], group["kind"], group["error_kind"]) == ("abc", "send", "ValueError")
    assert (group["message"], group["count"], group["dead"], group["sample_id"]) == (
        "no such thing",
        7,
        2,
        job,
    )
    assert (sum(group["spark"]), group["frame"]) == (7, "app/mail.py:41 in send")
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


def _failed(house: House, ago: timedelta, name: str, count: int = 1) -> None:
    moment = datetime.now(UTC) - ago
    with tenure.open(house.app.url, clock=lambda: moment) as q:
        q.add_figures("w1", [], [ErrorTally(name, "send", "ValueError", f"no {name}", "job", count, count)])


def test_a_group_is_as_old_as_it_is_and_its_line_a_day_long_whatever_the_span(
    page: Served, house: House
) -> None:
    for hours, count in ((0, 1), (20, 2), (200, 4)):
        _failed(house, timedelta(hours=hours), "abc", count)
    _failed(house, timedelta(days=30), "old", 8)
    for span, count, line in (("1h", 1, 3), ("24h", 3, 3), ("7d", 3, 3), ("all", 7, 3)):
        groups = page.get("/api/errors", span=span).json["groups"]
        assert [one["fingerprint"] for one in groups] == (["abc", "old"] if span == "all" else ["abc"])
        assert (groups[0]["count"], groups[0]["dead"], sum(groups[0]["spark"])) == (count, count, line), span
        began = datetime.fromisoformat(groups[0]["first_seen"])
        assert timedelta(hours=199) < datetime.now(UTC) - began < timedelta(hours=201), span
    assert (groups[1]["count"], groups[1]["message"], sum(groups[1]["spark"])) == (8, "no old", 0)
    refused = page.get("/api/errors", span="2h")
    assert (refused.status, "7d, all" in refused.body.decode()) == (400, True)


def test_failures_that_no_worker_counts_are_grouped_too(page: Served, house: House) -> None:
    jobs = [house.dead("send") for _ in range(2)]
    [group] = page.get("/api/errors").json["groups"]
    assert (group["kind"], group["error_kind"], group["message"]) == ("send", "ValueError", "no such thing")
    assert (group["count"], group["dead"], group["sample_id"]) == (2, 2, jobs[1])


def test_what_workers_tell_later_is_added_to_what_is_drawn(page: Served, house: House) -> None:
    for done in (3, 4):
        house.q.add_figures("w1", [Tally("mail", "send", done)])
        page.act("resume", name="mail")  # what is kept for a moment is forgotten
        assert sum(page.get("/api/overview").json["series"]["done"]) == (3 if done == 3 else 7)


@pytest.mark.parametrize("span", ["5m", "1h", "6h", "24h", "7d"])
def test_how_the_queues_stood_is_drawn_from_what_was_put_down(page: Served, house: House, span: str) -> None:
    house.q.enqueue_many([tenure.NewJob(kind="k", queue="mail") for _ in range(3)])
    house.q.enqueue("k", queue="bulk")
    house.q.beat("w1", about='{"running": 2, "lines": ["*:5"]}')
    house.q.sample()
    told = page.get("/api/overview", span=span).json
    known = {name: [v for v in told["series"][name] if v is not None] for name in ("ready", "busy", "slots")}
    assert known == {"ready": [4], "busy": [2], "slots": [5]}
    [oldest] = [age for age in told["series"]["oldest"] if age is not None]
    assert 0 <= oldest < 60
    assert [(one["queue"], max(n or 0 for n in one["ready"])) for one in told["depths"]] == [
        ("mail", 3),
        ("bulk", 1),
    ]
    assert {len(one["ready"]) for one in told["depths"]} == {len(told["times"])}


def test_pages_read_what_was_put_down_and_put_nothing_down_themselves(page: Served, house: House) -> None:
    house.q.enqueue("k")
    told = page.get("/api/overview").json
    assert set(told["series"]["ready"]) == {None}
    assert told["depths"] == []


def test_what_was_read_before_is_drawn_as_if_all_of_it_were_read_anew(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long nobody looked, and wherever in a step of time it is."""
    at = [1_893_456_000_000_000 + 37 * 60_000_000]
    monkeypatch.setattr(series, "now", lambda: from_micros(at[0]))

    async def look() -> None:
        lasting = series.Figures()
        async with await tenure.aopen(house.app.url, clock=lambda: from_micros(at[0])) as q:
            for minutes in (0, 1, 1, 2, 5, 14, 31, 64, 3, 300, 1, 1_500, 2, 3_000):
                at[0] += minutes * 60_000_000
                told = Histogram([0.1 * minutes + 0.1])
                await q.add_figures("w", [Tally("mail", "send", minutes + 1, waited=told, ran=told)])
                await q.enqueue("k", queue=f"q{minutes % 3}")
                await q.sample()
                while await q.tidy_figures():
                    pass
                for name, span in series.SPANS.items():
                    drawn = await lasting.series(q, span)
                    assert drawn == await series.Figures().series(q, span), name
                    assert sum(drawn["series"]["done"]) > minutes
                at[0] += 20_000_000

    asyncio.run(look())
