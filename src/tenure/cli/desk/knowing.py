"""What a shell may complete from the store itself: kinds, queues, tags and schedules. Quick, and silent when it cannot be.

A store that is not there is not made, one whose schema is not ours is not changed, and whoever presses Tab does not wait long
for a server that does not answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = ["complete_kinds", "complete_queues", "complete_schedules", "known_words"]

_PATIENCE: Final = 2.0
_CAP: Final = 2_000
_NEWEST: Final = 500
_MOST: Final = 100


def complete_queues(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The queues that have jobs, or are paused."""
    given = ctx.params.get("queues") or ()
    return _items((name for name in _asked(ctx, _queues) if name not in given), incomplete)


def complete_kinds(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The kinds that live workers take, or that the newest jobs are of."""
    return _items(_asked(ctx, _kinds), incomplete)


def complete_schedules(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The schedules by name."""
    return _items(_asked(ctx, lambda queue: [one.name for one in queue.schedules()]), incomplete)


def known_words(ctx: click.Context, field: str) -> dict[str, list[str]]:
    """Values of a filter's field that are in the store; nothing for fields that are not asked about."""
    ask = {"kind": _kinds, "queue": _queues, "tag": _tags}.get(field)
    return {} if ask is None else {field: sorted(_asked(ctx, ask))}


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    found = sorted({name for name in names if name.startswith(incomplete)})
    return [CompletionItem(name) for name in found[:_MOST]]


def _queues(queue: Queue) -> list[str]:
    return [*queue.counts(cap=_CAP), *queue.paused()]


def _kinds(queue: Queue) -> list[str]:
    lived = [kind for worker in queue.workers() for kind in worker.kinds or ()]
    return [*lived, *(job.kind for job in queue.list(limit=_NEWEST, look=_NEWEST))]


def _tags(queue: Queue) -> list[str]:
    return list({tag for job in queue.list(limit=_NEWEST, look=_NEWEST) for tag in job.tags})


def _asked(ctx: click.Context, ask: Callable[[Queue], list[str]]) -> list[str]:
    """What the store answers within a moment; nothing, if that is not to be had."""
    found: list[str] = []
    logging.getLogger("tenure").addHandler(logging.NullHandler())

    def go(place: str) -> None:
        with suppress(Exception, SystemExit):
            found.extend(_ask(place, ask))

    with suppress(Exception, SystemExit):
        from tenure.cli.desk.opening import place_of
        from tenure.config import SqlitePlace, locate

        place = place_of(ctx.params.get("url"), ctx.params.get("app"))
        if isinstance(locate(place), SqlitePlace):
            go(place)  # a file answers, or it does not
        else:
            asking = threading.Thread(target=go, args=(place,), name="tenure-completing", daemon=True)
            asking.start()
            asking.join(_PATIENCE)
    return list(found)


def _ask(place: str, ask: Callable[[Queue], list[str]]) -> list[str]:
    from tenure.cli.desk.opening import the_queue
    from tenure.store.open import applied_at

    applied, known = applied_at(place)
    if applied != known:
        return []
    with the_queue(place, None) as queue:
        return ask(queue)
