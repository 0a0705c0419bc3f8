"""Requests of any kind, drawn by hypothesis: honest ones, forged ones, and bytes that are no request at all."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.gateway.signing import BODIES, SECRETS, SENDERS, headers_of, settings_of

__all__ = [
    "CANARIES",
    "MARK",
    "MAX_BODY",
    "PAGES",
    "PASSWORD",
    "SLUGS",
    "TOKEN",
    "Sent",
    "forgeries",
    "honest",
    "proofs_in",
    "raws",
    "sents",
    "sources",
]

MAX_BODY = 20_000
MARK = "echo-me-if-you-dare"
TOKEN = "987654321:AAfuzz-canary_of-a-token-of-nobody"
PASSWORD = "somebody:canary-of-a-password"
SIGNING = "whsec_Y2FuYXJ5LW9mLXRoZS13YXktb3V0LW9mLWhlcmU="
CANARIES = (
    *SECRETS.values(),
    *(TOKEN, TOKEN.partition(":")[2], PASSWORD, base64.b64encode(PASSWORD.encode()).decode(), SIGNING),
    *(secret.removeprefix("whsec_") for secret in (SECRETS["standard"], SIGNING)),
)
_SIGNATURE = re.compile(r"[0-9a-f]{64}|[A-Za-z0-9+/]{43}=")


def sources(api: str) -> list[dict[str, Any]]:
    """Every type of source, sync and async, with every handler; `api` is where the handlers that send, send to."""
    made = []
    for sync in (False, True):
        common: dict[str, Any] = {"async": not sync, "max_body": MAX_BODY}
        end = "-sync" if sync else ""
        made += [settings_of(sender, slug=sender + end, **common) for sender in SENDERS]
        made += [
            {
                **settings_of("generic", slug=f"generic-{how}{end}", **common),
                "check": check,
                "secrets": secrets,
            }
            for how, check, secrets in (
                ("token", {"how": "token", "header": "X-Token"}, [f"inline:{PASSWORD}"]),
                ("basic", {"how": "basic"}, [f"inline:{PASSWORD}"]),
            )
        ]
        anything = {"check": {"how": "none"}, "secrets": [], "json": False, "handler": "python:whole"}
        named = {"key": "header:X-Id", "order_by": "header:X-Line"}
        made.append({**settings_of("generic", slug=f"generic-none{end}", **common), **anything, **named})
        bot = {"token": f"inline:{TOKEN}", "api": api, **common}
        auth = {"then": "python:on_event", "allow": [42]}
        made += [
            settings_of("telegram", slug=f"telegram-fails{end}", handler="python:fails", **common),
            settings_of("telegram", slug=f"telegram-echo{end}", handler="echo", **bot),
            settings_of("telegram", slug=f"telegram-auth{end}", handler="auth", options=auth, **bot),
            settings_of(
                "telegram",
                slug=f"telegram-http{end}",
                handler="http",
                url=f"{api}/in?key={PASSWORD}",
                options={"private": True, "secret": f"inline:{SIGNING}"},
                **common,
            ),
        ]
    return made


PAGES = ("/healthz", "/readyz")
SLUGS = [source["slug"] for source in sources("http://api")]


@dataclass(frozen=True)
class Sent:
    """One request, and whether its proof is right."""

    slug: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    honest: bool
    forged: bool = False
    """Whether it has no proof, or one that cannot be right."""

    @property
    def refused(self) -> bool:
        """Whether nobody may be let in by it."""
        open_to_all = self.slug.startswith("generic-none") or self.path in PAGES
        return self.forged and not open_to_all

    @property
    def place(self) -> str:
        """The source that it was really sent to, or the path of something else."""
        return self.slug if self.path.partition("?")[0] == f"/{self.slug}" else self.path

    @property
    def meant(self) -> bool:
        """Whether it is just what its source asks for."""
        return self.honest and self.method == "POST" and self.path == f"/{self.slug}"


def proofs_in(headers: tuple[tuple[str, str], ...]) -> list[str]:
    """The signatures among these headers."""
    return [p for _, value in headers for p in _SIGNATURE.findall(value) if len(set(p)) > 1]


def _proof(slug: str, body: bytes, name: str) -> dict[str, str]:
    if slug.startswith("generic-token"):
        return {"X-Token": PASSWORD}
    if slug.startswith("generic-basic"):
        return {"Authorization": f"Basic {base64.b64encode(PASSWORD.encode()).decode()}"}
    if slug.startswith("generic-none"):
        return {"X-Id": name, "X-Line": name[:3]}
    return headers_of(slug.partition("-")[0], body, id=name)


# Bodies

_texts = st.text(max_size=20) | st.sampled_from(["\ud800", "\x00", "é" * 300, "x" * 300, MARK])
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(10**70), 10**70) | st.floats() | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)
_PLACES = (
    *(
        "update_id",
        "message",
        "message.chat",
        "message.chat.id",
        "message.from",
        "message.from.id",
        "message.text",
    ),
    *(
        "callback_query",
        "id",
        "type",
        "event",
        "event.type",
        "event_id",
        "challenge",
        "data",
        "data.id",
        "zen",
    ),
)


def _changed(sender: str, changes: list[tuple[str, Any]]) -> dict[str, Any]:
    """What a sender would send, but for these places."""
    made: dict[str, Any] = json.loads(json.dumps(BODIES[sender]))
    for place, value in changes:
        inner: Any = made
        *path, last = place.split(".")
        for step in path:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else {}
        if isinstance(inner, dict):
            inner[last] = value
    return made


def _bodies(sender: str) -> st.SearchStrategy[bytes]:
    changes = st.lists(st.tuples(st.sampled_from(_PLACES), _values), max_size=3)
    events = changes.map(lambda c: _changed(sender, c)) | _values
    texts = events.map(json.dumps)
    return st.one_of(
        texts.map(str.encode),
        texts.map(str.encode),
        st.tuples(texts, st.sampled_from(["utf-16", "utf-32-le", "utf-8-sig"])).map(
            lambda t: t[0].encode(t[1])
        ),
        st.tuples(texts, st.integers(0, 200)).map(lambda t: t[0].encode()[: t[1]]),
        st.binary(max_size=200),
        st.integers(1, 3_000).map(lambda n: b"[" * n + b"]" * n),
        st.integers(1, 1_500).map(lambda n: b'{"update_id":' * n + b"1" + b"}" * n),
        st.integers(1, 5_000).map(lambda n: b'{"update_id":' + b"9" * n + b"}"),
        st.integers(MAX_BODY - 20, MAX_BODY + 50).map(lambda n: b'{"update_id":1,"x":"' + b"y" * n + b'"}'),
        st.just(b'{"type": "url_verification", "challenge": "abc"}'),
        st.just(b'{"update_id": 1, "update_id": [], "message": {"chat": {"id": 1}, "text": "\xed\xa0\x80"}}'),
    )


# Requests

_latin = st.text(
    st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60
).map(str.strip)
_extra = st.tuples(
    st.sampled_from(["Content-Type", "User-Agent", "Cookie", "X-Forwarded-For", "X-GitHub-Event", "X-Id"]),
    _latin,
)
_methods = st.sampled_from(["POST"] * 50 + ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
_looks = st.sampled_from(["GET", "HEAD"])
_odd_paths = st.sampled_from(
    [
        "/",
        "//{}",
        "/{}/",
        "/{}/x",
        "/%2e%2e/{}",
        "/{}%00",
        "/healthz",
        "/readyz",
        "/nobody",
        "/{}?token=" + MARK,
    ]
)


@st.composite
def sents(draw: st.DrawFn) -> Sent:
    """A request for some source."""
    slug = draw(st.sampled_from(SLUGS))
    how = draw(st.sampled_from(["honest"] * 4 + ["junk", "partly", "none"]))
    forged = how in ("junk", "none")
    sender = slug.partition("-")[0]
    # What is forged is mostly a body that would be taken, so that nothing but its proof can be what is wrong with it.
    taken = st.just(json.dumps(BODIES[sender]).encode())
    body = draw(st.one_of(taken, taken, taken, _bodies(sender)) if forged else _bodies(sender))
    proof = _proof(slug, body, draw(st.text("abc-123", min_size=1, max_size=250)))
    if how == "junk":
        proof = {name: draw(_latin) for name in proof}
    elif how == "partly":
        proof = {name: value for name, value in proof.items() if draw(st.booleans())}
    elif how == "none":
        proof = {}
    path = draw(st.just("/{}") | st.just("/{}") | st.just("/{}") | _odd_paths).replace("{}", slug)
    extra = draw(st.lists(_extra, max_size=3)) if how != "honest" else []
    headers = (*proof.items(), *extra, ("X-Mark", MARK))
    method = draw(_looks | _methods if path in PAGES else _methods)
    return Sent(slug, method, path, headers, body, honest=how == "honest", forged=forged)


def honest(number: int) -> list[Sent]:
    """For each source, what it takes: an update of this number, with an id that was not sent before."""
    made = []
    for slug in SLUGS:
        sender = slug.partition("-")[0]
        told = {"update_id": number} if sender == "telegram" else {}
        body = json.dumps({**BODIES[sender], **told}).encode()
        headers = tuple(_proof(slug, body, f"honest-{number}").items())
        made.append(Sent(slug, "POST", f"/{slug}", headers, body, honest=True))
    return made


def forgeries() -> list[Sent]:
    """For each source that asks for a proof, what it would take, without one and with one that is wrong."""
    made = []
    for slug in SLUGS:
        body = json.dumps(BODIES[slug.partition("-")[0]]).encode()
        wrong = tuple((name, "x" * len(value)) for name, value in _proof(slug, body, "1").items())
        made += [
            Sent(slug, "POST", f"/{slug}", headers, body, honest=False, forged=True)
            for headers in ((), wrong)
        ]
    return [sent for sent in made if sent.refused]


# Bytes

_lengths = st.sampled_from(
    ["{}", "{}", "{}", "{}0", "1", "-1", "x", "99999999999999999999", "{}\r\nContent-Length: 1"]
)
_lines = st.sampled_from(
    [
        "Expect: 100-continue",
        "Connection: close",
        "Connection: upgrade\r\nUpgrade: websocket",
        "Connection: upgrade\r\nUpgrade: h2c",
        "Transfer-Encoding: gzip",
        " folded",
        "no colon",
        ": no name",
        "X: \x00",
        "X: a\rb",
        "Host: a\r\nHost: b",
        "X: " + "y" * 20_000,
    ]
)
_first_lines = st.sampled_from(
    ["{} {} HTTP/1.1"] * 8
    + ["{} {} HTTP/1.0", "{} {} HTTP/2.0", "{} {}", "{} http://x{} HTTP/1.1", "get {} {}"]
)


@st.composite
def raws(draw: st.DrawFn) -> tuple[Sent, bytes]:
    """A request as bytes, some of them wrong."""
    sent = draw(sents())
    lines = [draw(_first_lines).format(sent.method, sent.path), "Host: x"]
    lines += [f"{name}: {value}" for name, value in sent.headers]
    lines += draw(st.lists(_lines, max_size=1))
    body = sent.body
    if draw(st.integers(0, 4)):
        lines.append("Content-Length: " + draw(_lengths).format(len(body)))
    else:
        lines.append("Transfer-Encoding: chunked")
        at = draw(st.integers(0, len(body)))
        chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:at], body[at:]) if part]
        last = draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\n", b"zz\r\n", b""]))
        body = b"".join(chunks) + last
    data = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
    match draw(st.sampled_from(["whole"] * 5 + ["twice", "cut", "change", "blank", "noise"])):
        case "twice":
            data += data
        case "cut":
            data = data[: draw(st.integers(0, len(data)))]
        case "change":
            at = draw(st.integers(0, len(data) - 1))
            data = data[:at] + draw(st.binary(max_size=8)) + data[at + draw(st.integers(0, 8)) :]
        case "blank":
            data = b"\r\n\r\n" + data
        case "noise":
            data = draw(st.binary(min_size=1, max_size=400))
        case _:
            pass
    return sent, data
