"""What is wrong with the settings is told at start, all of it at once, one sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.gateway import GatewayRefused, GatewaySettings, SourceSettings, asgi, look
from tests.gateway.signing import settings_of


def app_of(url: str | None = "sqlite:///never-opened.db") -> tenure.App:
    app = tenure.App(url)

    @app.job
    async def on_event(event: dict[str, Any]) -> None: ...

    @app.job
    async def takes_two(one: int, two: int) -> None: ...

    return app


def problems_of(*sources: Any, **shared: Any) -> list[str]:
    return look(app_of(), {"inline_secrets": True, **shared, "sources": list(sources)})[1]


NO_URL = "url must be http:// or https:// with a valid host, and no user, password or space."
NO_API = "api must be http:// or https:// with a valid host, and no user, password, space or query."
NO_URLS = (
    "ftp://x", "https://u:p@x/", "https://u@x/", "https://h/a b", "http://a..test/", f"http://{'a' * 64}.test/", "http://x:99999/",
    "http://x/\ud800",
)  # fmt: skip
PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"type": "telegramm"}, "there is no type 'telegramm'; did you mean 'telegram'?"),
    (
        {"type": "smoke"},
        "there is no type 'smoke'; known are telegram, github, stripe, slack, standard, gitlab, generic.",
    ),
    ({"handler": "pyhton:on_event"}, "there is no handler 'pyhton'; did you mean 'python'?"),
    (
        {"handler": "python:on_evnt"},
        "handler: python:on_evnt names no job of the app; did you mean 'on_event'?",
    ),
    ({"handler": "python:takes_two"}, "handler: takes_two must take one argument, the delivery."),
    ({"secrets": []}, 'it has no secret; write secrets = ["env:NAME"].'),
    ({"secrets": ["env:NOT_SET_HERE"]}, "the secret env:NOT_SET_HERE is not set."),
    (
        {"secrets": ["file:/no/such/file"]},
        "the secret file:/no/such/file cannot be read (No such file or directory).",
    ),
    ({"secrets": ["hunter2hunter2"]}, "a secret must be written env:NAME or file:/path."),
    (
        {"secrets": ["inline:not a token"]},
        "a Telegram secret must be 1 to 256 characters of A-Z, a-z, 0-9, _ and -.",
    ),
    (
        {"slug": "a/b"},
        "slug must be 1 to 64 of A-Z, a-z, 0-9, _, . and -, and not healthz or readyz.",
    ),
    (
        {"dedupe": "2 days"},
        'dedupe: must be a duration, got \'2 days\'; write it like "90s", "1h30m", "7d", or pass a timedelta.',
    ),
    ({"timeout": "0s"}, "timeout: must be longer than zero, got '0s'."),
    ({"retry": []}, "retry must be at least one duration."),
    ({"expiry": {"*": -1}}, "expiry.*: must not be negative, got -1; use zero or more."),
    *(({"url": url, "handler": "http"}, NO_URL) for url in NO_URLS),
    *(({"api": url}, NO_API) for url in NO_URLS),
    *(
        (
            {"url": f"http://{host}/", "handler": "http"},
            f"url leads to {found}; if it is meant, set private = true in its options.",
        )
        for host, found in {
            "10.0.0.1:8080": "10.0.0.1, which is not a public address",
            "2130706433": "127.0.0.1, which is a loopback address",
            "[::1]": "::1, which is a loopback address",
            "169.254.169.254": "169.254.169.254, which is the address of a cloud's metadata",
        }.items()
    ),
    ({"order": "never"}, "order must be start, strict or none, got 'never'."),
    ({"key": "path"}, 'key must be "header:…", "json:…" or "body", got \'path\'.'),
    ({"order_by": "chat"}, 'order_by must be "header:…" or "json:…", got \'chat\'.'),
    ({"max_attempts": 0}, "max_attempts: must be from 1 to 2147483647, got 0."),
    ({"queue": ""}, "queue: must be 1 to 200 characters, got ''."),
    ({"queue": "*"}, "queue: must not be \"*\", which stands for every one, got '*'; name one."),
    ({"json": False}, "json = false is for generic sources."),
    ({"asinc": True}, "asinc: there is no such setting; did you mean 'async'?"),
    ({"async": "yes"}, "async: must be true or false, got a text."),
]


@pytest.mark.parametrize(
    ("change", "sentence"), PROBLEMS, ids=[f"{n}-{next(iter(c))}" for n, (c, _) in enumerate(PROBLEMS)]
)
def test_each_problem_is_one_clear_sentence(change: dict[str, Any], sentence: str) -> None:
    given = settings_of("telegram", slug="bot")
    slug = change.get("slug", "bot")
    assert problems_of({**given, **change}) == [f"source {slug!r}: {sentence}"]


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"how": "magic"}, "check.how must be one of none, token, basic, hmac, got 'magic'"),
        ({"algorithm": "md5"}, "check.algorithm must be one of sha256, sha512, got 'md5'"),
        ({"how": "basic"}, "a secret for basic must be user:password"),
        ({"template": "x"}, "check.template must hold {body} once"),
        (
            {"template": "{ts}{body}"},
            "check.template holds {ts}, so check.timestamp_header must name its header",
        ),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
def test_a_check_that_makes_no_sense_is_told(check: dict[str, Any], sentence: str) -> None:
    assert problems_of(settings_of("generic", check=check)) == [f"source 'generic': {sentence}."]


def test_a_standard_secret_that_is_not_base64_is_told_without_showing_it() -> None:
    [problem] = problems_of(settings_of("standard", secrets=["inline:whsec_!!hunter2"]))
    assert problem == "source 'standard': a secret must be base64, with or without whsec_ before it."


@pytest.mark.parametrize(
    "change",
    [
        {"handler": "http", "url": "http://127.0.0.1:9/", "options": {"private": True}},
        {"handler": "http", "url": "http://8.8.8.8/"},
        {"handler": "http", "url": "http://name.test/"},
        {"api": "http://127.0.0.1:9"},
    ],
    ids=["meant", "public", "name", "api"],
)
def test_an_address_that_is_public_or_meant_is_no_problem(change: dict[str, Any]) -> None:
    assert problems_of({**settings_of("telegram"), **change}) == []


def test_a_good_gateway_has_no_problem() -> None:
    assert problems_of(settings_of("telegram"), settings_of("github")) == []


def test_every_problem_of_every_source_is_told_at_once() -> None:
    with pytest.raises(GatewayRefused) as refused:
        asgi(
            app_of(),
            {
                "prefix": "hooks",
                "body_deadline": "soon",
                "colour": "red",
                "sources": [
                    settings_of("telegram", type="x", handler="y", dedupe="z", priority="high"),
                    settings_of("telegram"),
                    "github",
                ],
            },
        )
    assert len(refused.value.problems) == 11
    assert str(refused.value).splitlines() == refused.value.problems
    told = str(refused.value)
    for part in ("colour", "prefix", "soon", "number 3", "more than once", "'x'", "'y'", "'z'", "priority"):
        assert part in told
    assert "a secret is written inline" in told
    assert "tele-gram_SECRET" not in told


@pytest.mark.parametrize(
    "host",
    [
        "https://example.org",
        "example.org:443",
        "example.org/in",
        "*.example.org",
        "a..org",
        "",
        "[::1]:8000",
        "ex ample",
    ],
)
def test_a_host_that_no_request_could_name_is_refused(host: str) -> None:
    assert problems_of(settings_of("telegram"), hosts=["example.org", host]) == [
        f"gateway: hosts must be names or addresses alone, like example.org or ::1, got {host!r}."
    ]


def test_two_sources_of_one_slug_are_refused() -> None:
    problems = problems_of(settings_of("telegram"), settings_of("github", slug="telegram"))
    assert problems == ["source 'telegram': the slug is used more than once; give each source its own."]


def test_an_async_source_without_a_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "source 'telegram': async needs a store, and there is none; {}, or async = false."
    config = {"inline_secrets": True, "sources": [settings_of("telegram")]}
    assert look(app_of(), config, store=False)[1] == [
        sentence.format("leave out --no-store (in code: store=False)")
    ]
    monkeypatch.setenv("TENURE_URL", "none")
    assert look(app_of(None), config)[1] == [sentence.format("set TENURE_URL")]


def test_a_gateway_without_a_source_is_refused() -> None:
    assert problems_of() == ["gateway: there is no source; write one under [[sources]]."]


def test_toml_and_code_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_SECRET", "abc")
    (tmp_path / "old").write_text("def\n")
    file = tmp_path / "gateway.toml"
    file.write_text(f"""
prefix = "/hooks"
[[sources]]
slug = "bot"
type = "telegram"
handler = "python:on_event"
async = true
secrets = ["env:BOT_SECRET", "file:{tmp_path}/old"]
expiry = {{ message = "1h" }}
retry = ["1s", 60]
""")
    from_file = look(app_of(), file)
    source = SourceSettings(
        slug="bot",
        type="telegram",
        handler="python:on_event",
        is_async=True,
        secrets=("env:BOT_SECRET", f"file:{tmp_path}/old"),
        expiry={"message": "1h"},
        retry=("1s", 60),
    )
    from_code = look(app_of(), GatewaySettings(prefix="/hooks", sources=(source,)))
    assert from_file[1] == from_code[1] == []
    assert from_file[0].settings == from_code[0].settings
    assert from_file[0].routes["bot"].source.secrets == [b"abc", b"def"]


@pytest.mark.parametrize(
    ("text", "words"), [("a = ", "are not TOML"), (None, "cannot be read")], ids=["toml", "file"]
)
def test_a_file_that_cannot_be_read_is_a_problem_too(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "gateway.toml"
    if text is not None:
        file.write_text(text)
    assert words in look(app_of(), str(file))[1][0]
