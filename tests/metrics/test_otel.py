"""Spans over a real store and a real worker: the producer's is linked to each run's, wherever the handler runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, use_span

import tenure
from tenure.metrics import conventions as say
from tenure.metrics.otel import carried, instrument
from tests.metrics import traced
from tests.worker.house import House, until


def spans(kind: SpanKind, name: str, count: int = 1) -> list[ReadableSpan]:
    """The spans of this kind and name, once there are so many."""

    def found() -> list[ReadableSpan]:
        return [s for s in traced.exporter.get_finished_spans() if s.kind is kind and s.name == name]

    until(lambda: len(found()) >= count, f"there never were {count} spans {name!r}")
    assert len(found()) == count
    return found()


def place(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}-{span.context.span_id:016x}"


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def assert_linked(producer: ReadableSpan, consumer: ReadableSpan) -> None:
    """The consumer is the producer's child, and has a link to it."""
    assert producer.context is not None
    assert consumer.parent is not None
    assert consumer.context is not None
    assert consumer.context.trace_id == producer.context.trace_id
    assert consumer.parent.span_id == producer.context.span_id
    assert [link.context.span_id for link in consumer.links] == [producer.context.span_id]


@pytest.mark.parametrize("kind", ["on_the_loop", "in_a_thread"])
def test_a_handler_runs_inside_a_span_linked_to_its_producer(traced_house: House, kind: str) -> None:
    job = traced.app.kinds[kind].enqueue()
    traced_house.start()
    where = job.result("30s")
    [producer], [consumer] = spans(SpanKind.PRODUCER, f"send {kind}"), spans(SpanKind.CONSUMER, f"process {kind}")  # fmt: skip
    assert_linked(producer, consumer)
    assert where == place(consumer)
    seen = traced_house.queue.get(job.id)
    assert seen is not None
    assert list(seen.meta) == ["traceparent"]
    assert seen.meta["traceparent"].startswith(f"00-{place(producer)}-0")
    assert attributes(producer) == {
        say.SYSTEM: "tenure", say.OPERATION: "send", say.OPERATION_TYPE: "send", say.DESTINATION: "default",
        say.KIND: kind, say.MESSAGE_ID: job.id,
    }  # fmt: skip
    told = attributes(consumer)
    assert told.pop(say.WORKER)
    assert told == {
        say.SYSTEM: "tenure", say.OPERATION: "process", say.OPERATION_TYPE: "process", say.DESTINATION: "default",
        say.KIND: kind, say.MESSAGE_ID: job.id, say.ATTEMPT: 1, say.OUTCOME: "done",
    }  # fmt: skip
    assert consumer.status.status_code is StatusCode.UNSET


def test_an_isolated_job_has_its_span_in_the_worker_and_its_trace_in_the_child(traced_house: House) -> None:
    job = traced.in_a_child.enqueue()
    traced_house.start()
    where = job.result("60s")
    [producer], [consumer] = (
        spans(SpanKind.PRODUCER, "send in_a_child"),
        spans(SpanKind.CONSUMER, "process in_a_child"),
    )
    assert_linked(producer, consumer)
    assert where == place(producer)


def test_each_attempt_has_a_span_that_says_what_went_wrong(traced_house: House) -> None:
    job = traced.fails.enqueue()
    traced_house.start()
    traced_house.ended(job)
    [producer] = spans(SpanKind.PRODUCER, "send fails")
    runs = spans(SpanKind.CONSUMER, "process fails", 2)
    for run in runs:
        assert_linked(producer, run)
        assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, "no such thing")
        [event] = run.events
        told = dict(event.attributes or {})
        assert (told[say.EXCEPTION_TYPE], told[say.EXCEPTION_MESSAGE]) == ("ValueError", "no such thing")
        assert "no such thing" in str(told[say.EXCEPTION_STACK])
        assert attributes(run)[say.ERROR_TYPE] == "ValueError"
    assert [attributes(run)[say.OUTCOME] for run in runs] == ["retry", "dead"]
    assert [attributes(run)[say.ATTEMPT] for run in runs] == [1, 2]


def test_a_child_that_dies_and_a_claim_that_is_lost_end_their_spans(traced_house: House) -> None:
    traced.dies.enqueue()
    traced.loses.enqueue()
    traced_house.start(lease="1h")
    [died], [lost] = spans(SpanKind.CONSUMER, "process dies"), spans(SpanKind.CONSUMER, "process loses")
    assert (attributes(died)[say.OUTCOME], attributes(died)[say.ERROR_TYPE]) == ("crashed", "Crashed")
    assert (attributes(lost)[say.OUTCOME], attributes(lost)[say.ERROR_TYPE]) == ("lost", "ClaimLost")
    assert {died.status.status_code, lost.status.status_code} == {StatusCode.ERROR}


def test_a_job_made_by_a_job_stands_in_the_same_trace(traced_house: House) -> None:
    first = traced.makes_another.enqueue()
    traced_house.start()
    first.result("30s")
    [outer] = spans(SpanKind.CONSUMER, "process makes_another")
    [inner] = spans(SpanKind.PRODUCER, "send on_the_loop")
    [run] = spans(SpanKind.CONSUMER, "process on_the_loop")
    assert outer.context is not None
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert_linked(inner, run)


def test_a_batch_has_one_span_that_all_its_jobs_name(traced_house: House) -> None:
    jobs = traced.app.enqueue_many([traced.on_the_loop.call(), traced.in_a_thread.call()])
    traced_house.start()
    for job in jobs:
        traced_house.ended(job)
    [producer] = spans(SpanKind.PRODUCER, "send jobs")
    assert attributes(producer)[say.BATCH_SIZE] == 2
    for name in ("on_the_loop", "in_a_thread"):
        [run] = spans(SpanKind.CONSUMER, f"process {name}")
        assert_linked(producer, run)


def test_awaited_enqueues_and_own_transactions_are_traced_too(traced_house: House) -> None:
    async def enqueue() -> None:
        await traced.on_the_loop.aenqueue()
        await traced.app.aenqueue_many([traced.on_the_loop.call()])
        await traced.app.aclose()

    asyncio.run(enqueue())
    count = 2
    if traced_house.store != "sqlite":
        with traced_house.connection() as connection:
            traced.app.using(connection).enqueue(traced.on_the_loop.call())
            traced.app.using(connection).enqueue_many([traced.on_the_loop.call()])
            connection.commit()
        count = 4
    traced_house.start()
    producers = spans(SpanKind.PRODUCER, "send on_the_loop", count)
    runs = spans(SpanKind.CONSUMER, "process on_the_loop", count)
    parents = {run.parent.span_id for run in runs if run.parent is not None}
    assert parents == {p.context.span_id for p in producers if p.context is not None}


@pytest.mark.parametrize(
    "meta", [{}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}], ids=["none", "nonsense", "zeros"],
)  # fmt: skip
def test_a_job_that_names_no_trace_begins_one(traced_house: House, meta: dict[str, str]) -> None:
    traced_house.queue.enqueue("on_the_loop", {}, meta=meta)
    traced_house.start()
    [run] = spans(SpanKind.CONSUMER, "process on_the_loop")
    assert (run.parent, list(run.links)) == (None, [])


def test_a_producer_that_is_not_sampled_is_followed_and_harms_nothing(traced_house: House) -> None:
    quiet = SpanContext(0x1234, 0x5678, is_remote=False, trace_flags=TraceFlags(0))
    with use_span(NonRecordingSpan(quiet)):
        job = traced.on_the_loop.enqueue()
    traced_house.start()
    assert str(job.result("30s")).startswith(f"{0x1234:032x}-")
    assert not traced.exporter.get_finished_spans()
    seen = traced_house.queue.get(job.id)
    assert seen is not None
    assert seen.meta["traceparent"].endswith("-00")


def test_a_trace_that_the_caller_names_is_kept_and_nothing_but_the_traceparent_travels(traced_house: House) -> None:  # fmt: skip
    given = f"00-{'a' * 32}-{'b' * 16}-01"
    token = context.attach(baggage.set_baggage("user", "secret"))
    try:
        job = traced.on_the_loop.options(meta={"traceparent": given, "x": "y"}).enqueue()
        other = traced.on_the_loop.options(meta={"x": "y"}).enqueue()
    finally:
        context.detach(token)
    first, second = traced_house.queue.get(job.id), traced_house.queue.get(other.id)
    assert first is not None
    assert second is not None
    assert first.meta == {"traceparent": given, "x": "y"}
    assert sorted(second.meta) == ["traceparent", "x"]


def test_what_cannot_be_stored_is_refused_as_ever_and_its_span_says_so(traced_house: House) -> None:
    for bad in ("text", {"x": 1}):
        with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match="meta"):
            traced.on_the_loop.options(meta=bad).enqueue()  # type: ignore[arg-type]
    with pytest.raises(tenure.FieldTypeError, match="job"):
        traced.app.enqueue_many([3])  # type: ignore[list-item]
    failed = [s for s in traced.exporter.get_finished_spans() if s.status.status_code is StatusCode.ERROR]
    assert len(failed) == 3


def test_without_a_provider_jobs_are_stored_as_they_are(tmp_path: Path) -> None:
    app = tenure.App(f"sqlite:///{tmp_path}/jobs.db")
    off = TracerProvider(sampler=ALWAYS_OFF)
    assert app.producing is None

    @app.job
    async def works() -> None: ...

    instrument(app)
    seen = app.queue.get(works.enqueue().id)
    assert seen is not None
    assert seen.meta == {}
    instrument(app, off)
    assert works.enqueue().inserted
    app.close()


def test_a_bare_queue_can_carry_the_trace_by_hand() -> None:
    with traced.tracer.start_as_current_span("request") as span:
        found = carried({"x": "y"})
    assert f"{span.get_span_context().span_id:016x}" in found["traceparent"]
    assert found["x"] == "y"
    assert carried() == {}
