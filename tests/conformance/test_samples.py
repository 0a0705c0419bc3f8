"""sample, samples: how the queues stand, put down once a minute by whoever keeps the house."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import tenure
from tenure.figures import Sample
from tests.support.clock import MovedClock

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAR = timedelta(days=400)


def read(q: tenure.Queue, step: str = "1m") -> list[Sample]:
    return q.samples(START - FAR, START + FAR, step=step)


def told(q: tenure.Queue, step: str = "1m") -> list[tuple[datetime, str, int]]:
    return [(s.at, s.queue, s.ready) for s in read(q, step)]


def test_a_sample_tells_how_each_queue_stands_and_all_of_them_together(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.enqueue("first", queue="mail")
    clock.advance("90s")
    cq.enqueue_many([tenure.NewJob(kind="k", queue="mail", priority=n) for n in range(2)])
    cq.enqueue("k", queue="chat")
    cq.enqueue("k", queue="later", delay="1h")
    assert len(cq.claim(queues=["chat"])) == 1
    cq.beat("w1", about=json.dumps({"running": 3, "lines": ["mail:5", "*:4"]}))
    cq.beat("w2", about=json.dumps({"running": 1, "lines": ["*:2"]}))
    cq.beat("w3")
    assert cq.sample() == 3
    at = START + timedelta(minutes=1)
    waited = timedelta(seconds=90)
    assert read(cq) == [
        Sample(at=at, queue="", ready=3, running=1, oldest_ready=waited, busy=4, slots=11),
        Sample(at=at, queue="chat", ready=0, running=1, oldest_ready=None, busy=0, slots=0),
        Sample(at=at, queue="mail", ready=3, running=0, oldest_ready=waited, busy=0, slots=0),
    ]


def test_a_minute_is_put_down_once_whoever_asks(cq: tenure.Queue, clock: MovedClock) -> None:
    assert cq.sample() == 1
    cq.enqueue("k")
    clock.advance("59s")
    assert cq.sample() == 0
    assert told(cq) == [(START, "", 0)]
    clock.advance("1s")
    assert cq.sample() == 2
    assert told(cq)[1:] == [(START + timedelta(minutes=1), name, 1) for name in ("", "default")]


def test_a_step_tells_the_most_there_was_in_it(cq: tenure.Queue, clock: MovedClock) -> None:
    for minute in range(10):
        if minute < 3:
            cq.enqueue("k")
        else:
            cq.settle_many((claim, tenure.Done()) for claim in cq.claim(1))
        cq.sample()
        clock.advance("1m")
    assert [s.ready for s in read(cq) if s.queue == "default"] == [1, 2, 3, 2, 1]
    by = {s.at: s for s in read(cq, "5m") if s.queue == "default"}
    assert [s.ready for s in by.values()] == [3]
    assert by[START].oldest_ready == timedelta(minutes=2)
    assert [s.at for s in read(cq, "5m") if not s.queue] == [START, START + timedelta(minutes=5)]


def test_only_what_is_between_is_told(cq: tenure.Queue, clock: MovedClock) -> None:
    for _ in range(4):
        cq.sample()
        clock.advance("1m")
    later = [START + timedelta(minutes=n) for n in range(5)]
    assert [s.at for s in cq.samples(later[1], later[3])] == later[1:3]
    assert [s.at for s in cq.samples(later[1] + timedelta(seconds=30), later[2])] == [later[1]]
    assert cq.samples(later[4], later[4]) == []


def test_of_many_queues_the_deepest_are_put_down(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.enqueue_many([tenure.NewJob(kind="k", queue=f"q{n:03}") for n in range(60)])
    cq.enqueue_many([tenure.NewJob(kind="k", queue="q059") for _ in range(4)])
    assert cq.sample() == 51
    found = {s.queue: s.ready for s in read(cq)}
    assert (found[""], found["q059"]) == (64, 5)


def test_samples_go_with_the_minutes_of_the_figures(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.sample()
    clock.advance("8d")
    cq.sample()
    cq.tidy_figures()
    assert len(read(cq)) == 2
    clock.advance("1m")
    cq.tidy_figures()
    assert [s.at for s in read(cq)] == [START + timedelta(days=8)]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"until": START - FAR - FAR}, "until"), ({"step": "90s"}, "step"), ({"since": datetime(2030, 1, 1)}, "since")],  # noqa: DTZ001
    ids=["backwards", "half a minute", "naive"],
)  # fmt: skip
def test_bad_questions_are_refused(q: tenure.Queue, arguments: dict[str, Any], field: str) -> None:
    given: dict[str, Any] = {"since": START - FAR, "until": START, **arguments}
    with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match=field):
        q.samples(**given)
