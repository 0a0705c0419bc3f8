"""Every metric: its name, its kind, its labels and what it tells. Nothing is told under a name that is not here."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

__all__ = ["GATEWAY", "METRICS", "PROCESS", "STORE", "Metric"]


class Metric(NamedTuple):
    """One metric; a counter's name is without the `_total` under which it is told."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str

    @property
    def told(self) -> str:
        """Its name as a query writes it; a histogram's has `_bucket`, `_sum` or `_count` after it."""
        return f"{self.name}_total" if self.type == "counter" else self.name


STORE: Final = (
    Metric("tenure_store_up", "gauge", (), "1 if the store answered the last look, 0 if not; then nothing else of the store is told."),
    Metric("tenure_store_look_seconds", "gauge", (), "How long the last look into the store took."),
    Metric("tenure_queue_jobs", "gauge", ("queue", "state"), "Jobs that have not ended: ready, scheduled, waiting, running. Counted up to a cap."),
    Metric("tenure_queue_dead", "gauge", ("queue",), "Dead jobs, however they died, that are kept. Counted up to a cap."),
    Metric("tenure_queue_oldest_ready_seconds", "gauge", ("queue",), "For how long the oldest ready job has been due; 0 where nothing is ready."),
    Metric("tenure_queue_paused", "gauge", ("queue",), "1 if the queue is paused."),
    Metric("tenure_counts_capped", "gauge", (), "1 if a count met its cap: there may be more."),
    Metric("tenure_leases_overdue", "gauge", (), "Leases that ran out more than 10 s ago and were not taken back: should be 0."),
    Metric("tenure_scheduled_overdue", "gauge", (), "Scheduled jobs that were due more than 10 s ago and were not made ready: should be 0."),
    Metric("tenure_workers", "gauge", (), "Workers that live, on whatever machine."),
    Metric("tenure_schedules", "gauge", (), "Schedules that are stored, paused ones among them."),
    Metric("tenure_schedules_overdue", "gauge", (), "Schedules that should have fired more than 60 s ago."),
    Metric("tenure_schedules_broken", "gauge", (), "Schedules that cannot fire: what is stored of them is not understood."),
)  # fmt: skip
"""Asked of the store when they are scraped."""
PROCESS: Final = (
    Metric("tenure_jobs_started", "counter", ("kind",), "Handlers that began."),
    Metric("tenure_jobs_ended", "counter", ("kind", "outcome"), "Handlers that ended: done, retry, dead, snooze, release, cancelled, crashed or lost."),
    Metric("tenure_job_run_seconds", "histogram", ("kind",), "How long handlers ran."),
    Metric("tenure_job_wait_seconds", "histogram", ("queue",), "From when a job was due to when it was claimed, by the store's clock."),
    Metric("tenure_claims_lost", "counter", (), "Claims lost: what came of their jobs here counted for nothing."),
    Metric("tenure_slots_stuck", "counter", ("kind",), "Handlers that were told to stop and ran on."),
    Metric("tenure_children_crashed", "counter", ("kind",), "Child processes that died of a job."),
    Metric("tenure_outages", "counter", ("doing",), "Times the store did not answer, or no child process could be started, by what was being done."),
    Metric("tenure_chore_moved", "counter", ("chore",), "What the janitor's chores moved: jobs promoted, reclaimed, deleted; schedules fired."),
    Metric("tenure_chore_seconds", "counter", ("chore",), "How long chores that moved something took."),
    Metric("tenure_chore_failures", "counter", ("chore",), "Chores that failed."),
    Metric("tenure_fires", "counter", ("schedule",), "Fires of schedules."),
    Metric("tenure_process_workers", "gauge", (), "Workers at work in this process."),
)  # fmt: skip
"""Counted in this process, from the events of its workers."""
GATEWAY: Final = (
    Metric("tenure_gateway_requests", "counter", ("source", "status"), "Requests by answer; status 0: somebody hung up before it."),
    Metric("tenure_gateway_rejects", "counter", ("source", "reason"), "Requests that were not answered 200, by why."),
    Metric("tenure_gateway_duplicates", "counter", ("source",), "Deliveries that were there already."),
    Metric("tenure_gateway_given_up", "counter", ("source",), "Deliveries that a sync source's handler gave up on, answered 200."),
    Metric("tenure_gateway_ack_seconds", "histogram", ("source",), "From a request's headers to its answer, for what was answered 200."),
)  # fmt: skip
"""Counted by the gateway of this process. What no source is called is counted under the source ""."""
METRICS: Final = (*STORE, *PROCESS, *GATEWAY)
