"""add_audit and audits: what people did, who they were, and how much it came to."""

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
