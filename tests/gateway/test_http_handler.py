"""The http handler: deliveries are sent on to a real server, until they are taken or given up on."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import tenure
import tenure.gateway
from tenure import testing
from tenure.gateway import look
from tenure.gateway.handlers.verdict import wait_of
from tenure.gateway.outgoing import Answer
from tests.gateway.house import House
from tests.gateway.scripted import Got, Scripted, answer, drop, hang, looking_up
from tests.gateway.signing import SECRETS, body_of, headers_of, settings_of
from tests.worker.house import Working, until

KEYS = ["whsec_" + base64.b64encode(bytes([n]) * 24).decode() for n in (1, 2)]
SECRET = "hunter2hunter2"
TOKEN = "123456:" + "T" * 35
DOCS = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text("utf-8")


class Scene:
    """An app on a store and by a clock of the test's own, whose deliveries go to a scripted server."""

    def __init__(self, stage: testing.Stage) -> None:
        self.stage, self.queue, self.clock = stage, stage.queue, stage.clock
        self._servers: list[Scripted] = []

    def server(self, *script: Any) -> Scripted:
        made = Scripted(*script)
        self._servers.append(made)
        return made

    def attach(self, sender: str, url: str, options: dict[str, Any] | None = None, **more: Any) -> None:
        """A source whose deliveries are sent there; private addresses are allowed unless it says otherwise."""
        chosen = {"private": True, **(options or {})}
        given = settings_of(sender, **{"handler": "http", "url": url, "options": chosen, **more})
        tenure.gateway.attach(self.stage.app, {"inline_secrets": True, "sources": [given]})

    def put(
        self, sender: str, body: bytes = b"{}", headers: dict[str, str] | None = None, **more: Any
    ) -> str:
        """A delivery, as the gateway would store it."""
        request = tenure.Request(body, headers or {})
        return self.queue.enqueue(f"gateway.{sender}", {}, queue="gateway", request=request, **more).id

    def job(self, job_id: str) -> tenure.JobSeen:
        found = self.queue.get(job_id)
        assert found is not None
        return found

    def errors(self, job_id: str) -> list[str]:
        return [one.message for one in self.queue.history(job_id)]

    def close(self) -> None:
        for server in self._servers:
            server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[Scene]:
    app = tenure.App("sqlite:///never-opened.db")
    with testing.run(app, url=postgres_url if request.param == "postgres" else None) as stage:
        made = Scene(stage)
        yield made
        made.close()


@pytest.fixture
def one() -> Iterator[Scene]:
    """A scene on a file, for what no store has a say in."""
    with testing.run(tenure.App("sqlite:///never-opened.db")) as stage:
        made = Scene(stage)
        yield made
        made.close()


def signatures(key: str, got: Got) -> str:
    """What a receiver computes."""
    message = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    secret = base64.b64decode(key.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(secret, message, hashlib.sha256).digest()).decode()


def test_the_exact_bytes_are_sent_again_under_the_same_key_until_they_are_taken(scene: Scene) -> None:
    server = scene.server(answer(500, b"oops"), drop, answer(202), answer(204))
    scene.attach("generic", f"{server.url}/in?x=1", check={"how": "none"}, secrets=[], key=None, json=False)
    body = bytes(range(256)) * 2_000
    job_id = scene.put("generic", body, {"content-type": "application/x-thing"})
    for wait in ("30s", "2m", "0s"):
        scene.stage.drain()
        scene.clock.advance(wait)
    job = scene.job(job_id)
    assert (job.state, job.attempt, job.result) == ("done", 3, {"status": 202})
    assert scene.errors(job_id) == [
        "the answer was 500",
        f"127.0.0.1:{server.port}: the connection was closed without an answer",
    ]
    scene.queue.replay(job_id)
    scene.stage.drain()
    assert scene.job(job_id).result == {"status": 204}
    assert [got.body for got in server.got] == [body] * 4
    assert {got.line for got in server.got} == {"POST /in?x=1 HTTP/1.1"}
    for name, value in (
        ("idempotency-key", job_id),
        ("webhook-id", job_id),
        ("content-type", "application/x-thing"),
        ("tenure-source", "generic"),
    ):
        assert {got.headers[name] for got in server.got} == {value}
    assert [got.headers["tenure-attempt"] for got in server.got] == ["1", "2", "3", "1"]
    assert "webhook-signature" not in server.got[0].headers


def test_it_is_signed_once_with_each_secret_as_standard_webhooks_are(
    one: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    (tmp_path / "old").write_text(KEYS[1] + "\n")
    server = one.server()
    one.attach("github", server.url, {"secret": ["env:OUT_SECRET", f"file:{tmp_path}/old"]})
    one.put("github", b"\x00\xff not json")
    one.stage.drain()
    [got] = server.got
    assert got.headers["webhook-signature"] == " ".join(signatures(key, got) for key in KEYS)
    assert abs(time.time() - int(got.headers["webhook-timestamp"])) < 60


def test_the_docs_show_a_receiver_how_to_verify(one: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = re.findall(r"```python\n((?:(?!```).)*def verified\(.*?)```", DOCS, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    server = one.server()
    one.attach("github", server.url, {"secret": "env:OUT_SECRET"})
    one.put("github", b'{"a": 1}')
    one.stage.drain()
    [got] = server.got
    verified = names["verified"]
    assert verified(KEYS[0], got.headers, got.body)
    assert not verified(KEYS[1], got.headers, got.body)
    assert not verified(KEYS[0], got.headers, got.body + b" ")
    assert not verified(KEYS[0], {**got.headers, "webhook-timestamp": "1"}, got.body)


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_asked_to_wait_waits_and_loses_no_attempt(scene: Scene, status: int) -> None:
    server = scene.server(answer(status, retry_after="90"), answer(status, retry_after="90"), answer())
    scene.attach("github", server.url, max_attempts=1)
    job_id = scene.put("github", max_attempts=1)
    for _ in range(2):
        assert [type(ran.outcome) for ran in scene.stage.drain()] == [tenure.Snooze]
        job = scene.job(job_id)
        assert (job.state, job.attempt) == ("scheduled", 0)
        scene.clock.advance("89s")
        assert scene.stage.drain() == []
        scene.clock.advance("1s")
    scene.stage.drain()
    assert scene.job(job_id).state == "done"
    assert scene.errors(job_id) == []


@pytest.mark.parametrize("status", [429, 503])
def test_who_is_not_told_how_long_to_wait_tries_again_as_after_any_failure(scene: Scene, status: int) -> None:
    server = scene.server(answer(status), answer(status, retry_after="soon"), answer())
    scene.attach("github", server.url)
    job_id = scene.put("github", max_attempts=5)
    for attempt, wait in enumerate(("30s", "2m"), 1):
        assert [type(ran.outcome) for ran in scene.stage.drain()] == [tenure.Fail]
        job = scene.job(job_id)
        assert (job.state, job.attempt) == ("scheduled", attempt)
        scene.clock.advance(wait)
    scene.stage.drain()
    assert scene.job(job_id).state == "done"
    assert scene.errors(job_id) == [f"the answer was {status}"] * 2


def test_after_a_day_of_being_asked_to_wait_it_counts_as_a_failure(scene: Scene) -> None:
    server = scene.server(answer(429, retry_after="3600"))
    scene.attach("github", server.url, max_attempts=2)
    job_id = scene.put("github", max_attempts=2)
    for _ in range(24):
        [ran] = scene.stage.drain()
        assert ran.job.attempt == 0
        scene.clock.advance("1h")
    scene.stage.drain()
    scene.clock.advance("30s")
    scene.stage.drain()
    assert scene.job(job_id).state == "dead"
    assert scene.errors(job_id) == ["the answer was 429"] * 2


NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "told", "seconds"),
    [
        (429, "7", 7.0),
        (503, "7", 7.0),
        (429, "0", 1.0),
        (429, "7200", 7_200.0),
        (429, "86401", 86_400.0),
        (429, "9" * 400, 86_400.0),
        (429, format_datetime(NOW + timedelta(seconds=40), usegmt=True), 40.0),
        (503, format_datetime(NOW + timedelta(days=40), usegmt=True), 86_400.0),
        (503, format_datetime(NOW - timedelta(days=40), usegmt=True), 1.0),
        (429, "Tue, 01 Jan 2030 00:00:09 -0000", 9.0),
        (429, None, None),
        (429, "soon", None),
        (429, "-5", None),
        (429, "Tue, 99 Foo 2030 00:00:00 GMT", None),
        (503, None, None),
        (503, "soon", None),
        (500, "7", None),
        (404, "7", None),
    ],
    ids=range(18),
)
def test_how_long_to_wait_is_told_in_seconds_or_by_a_date(
    status: int, told: str | None, seconds: float | None
) -> None:
    headers = {} if told is None else {"retry-after": told}
    assert wait_of(Answer(status, headers, b""), NOW.timestamp()) == seconds


def test_what_is_given_up_on_is_dead_at_once_and_the_rest_is_tried_again(scene: Scene) -> None:
    server = scene.server(answer(410), answer(422), answer(408), answer(502))
    scene.attach("github", server.url, {"give_up": [410, "4xx"]})
    jobs = [scene.put("github") for _ in range(4)]
    scene.stage.drain()
    assert [scene.job(j).state for j in jobs] == ["dead", "dead", "scheduled", "scheduled"]
    assert [scene.job(j).error for j in jobs] == [f"the answer was {n}" for n in (410, 422, 408, 502)]
    assert {scene.job(j).reason for j in jobs[:2]} == {"gave up"}


def test_a_status_given_up_on_by_name_is_not_waited_for(one: Scene) -> None:
    server = one.server(answer(429, retry_after="5"))
    one.attach("github", server.url, {"give_up": [429]})
    job_id = one.put("github")
    one.stage.drain()
    assert one.job(job_id).state == "dead"


def test_a_redirect_is_not_followed(one: Scene) -> None:
    other = one.server()
    server = one.server(answer(307, location=f"{other.url}/"))
    one.attach("github", server.url)
    job_id = one.put("github")
    one.stage.drain()
    assert one.job(job_id).state == "scheduled"
    assert one.errors(job_id) == ["the answer was 307"]
    assert other.got == []


def test_an_answer_that_is_too_long_is_an_answer_all_the_same(one: Scene) -> None:
    server = one.server(answer(200, b"x" * 1_100_000), answer(500, b"x" * 1_100_000))
    one.attach("github", server.url)
    first, second = one.put("github"), one.put("github")
    one.stage.drain()
    assert one.job(first).result == {"status": 200}
    assert one.errors(second) == ["the answer was 500"]


def test_a_private_address_is_dead_at_once_unless_it_is_allowed(scene: Scene) -> None:
    server = scene.server()
    with looking_up({"here.test": ["127.0.0.1"]}):
        scene.attach("github", f"http://here.test:{server.port}/", {"private": False})
        job_id = scene.put("github")
        scene.stage.drain()
    job = scene.job(job_id)
    assert (job.state, job.reason) == ("dead", "forbidden address")
    assert "127.0.0.1 is a loopback address" in str(job.error)
    with looking_up({"hooks.test": ["8.8.8.8", "10.0.0.1"]}):
        scene.attach("github", f"http://hooks.test:{server.port}/", {"private": False})
        job_id = scene.put("github")
        scene.stage.drain()
    assert scene.job(job_id).reason == "forbidden address"
    assert server.got == []


def test_no_error_shows_a_secret_or_what_was_answered(
    one: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    said = f"{SECRET} {KEYS[0]}".encode()
    script = [answer(500, said), answer(404, said), drop, hang, said, answer(302, said, location=SECRET)]
    server = one.server(*script)
    options = {"secret": "env:OUT_SECRET", "headers": {"X-Key": SECRET}, "timeout": "1s"}
    one.attach("github", f"{server.url}/{SECRET}?key={SECRET}", options, retry=[0], max_attempts=9)
    job_id = one.put("github", SECRET.encode(), max_attempts=len(script))
    with caplog.at_level(logging.DEBUG):
        one.stage.drain()
    job = one.job(job_id)
    assert (job.state, len(server.got)) == ("dead", len(script))
    history = one.queue.history(job_id)
    assert len(history) == len(script)
    for told in (repr(history), repr(job), caplog.text):
        assert SECRET not in told
        assert KEYS[0] not in told
        assert KEYS[0].removeprefix("whsec_") not in told


@pytest.mark.parametrize("then", [None, "http"], ids=["http", "auth"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "the secret env:OUT_SECRET is not set."),
        ("whsec_!!", "options.secret must be base64, with or without whsec_ before it."),
    ],
)
def test_a_secret_that_cannot_be_signed_with_is_told_at_start(
    one: Scene, monkeypatch: pytest.MonkeyPatch, value: str, problem: str, then: str | None
) -> None:
    monkeypatch.setenv("OUT_SECRET", value)
    options = {"secret": "env:OUT_SECRET"} | ({} if then is None else {"then": then, "allow": [1]})
    given = settings_of(
        "telegram", handler="http" if then is None else "auth", url="https://example.org/", options=options,
        token="inline:123456:abcdefghijklmnopqrstuvwxyzABCDEFGHI",
    )  # fmt: skip
    config = {"inline_secrets": True, "sources": [given]}
    _, problems = tenure.gateway.look(one.stage.app, config)
    assert problems == [f"source 'telegram': {problem}"]
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    registry, problems = tenure.gateway.look(one.stage.app, config)
    assert problems == []
    assert KEYS[0].removeprefix("whsec_") not in registry.mask(f"it says {KEYS[0]}")


@pytest.mark.parametrize("value", ["", "whsec_!!", "whsec_"])
def test_without_its_secret_nothing_is_sent_unsigned(
    one: Scene, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OUT_SECRET", value)
    server = one.server()
    one.attach("github", server.url, {"secret": "env:OUT_SECRET"})
    job_id = one.put("github")
    one.stage.drain()
    [told] = one.errors(job_id)
    assert told.startswith("source 'github' cannot sign: ")
    assert "!!" not in told
    assert server.got == []
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    one.clock.advance("30s")
    one.stage.drain()
    assert one.job(job_id).state == "done"


def test_a_header_s_secret_is_looked_up_when_it_is_sent(one: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUT_AUTH", raising=False)
    server = one.server()
    one.attach("github", server.url, {"headers": {"Authorization": "env:OUT_AUTH", "X-Team": "shop"}})
    job_id = one.put("github")
    one.stage.drain()
    [told] = one.errors(job_id)
    assert told.startswith(
        "source 'github' cannot send: the secret env:OUT_AUTH is not set (it stands in options.headers.Authorization);"
    )
    assert server.got == []
    monkeypatch.setenv("OUT_AUTH", f"Bearer {SECRET}")
    one.clock.advance("30s")
    one.stage.drain()
    [got] = server.got
    assert (got.headers["authorization"], got.headers["x-team"]) == (f"Bearer {SECRET}", "shop")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "the secret env:OUT_AUTH is not set (it stands in options.headers.Authorization)."),
        ("Bearer\r\nX-B: 1", "options.headers.Authorization is no plain text."),
    ],
    ids=["unset", "lines"],
)
def test_a_header_s_secret_that_cannot_be_sent_is_told_at_start_and_a_good_one_is_masked(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    headers = {"Authorization": "env:OUT_AUTH", "X-Api-Key": "a-literal-key", "X-Team": "shop"}
    config = {
        "inline_secrets": True,
        "sources": [settings_of("github", handler="http", url=URL, options={"headers": headers})],
    }
    app = tenure.App("sqlite:///never-opened.db")
    monkeypatch.setenv("OUT_AUTH", value)
    assert look(app, config)[1] == [f"source 'github': {problem}"]
    monkeypatch.setenv("OUT_AUTH", f"Bearer {SECRET}")
    registry, problems = look(app, config)
    assert problems == []
    assert registry.mask(f"{SECRET} a-literal-key shop") == "*** *** shop"


KEPT = {"content-type": "a/b", "user-agent": "them", "x-github-event": "push", "x-github-delivery": "d-1"}


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ({}, {"x-github-event": "push", "x-github-delivery": "d-1", "user-agent": "them"}),
        ({"forward": ["X-GitHub-Event"]}, {"x-github-event": "push", "user-agent": "tenure"}),
        ({"forward": []}, {"user-agent": "tenure"}),
        ({"forward": [], "headers": {"User-Agent": "us", "X-Own": "1"}}, {"user-agent": "us", "x-own": "1"}),
    ],
    ids=["kept", "chosen", "none", "fixed"],
)
def test_kept_headers_are_passed_on_as_the_settings_say(
    one: Scene, options: dict[str, Any], passed: dict[str, str]
) -> None:
    server = one.server()
    one.attach("github", server.url, options)
    one.put("github", b"{}", {**KEPT, "x-bad": "1"})
    one.stage.drain()
    found = server.got[0].headers
    assert found["content-type"] == "a/b"
    assert {n: v for n, v in found.items() if n.startswith(("x-github", "x-own", "user-"))} == passed


def test_a_sender_s_own_words_never_stand_in_for_ours(one: Scene) -> None:
    server = one.server()
    one.attach("standard", server.url)
    job_id = one.put(
        "standard",
        headers={
            "webhook-id": "theirs",
            "webhook-timestamp": "1",
            "content-type": "a\r\nb: c",
            "svix-id": "x",
        },
        meta={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    )
    one.stage.drain()
    found = server.got[0].headers
    assert (found["webhook-id"], found["idempotency-key"], found["svix-id"]) == (job_id, job_id, "x")
    assert found["webhook-timestamp"] != "1"
    assert (found["content-type"], "b" in found) == ("application/json", False)
    assert found["traceparent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


URL = "https://hooks.example.org/in"
PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"url": None}, 'url must be given for the handler http; write url = "https://…".'),
    ({"handler": "http:x"}, "handler: http takes nothing after it; name the place in url."),
    ({"options": {"timout": 3}}, "options.timout is unknown; did you mean 'timeout'?"),
    (
        {"options": {"colour": 3}},
        "options.colour is unknown; known are secret, timeout, give_up, private, headers, forward.",
    ),
    ({"options": {"private": "yes"}}, "options.private: expected `bool`, got `str`."),
    ({"options": {"secret": "hunter2"}}, "options.secret must be written env:NAME or file:/path."),
    (
        {"options": {"give_up": [200]}},
        'options.give_up must hold statuses from 300 to 599 and "3xx", "4xx" or "5xx", got 200.',
    ),
    (
        {"options": {"give_up": ["2xx"]}},
        'options.give_up must hold statuses from 300 to 599 and "3xx", "4xx" or "5xx", got \'2xx\'.',
    ),
    (
        {"options": {"timeout": "60s"}},
        "options.timeout must be longer than zero and below the source's timeout, 60 s.",
    ),
    (
        {"options": {"timeout": 0}},
        "options.timeout must be longer than zero and below the source's timeout, 60 s.",
    ),
    (
        {"async": False, "options": {"timeout": "8s"}},
        "options.timeout must be longer than zero and below the source's deadline, 8 s.",
    ),
    (
        {"options": {"timeout": "soon"}},
        'options.timeout: must be a duration, got \'soon\'; write it like "90s", "1h30m", "7d", or pass a timedelta.',
    ),
    (
        {"options": {"headers": {"Host": "x"}}},
        "options.headers cannot hold 'Host', which is sent by itself or is no plain text.",
    ),
    (
        {"options": {"headers": {"Webhook-Id": "x"}}},
        "options.headers cannot hold 'Webhook-Id', which is sent by itself or is no plain text.",
    ),
    (
        {"options": {"headers": {"X-A": f"{SECRET}\r\nX-B: 1"}}},
        "options.headers cannot hold 'X-A', which is sent by itself or is no plain text.",
    ),
    *(
        (
            {"options": {"headers": {name: SECRET}}},
            f"options.headers.{name} is a secret; write it env:NAME or file:/path, or set inline_secrets = true.",
        )
        for name in ("Authorization", "Cookie", "X-Auth-Token", "X-Api-Key", "Ocp-Apim-Subscription-Key")
    ),
    (
        {"options": {"forward": ["Authorization"]}},
        "options.forward names 'Authorization', which this source does not keep.",
    ),
]


@pytest.mark.parametrize(("change", "sentence"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_each_problem_is_one_clear_sentence(change: dict[str, Any], sentence: str) -> None:
    given = settings_of("github", **{"handler": "http", "url": URL, **change})
    config = {"inline_secrets": False, "sources": [{**given, "secrets": ["env:NOT_SET_HERE"]}]}
    _, problems = look(tenure.App("sqlite:///never-opened.db"), config, secrets=False)
    assert problems == [f"source 'github': {sentence}"]


def test_good_settings_have_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "secret": ["env:OUT_SECRET", "inline:abcd"], "timeout": "20s", "give_up": [404, "5xx"], "private": True,
        "headers": {"X-Own": "1", "Authorization": "Bearer hunter2", "X-Key": "env:NOT_SET_HERE"}, "forward": ["X-GitHub-Event", "x-own-id"],
    }  # fmt: skip
    source = settings_of("github", handler="http", url=URL, options=options, key="header:X-Own-Id")
    config = {"inline_secrets": True, "sources": [source]}
    assert look(tenure.App("sqlite:///never-opened.db"), config, secrets=False)[1] == []


def sync(sender: str, server: Scripted, **more: Any) -> dict[str, Any]:
    given = {"async": False, "handler": "http", "url": server.url, "options": {"private": True}, **more}
    return settings_of(sender, **given)


def test_a_sync_source_waits_for_the_answer_and_tells_its_own_key(light: House) -> None:
    with Scripted(answer(200, b'{"secret": "of theirs"}'), answer(500), answer(429), drop) as server:
        served = light.serve(sync("github", server))
        body = body_of("github")
        answers = [served.post("github", body, headers_of("github", body, id="9")) for _ in range(4)]
    assert (answers[0].status, answers[0].json) == (200, {"ok": True})
    assert {(a.status, a.json["error"]) for a in answers[1:]} == {(503, "handler failed")}
    assert {got.headers["idempotency-key"] for got in server.got} == {"github:d-9"}
    assert {got.headers["webhook-id"] for got in server.got} == {"github:d-9"}
    assert {got.body for got in server.got} == {body}
    assert light.app.queue.list() == []


def test_what_a_sync_source_gives_up_on_is_answered_200_and_not_sent_again(
    light: House, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = (410, 422, 425, 429, 404)
    with Scripted(*(answer(one, b"why") for one in statuses)) as server:
        options = {"private": True, "give_up": [410, 425, "4xx"]}
        served = light.serve(sync("telegram", server, options=options))
        body = body_of("telegram")
        answers = [served.post("telegram", body, headers_of("telegram", body)) for _ in statuses]
    assert [a.status for a in answers] == [200, 200, 200, 503, 200]
    assert answers[0].json == {"ok": True, "gave_up": True}
    assert answers[3].json == {"ok": False, "error": "handler failed"}
    assert served.gateway.counters.given_up == {"telegram": 4}
    assert (
        "telegram: the handler gave up, and the sender need not try again: GaveUp: the answer was 410"
        in caplog.text
    )


def test_a_sync_source_s_sender_is_told_503_before_it_gives_up(light: House) -> None:
    with Scripted(hang) as server:
        served = light.serve(sync("github", server, deadline="200ms"))
        body = body_of("github")
        refused = served.post("github", body, headers_of("github", body))
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")


def test_a_sync_source_whose_place_is_private_loses_nothing_while_its_settings_are_repaired(
    light: House,
) -> None:
    with Scripted() as server, looking_up({"here.test": ["127.0.0.1"]}):
        served = light.serve(sync("github", server, url=f"http://here.test:{server.port}/", options={}))
        body = body_of("github")
        refused = served.post("github", body, headers_of("github", body))
    assert (refused.status, refused.json["error"]) == (503, "handler failed")
    assert server.got == []


REPLY = {"method": "sendMessage", "chat_id": 42, "text": "got it"}


def test_a_sync_source_answers_telegram_with_the_reply(
    light: House, caplog: pytest.LogCaptureFixture
) -> None:
    others = [
        b'{"method": "deleteWebhook"}',
        b'{"method": 1}',
        b"[1]",
        b"no json",
        b"",
        b'{"method": "send"}',
    ]
    with Scripted(*(answer(200, said) for said in [json.dumps(REPLY).encode(), *others])) as server:
        served = light.serve(sync("telegram", server))
        body = body_of("telegram")
        told = [served.post("telegram", body, headers_of("telegram", body)).json for _ in range(7)]
    assert told == [REPLY, *[{"ok": True}] * 6]
    assert "names the method 'deleteWebhook', which is no reply" in caplog.text
    assert {got.headers["idempotency-key"] for got in server.got} == {"telegram:7"}


def fine(result: Any = True) -> bytes:
    return answer(200, json.dumps({"ok": True, "result": result}).encode())


def refused(code: int, description: str, **parameters: Any) -> bytes:
    said = {"ok": False, "error_code": code, "description": description, "parameters": parameters}
    return answer(code, json.dumps(said).encode())


def telegram(scene: Scene, server: Scripted, api: Scripted, **more: Any) -> None:
    given = {"token": f"inline:{TOKEN}", "api": api.url, "apology": "", **more}
    scene.attach("telegram", server.url, given.pop("options", None), **given)


def test_a_reply_that_has_to_wait_does_not_send_its_delivery_again(scene: Scene) -> None:
    server = scene.server(answer(200, json.dumps(REPLY).encode()))
    api = scene.server(refused(429, "Too Many Requests", retry_after=1), fine())
    telegram(scene, server, api)
    job_id = scene.put("telegram", group="gateway.telegram:42", order="start", expires_in="24h")
    scene.stage.drain()
    job = scene.job(job_id)
    assert job.state == "done"
    assert {n: v for n, v in job.result.items() if n != "reply_id"} == {"status": 200, "reply": REPLY}
    reply = scene.job(job.result["reply_id"])
    assert (reply.kind, reply.state, reply.attempt) == ("gateway.telegram.reply", "scheduled", 0)
    assert (reply.parent, reply.group) == (job_id, "gateway.telegram.reply:42")
    assert reply.expires_at == job.expires_at
    scene.clock.advance("1s")
    scene.stage.drain()
    assert (scene.job(reply.id).state, scene.job(reply.id).result) == ("done", "sent")
    assert len(server.got) == 1
    assert [got.line for got in api.got] == [f"POST /bot{TOKEN}/sendMessage HTTP/1.1"] * 2
    assert json.loads(api.got[1].body) == {"chat_id": 42, "text": "got it"}


def test_a_delivery_that_was_sent_twice_is_replied_to_once(scene: Scene) -> None:
    server = scene.server(answer(200, json.dumps(REPLY).encode()))
    api = scene.server(fine())
    telegram(scene, server, api)
    job_id = scene.put("telegram")
    scene.stage.crash("before_settle", kind="gateway.telegram")
    scene.stage.drain()
    scene.clock.advance("31s")
    scene.stage.drain()
    scene.queue.replay(job_id)
    scene.stage.drain()
    assert scene.job(job_id).state == "done"
    assert {got.headers["idempotency-key"] for got in server.got} == {job_id}
    assert (len(server.got), len(api.got)) == (3, 1)


@pytest.mark.parametrize(
    ("said", "state", "told"),
    [
        (refused(403, "Forbidden: bot was blocked by the user"), "done", "not sent: Forbidden: bot was blocked by the user"),
        (refused(400, "Bad Request: can't parse entities"), "dead", "Telegram refused: 400 Bad Request: can't parse entities"),
        (refused(502, "Bad Gateway"), "scheduled", "Telegram refused: 502 Bad Gateway"),
        (drop, "scheduled", "the connection was closed without an answer"),
    ],
    ids=["blocked", "wrong", "down", "gone"],
)  # fmt: skip
def test_what_telegram_says_of_a_reply_is_the_reply_s_own_fate(
    one: Scene, said: Any, state: str, told: str
) -> None:
    server, api = one.server(answer(200, json.dumps(REPLY).encode())), one.server(said)
    telegram(one, server, api)
    job_id = one.put("telegram")
    one.stage.drain()
    reply = one.job(one.job(job_id).result["reply_id"])
    assert reply.state == state
    assert (reply.result or str(reply.error)).endswith(told)
    assert TOKEN not in repr(one.queue.history(reply.id))
    assert len(server.got) == 1


def test_a_reply_to_a_chat_that_moved_follows_it(one: Scene) -> None:
    server = one.server(answer(200, json.dumps(REPLY).encode()))
    api = one.server(refused(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=43), fine())
    telegram(one, server, api)
    one.put("telegram")
    one.stage.drain()
    assert [json.loads(got.body)["chat_id"] for got in api.got] == [42, 43]


def test_what_auth_hands_over_is_sent_on_and_replied_to(one: Scene) -> None:
    server, api = one.server(answer(200, json.dumps(REPLY).encode())), one.server(fine())
    telegram(one, server, api, handler="auth", options={"then": "http", "allow": [5], "private": True})
    body = body_of("telegram", message={"chat": {"id": 42}, "from": {"id": 5}, "text": "hi"})
    job_id = one.put("telegram", body)
    one.stage.drain()
    assert one.job(job_id).result["reply"] == REPLY
    assert [got.body for got in server.got] == [body]
    assert len(api.got) == 1


def test_without_a_token_a_reply_is_not_given_and_the_result_says_so(one: Scene) -> None:
    server = one.server(answer(200, json.dumps(REPLY).encode()))
    one.attach("telegram", server.url)
    job_id = one.put("telegram")
    one.stage.drain()
    assert one.job(job_id).result == {"status": 200, "reply": "not given: the source has no token"}


def test_only_telegram_s_receivers_reply(one: Scene) -> None:
    server = one.server(answer(200, json.dumps(REPLY).encode()))
    one.attach("github", server.url)
    job_id = one.put("github")
    one.stage.drain()
    assert one.job(job_id).result == {"status": 200}
    assert "gateway.github.reply" not in one.stage.app.kinds


def test_a_source_named_as_another_s_replies_is_refused() -> None:
    app = tenure.App("sqlite:///never-opened.db")
    sources = [
        settings_of("telegram", slug="bot", handler="http", url=URL),
        settings_of("telegram", slug="bot.reply", handler="http", url=URL),
    ]
    with pytest.raises(tenure.gateway.GatewayRefused, match="the name is for the replies of 'bot'"):
        tenure.gateway.attach(app, {"inline_secrets": True, "sources": sources})


def test_from_the_sender_through_a_worker_to_the_receiver(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUT_SECRET", KEYS[0])
    with Scripted(answer(503), answer(200)) as server:
        options = {"private": True, "secret": "env:OUT_SECRET"}
        served = house.serve(
            settings_of("github", handler="http", url=server.url, options=options, retry=["1ms"])
        )
        working = Working(house.app, {})
        try:
            body = body_of("github")
            given = {**headers_of("github", body), "Content-Type": "application/json; charset=utf-8"}
            job_id = served.post("github", body, given).json["id"]
            queue = house.app.queue
            until(lambda: (job := queue.get(job_id)) is not None and job.state == "done")
        finally:
            working.stop()
    assert [got.body for got in server.got] == [body, body]
    for got in server.got:
        assert got.headers["content-type"] == "application/json; charset=utf-8"
        assert got.headers["x-github-event"] == "ping"
        assert got.headers["idempotency-key"] == job_id
        assert got.headers["webhook-signature"] == signatures(KEYS[0], got)
        assert SECRETS["github"] not in repr(got)
