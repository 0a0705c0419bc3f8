"""Who may send: the senders' published examples, and every way a proof can be wrong."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import Any, NamedTuple

import pytest
import time_machine

from tenure.gateway.delivery import Delivery
from tenure.gateway.settings import Check, SourceSettings
from tenure.gateway.sources import SOURCES, Source
from tests.gateway.house import House
from tests.gateway.signing import SECRETS, SENDERS, body_of, headers_of, settings_of

NOW = 1_700_000_000.0


def source_of(sender: str, *secrets: str, **settings: Any) -> Source:
    if sender == "generic" and "check" not in settings:
        settings["check"] = Check(template="{ts}.{body}", timestamp_header="X-Time", prefix="sha256=")
    given = SourceSettings(slug=sender, type=sender, **settings)
    return SOURCES[sender](given, secrets or (SECRETS[sender],))


def lowered(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
    b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
    b"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F"
    b"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)


class Published(NamedTuple):
    """A sender's own example: what it sends, when, and the check of a generic source that takes it as well."""

    sender: str
    secret: str
    body: bytes
    headers: dict[str, str]
    at: int
    check: dict[str, str] | None = None


PUBLISHED = {
    "github": Published(
        "github",
        "It's a Secret to Everybody",
        b"Hello, World!",
        {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
        int(NOW),
        {"header": "X-Hub-Signature-256", "prefix": "sha256="},
    ),
    "slack": Published(
        "slack",
        "8f742231b10e8888abcd99yyyzzz85a5",
        SLACK_BODY,
        {
            "x-slack-request-timestamp": "1531420618",
            "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        },
        1_531_420_618,
        {
            "header": "X-Slack-Signature",
            "prefix": "v0=",
            "template": "v0:{ts}:{body}",
            "timestamp_header": "X-Slack-Request-Timestamp",
        },
    ),
    **{
        name: Published(
            "standard",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            b'{"test": 2432232314}',
            {
                f"{name}-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
                f"{name}-timestamp": "1614265330",
                f"{name}-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
            1_614_265_330,
        )
        for name in ("webhook", "svix")
    },
}
"""Telegram and GitLab sign nothing, and Stripe publishes no secret beside its example."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_sender_s_published_example_is_authentic(name: str) -> None:
    sender, secret, body, headers, at, _ = PUBLISHED[name]
    source = source_of(sender, secret)
    assert source.reject(headers, body, at) is None
    assert source.reject(headers, body + b"?", at) == "bad signature"
    if sender != "github":
        assert source.reject(headers, body, at + 301) == "stale timestamp"
        assert source.reject(headers, body, at - 301) == "stale timestamp"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_sender_s_published_example_gets_through_its_route_in_its_time(light: House, name: str) -> None:
    sender, secret, body, headers, at, check = PUBLISHED[name]
    sources = [settings_of(sender, secrets=[f"inline:{secret}"])]
    if check:
        alike = {"json": False, "check": check, "handler": "python:whole", "key": "body"}
        sources.append({**settings_of("generic", secrets=[f"inline:{secret}"]), **alike})

    @light.app.job
    def whole(delivery: Delivery) -> None: ...

    served = light.serve(*sources)
    with time_machine.travel(at):
        answers = [served.post(source["slug"], body, headers) for source in sources]
        changed = [served.post(source["slug"], body + b" ", headers) for source in sources]
    with time_machine.travel(at + 302):
        late = [served.post(source["slug"], body, headers) for source in sources]
    # GitHub's and Slack's examples are no JSON: past the check, they are 400, and 200 where any body is taken.
    assert [a.status for a in answers] == ([400, 200] if check else [200])
    assert {a.json["error"] for a in changed} == {"bad signature"}
    if sender != "github":
        assert {a.json["error"] for a in late} == {"stale timestamp"}
    [job] = light.app.queue.list()
    request = light.app.queue.request(job.id)
    assert request is not None
    assert request.body == body


def test_stripe_s_fake_scheme_proves_nothing() -> None:
    """Beside v1 Stripe sends a v0 for tests of its own, which is to be ignored, and nothing but the right v1 will do."""
    body = body_of("stripe")
    good = headers_of("stripe", body, at=NOW)["Stripe-Signature"]
    stamp, _, right = good.split(",")
    source = source_of("stripe")
    assert source.reject({"stripe-signature": f"{stamp}, {right}, v0=abc"}, body, NOW) is None
    assert (
        source.reject({"stripe-signature": f"{stamp},{right.replace('v1', 'v0')}"}, body, NOW)
        == "bad signature"
    )


@pytest.mark.parametrize("sender", SENDERS)
def test_what_a_sender_signed_is_authentic(sender: str) -> None:
    body = body_of(sender)
    assert source_of(sender).reject(lowered(headers_of(sender, body, at=NOW)), body, NOW) is None


@pytest.mark.parametrize("sender", SENDERS)
def test_while_secrets_rotate_either_is_taken_and_a_third_is_not(sender: str) -> None:
    old, new, other = SECRETS[sender], SECRETS[sender][:-4] + "AAAA", SECRETS[sender][:-4] + "BBBB"
    source, body = source_of(sender, new, old), body_of(sender)
    for secret, answer in ((old, None), (new, None), (other, "bad signature")):
        headers = lowered(headers_of(sender, body, secret=secret, at=NOW))
        assert source.reject(headers, body, NOW) == answer


@pytest.mark.parametrize("sender", SENDERS)
def test_without_a_proof_there_is_no_signature(sender: str) -> None:
    assert source_of(sender).reject({}, body_of(sender), NOW) == "no signature"


@pytest.mark.parametrize("sender", [s for s in SENDERS if s not in ("telegram", "gitlab")])
def test_a_body_that_was_changed_is_refused(sender: str) -> None:
    body = body_of(sender)
    headers = lowered(headers_of(sender, body, at=NOW))
    assert source_of(sender).reject(headers, body + b" ", NOW) == "bad signature"


@pytest.mark.parametrize("sender", ["stripe", "slack", "standard", "generic"])
def test_a_signature_from_long_ago_or_from_the_future_is_stale(sender: str) -> None:
    body = body_of(sender)
    for off in (-301, 301):
        headers = lowered(headers_of(sender, body, at=NOW + off))
        assert source_of(sender).reject(headers, body, NOW) == "stale timestamp"


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("junk", ["", "\xff\xfe", "v1,", "t=,v1=", "sha256=", "=" * 5_000], ids=repr)
def test_junk_where_a_proof_should_be_is_refused_and_raises_nothing(sender: str, junk: str) -> None:
    body = body_of(sender)
    headers = dict.fromkeys(lowered(headers_of(sender, body, at=NOW)), junk)
    assert source_of(sender).reject(headers, body, NOW) in ("no signature", "bad signature")


@pytest.mark.parametrize(
    ("check", "headers"),
    [
        (Check(how="none"), {}),
        (Check(how="token", header="X-Token"), {"x-token": "user:pass"}),
        (Check(how="basic"), {"authorization": "Basic dXNlcjpwYXNz"}),
        (Check(algorithm="sha512"), {"x-signature": hmac.new(b"user:pass", b"{}", "sha512").hexdigest()}),
        (
            Check(encoding="base64", template="<{body}>"),
            {"x-signature": b64encode(hmac.new(b"user:pass", b"<{}>", "sha256").digest()).decode()},
        ),
    ],
    ids=["none", "token", "basic", "sha512", "base64"],
)
def test_a_generic_source_checks_what_its_settings_say(check: Check, headers: dict[str, str]) -> None:
    source = source_of("generic", "user:pass", check=check)
    assert source.reject(headers, b"{}", NOW) is None
    for name, value in headers.items():
        assert source.reject({name: "x" + value[1:]}, b"{}", NOW) == "bad signature"


@pytest.mark.parametrize(
    "given",
    ["basic dXNlcjpwYXNz", "BASIC dXNlcjpwYXNz", "Basic  dXNlcjpwYXNz"],
    ids=["small", "large", "wide"],
)
def test_a_password_s_scheme_may_be_written_in_any_letters(given: str) -> None:
    source = source_of("generic", "user:pass", check=Check(how="basic"))
    assert source.reject({"authorization": given}, b"{}", 0) is None
    assert source.reject({"authorization": given.upper() + "x"}, b"{}", 0) == "bad signature"
    assert source.reject({"authorization": given.replace(" ", "")}, b"{}", 0) == "bad signature"


def test_a_signature_in_hex_may_be_written_in_large_letters() -> None:
    source = source_of("generic", "secret", check=Check(prefix="sha256="))
    signature = hmac.digest(b"secret", b"{}", "sha256").hex()
    assert source.reject({"x-signature": f"sha256={signature.upper()}"}, b"{}", 0) is None
    assert source.reject({"x-signature": f"sha256={signature[::-1].upper()}"}, b"{}", 0) == "bad signature"


def test_telegram_expires_updates_by_their_type_and_keeps_each_chat_in_order() -> None:
    source = source_of("telegram")

    def told(update: dict[str, Any]) -> tuple[str | None, float]:
        ends, lasts = source.expires({}, update)
        assert ends is None
        assert lasts is not None
        return source.order_key({}, update), lasts.total_seconds()

    assert told({"update_id": 1, "message": {"chat": {"id": -5}, "from": {"id": 9}}}) == ("-5", 86_400)
    assert told({"update_id": 1, "callback_query": {"from": {"id": 9}}}) == ("9", 150)
    assert told({"update_id": 1, "inline_query": {"from": {"id": 9}}}) == ("9", 30)
    assert told({"update_id": 1, "chosen_inline_result": {"from": {"id": 9}}}) == ("9", 600)
    assert told({"update_id": 1, "poll": {"id": "x"}}) == (None, 86_400)


@time_machine.travel(1_800_000_000, tick=False)
def test_telegram_counts_the_age_of_an_update_from_when_it_happened() -> None:
    source, now = source_of("telegram"), 1_800_000_000

    def left(kind: str, **inner: Any) -> float:
        ends, lasts = source.expires({}, {"update_id": 1, kind: inner})
        if lasts is not None:
            assert ends is None
            return lasts.total_seconds()
        assert ends is not None
        return ends.timestamp() - now

    assert left("message", date=now - 3_600) == 82_800
    assert left("message", date=now - 90_000) == -3_600
    assert left("message", date=now + 3_600) == 86_400
    assert left("edited_message", date=1, edit_date=now - 3_600) == 82_800
    assert left("edited_message", date=1) == 86_400
    assert left("callback_query", date=1, message={"date": 1}) == 150
    assert left("business_connection", date=1) == 86_400
    odd: tuple[Any, ...] = (True, 0, -1, 1.5, "1", None, [], 10**400)
    assert {left("message", date=no_date) for no_date in odd} == {86_400}


def test_no_header_that_carries_a_secret_is_kept() -> None:
    for sender in SENDERS:
        body = body_of(sender)
        kept = source_of(sender).keep(lowered({**headers_of(sender, body), "Authorization": "Basic abc"}))
        assert SECRETS[sender] not in "".join(kept.values())
        assert "authorization" not in kept
