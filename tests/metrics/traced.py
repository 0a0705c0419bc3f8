"""An app whose jobs are traced, and that child processes can import; where its store is says $TENURE_URL."""

from __future__ import annotations

import asyncio

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tenure
from tenure.metrics.otel import instrument

app = tenure.App()
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("tests")
instrument(app, provider)


def here() -> str:
    """The trace and span in which this is asked, in hexadecimal."""
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}-{context.span_id:016x}"


@app.job
async def on_the_loop() -> str:
    """Where this runs, after a step of the loop too."""
    before = here()
    await asyncio.sleep(0)
    assert here() == before
    return before


@app.job
def in_a_thread() -> str:
    """Where this runs."""
    return here()


@app.job(isolate=True)
def in_a_child() -> str:
    """Where this runs."""
    return here()


@app.job(max_attempts=2, retry=tenure.Fixed("0s"))
async def fails() -> None:
    """Fails, always."""
    raise ValueError("no such thing")


@app.job(isolate=True, max_attempts=1)
def dies() -> None:
    """Takes its process with it."""
    import os

    os._exit(7)


@app.job
async def loses(ctx: tenure.Context) -> None:
    """Finds its claim lost."""
    raise tenure.ClaimLost(ctx.id, ctx.claim.epoch)


@app.job
async def makes_another() -> str:
    """Enqueues from inside a job."""
    return str((await on_the_loop.aenqueue()).id)
