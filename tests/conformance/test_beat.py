"""beat, workers, leave: who lives."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tests.support.clock import MovedClock
from tests.support.places import Place


def test_a_worker_that_beats_is_seen(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.beat("w1", queues=["mail"], kinds=["send", "sweep"], about="tenure 1.0 on host a")
    assert cq.workers() == [
        tenure.WorkerSeen(
            id="w1", started_at=clock.now, seen_at=clock.now, queues=("mail",), kinds=("send", "sweep"),
            about="tenure 1.0 on host a",
        )
    ]  # fmt: skip


def test_a_worker_that_names_nothing_takes_anything(q: tenure.Queue) -> None:
    q.beat("w1")
    [worker] = q.workers()
    assert (worker.queues, worker.kinds, worker.about) == (None, None, None)


def test_a_worker_that_takes_nothing_is_not_one_that_takes_anything(q: tenure.Queue) -> None:
    q.beat("w1", queues=[], kinds=[])
    [worker] = q.workers()
    assert (worker.queues, worker.kinds) == ((), ())


def test_a_worker_that_beats_again_keeps_its_start(cq: tenure.Queue, clock: MovedClock) -> None:
    began = clock.now
    cq.beat("w1", kinds=["send"])
    again = clock.advance("10s")
    cq.beat("w1", kinds=["sweep"], queues=["mail"])
    [worker] = cq.workers()
    assert (worker.started_at, worker.seen_at, worker.kinds, worker.queues) == (
        began,
        again,
        ("sweep",),
        ("mail",),
    )


def test_nobody_is_seen_where_nobody_beat(q: tenure.Queue) -> None:
    assert q.workers() == []


def test_workers_are_seen_from_every_process_oldest_first(
    cq: tenure.Queue, place: Place, clock: MovedClock
) -> None:
    other = place.open(clock=clock)
    cq.beat("b")
    clock.advance("1s")
    other.beat("a")
    assert [w.id for w in cq.workers()] == ["b", "a"] == [w.id for w in other.workers()]


def test_a_worker_not_seen_for_thirty_seconds_is_gone(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.beat("w1")
    clock.advance("29s")
    assert [w.id for w in cq.workers()] == ["w1"]
    clock.advance("2s")
    assert cq.workers() == []


def test_a_worker_that_was_gone_is_back_with_its_next_beat(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.beat("w1")
    clock.advance("1h")
    cq.beat("w1")
    assert [(w.id, w.seen_at) for w in cq.workers()] == [("w1", clock.now)]


def test_a_worker_that_leaves_is_gone_at_once(q: tenure.Queue) -> None:
    q.beat("w1")
    q.beat("w2")
    q.leave("w1")
    assert [w.id for w in q.workers()] == ["w2"]


def test_who_never_came_may_leave(q: tenure.Queue) -> None:
    q.beat("w1")
    q.leave("w2")
    assert [w.id for w in q.workers()] == ["w1"]


def test_a_claim_is_no_beat(q: tenure.Queue) -> None:
    q.enqueue("k")
    q.claim(worker="w1")
    assert q.workers() == []


@pytest.mark.parametrize(
    "name", ["", " w", "a\nb", "x" * 201, 7, None], ids=["empty", "space", "line", "long", "int", "none"]
)
def test_a_worker_without_a_proper_name_is_refused(q: tenure.Queue, name: Any) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.beat(name)
    assert caught.value.field == "worker"
    assert q.workers() == []


@pytest.mark.parametrize("field", ["queues", "kinds"])
def test_what_a_worker_takes_is_a_list_of_names(q: tenure.Queue, field: str) -> None:
    lists: dict[str, Any] = {field: "mail"}
    with pytest.raises(tenure.FieldTypeError) as caught:
        q.beat("w1", **lists)
    assert caught.value.field == field
    assert q.workers() == []


@pytest.mark.parametrize("about", [5, "\x00", "x" * 70_000], ids=["number", "nul", "long"])
def test_what_a_worker_says_of_itself_is_a_text_that_every_store_keeps(q: tenure.Queue, about: Any) -> None:
    with pytest.raises(tenure.FieldError, match="about"):
        q.beat("w", about=about)
    assert q.workers() == []
