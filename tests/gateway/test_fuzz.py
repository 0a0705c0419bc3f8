"""Whatever is sent to whatever address: only documented answers, no secret anywhere, nothing of the request said back."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeVar

import apsw
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tenure
import tenure.gateway
from bench.measure import say
from tenure.config import SqlitePlace, locate
from tenure.testing.telegram import FakeTelegram
from tests.gateway.fuzzing import (
    CANARIES,
    MARK,
    MAX_BODY,
    PAGES,
    PASSWORD,
    SLUGS,
    TOKEN,
    Sent,
    forgeries,
    honest,
    proofs_in,
    raws,
    sents,
    sources,
)
from tests.gateway.house import House, Served
from tests.gateway.signing import SECRETS
from tests.worker.house import Working, until

T = TypeVar("T")
ANSWERS = {200, 400, 401, 404, 405, 408, 413}
FAILS = {"telegram-fails-sync", "telegram-http-sync"}
"""Sync sources whose handlers fail: 503."""
_MANY = 2_500
SAYS_BACK = {"telegram-echo-sync"}
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
rounds = pytest.mark.parametrize(
    "requests",
    [
        pytest.param(150, id="some"),
        pytest.param(_MANY, id="many", marks=[pytest.mark.proof, pytest.mark.timeout(600)]),
    ],
)


class Ear(logging.Handler):
    """Every log record of every logger, as its text with tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: list[str] = []
        self.alarms: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))
        if record.levelno >= logging.ERROR:
            self.alarms.append(self.heard[-1])

    def told(self) -> str:
        """What was said since the last time."""
        said, self.heard = "\n".join(self.heard), []
        return said


@pytest.fixture
def ear() -> Iterator[Ear]:
    root, made = logging.getLogger(), Ear()
    before = root.level
    root.addHandler(made)
    root.setLevel(logging.DEBUG)
    yield made
    root.removeHandler(made)
    root.setLevel(before)


@pytest.fixture
def api() -> Iterator[str]:
    """A Telegram that refuses our bot's token."""
    with FakeTelegram(token="1:another-bot") as telegram:
        yield telegram.url


@pytest.fixture
def fuzzed(house: House) -> House:
    """A house with handlers that tell what they should not."""

    @house.app.job
    async def fails(ctx: tenure.Context, event: dict[str, Any]) -> None:
        # A worker apart from the gateway knows no source's secrets, only what a bot's token looks like.
        raise RuntimeError(
            f"it is {TOKEN}" if ctx.claimed else " and ".join((TOKEN, PASSWORD, *SECRETS.values()))
        )

    @house.app.job
    def whole(delivery: tenure.gateway.Delivery) -> None:
        assert isinstance(delivery.body, bytes)

    return house


def play(examples: int, strategy: st.SearchStrategy[T], one: Callable[[T], None]) -> None:
    """So many examples."""
    quiet = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    quiet(given(strategy)(one))()


def answers_of(sent: Sent) -> set[int]:
    """What this request may be answered."""
    if sent.refused:
        return ANSWERS - {200}
    return ANSWERS | {503} if sent.slug in FAILS else ANSWERS


def taken(place: str) -> int:
    """What is answered there to what is just as it should be."""
    return 503 if place in FAILS else 200


def check_drawn(statuses: Counter[tuple[str, int]], slugs: set[str], requests: int) -> None:
    """What was drawn came to every source, and to every kind of answer, as far as so many requests can."""
    by = Counter[int]()
    for (_, status), count in statuses.items():
        by[status] += count
    say(f"answers: {dict(by)}")
    assert set(by) >= {200, 400, 401}
    if requests < _MANY:
        return
    assert slugs == set(SLUGS)
    assert set(by) >= {404, 405, 413}
    assert [(page, status) for page in PAGES for status in (200, 405) if not statuses[page, status]] == []


def check_silent(told: bytes | str, sent: Sent) -> None:
    """Nothing that was said holds a secret, a signature, or what was marked in the request."""
    text = told if isinstance(told, str) else told.decode("latin-1")
    assert not [canary for canary in (*CANARIES, *proofs_in(sent.headers)) if canary in text], sent
    assert MARK not in text or sent.slug in SAYS_BACK, sent


def rows_of(url: str) -> Iterator[tuple[str, Any]]:
    """Every row of every table, with the table's name."""
    place = locate(url)
    if isinstance(place, SqlitePlace):
        with closing(apsw.Connection(place.path)) as file:
            tables: Any = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                for row in file.execute(f'SELECT * FROM "{table}"'):
                    yield table, row
        return
    with psycopg.connect(place.conninfo) as link:
        named = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        for (table,) in link.execute(named, (place.schema,)).fetchall():
            for row in link.execute(f'SELECT * FROM "{place.schema}"."{table}"'.encode()):
                yield table, row


def check_kept(house: House, ear: Ear, proofs: set[str]) -> None:
    """Nothing that is kept holds a secret, whatever a worker made of it; nor does what that logged."""
    assert ear.alarms == []
    queue = house.app.queue
    kinds = {job.kind for job in queue.list(limit=10_000)}
    assert kinds
    working = Working(house.app, {})
    try:
        for kind in kinds:
            tried = tenure.Filter(kinds=[kind], states=["done", "dead", "scheduled"])
            until(partial(queue.list, tried, limit=1), f"nothing of {kind} was tried")
    finally:
        working.stop()
    for table, row in rows_of(house.url):
        text = repr(row)
        assert not [canary for canary in (*CANARIES, *proofs) if canary in text], (table, row)
    text = ear.told()
    assert not [canary for canary in (*CANARIES, *proofs) if canary in text]


# Called as a server calls it


async def exchange(
    gateway: tenure.gateway.Gateway, sent: Sent, pieces: int = 1, *, hangs_up: bool = False
) -> list[Any]:
    """The messages of a gateway's answer; none where the sender hung up before the end."""
    size = len(sent.body) // pieces + 1
    parts = [sent.body[at : at + size] for at in range(0, len(sent.body), size)] or [b""]
    incoming: list[Any] = [
        {"type": "http.request", "body": part, "more_body": at < len(parts)}
        for at, part in enumerate(parts, 1)
    ]
    if hangs_up:
        incoming[-1] = {"type": "http.disconnect"}
    answer: list[Any] = []

    async def receive() -> Any:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        answer.append(message)

    headers = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in sent.headers]
    path, _, query = sent.path.partition("?")
    scope = {
        "type": "http", "method": sent.method, "path": path, "query_string": query.encode("utf-8", "surrogateescape"), "headers": headers,
    }  # fmt: skip
    await gateway(scope, receive, send)
    return answer


class Direct:
    """A gateway without a server: what it sends, whatever it receives."""

    def __init__(self, gateway: tenure.gateway.Gateway) -> None:
        self._gateway, self._runner = gateway, asyncio.Runner()

    def ask(self, sent: Sent, pieces: int = 1, *, hangs_up: bool = False) -> list[Any]:
        """The messages of the answer; none where the sender hung up before the end."""
        return self._runner.run(exchange(self._gateway, sent, pieces, hangs_up=hangs_up))

    def close(self) -> None:
        self._runner.run(self._gateway.close())
        self._runner.close()


@rounds
def test_every_route_gives_only_documented_answers(fuzzed: House, ear: Ear, api: str, requests: int) -> None:
    config = {"inline_secrets": True, "sources": sources(api)}
    direct = Direct(tenure.gateway.asgi(fuzzed.app, config))
    statuses: Counter[tuple[str, int]] = Counter()
    proofs: set[str] = set()

    asked = [0]
    slugs: set[str] = set()

    def one(drawn: tuple[Sent, int, bool]) -> None:
        asked[0] += 1
        sent, pieces, hangs_up = drawn
        slugs.add(sent.slug)
        answer = direct.ask(sent, pieces, hangs_up=hangs_up)
        proofs.update(proofs_in(sent.headers))
        check_silent(ear.told(), sent)
        if not answer:
            assert hangs_up
            return
        start, end = answer
        statuses[sent.place, start["status"]] += 1
        assert start["status"] in answers_of(sent)
        check_silent(repr(start["headers"]).encode() + end["body"], sent)
        if start["status"] == 503:
            assert (b"retry-after", b"5") in start["headers"]
        if sent.meant and not hangs_up and len(sent.body) <= MAX_BODY:
            assert start["status"] in (200, 400, 503)

    try:
        play(requests, st.tuples(sents(), st.integers(1, 5), st.sampled_from([False] * 9 + [True])), one)
        for sent in honest(10**9):
            assert direct.ask(sent)[0]["status"] == taken(sent.slug), sent
        for sent in forgeries():
            assert direct.ask(sent)[0]["status"] == 401, sent
    finally:
        direct.close()
    check_drawn(statuses, slugs, requests)
    assert asked[0] >= requests
    check_kept(fuzzed, ear, proofs)


# As bytes


def heard(line: socket.socket) -> bytes:
    """What a connection says: an answer, and whatever else comes before it is closed."""
    said = b""
    with suppress(ConnectionError):
        while b"\r\n\r\n" not in said.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"):
            piece = line.recv(65_536)
            if not piece:
                return said
            said += piece
        with suppress(OSError):  # hung up by the other side already
            line.shutdown(socket.SHUT_WR)
        while piece := line.recv(65_536):
            said += piece
    return said


def spoken(served: Served, messages: list[bytes]) -> list[bytes]:
    """What each of these is answered, each on a connection of its own, all at once."""
    lines = [served.raw() for _ in messages]
    try:
        for line, message in zip(lines, messages, strict=True):
            with suppress(ConnectionError):
                line.sendall(message)
        return [heard(line) for line in lines]
    finally:
        for line in lines:
            line.close()


@rounds
def test_bytes_of_any_kind_get_documented_answers_or_none(
    fuzzed: House, ear: Ear, api: str, requests: int
) -> None:
    served = fuzzed.serve(*sources(api), body_deadline="250ms", header_deadline="250ms")
    statuses: Counter[tuple[str, int]] = Counter()
    proofs: set[str] = set()
    drawn: list[tuple[Sent, bytes]] = []

    def one(raw: tuple[Sent, bytes]) -> None:
        drawn.append(raw)

    # First drawn, then sent many at once, since some are ended by a deadline alone.
    play(requests, raws(), one)
    assert len(drawn) >= requests
    for at in range(0, len(drawn), 50):
        some, log = drawn[at : at + 50], ""
        for (sent, message), said in zip(some, spoken(served, [m for _, m in some]), strict=True):
            told = [int(status) for status in _STATUS.findall(said) if status != b"100"]
            statuses.update((sent.place, status) for status in told)
            assert set(told) <= answers_of(sent), message
            assert 503 not in told or b"\r\nretry-after: 5\r\n" in said, message
            log += ear.told()
            check_silent(said, sent)
            check_silent(log, sent)
            proofs.update(proofs_in(sent.headers))
    for sent in honest(10**9):
        assert served.post(sent.slug, sent.body, dict(sent.headers)).status == taken(sent.slug), sent
    check_drawn(statuses, {sent.slug for sent, _ in drawn}, requests)
    check_kept(fuzzed, ear, proofs)
