"""What people write, as hypothesis makes it up: the grammar of each thing, pieces of it joined, then slips of the hand.

`SHAPES` has a strategy for each target of test_words, `nearly` texts with slips in them. `each` plays a check on so many, drawn from
the seed; what fails is made as small as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tenure.query import FIELDS

__all__ = ["RIGHT_FILTERS", "SHAPES", "each", "nearly"]

_BYTES = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r\n", b"'", b'"', b"\\", b"%", b"%00", b"%ZZ", b"*", b"-", b"-1", b"0", b"9" * 30,
    b"1e999", b"nan", b"\xc3\xa9", b"\xe2\x80\xae", b"\xd9\xa3", b"\xc2\xb5s", b"..", b"//", b"@", b":", b"?", b"#", b"[", b"]]", b"{", b"}",
    b"=", b",", b" ", b"\t", b"\xc2\xa0", b"\x1b[31m", b"<script>",
)  # fmt: skip
_ODD = (
    st.sampled_from([data.decode("utf-8", "surrogateescape") for data in _BYTES])
    | st.text(min_size=1, max_size=4)
    | st.binary(min_size=1, max_size=4).map(lambda data: data.decode("utf-8", "surrogateescape"))
)
"""What stands nowhere by itself; what is no text is in it as lone surrogates."""

Texts = st.SearchStrategy[str]
_SLIPS = st.sampled_from((0, 0, 0, 1, 1, 2, 4))


@st.composite
def nearly(draw: st.DrawFn, texts: Texts) -> str:
    """Such a text, often with slips in it: something more, less, twice or instead."""
    text = draw(texts)
    for _ in range(draw(_SLIPS)):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(1, 8))
        here = text[at : at + length]
        match draw(st.sampled_from(("more", "less", "twice", "instead"))):
            case "more":
                new = draw(_ODD) + here
            case "less":
                new = ""
            case "twice":
                new = here * draw(st.integers(2, 4))
            case _:
                new = draw(_ODD)
        text = text[:at] + new + text[at + length :]
    return text


def each(strategy: st.SearchStrategy[Any], count: int, seed: str, check: Callable[[Any], None]) -> None:
    """The check on so many; the same of the same seed."""

    @seeded(seed)
    @settings(
        max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(strategy)
    def one(value: Any) -> None:
        check(value)

    one()


def _one(*texts: str) -> Texts:
    return st.sampled_from(texts)


def _row(*parts: Texts, by: str = "") -> Texts:
    return st.tuples(*parts).map(by.join)


def _some(part: Texts, by: Texts, most: int = 4, least: int = 1) -> Texts:
    """Several of them, all parted by the same."""
    return st.tuples(st.lists(part, min_size=least, max_size=most), by).map(
        lambda both: both[1].join(both[0])
    )


def _regex(pattern: str) -> Texts:
    return st.from_regex(pattern, fullmatch=True)


_NUMBER = _regex(r"[0-9]{1,5}(\.[0-9]{1,3})?")
_WORD = _one("mail", "slow", "a b", "é", "mail*", "g", "x", "shop.orders:42", "0189", "*Timeout*", "true")
_DURATION = _row(
    _one("", "", "-", "+"),
    _some(_row(_NUMBER, _one("s", "m", "h", "d", "ms", "us", "µs", "w")), _one("", " ")),
)
_FIELD = (
    _regex(r"(\*|[0-9]{1,2}(-[0-9]{1,2})?)(/[0-9]{1,2})?(,[0-9]{1,2}){0,2}")
    | _one("*", "0", "*/5", "mon-fri", "jan", "L", "5#2", "?", "sun", "7", "1-5/2")
)  # fmt: skip
_ZONE = _one("", "", "|UTC", "|Europe/Berlin", "|America/New_York", "|Mars/Base", "|", "|../etc/passwd")
_TIMES = _some(_FIELD, _one(" "), 6, 5) | _one("@daily", "@reboot", "@hourly", "@weekly")
_CRON = _row(_TIMES | _row(_one("@every "), _DURATION), _ZONE)
_SIGN = _one("", ">", ">=", "<", "<=")
_QUOTED = st.text(max_size=8).map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
_VALUE = (
    st.sampled_from([sample for field in FIELDS for sample in field.samples])
    | _row(_SIGN, _NUMBER | _DURATION) | _some(_WORD, _one(",")) | _QUOTED
)  # fmt: skip
_NAME = st.sampled_from([field.name for field in FIELDS]) | _one(
    "payload.user.id", "payload.a[0]", "after", "nobody"
)
_RIGHT = st.sampled_from(
    [field.example.replace("…", "0000-7000-8000-000000000000") for field in FIELDS]
    + [f"{field.name}:{sample}" for field in FIELDS for sample in field.samples]
)
RIGHT_FILTERS = _some(_RIGHT, _one(" "), 3)
"""Filters that are understood, most of them."""
_FILTER = RIGHT_FILTERS | _some(
    _RIGHT | _row(_one("", "", "-"), _NAME, _one(":"), _VALUE), _one(" ", "  "), 3, 0
)
_HOST = _one("", "h", "h:5432", "[::1]", "u:p@h", "u@h:1,i:2", "%2Ftmp", "h:99999")
_OPTION = _row(
    _one("schema", "prefix", "shared", "durability", "pgbouncer", "listen", "notify", "sslmode", "target_session_attrs", "x"),
    _one("=", ""),
    _one("true", "false", "normal", "full", "s", "x_", "require", "read-write", "", 'a"b', "postgresql%3A%2F%2Fh%2Fd"),
)  # fmt: skip
_URL = _row(
    _one("sqlite:///", "sqlite:////", "postgresql://", "postgres://", "mysql://", "sqlite:", ""),
    _HOST, _one("/", "", "/a/"), _one("jobs.db", "db", ":memory:", ""), _one("", "?"), _some(_OPTION, _one("&"), 3, 0),
)  # fmt: skip
_SETTING = _row(
    _one(
        "slug", "type", "handler", "secrets", "async", "queue", "priority", "dedupe", "key", "order", "expiry", "tolerance",
        "retry", "max_attempts", "timeout", "backlog", "max_body", "json", "check", "url", "token", "options", "how", "prefix",
        "hosts", "body_deadline", "max_requests", "max_depth", "inline_secrets", "nobody",
    ),
    _one(" = "),
    _QUOTED | _NUMBER | _DURATION.map(lambda text: f'"{text}"') | _one(
        "true", "false", '"/hooks"', '"json:a.b"', '"strict"', '"basic"', '["env:A"]', "[]", "{}", '{a = "1h"}', '"python:on_update"',
        '"github"', '["50ms", 3]', "-1", "1e400", "1979-05-27", "'''x'''", "[[1], 2]", "{a = {b = 1}}",
    ),
)  # fmt: skip
_SECTION = _one("[[sources]]", "[sources.check]", "[sources.options]", "[nobody]", "[[sources]]\n[[sources]]")


def _toml(corpus: Sequence[str]) -> Texts:
    """Settings of the whole and of sources, some of which stand in the corpus."""
    lines = _some(_SETTING | _SETTING | _SECTION, _one("\n"), 5, 0)
    return _row(_some(_SETTING, _one("\n"), 2, 0), st.sampled_from(corpus), lines, by="\n")


_ATOM = _NUMBER | _QUOTED | _one("null", "true", "-1", "1e400", "NaN", '"\\ud800"', "{}", "[]")
_JSON = st.recursive(
    _ATOM,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda held: f"[{', '.join(held)}]")
        | st.lists(_row(_QUOTED, _one(": "), inner), max_size=4).map(lambda held: f"{{{', '.join(held)}}}")
    ),
    max_leaves=12,
)
_FRAME = _row(
    _one('  File "/app/mail.py"', '  File "<string>"', '  File "/lib/python3.11/x.py"', "  File"), _one(", line "), _NUMBER,
    _one(", in send", ", in <module>", ""), _one("\n    raise X", "\n", ""),
)  # fmt: skip
_ERROR = _some(
    _FRAME | _WORD | _one("password=x1 ", "https://u:p@h/ ", "api_key: 'k' ", "123456:" + "a" * 30, "Authorization: Basic x\n", "\x00"),
    _one("\n", " ", ""),
)  # fmt: skip
_REQUEST = _row(
    _one("telegram", "github", "stripe", "slack", "standard", "gitlab", "generic", "echo", "nobody", ""),
    _one("", " ", " x-odd: 1", " content-type: text/plain|x-hub-signature-256: sha256=00", " webhook-timestamp: 1"), _one("\n", "\n", ""),
    _JSON | _row(_one('{"update_id": 7, "message": {"chat": {"id": 1}, "text": '), _JSON, _one("}}", "}")),
)  # fmt: skip


def _either(shape: Texts) -> Callable[[Sequence[str]], Texts]:
    return lambda corpus: nearly(shape | st.sampled_from(corpus))


SHAPES: dict[str, Callable[[Sequence[str]], Texts]] = {
    "duration": _either(_DURATION),
    "cron": _either(_CRON),
    "filter": _either(_FILTER),
    "completion": _either(_FILTER),
    "url": _either(_URL),
    "toml": lambda corpus: nearly(_toml(corpus) | st.sampled_from(corpus)),
    "payload": _either(_JSON),
    "error": _either(_ERROR),
    "http": _either(_REQUEST),
    "job": _either(st.text(max_size=140) | _WORD),
}
"""What is written for each target, of its corpus and grammar."""
