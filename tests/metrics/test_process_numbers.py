"""What a scrape tells of the workers in this process, whose events are listened to; without a scrape nobody listens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

import tenure
from tenure import events
from tenure.metrics.names import PROCESS
from tenure.metrics.prometheus import collect
from tests.metrics.scraping import Scrape, scrape
from tests.worker.house import House, until


def settled(registry: CollectorRegistry, name: str, **labels: str) -> Scrape:
    """A scrape in which this has been counted."""
    found = [scrape(registry)]

    def counted() -> bool:
        found[0] = scrape(registry)
        return labels in found[0].labels(name)

    until(counted, f"{name} {labels} was never told")
    return found[0]


def test_jobs_are_counted_by_kind_and_by_how_they_ended(house: House, registry: CollectorRegistry) -> None:
    @house.app.job(queue="mail")
    async def works() -> None: ...

    @house.app.job(max_attempts=2, retry=tenure.Fixed("0s"))
    def fails() -> None:
        raise ValueError("no")

    @house.app.job
    async def buries() -> None:
        raise tenure.Bury("enough")

    collect(house.app, registry)
    jobs = [works.enqueue(), works.enqueue(), fails.enqueue(), buries.enqueue()]
    house.start()
    for job in jobs:
        house.ended(job)
    found = settled(registry, "tenure_jobs_ended_total", kind="fails", outcome="dead")
    assert found.value("tenure_jobs_started_total", kind="works") == 2
    assert found.value("tenure_jobs_ended_total", kind="works", outcome="done") == 2
    assert found.value("tenure_jobs_ended_total", kind="fails", outcome="retry") == 1
    assert found.value("tenure_jobs_ended_total", kind="fails", outcome="dead") == 1
    assert found.value("tenure_jobs_ended_total", kind="buries", outcome="dead") == 1
    assert found.value("tenure_job_run_seconds_count", kind="fails") == 2
    assert found.value("tenure_job_wait_seconds_count", queue="mail") == 2
    assert 0 <= found.value("tenure_job_wait_seconds_sum", queue="mail") < 60
    assert found.value("tenure_job_run_seconds_bucket", kind="works", le="+Inf") == 2
    assert found.value("tenure_process_workers") == 1


def test_a_worker_that_stopped_is_no_worker(house: House, registry: CollectorRegistry) -> None:
    @house.app.job
    async def works() -> None: ...

    collect(house.app, registry)
    working = house.start()
    until(lambda: scrape(registry).value("tenure_process_workers") == 1)
    working.stop()
    assert scrape(registry).value("tenure_process_workers") == 0


def test_every_event_that_is_counted_is_told(registry: CollectorRegistry) -> None:
    app = tenure.App()
    collect(app, registry, store=False)
    row = ["0190", 1, 1, "k", "q", 0, "{}", 1, 5, 0, 1_000_000, 0, 0, 3_500_000, *[None] * 9]
    claim = tenure.Claim(row, "w")
    for event in (
        events.WorkerStarted("w", ("q",), ("k",)),
        events.Started("w", claim),
        events.Abandoned("w", claim, 0.5),
        events.Ended("w", claim, tenure.Crashed("x"), 0.25),
        events.Settled("w", 3, 2),
        events.SlotStuck("w", claim, 1.0),
        events.ChildCrashed("w", claim, "story"),
        events.Outage("w", "claim", "gone"),
        events.ChoreDone("w", "retain", 7, 0.5),
        events.ChoreFailed("w", "promote", "no"),
        events.Fired("w", "nightly", datetime(2030, 1, 1, tzinfo=UTC), tenure.JobId("x")),
    ):
        app.listeners.tell(event)
    found = scrape(registry)
    assert {m.name for m in PROCESS} <= set(found.families)
    assert found.value("tenure_claims_lost_total") == 3
    assert found.value("tenure_jobs_ended_total", kind="k", outcome="lost") == 1
    assert found.value("tenure_jobs_ended_total", kind="k", outcome="crashed") == 1
    assert found.value("tenure_job_wait_seconds_sum", queue="q") == 2.5
    assert found.value("tenure_slots_stuck_total", kind="k") == 1
    assert found.value("tenure_children_crashed_total", kind="k") == 1
    assert found.value("tenure_outages_total", doing="claim") == 1
    assert found.value("tenure_chore_moved_total", chore="retain") == 7
    assert found.value("tenure_chore_seconds_total", chore="retain") == 0.5
    assert found.value("tenure_chore_failures_total", chore="promote") == 1
    assert found.value("tenure_fires_total", schedule="nightly") == 1
    assert all(m.labels == tuple(_labels(found, m.told)) for m in PROCESS if m.type == "counter")


def _labels(found: Scrape, name: str) -> list[str]:
    return list(found.labels(name)[0])


def test_a_claim_lost_in_flight_ends_as_lost(house: House, registry: CollectorRegistry) -> None:
    @house.app.job
    async def loses(ctx: tenure.Context) -> None:
        raise tenure.ClaimLost(ctx.id, ctx.claim.epoch)

    collect(house.app, registry)
    loses.enqueue()
    house.start(lease="1h")
    found = settled(registry, "tenure_jobs_ended_total", kind="loses", outcome="lost")
    assert found.value("tenure_claims_lost_total") == 1


@pytest.mark.parametrize("asked", [False, True])
def test_who_is_not_asked_to_count_does_not_listen(asked: bool, registry: CollectorRegistry) -> None:
    app = tenure.App()
    if asked:
        collect(app, registry)
    heard = [
        bool(app.listeners.of(e)) for e in (events.Started, events.Ended, events.Abandoned, events.Settled)
    ]
    assert heard == [asked] * 4
