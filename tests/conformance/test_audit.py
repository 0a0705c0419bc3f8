"""add_audit, begin_audit, progress_audit and audits: what people did, who they were, and how much it came to."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place


def test_what_was_done_is_told_newest_first(cq: tenure.Queue, clock: MovedClock) -> None:
    began = clock()
    cq.add_audit("operator", "retry", "state:dead", count=17, said="17 jobs were started anew")
    clock.advance("1m")
    cq.add_audit("command line", "pause", "mail")
    last, first = cq.audits()
    assert (first.who, first.action, first.what, first.count) == ("operator", "retry", "state:dead", 17)
    assert (first.said, first.at) == ("17 jobs were started anew", began)
    assert (last.who, last.action, last.what, last.count, last.said) == (
        "command line",
        "pause",
        "mail",
        0,
        "",
    )
    assert (last.at - first.at).total_seconds() == 60


def test_the_audit_is_read_a_page_at_a_time(q: tenure.Queue) -> None:
    for number in range(5):
        q.add_audit("operator", "cancel", f"n{number}")
    page = q.audits(limit=2)
    rest = q.audits(limit=10, before=page[-1].id)
    assert [one.what for one in (*page, *rest)] == ["n4", "n3", "n2", "n1", "n0"]
    assert q.audits(before=rest[-1].id) == []


def test_what_has_begun_is_there_at_once_and_how_far_it_is_and_its_end_when_it_comes(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    began = clock()
    cq.begin_audit("somebody", "cancel", "kind:other")
    begun = cq.begin_audit("operator", "retry", "state:dead")
    [one, other] = cq.audits()
    assert (one.id, one.who, one.action, one.what) == (begun, "operator", "retry", "state:dead")
    assert (one.at, one.ended_at, one.count, one.said) == (began, None, 0, "")
    for count in (5, 7):
        cq.progress_audit(begun, count=count, said=f"{count} so far")
    [one, same] = cq.audits()
    assert (one.at, one.ended_at, one.count, one.said) == (began, None, 7, "7 so far")
    assert same == other
    clock.advance("1m")
    for count in (9, 10):  # who ends it twice ends it once
        cq.add_audit("operator", "retry", "state:dead", count=count, said=f"{count} in all", ends=begun)
    [one, same] = cq.audits()
    assert (one.id, one.at, one.ended_at, one.count, one.said) == (begun, began, clock(), 9, "9 in all")
    assert same == other
    cq.add_audit("operator", "pause")
    assert [a.ended_at for a in cq.audits()] == [clock(), clock(), None]
    assert cq.note(f"audit.{begun}") is None


def test_what_has_begun_and_ended_is_one_entry_of_a_page(q: tenure.Queue) -> None:
    for number in range(5):
        begun = q.begin_audit("operator", "cancel", f"n{number}")
        q.add_audit("operator", "cancel", f"n{number}", said=f"done {number}", ends=begun)
    page = q.audits(limit=2)
    rest = q.audits(limit=10, before=page[-1].id)
    assert [(one.what, one.said) for one in (*page, *rest)] == [
        (f"n{n}", f"done {n}") for n in (4, 3, 2, 1, 0)
    ]


def test_what_begins_and_what_is_done_at_once_stand_in_the_order_in_which_they_came(q: tenure.Queue) -> None:
    for number in range(0, 60, 3):  # several of them within one millisecond
        begun = q.begin_audit("operator", "retry", f"{number}")
        q.add_audit("operator", "pause", f"{number + 1}")
        q.add_audit("operator", "retry", f"{number}", ends=begun)
        q.begin_audit("operator", "cancel", f"{number + 2}")
    assert [int(one.what) for one in q.audits()] == list(range(59, -1, -1))


@pytest.mark.parametrize("ends", ["yesterday", "0190a5d0-7a2b-7c11-9d5e-2f4b8c1e6a70"], ids=["word", "other"])
def test_only_what_has_begun_can_be_ended_or_told_of(q: tenure.Queue, ends: str) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.add_audit("operator", "retry", ends=ends)
    assert caught.value.field == "ends"
    with pytest.raises(tenure.FieldError) as caught:
        q.progress_audit(ends, count=1, said="")
    assert caught.value.field == "begun"
    assert q.audits() == []


@pytest.mark.parametrize(
    "text",
    ["", "it's ☃ {} :name %s $1", "a\nb", "<script>alert(1)</script>"],
    ids=["empty", "signs", "lines", "script"],
)
def test_what_was_meant_is_kept_as_it_was_said(q: tenure.Queue, place: Place, text: str) -> None:
    q.add_audit("operator", "purge", text, said=text)
    [one] = place.open().audits()
    assert (one.what, one.said) == (text, text)


def test_what_no_store_can_keep_is_kept_as_far_as_it_can_be(q: tenure.Queue) -> None:
    q.add_audit("operator", "purge", "a\x00b\ud800" + "x" * 5_000)
    [one] = q.audits()
    assert one.what.startswith("a\ufffdb")
    assert len(one.what) == 2_000


def test_jobs_that_are_gone_leave_the_audit_alone(q: tenure.Queue) -> None:
    job = q.enqueue("work")
    q.cancel(job.id)
    q.add_audit("operator", "purge", f"id:{job.id}", count=1)
    q.purge(tenure.Filter(ids=[job.id]))
    assert [one.count for one in q.audits()] == [1]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("who", {"who": ""}),
        ("who", {"who": 5}),
        ("action", {"action": "x" * 201}),
        ("count", {"count": -1}),
        ("count", {"count": "many"}),
    ],
    ids=["nobody", "number", "long action", "less than nothing", "word"],
)
def test_a_bad_entry_is_told_and_nothing_is_kept(q: tenure.Queue, field: str, said: dict[str, Any]) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.add_audit(**{"who": "operator", "action": "retry", **said})
    assert caught.value.field == field
    assert q.audits() == []


@pytest.mark.parametrize("said", [{"limit": 0}, {"limit": 10_001}, {"before": "yesterday"}], ids=repr)
def test_a_bad_page_is_told(q: tenure.Queue, said: dict[str, Any]) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        partial(q.audits, **said)()
    assert caught.value.field == next(iter(said))
