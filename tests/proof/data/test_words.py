"""Whatever is written (durations, schedules, filters, URLs, settings, payloads, errors, requests): it is understood, or refused in one
sentence of ours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import strategies as st

import tenure
from tenure import query
from tenure.cron import Cron
from tenure.duration import parse, spell
from tenure.fingerprint import fingerprint, own_frame
from tenure.gateway.registry import GatewayRefused, look
from tenure.payload import MAX_ERROR, clean_error, encode
from tests.cli.files import SETTINGS
from tests.proof import depth
from tests.proof.data.asking import REQUESTS, ask
from tests.proof.data.writing import RIGHT_FILTERS, SHAPES, each, nearly
from tests.proof.tally import Tally

_NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def duration(text: str) -> None:
    assert spell(parse(text, "delay"))


def cron(text: str) -> None:
    expression, _, zone = text.partition("|")
    made = Cron(expression, zone or "UTC")
    assert made.next(_NOW) > _NOW
    assert made.text()


def filters(text: str) -> None:
    which = query.parse(text)
    assert query.parse(query.format(which)) == which


def completing(text: str) -> None:
    found = query.complete(text, len(text) // 2, {"kind": ["a b"]})
    assert 0 <= found.start <= found.end <= len(text)


def url(text: str) -> None:
    from tenure.config import locate, without_password

    locate(text)
    assert without_password(text)


def toml(text: str) -> None:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_update(event: dict[str, object]) -> None: ...

    place = Path("gateway.toml")
    place.write_text(text, "utf-8", "surrogateescape")
    _, problems = look(app, place)
    assert all(problem and "\n" not in problem for problem in problems), problems


def job(text: str) -> None:
    from tenure.newjob import NewJob, check

    check(
        NewJob(kind=text, queue=text[:7] or "q", unique=text, group=text, tags=[text], meta={text[:3]: text})
    )


def payload(text: str) -> None:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = text
    kept = encode(given)
    assert kept.isascii()
    assert json.dumps(json.loads(kept)) == json.dumps(given)


def error(text: str) -> None:
    kept = clean_error(text)
    assert len(kept) <= MAX_ERROR
    assert "\x00" not in kept
    assert isinstance(kept.encode(), bytes)  # no lone surrogates
    assert len(fingerprint("kind", text, text, text)) == 16
    assert "\n" not in own_frame(text)


DURATIONS = (
    "90s",
    "1h30m",
    "168h",
    "7d",
    "1.5h",
    "500ms",
    "-3m",
    "0",
    "1µs",
    "2h 3m",
    "100000000000000h",
    "1h1h",
)
CRONS = ("*/5 * * * *", "0 9 * * mon-fri|Europe/Berlin", "@daily", "@every 90s", "0 0 31 2 *", "15 2 * * *|America/New_York", "0 0 L * *", "@reboot", "59 23 31 12 5#2", "* * * * * *")  # fmt: skip
FILTERS = ("state:dead kind:mail* age:>1h", '-tag:"a b" payload.user.id:7', "queue:mail,slow priority:>=3", "error:*Timeout* id:0189", "group:g attempt:2..5 tenant:x", "after:2026-01-01 before:2026-02-01T10:00Z")  # fmt: skip
URLS = ("sqlite:///jobs.db", "sqlite:////a/b.db?shared=true&prefix=x_", "postgresql://u:p@h:5432/db?schema=s&sslmode=require", "postgres://[::1]/d?listen=postgresql%3A%2F%2Fh%2Fd&pgbouncer=true", "sqlite:///x.db?durability=normal", "none")  # fmt: skip
TOML = (SETTINGS, 'prefix = "/hooks"\nmax_requests = 5\n' + SETTINGS, SETTINGS.replace("telegram", "github"), SETTINGS + '[sources.check]\nhow = "basic"\n', SETTINGS.replace("true", "false") + 'dedupe = "1h"\nkey = "json:a.b"\norder = "strict"\n')  # fmt: skip
PAYLOADS = ('{"to": "a@b.c", "n": [1, 2.5, null, true]}', '"\\ud800\\u0000"', "[" * 120 + "]" * 120, "1e999", "-0", '{"a": {"b": {}}}', "NaN")  # fmt: skip
ERRORS = ('Traceback (most recent call last):\n  File "/app/mail/send.py", line 41, in send\n    raise X\nX: no 7\n', "password=hunter2 https://u:p@h/x", "Authorization: Bearer abc", "123456:" + "a" * 40, "x\x00y")  # fmt: skip
TARGETS: dict[str, tuple[Callable[[str], None], tuple[str, ...]]] = {
    "duration": (duration, DURATIONS),
    "cron": (cron, CRONS),
    "filter": (filters, FILTERS),
    "completion": (completing, FILTERS),
    "url": (url, URLS),
    "toml": (toml, TOML),
    "payload": (payload, PAYLOADS),
    "error": (error, ERRORS),
    "http": (ask, REQUESTS),
    "job": (job, ("mail", "a" * 130, "name with spaces", "é", "shop.orders:42")),
}


def in_words(error: tenure.TenureError, text: str) -> None:
    """It says something, and not too much."""
    assert 0 < len(str(error)) < 1_000 or isinstance(error, GatewayRefused), text


def attempt(target: str, text: str) -> bool:
    """Whether it is understood; if not, it is refused in words."""
    try:
        TARGETS[target][0](text)
    except tenure.TenureError as error:
        in_words(error, text)
        return False
    except Exception as error:
        raise AssertionError(f"{target} {text!r}: {error!r}") from error
    return True


@pytest.mark.timeout(400)
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_is_written_is_understood_or_refused_in_words(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, tally: Tally
) -> None:
    monkeypatch.chdir(tmp_path)
    slow = {"toml": 5, "cron": 10, "http": 5}
    count = depth.of(test=200, proof=3_000, torture=6_000) // slow.get(target, 1)
    told: Counter[bool] = Counter()

    def check(text: str) -> None:
        told[attempt(target, text)] += 1

    each(SHAPES[target](TARGETS[target][1]), count, f"{seed}-words-{target}", check)
    assert told[True]
    tally(texts=told.total(), understood=told[True])


def test_what_fails_is_made_as_small_as_it_goes() -> None:
    failed: list[str] = []

    def check(text: str) -> None:
        if "h" in text:
            failed.append(text)
            raise ValueError(text)

    with pytest.raises(ValueError, match="h"):
        each(SHAPES["duration"](DURATIONS), 300, "small", check)
    assert len(failed[0]) > len(failed[-1])
    assert len(failed[-1]) <= len("168h")


SAMPLE = [
    tenure.NewJob(kind="mail", payload={"user": {"id": 7}}, tags=["a b"], queue="mail", priority=3),
    tenure.NewJob(kind="mail.late", payload=["é", None, 1.5], delay="1h", meta={"a": "b"}),
    tenure.NewJob(kind="slow", payload="\x00\ud800", group="g", tenant="x"),
    tenure.NewJob(kind="slow", payload={"user": {"id": "7"}}, group="g", unique="u"),
]


@pytest.mark.timeout(400)
def test_every_store_answers_a_filter_alike(direct: dict[str, str], seed: int, tally: Tally) -> None:
    queues = {name: tenure.open(url) for name, url in direct.items()}
    names = {
        name: {answer.id: n for n, answer in enumerate(q.enqueue_many(SAMPLE))} for name, q in queues.items()
    }
    told: Counter[bool] = Counter()

    def check(text: str) -> None:
        try:
            which = query.parse(text)
        except tenure.FilterError:
            told[False] += 1
            return
        found = {name: {names[name][j.id] for j in q.list(which)} for name, q in queues.items()}
        assert found["sqlite"] == found["shared"] == found["postgres"], (text, found)
        told[True] += 1

    known = st.sampled_from((*FILTERS, "kind:slow", "payload.user.id:7", "state:ready", "-kind:mail"))
    texts = RIGHT_FILTERS | nearly(known) | SHAPES["filter"](FILTERS)
    each(texts, depth.of(test=250, proof=2_500), f"{seed}-words-stores", check)
    for q in queues.values():
        q.close()
    assert told[True]
    tally(filters=told[True])
