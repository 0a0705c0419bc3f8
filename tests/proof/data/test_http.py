"""Whatever is sent to a gateway on PostgreSQL, or to a dashboard: only documented answers, and no secret anywhere."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import strategies as st

import tenure
import tenure.gateway
from tenure.dashboard.api import PAGES
from tenure.dashboard.settings import DashboardSettings
from tenure.testing.telegram import FakeTelegram
from tests.dashboard.house import House as Desk
from tests.gateway.fuzzing import CANARIES, PASSWORD, TOKEN, Sent, proofs_in, sents, sources
from tests.gateway.house import House
from tests.gateway.signing import SECRETS
from tests.gateway.test_fuzz import Direct, answers_of
from tests.proof import depth
from tests.proof.data.canary import CANARY, Aviary, everything_in, listening
from tests.proof.data.test_payloads import drawn
from tests.proof.data.writing import nearly
from tests.proof.tally import Tally
from tests.worker.house import Working, until


@pytest.fixture
def heard() -> Iterator[Aviary]:
    with listening() as made:
        yield made


@pytest.fixture
def house(direct: dict[str, str]) -> House:
    """An app on PostgreSQL whose handlers tell what they should not."""
    made = House(direct["postgres"])

    @made.app.job
    async def fails(ctx: tenure.Context, event: dict[str, Any]) -> None:
        raise RuntimeError(
            f"it is {TOKEN}" if ctx.claimed else " and ".join((TOKEN, PASSWORD, *SECRETS.values()))
        )

    @made.app.job
    def whole(delivery: tenure.gateway.Delivery) -> None:
        assert isinstance(delivery.body, bytes)

    return made


@pytest.mark.timeout(400)
def test_a_gateway_on_postgresql_gives_only_documented_answers(
    house: House, direct: dict[str, str], heard: Aviary, seed: int, tally: Tally
) -> None:
    statuses: Counter[int] = Counter()
    proofs: set[str] = set()
    with FakeTelegram(token="1:another-bot") as telegram:
        gateway = tenure.gateway.asgi(house.app, {"inline_secrets": True, "sources": sources(telegram.url)})
        asked = Direct(gateway)
        try:
            for sent in drawn(sents(), depth.of(test=50, proof=700), seed):
                assert isinstance(sent, Sent)
                start, end = asked.ask(sent, 2)
                statuses[start["status"]] += 1
                assert start["status"] in answers_of(sent), sent
                proofs.update(proofs_in(sent.headers))
                heard.text(repr(start["headers"]))
                heard.text(end["body"])
            working = Working(house.app, {})
            until(lambda: not house.app.queue.list(tenure.Filter(states=["ready"]), limit=1))
            working.stop()
            tally(requests=sum(statuses.values()), jobs=len(house.app.queue.list(limit=10_000)))
        finally:
            asked._runner.run(house.app.aclose())
            asked.close()
    assert statuses[200]
    url, _, schema = direct["postgres"].partition("?schema=")
    for row in everything_in(url, schema):
        heard.text(row)
    heard.check(*CANARIES, *proofs)


ANSWERS = {200, 303, 400, 401, 403, 404, 405, 413, 415, 421, 422, 429}
_QUERIES = ("q=state:dead&limit=5", "q=kind:mail* age:>1h&before=01890000", "look=10&of=payload.user.id:7", "hours=24&cursor=3", "text=stat&at=4")  # fmt: skip
_JOB = "01890000-0000-7000-8000-000000000000"
_BODIES = (
    f'{{"action": "retry", "ids": ["{_JOB}"]}}', '{"action": "retry", "q": "state:dead", "rate": 5}',
    '{"action": "cancel", "q": "kind:mail* age:>1h"}', '{"action": "pause", "name": "mail"}', '{"action": "resume", "name": "mail"}',
    f'{{"action": "enqueue_edited", "ids": ["{_JOB}"], "payload": "{{}}"}}', '{"action": "run_cron", "name": "daily"}',
    f'{{"action": "enqueue_edited", "ids": ["{_JOB}"], "payload": "{"[" * 3_000}"}}', "[" * 5_000, "[1, 2, 3]", "null", "",
)  # fmt: skip
_HEADERS = ("Bearer {}", "bearer  {}", "Basic e30=", "Token {}", "", "Bearer")


@pytest.mark.timeout(400)
def test_a_dashboard_gives_only_documented_answers(
    direct: dict[str, str], heard: Aviary, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-http-dashboard")
    desk, statuses = Desk(direct["sqlite"]), Counter[int]()
    token = f"operator-{CANARY}"
    try:
        job = desk.dead(payload={"password": CANARY})
        served = desk.serve(DashboardSettings(operator_token=token, mask_operators=True))
        csrf = served.get("/api/me", token=token).json["csrf"]
        count = depth.of(test=100, proof=2_000)
        texts = st.tuples(nearly(st.sampled_from(_QUERIES)), nearly(st.sampled_from(_BODIES)))
        for asked, body in drawn(texts, count, seed):
            headers = {"Authorization": rng.choice((*_HEADERS[:1],) * 20 + _HEADERS[1:4]).format(token)}
            headers |= {
                "Content-Type": "application/json",
                "X-Tenure-CSRF": csrf if rng.random() < 0.8 else "no",
            }
            page = (
                rng.choice([*PAGES])
                .replace("{id}", rng.choice((job, "x", "%00")))
                .replace("{flow:path}", "a/b")
            )
            safe = quote(asked.encode("utf-8", "surrogateescape"), safe="=&:*>")
            if rng.random() < 0.4:
                sent = body.encode("utf-8", "surrogateescape")
                answer = served.ask("POST", "/api/act", sent, headers)
            else:
                answer = served.ask(
                    rng.choice(("GET", "GET", "GET", "HEAD", "PUT")), f"{page}?{safe}", headers=headers
                )
            statuses[answer.status] += 1
            assert answer.status in ANSWERS, (answer.status, page, asked, body, answer.body[:300])
            heard.text(answer.body)
        assert statuses[200]
        assert json.loads(served.get("/api/me", token=token).body)
    finally:
        desk.close()
    heard.check(CANARY, urlencode({"p": CANARY})[2:])
    tally(requests=sum(statuses.values()))


def test_a_body_that_is_no_text_or_too_deep_is_refused(direct: dict[str, str]) -> None:
    desk = Desk(direct["sqlite"])
    try:
        job = desk.dead()
        served = desk.serve()
        csrf = served.get("/api/me").json["csrf"]
        headers = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf}
        deep = json.dumps({"action": "enqueue_edited", "ids": [job], "payload": "[" * 3_000}).encode()
        for body in (b'{"action": "\xff"}', b"[" * 5_000, b'{"action": "' + b"[" * 5_000, deep):
            answer = served.ask("POST", "/api/act", body, headers)
            assert answer.status == 400, (body[:40], answer)
    finally:
        desk.close()
