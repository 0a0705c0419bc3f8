"""`tenure show ID`."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.desk.opening import NotFound, id_of, json_option, store_options, the_queue
from tenure.cli.desk.screen import echo_json, now, paint, plain, when

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.job import Attempt, JobSeen, Request

__all__ = ["command"]


@click.command("show")
@click.argument("id")
@json_option
@store_options
def command(id: str, as_json: bool, url: str | None, app: str | None) -> None:
    """Show everything about one job: where it stands, its payload, its attempts with their tracebacks, its web request.

    \b
    tenure show 0190a5d0-…
    tenure show 0190a5d0-… --json | jq .attempts[-1].message

    Ends with 3 if there is no such job.
    """
    id = id_of(id)  # noqa: A001 - the argument, checked
    with the_queue(url, app) as queue:
        job = queue.get(id)
        if job is None:
            raise NotFound(f"no job has the id {id}: it was never stored, or it was deleted since")
        attempts, request = queue.history(id), queue.request(id)
    if as_json:
        echo_json(_json(job, attempts, request))
    else:
        _echo(job, attempts, request)


def _json(job: JobSeen, attempts: list[Attempt], request: Request | None) -> dict[str, Any]:
    from tenure.cli.desk.jobs import as_json, job_json

    return {
        "job": job_json(job),
        "attempts": [{name: as_json(getattr(a, name)) for name in a.__struct_fields__} for a in attempts],
        "request": None
        if request is None
        else {"headers": dict(request.headers), "body": base64.b64encode(request.body).decode()},
    }


def _echo(job: JobSeen, attempts: list[Attempt], request: Request | None) -> None:
    from tenure.cli.desk.jobs import COLOURS

    at = now()
    click.echo(f"{paint(plain(job.kind), bold=True)}  {job.id}")
    click.echo(f"  {'state':<10}  {paint(job.state.value, COLOURS.get(job.state.value))}{_why(job)}")
    for name, value in _facts(job, at):
        click.echo(f"  {name:<10}  {plain(value)}")
    _block("payload", _pretty(job.payload_text))
    if job.result_text is not None:
        _block("result", _pretty(job.result_text))
    if job.error:
        _block("last error", job.error)
    for attempt in attempts:
        began = "" if attempt.started_at is None else f", ran {_length(attempt)}"
        title = (
            f"attempt {attempt.attempt}: {plain(attempt.error_kind)}, {when(attempt.finished_at, at)}{began}"
        )
        _block(title, attempt.traceback or attempt.message)
    if request is not None:
        headers = "\n".join(f"{name}: {value}" for name, value in request.headers.items())
        _block("request headers", headers)
        _block(f"request body, {len(request.body):,} bytes", _readable(request.body))


def _why(job: JobSeen) -> str:
    return f" ({plain(job.reason)})" if job.reason else ""


def _facts(job: JobSeen, at: datetime) -> list[tuple[str, str]]:
    """What is worth a line: no line for what is not there."""
    tried = f"{job.attempt} of {job.max_attempts}"
    facts: list[tuple[str, str | None]] = [
        ("queue", job.queue),
        ("priority", str(job.priority) if job.priority else None),
        ("attempt", f"{tried}, {job.crashes} crashes" if job.crashes else tried),
        ("enqueued", when(job.created_at, at)),
        ("due", when(job.run_at, at) if job.state == "scheduled" else None),
        ("started", _at(job.started_at, at)),
        ("finished", _at(job.finished_at, at)),
        ("lease", _at(job.lease_until, at)),
        ("expires", _at(job.expires_at, at)),
        ("worker", job.worker),
        ("progress", None if job.progress is None else f"{job.progress:.0%} {job.progress_note or ''}"),
        ("cancelling", _at(job.cancel_asked_at, at)),
        ("unique", job.unique),
        ("group", job.group),
        ("tags", ", ".join(job.tags)),
        ("meta", ", ".join(f"{k}={v}" for k, v in job.meta.items())),
        ("parent", job.parent),
        ("flow", job.flow),
        ("tenant", job.tenant),
    ]
    return [(name, value) for name, value in facts if value]


def _at(moment: datetime | None, at: datetime) -> str | None:
    return None if moment is None else when(moment, at)


def _block(title: str, text: str) -> None:
    click.echo(paint(f"\n{title}", bold=True))
    for line in plain(text, lines=True).splitlines() or [""]:
        click.echo(f"  {line}")


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _length(attempt: Attempt) -> str:
    from tenure.duration import spell

    return "" if attempt.started_at is None else spell(attempt.finished_at - attempt.started_at)


def _readable(body: bytes) -> str:
    try:
        return _pretty(body.decode())
    except UnicodeDecodeError:
        return base64.b64encode(body).decode()
