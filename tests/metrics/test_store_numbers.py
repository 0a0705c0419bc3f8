"""What a scrape tells of the store: asked when it is scraped, not too often, and told to be down where it is down."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

import tenure
from tenure.metrics.names import STORE
from tenure.metrics.prometheus import collect
from tests.metrics.scraping import scrape
from tests.worker.house import House


def test_queues_are_told_by_state_with_the_age_of_their_oldest(
    house: House, registry: CollectorRegistry
) -> None:
    clock = house.stand_still()
    collect(house.app, registry, keep=0)
    house.queue.enqueue("a", queue="lost", expires_in="1h")
    [claim] = house.queue.claim()
    house.queue.settle(claim, tenure.Fail("no"))
    clock.advance("2h")
    assert house.queue.expire() == 1  # a death that no handler ended
    house.queue.enqueue("a", queue="mail")
    clock.advance("90s")
    house.queue.enqueue("b", queue="mail")
    house.queue.enqueue("a", queue="later", delay="1h")
    house.queue.pause("mail")
    found = scrape(registry)
    assert found.value("tenure_store_up") == 1
    assert [found.value("tenure_queue_dead", queue=queue) for queue in ("lost", "mail")] == [1, 0]
    assert found.value("tenure_queue_jobs", queue="mail", state="ready") == 2
    assert found.value("tenure_queue_jobs", queue="mail", state="running") == 0
    assert found.value("tenure_queue_jobs", queue="later", state="scheduled") == 1
    assert found.value("tenure_queue_oldest_ready_seconds", queue="mail") == 90
    assert found.value("tenure_queue_oldest_ready_seconds", queue="later") == 0
    assert found.value("tenure_queue_paused", queue="mail") == 1
    assert found.value("tenure_counts_capped") == 0


def test_what_nobody_sees_to_is_told(house: House, registry: CollectorRegistry) -> None:
    clock = house.stand_still()
    collect(house.app, registry, keep=0)
    house.queue.schedule("nightly", "0 0 * * *", "k")
    house.queue.schedule("rested", "* * * * *", "k")
    house.queue.pause_schedule("rested")
    house.queue.enqueue("k")
    assert house.queue.claim(lease="30s")
    house.queue.enqueue("k", delay="10s")
    house.queue.beat("w")
    found = scrape(registry)
    assert [found.value(f"tenure_{n}") for n in ("workers", "schedules", "schedules_overdue", "leases_overdue", "scheduled_overdue")] == [1, 2, 0, 0, 0]  # fmt: skip
    clock.advance("1d")
    found = scrape(registry)
    assert [found.value(f"tenure_{n}") for n in ("workers", "schedules", "schedules_overdue", "leases_overdue", "scheduled_overdue")] == [0, 2, 1, 1, 1]  # fmt: skip
    assert found.value("tenure_schedules_broken") == 0


def test_every_number_of_the_store_is_told(house: House, registry: CollectorRegistry) -> None:
    collect(house.app, registry)
    house.queue.enqueue("k")
    assert {m.name for m in STORE} <= set(scrape(registry).families)


def test_one_look_serves_whoever_scrapes_in_the_next_seconds(
    house: House, registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    look = tenure.Queue.pulse

    def counted(self: tenure.Queue, **given: Any) -> Any:
        looks.append(given)
        return look(self, **given)

    monkeypatch.setattr(tenure.Queue, "pulse", counted)
    collect(house.app, registry, keep="1h")
    for _ in range(20):
        house.queue.enqueue("k")
        assert scrape(registry).value("tenure_queue_jobs", queue="default", state="ready") == 1
    assert len(looks) == 1


def test_registering_asks_nothing_of_the_store(tmp_path: Path, registry: CollectorRegistry) -> None:
    path = tmp_path / "jobs.db"
    collect(tenure.App(f"sqlite:///{path}"), registry)
    assert not path.exists()


def test_a_store_that_is_down_is_a_number(registry: CollectorRegistry, tmp_path: Path) -> None:
    (tmp_path / "jobs.db").write_text("this is no database, and it is long enough to be read as one")
    collect(tenure.App(f"sqlite:///{tmp_path}/jobs.db"), registry)
    found = scrape(registry)
    assert found.value("tenure_store_up") == 0
    assert "tenure_queue_jobs" not in found.families
    assert "tenure_claims_lost" in found.families


def test_without_a_store_only_this_process_is_told(registry: CollectorRegistry, tmp_path: Path) -> None:
    collect(tenure.App(f"sqlite:///{tmp_path}/jobs.db"), registry, store=False)
    assert "tenure_store_up" not in scrape(registry).families
    assert not (tmp_path / "jobs.db").exists()


def test_collecting_twice_changes_nothing_and_two_apps_do_not_mix(
    registry: CollectorRegistry, tmp_path: Path
) -> None:
    app = tenure.App(f"sqlite:///{tmp_path}/jobs.db")
    assert collect(app, registry) is collect(app, registry) is registry
    assert len(app.listeners.of(tenure.events.Started)) == 1
    with pytest.raises(tenure.UsageError, match="a registry of its own"):
        collect(tenure.App(), registry)


@pytest.mark.parametrize(("name", "value"), [("cap", 0), ("cap", "x"), ("keep", "soon"), ("keep", -1)])
def test_bad_terms_are_refused_and_nothing_is_collected(
    registry: CollectorRegistry, name: str, value: Any
) -> None:
    app = tenure.App()
    with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match=name):
        collect(app, registry, **{name: value})
    assert not list(registry.collect())
    assert not app.listeners.of(tenure.events.Started)


def test_a_queue_may_be_called_what_it_likes(house: House, registry: CollectorRegistry) -> None:
    collect(house.app, registry)
    name = 'a"b\\c{d="e"}'
    house.queue.enqueue("k", queue=name, run_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert scrape(registry).value("tenure_queue_jobs", queue=name, state="ready") == 1
