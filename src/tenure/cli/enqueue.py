"""`tenure enqueue KIND JSON`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from tenure.cli.desk.keeping import Act, acting
from tenure.cli.desk.knowing import complete_kinds, complete_queues
from tenure.cli.desk.opening import Misused, json_option, place_of, store_options
from tenure.cli.desk.screen import echo_json, plain

if TYPE_CHECKING:
    from tenure.client.queue import Queue
    from tenure.job import Enqueued

__all__ = ["command"]


@click.command("enqueue")
@click.argument("kind", shell_complete=complete_kinds)
@click.argument("payload", metavar="[JSON]", default="{}")
@click.option("--queue", help="The queue it goes to.", shell_complete=complete_queues)
@click.option("--priority", type=int, help="Higher is sooner.")
@click.option("--delay", metavar="DURATION", help="Not before so long from now: 90s, 1h30m.")
@click.option("--max-attempts", type=int, help="How often it is tried.")
@click.option("--unique", metavar="KEY", help="At most one such job of this kind in flight.")
@click.option("--unique-for", metavar="DURATION", help="… or in this period, even after it has ended.")
@click.option("--group", metavar="KEY", help="One at a time with the others of this key.")
@click.option("--expires-in", metavar="DURATION", help="Not after so long from now.")
@click.option("--timeout", metavar="DURATION", help="How long it may run.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be given several times.")
@click.option("--tenant", help="The tenant it is for.")
@click.option("--force", is_flag=True, help="Even if neither the app nor a live worker knows the kind.")
@click.option("--wait", is_flag=True, help="Wait until it has ended, and print its result.")
@click.option("--wait-for", metavar="DURATION", help="… but no longer than this.")
@json_option
@store_options
def command(
    kind: str,
    payload: str,
    force: bool,
    wait: bool,
    wait_for: str | None,
    as_json: bool,
    url: str | None,
    app: str | None,
    **options: Any,
) -> None:
    """Enqueue a job of KIND with this payload; durable when it returns.

    \b
    tenure enqueue send_email '{"to": "a@b.c", "subject": "hi"}' --queue mail --delay 10m
    tenure enqueue --app shop.jobs:app send_email '{"to": "a@b.c"}' --wait
    jq -c . order.json | tenure enqueue import_order -

    With --app the kind and its arguments are checked, and its queue, priority and attempts are the kind's own. Prints the id.
    With --wait its result; then it ends with 1 if the job died, was cancelled, or has not ended in time (--json tells its state).
    """
    from tenure.duration import parse
    from tenure.errors import FieldError

    body = _payload(payload)
    given = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        limit = None if wait_for is None else parse(wait_for, "--wait-for").total_seconds()
        with _stored(kind, body, given, force, url, app) as (queue, enqueued):
            if wait or limit is not None:
                _wait(queue, enqueued, limit, as_json=as_json)
            elif as_json:
                echo_json(enqueued._asdict())
            else:
                click.echo(f"{enqueued.id}{'' if enqueued.inserted else '  was there already'}")
    except FieldError as error:
        raise Misused(str(error)) from None


@contextmanager
def _stored(
    kind: str, body: Any, given: dict[str, Any], force: bool, url: str | None, app: str | None
) -> Iterator[tuple[Queue, Enqueued]]:
    """The job in its store, by way of the app if one was named."""
    import tenure

    if app is not None and url is None:
        from tenure.worker.address import load

        loaded = load(app)
        with loaded.queue as queue:
            with acting(queue, "enqueue", kind) as kept:
                job = loaded.enqueue(kind, body, force=force, **given)
                enqueued = _kept(kept, tenure.Enqueued(job.id, job.inserted))
            yield queue, enqueued
        return
    with tenure.open(place_of(url, app)) as queue:
        if not force:
            _check(queue, kind)
        with acting(queue, "enqueue", kind) as kept:
            enqueued = _kept(kept, queue.enqueue(kind, body, **given))
        yield queue, enqueued


def _kept(act: Act, enqueued: Enqueued) -> Enqueued:
    said = f"enqueued as {enqueued.id}" if enqueued.inserted else f"job {enqueued.id} was there"
    act.end(said, count=int(enqueued.inserted))
    return enqueued


def _payload(text: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise Misused(f"the payload is no JSON: {error}") from None


def _check(queue: Queue, kind: str) -> None:
    """A kind that no live worker takes, while others live, is more often a slip than a plan."""
    workers = queue.workers()
    if not workers or any(w.kinds is None or kind in w.kinds for w in workers):
        return
    known = sorted({k for w in workers for k in w.kinds or ()})
    near = ", ".join(map(repr, get_close_matches(kind, known, 3) or known[:3]))
    raise Misused(f"no live worker takes the kind {kind!r}; they take {near} and the like; --force enqueues it all the same")  # fmt: skip


def _wait(queue: Queue, enqueued: Enqueued, limit: float | None, *, as_json: bool) -> None:
    """Its end, and what came of it."""
    from tenure.handle import Rests
    from tenure.job import FINISHED

    if not as_json:
        click.echo(enqueued.id, err=True)
    late = ""
    try:
        for rest in Rests(limit, enqueued.id):
            job = queue.get(enqueued.id)
            if job is None or job.state in FINISHED:
                break
            time.sleep(rest)
    except TimeoutError as over:
        job = queue.get(enqueued.id)
        late = "" if job is None or job.state in FINISHED else str(over)
    state = "gone" if job is None else job.state.value
    if as_json:
        error = None if job is None else job.error
        result = None if job is None else job.result
        echo_json({**enqueued._asdict(), "state": state, "result": result, "error": error})
    elif job is not None and state == "done":
        click.echo(job.result_text or "null")
    if late:
        raise click.ClickException(late)
    if state != "done":
        why = "" if job is None else job.error or job.reason or ""
        raise click.ClickException(f"job {enqueued.id} is {state}{': ' if why else ''}{plain(why)}")
