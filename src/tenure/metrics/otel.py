"""instrument: a producer span where the app enqueues, a consumer span around each run, linked over the store.

    from tenure.metrics.otel import instrument

    instrument(app)         # before the worker starts

The producer's W3C traceparent travels in the job's meta, and nothing else does: no baggage, no tracestate. The consumer span
has it as parent and as link, so a job's runs, its retries too, stand in the trace that made it. A job without one begins a trace.
Handlers run inside their span, async ones and threads; an isolated one has its span in the worker, around the child's run, and
in the child what it traces belongs to the producer. Jobs made beside the app (a bare Queue, schedules) carry what their meta says,
the gateway's what their request came with.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

try:
    from opentelemetry import context as contexts
    from opentelemetry import trace
    from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, TracerProvider
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError as cause:  # pragma: no cover - seen by who has not installed it
    raise ImportError(f"spans need opentelemetry-api ({cause}); pip install 'tenure[otel]'") from cause

import tenure
from tenure.context import Context
from tenure.events import Abandoned, Ended, Started
from tenure.job import CLAIM_COLUMNS, Claim
from tenure.metrics import conventions as say
from tenure.metrics.results import result_of
from tenure.newjob import NewJob
from tenure.outcome import Bury, Crashed, Fail, Outcome
from tenure.producing import Batch

if TYPE_CHECKING:
    from tenure.app import App

__all__ = ["carried", "instrument"]

_propagator = TraceContextTextMapPropagator()
_EXTRA = CLAIM_COLUMNS.index("extra")
_LONGEST = 1_000
"""How much of an error's words a status holds, in characters."""


def instrument(app: App, tracer_provider: TracerProvider | None = None) -> None:
    """Trace this app's jobs, by the provider given, or by the one that is set for the process."""
    tracer = trace.get_tracer("tenure", tenure.__version__, tracer_provider)
    app.producing = _Producer(tracer).producing
    consumer = _Consumer(tracer)
    app.listen(consumer.started, Started)
    app.listen(consumer.ended, Ended)
    app.listen(consumer.abandoned, Abandoned)
    app.middlewares.insert(0, consumer.around)


def carried(meta: Mapping[str, str] | None = None) -> dict[str, str]:
    """This meta with the current span's traceparent: for jobs that are enqueued beside the app."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    found = {k: v for k, v in carrier.items() if k == say.TRACEPARENT}
    return {**found, **(meta or {})}


class _Producer:
    """Spans around enqueues: one for a batch, whose jobs all name it."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def producing(self, batch: Batch) -> Iterator[None]:
        """Store these inside a span."""
        # Nothing has been checked yet: what cannot be stored is refused inside the span.
        kinds = {str(getattr(job, "kind", "")) for job in batch.jobs}
        queues = {str(getattr(job, "queue", "")) for job in batch.jobs}
        what = next(iter(kinds)) if len(kinds) == 1 else "jobs"
        about: dict[str, Any] = {
            say.SYSTEM: say.SYSTEM_NAME, say.OPERATION: say.SEND, say.OPERATION_TYPE: say.SEND
        }  # fmt: skip
        if len(queues) == 1:
            about[say.DESTINATION] = next(iter(queues))
        if len(kinds) == 1:
            about[say.KIND] = what
        if len(batch.jobs) > 1:
            about[say.BATCH_SIZE] = len(batch.jobs)
        name = say.span_name(say.SEND, what)
        with self._tracer.start_as_current_span(name, kind=SpanKind.PRODUCER, attributes=about) as span:
            batch.jobs = [_carrying(job) for job in batch.jobs]
            yield
            if len(batch.stored) == 1:
                span.set_attribute(say.MESSAGE_ID, batch.stored[0].id)


def _carrying(job: Any) -> Any:
    """The job with the current span's traceparent; one that names a trace already keeps it, and a bad one is refused as it is."""
    if not isinstance(job, NewJob) or not isinstance(job.meta, Mapping):
        return job
    meta = carried(job.meta)
    return job if len(meta) == len(job.meta) else msgspec.structs.replace(job, meta=meta)


class _Consumer:
    """Spans around runs: begun and ended by the worker's events, and current while the handler runs."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._spans: dict[tuple[str, int], Span] = {}

    def started(self, event: Started) -> None:
        """A handler begins."""
        claim = event.claim
        parent = _producer_of(claim)
        link = trace.get_current_span(parent).get_span_context()
        about: dict[str, Any] = {
            say.SYSTEM: say.SYSTEM_NAME, say.OPERATION: say.PROCESS, say.OPERATION_TYPE: say.PROCESS,
            say.DESTINATION: claim.queue, say.MESSAGE_ID: claim.id, say.KIND: claim.kind,
            say.ATTEMPT: claim.attempt, say.WORKER: event.worker,
        }  # fmt: skip
        self._spans[claim.id, claim.epoch] = self._tracer.start_span(
            say.span_name(say.PROCESS, claim.kind),
            context=parent,
            kind=SpanKind.CONSUMER,
            attributes=about,
            links=[Link(link)] if link.is_valid else [],
        )

    async def around(self, ctx: Context, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run the handler inside its span. A child process has none: what it traces belongs to the producer."""
        span = self._spans.get((ctx.claim.id, ctx.claim.epoch))
        inside = _producer_of(ctx.claim) if span is None else trace.set_span_in_context(span)
        token = contexts.attach(inside)
        try:
            return await call()
        finally:
            contexts.detach(token)

    def ended(self, event: Ended) -> None:
        """A handler has ended."""
        span = self._spans.pop((event.claim.id, event.claim.epoch), None)
        if span is not None:
            span.set_attribute(say.OUTCOME, result_of(event.claim, event.outcome))
            _tell_failure(span, event.outcome)
            span.end()

    def abandoned(self, event: Abandoned) -> None:
        """A handler has ended whose claim was lost."""
        span = self._spans.pop((event.claim.id, event.claim.epoch), None)
        if span is not None:
            span.set_attributes({say.OUTCOME: "lost", say.ERROR_TYPE: "ClaimLost"})
            span.set_status(Status(StatusCode.ERROR, "its claim was lost: somebody else may have run it"))
            span.end()


def _producer_of(claim: Claim) -> contexts.Context:
    """The trace a job comes from, by its meta alone; what is no traceparent is none."""
    extra = claim.row[_EXTRA]
    meta = claim.job.meta if extra and say.TRACEPARENT in extra else {}
    return _propagator.extract({k: v for k, v in meta.items() if k == say.TRACEPARENT}, contexts.Context())


def _tell_failure(span: Span, outcome: Outcome) -> None:
    if not isinstance(outcome, Fail | Bury | Crashed):
        return
    kind = "Crashed" if isinstance(outcome, Crashed) else outcome.kind
    words = outcome.error or (outcome.reason if isinstance(outcome, Bury) else kind)
    told = {say.EXCEPTION_TYPE: kind, say.EXCEPTION_MESSAGE: words}
    if not isinstance(outcome, Crashed) and outcome.traceback:
        told[say.EXCEPTION_STACK] = outcome.traceback
    span.add_event(say.EXCEPTION, told)
    span.set_attribute(say.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, words[:_LONGEST]))
