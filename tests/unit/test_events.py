"""Listeners: who is called for which event, and that none hurts another."""

from __future__ import annotations

import logging

import pytest

import tenure
from tenure import events
from tenure.events import Event, Listeners, Outage, Settled, WorkerStopped, WorkerStopping

STOPPED, STOPPING = WorkerStopped("w"), WorkerStopping("w", 3)


def test_a_listener_hears_the_events_it_asked_for() -> None:
    heard: list[Event] = []
    listeners = Listeners()
    listeners.add(heard.append, WorkerStopped, Settled)
    for event in (STOPPING, STOPPED, Outage("w", "claim", "down"), Settled("w", 1, 0)):
        listeners.tell(event)
    assert heard == [STOPPED, Settled("w", 1, 0)]


def test_a_listener_that_names_none_hears_all() -> None:
    heard: list[Event] = []
    app = tenure.App()
    app.listen(heard.append)
    app.listeners.tell(STOPPING)
    app.listeners.tell(STOPPED)
    assert heard == [STOPPING, STOPPED]


def test_a_listener_that_raises_is_logged_and_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("out of ink")

    listeners = Listeners()
    listeners.add(broken, WorkerStopped)
    listeners.add(heard.append, WorkerStopped)
    with caplog.at_level(logging.ERROR, "tenure"):
        listeners.tell(STOPPED)
    assert heard == [STOPPED]
    assert "a listener to WorkerStopped failed" in caplog.text
    assert "out of ink" in caplog.text


def test_nobody_listens_to_what_nobody_asked_for() -> None:
    listeners = Listeners()
    listeners.add(print, WorkerStopped)
    assert listeners.of(WorkerStopped) == [print]
    assert listeners.of(WorkerStopping) == []


@pytest.mark.parametrize("name", [n for n in events.__all__ if n not in ("Listeners", "Event")])
def test_every_event_is_a_frozen_value_that_names_its_worker(name: str) -> None:
    event = getattr(events, name)
    assert issubclass(event, Event)
    assert event.__doc__
    assert event.__struct_fields__[0] == "worker"
    assert event.__struct_config__.frozen
