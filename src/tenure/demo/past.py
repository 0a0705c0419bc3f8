"""The shop's last hour: what is there when the demo opens, so that charts, errors and lists have something to show at once.

The store is told by its own verbs, by a clock that is moved through that hour: jobs that were done, that died and that were
cancelled, how long they waited and ran, how deep the queues were, and who worked on them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from tenure.client.queue import Queue
from tenure.client.queue import open as open_queue
from tenure.clock import from_micros, machine_micros
from tenure.demo import shop
from tenure.figures import Histogram, Tally
from tenure.job import Claim
from tenure.outcome import Bury, Done, Outcome
from tenure.testing.clock import Clock

__all__ = ["past"]

_WORKER: Final = "last hour's worker"
_MINUTES: Final = 58
_SPELL: Final = range(30, 36)
"""Minutes in which the mail server did not answer."""


def past(url: str) -> None:
    """Put it all down in a store that is empty."""
    clock = Clock(from_micros(machine_micros()) - timedelta(minutes=_MINUTES))
    with open_queue(url, clock=clock) as queue:
        for minute in range(_MINUTES):
            _minute(queue, clock, minute)
            clock.advance("1m")
        queue.vanished(_WORKER)


def _minute(queue: Queue, clock: Clock, minute: int) -> None:
    """What came, how it stood then, and what became of it."""
    wave, spell = math.sin(minute / 7), minute in _SPELL
    due = clock.now - timedelta(seconds=30 if spell else 2 + minute % 5)
    orders = range(20 * minute + 1, 20 * minute + 10 + round(5 * wave))
    mails = [shop.send_email.options(run_at=due).call("bob@example.org", order) for order in orders]
    pictures = [shop.make_thumbnail.options(run_at=due).call("lamp.jpg", order) for order in orders[::2]]
    came = queue.enqueue_many([*mails, *pictures])
    queue.beat(_WORKER, about=json.dumps({"running": 14 if spell else 5 + minute % 4, "lines": ["*:20"]}))
    queue.sample()
    if minute % 10 == 0:
        queue.cancel(came[0].id, "the customer changed her mind")
    claims = queue.claim(100, worker=_WORKER)
    ended = [(claim, _end(claim, spell=spell)) for claim in claims]
    queue.settle_many(ended)
    queue.add_figures(_WORKER, _tallies(ended, minute))


def _end(claim: Claim, *, spell: bool) -> Outcome:
    order = json.loads(claim.payload_text).get("order")
    if spell and order is not None and order % 4 == 0:
        words = f"smtp.example.org did not answer for order {order}"
        return Bury("failed", words, kind="TimeoutError")
    return Done()


def _tallies(ended: Sequence[tuple[Claim, Outcome]], minute: int) -> list[Tally]:
    """As a worker would have counted them."""
    found: dict[str, Tally] = {}
    for number, (claim, outcome) in enumerate(ended):
        tally = found.setdefault(claim.kind, Tally(claim.queue, claim.kind))
        dead = isinstance(outcome, Bury)
        tally.done += not dead
        tally.failed += dead
        tally.dead += dead
        tally.waited.merge(Histogram([(2 if minute in _SPELL else 0.05) * (1 + number % 9 / 3)]))
        tally.ran.merge(Histogram([0.05 * (1 + number % 7) + minute % 11 / 30]))
    return list(found.values())
