"""Whatever the network does to connections that are busy: the ledger balances, and everybody goes on by themselves."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tenure
from tenure.store.postgres.limits import Limits
from tests.proof import depth
from tests.proof.ledger import at_rest, balance, intact
from tests.proof.network.street import Street
from tests.proof.tally import Tally
from tests.support.proxy import Proxy
from tests.worker.house import until

_ROUNDS = depth.of(test=1, proof=12)
_LIMIT = 1.5
"""As long as an answer is waited for here, in seconds."""

Fault = Callable[[Proxy, random.Random], None]


def swallow(proxy: Proxy, rng: random.Random) -> None:
    """Long enough for calls to give up on connections there were, and on new ones."""
    proxy.swallow()
    time.sleep(rng.uniform(0.1, depth.of(test=1.0, proof=5.0)))
    proxy.heal()


def drip(proxy: Proxy, rng: random.Random) -> None:
    proxy.drip()
    time.sleep(rng.uniform(0.2, 1.0))
    proxy.heal()


_BYTES = (0, 1, 5, 40, 300, 2_000)
"""After how many of them a connection ends."""
FAULTS: dict[str, Fault] = {
    "reset": lambda proxy, _rng: proxy.reset(),
    "swallow": swallow,
    "client gone": lambda proxy, _rng: proxy.lose_side("client"),
    "server gone": lambda proxy, _rng: proxy.lose_side("server"),
    "drip": drip,
    "end": lambda proxy, rng: proxy.end_after(rng.choice(_BYTES)),
    "end of requests": lambda proxy, rng: proxy.end_after(rng.choice(_BYTES), "requests"),
    "silent": lambda proxy, _rng: proxy.fall_silent(),
}


@pytest.fixture
def street(
    request: pytest.FixtureRequest, proxy: Proxy, postgres_url: str, schema: str, seed: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Street]:  # fmt: skip
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    limits = Limits(_LIMIT)
    monkeypatch.setattr("tenure.store.postgres.store.limits_at", lambda _place: limits)
    url = f"{proxy.url}&schema={schema}&connect_timeout=2"
    made = Street(url, postgres_url, schema, f"{seed}-{request.node.name}")
    yield made
    proxy.heal()
    made.house.close()


# A client that is gone holds its rows for half a minute: too long for `make test`.
@pytest.mark.parametrize("fault", [f for f in FAULTS if depth.of(test=f != "client gone", proof=True)])
@pytest.mark.timeout(400)
def test_nothing_is_lost_or_done_twice_on_a_bad_wire(
    fault: str, street: Street, proxy: Proxy, direct: str, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-wires-{fault}")
    street.start()
    with tenure.open(direct) as q:
        for _ in range(_ROUNDS):
            busy = len(street.acked) + rng.randrange(20, 60)
            until(lambda busy=busy: len(street.acked) >= busy, f"nobody goes on: {street.refusals[-3:]}")  # type: ignore[misc]
            FAULTS[fault](proxy, rng)
            tally(**{f"{fault} faults": 1})
        more = len(street.acked) + 20
        until(lambda: len(street.acked) >= more, f"nobody goes on: {street.refusals[-3:]}")
        street.stop_producing()
        bare = street.house.app.queue
        _work_off(bare, street)
        # A client that is gone may hold its rows for the 30 s after which the server gives its transaction up.
        until(
            lambda: not _bare_left(q, street),
            "a claim whose worker lost it was never taken back",
            patience=90,
        )
        at_rest(q)
        sums = balance(
            q,
            street.acked,
            tried=street.acked,
            effects=street.effects,
            lost=lambda _: (
                _ROUNDS
            ),  # one for each fault: whoever lives through it says again what was not answered
            g4={"pays": street.paid()},
            allow=("done",),
        )
        assert sums.crashes == 0
        assert sums.taken_away <= _ROUNDS * Street.WORKERS
    intact(direct)
    tally(
        jobs=sums.acked,
        losses=sums.losses,
        doubled=sums.doubled,
        taken_away=sums.taken_away,
        calls_refused=len(street.refusals),
    )


def _work_off(q: tenure.Queue, street: Street) -> None:
    """Do what is there of the bare kind."""
    while claims := q.claim(100, kinds=["bare"]):
        for claim in claims:
            street.did(claim)
        assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))


def _bare_left(q: tenure.Queue, street: Street) -> bool:
    """Do what is left of the bare kind; whether there may be more."""
    _work_off(q, street)
    return bool(
        q.list(tenure.Filter(kinds=["bare"], states=["ready", "running", "scheduled", "waiting"]), limit=1)
    )
