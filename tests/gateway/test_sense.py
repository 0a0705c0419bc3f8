"""Settings that mean nothing, that weaken a proof or that would keep a secret are told at start; no header of proof is kept."""

from __future__ import annotations

from typing import Any

import pytest

import tenure
from tenure.gateway import Delivery, look
from tenure.gateway.secrets import is_secret_header
from tenure.gateway.settings import Check, SourceSettings
from tenure.gateway.sources import SOURCES
from tests.gateway.house import House
from tests.gateway.signing import SECRETS, SENDERS, headers_of, settings_of


def problems_of(source: dict[str, Any]) -> list[str]:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    @app.job
    async def whole(delivery: Delivery) -> None: ...

    @app.job
    async def on_two(update: dict[str, Any], admin: bool = False) -> None: ...

    return look(app, {"inline_secrets": True, "sources": [source]})[1]


GENERIC: list[tuple[dict[str, Any], str]] = [
    (
        {"check": {"timestamp_header": "X-Time"}},
        "check.template must hold {ts}: without it nobody signs what check.timestamp_header says",
    ),
    (
        {"check": {"how": "none"}},
        'check.how = "none" asks for no proof, and there are secrets; leave out one of the two',
    ),
    ({"check": {"header": ""}}, "check.header must be the name of a header, got ''"),
    ({"check": {"how": "token", "header": "X Id"}}, "check.header must be the name of a header, got 'X Id'"),
    (
        {"check": {"template": "{ts}{body}", "timestamp_header": "a:b"}},
        "check.timestamp_header must be the name of a header, got 'a:b'",
    ),
    ({"key": "header:"}, 'key names no header; write key = "header:X-Id"'),
    ({"key": "json:"}, 'key names no member; write key = "json:data.id"'),
    ({"order_by": "header:"}, 'order_by names no header; write order_by = "header:X-Id"'),
    (
        {"json": False, "handler": "python:whole"},
        "key reads JSON, and json = false takes any body; name a header",
    ),
    (
        {"json": False, "handler": "python:whole", "key": None, "order_by": "json:id"},
        "order_by reads JSON, and json = false takes any body; name a header",
    ),
    (
        {"json": False, "handler": "python:on_two", "key": None},
        "handler: json = false takes any body, so on_two must take a tenure.gateway.Delivery",
    ),
    (
        {"check": {"how": "token", "header": "X-Id"}, "key": "header:x-id"},
        "key names x-id, which carries a secret or a signature and is never kept",
    ),
    *(
        (
            {
                "check": {"how": how, name: value},
                **({"secrets": ["inline:ann:pw"]} if how == "basic" else {}),
            },
            f'check.{name} does nothing where check.how is "{how}"; leave it out',
        )
        for how, name, value in (
            ("token", "timestamp_header", "X-Time"),
            ("token", "prefix", "Bearer "),
            ("token", "encoding", "base64"),
            ("basic", "header", "X-Id"),
            ("basic", "template", "{ts}{body}"),
        )
    ),
    (
        {"expiry": {"order.created": "1h", "*": "2h"}},
        'expiry.order.created: requests to a generic source have no types; write expiry = { "*" = … }',
    ),
]


@pytest.mark.parametrize(("change", "sentence"), GENERIC, ids=range(len(GENERIC)))
def test_a_generic_source_is_told_what_means_nothing(change: dict[str, Any], sentence: str) -> None:
    assert problems_of(settings_of("generic", **change)) == [f"source 'generic': {sentence}."]


BOT: list[tuple[dict[str, Any], str]] = [
    ({"check": {"how": "none"}}, "check is for generic sources."),
    ({"options": {"colour": 1}}, "options: python takes none, got colour."),
    (
        {"handler": "echo", "token": "inline:1:abc", "options": {"b": 1, "a": 2}},
        "options: echo takes none, got a, b.",
    ),
    ({"url": "https://example.org/"}, "url is for the handler http."),
    (
        {"handler": "auth", "token": "inline:1:abc", "options": {"then": "echo"}, "url": "https://x.org/"},
        "url is for the handler http.",
    ),
    ({"async": False, "token": "inline:1:abc", "apology": "Sorry."}, "apology is for async sources."),
    (
        {"async": False, "deadline": "61s"},
        "deadline must be at most 60s, for no sender waits longer; or set async = true.",
    ),
    (
        {"expiry": {"callback_qery": "1m"}},
        "expiry.callback_qery: Telegram has no such type of update; did you mean 'callback_query'?",
    ),
    ({"expiry": {"weather": "1m"}}, "expiry.weather: Telegram has no such type of update."),
]


@pytest.mark.parametrize(("change", "sentence"), BOT, ids=range(len(BOT)))
def test_a_bot_is_told_what_means_nothing(change: dict[str, Any], sentence: str) -> None:
    assert problems_of(settings_of("telegram", **change)) == [f"source 'telegram': {sentence}"]


PROOFS = {
    "telegram": "X-Telegram-Bot-Api-Secret-Token",
    "github": "X-Hub-Signature-256",
    "stripe": "Stripe-Signature",
    "slack": "X-Slack-Signature",
    "standard": "webhook-signature",
    "gitlab": "X-Gitlab-Token",
    "generic": "X-Signature",
}


@pytest.mark.parametrize("where", ["key", "order_by"])
@pytest.mark.parametrize("sender", SENDERS)
def test_no_source_may_keep_what_proves_its_sender(sender: str, where: str) -> None:
    for name in (PROOFS[sender], "Authorization", "cookie"):
        [told] = problems_of(settings_of(sender, **{where: f"header:{name}"}))
        assert told == f"source {sender!r}: {where} names {name}, which carries a secret or a signature and is never kept."  # fmt: skip


@pytest.mark.parametrize("sender", SENDERS)
def test_a_header_of_proof_is_never_kept_even_if_it_is_named(sender: str) -> None:
    settings = SourceSettings(
        slug="s", type=sender, key=f"header:{PROOFS[sender]}", order_by="header:Authorization"
    )
    source = SOURCES[sender](settings, [SECRETS[sender]])
    given = {name.lower(): value for name, value in headers_of(sender, b"{}").items()}
    kept = source.keep({**given, "authorization": "Bearer hunter2"})
    assert PROOFS[sender].lower() not in kept
    assert "authorization" not in kept


def test_a_token_s_own_header_is_never_kept() -> None:
    settings = SourceSettings(
        slug="s", type="generic", key="header:X-Who", check=Check(how="token", header="X-Who")
    )
    assert SOURCES["generic"](settings, ["hunter2"]).keep({"x-who": "hunter2", "user-agent": "u"}) == {
        "user-agent": "u"
    }


@pytest.mark.parametrize(
    ("name", "secret"),
    [("X-Api-Key", True), ("apikey", True), ("Set-Cookie", True), ("X-Auth", True), ("Idempotency-Key", False),
     ("X-Request-Id", False), ("X-Author", False), ("X-Tokens-Left", False)],
)  # fmt: skip
def test_headers_of_secrets_are_known_by_their_names(name: str, secret: bool) -> None:
    assert is_secret_header(name) is secret


def test_a_body_that_is_more_than_one_value_chooses_no_other_argument(light: House) -> None:
    """As if the settings had said json = false when it came, and say otherwise now."""
    got: list[Any] = []

    @light.app.job
    async def on_two(update: dict[str, Any], admin: bool = False) -> None:
        got.append((update, admin))

    config = {"inline_secrets": True, "sources": [settings_of("generic", handler="python:on_two")]}
    tenure.gateway.attach(light.app, config)
    bodies = (b'{}, "admin": true', b'{"a": 1}', b'{}}, "x": {"a": 1')
    with tenure.testing.run(light.app) as stage:
        ids = [
            stage.queue.enqueue("gateway.generic", {}, queue="gateway", request=tenure.Request(body, {})).id
            for body in bodies
        ]
        stage.drain()
        jobs = [stage.queue.get(one) for one in ids]
    assert [(j.state, j.reason) for j in jobs if j] == [
        ("dead", "bad arguments"),
        ("done", None),
        ("dead", "bad arguments"),
    ]
    assert got == [({"a": 1}, False)]
