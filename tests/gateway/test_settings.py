"""Settings that were misspelt or do not go together, told in the words of who wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.gateway import look
from tests.gateway.signing import settings_of


def problems_of(*sources: Any, **shared: Any) -> list[str]:
    app = tenure.App("sqlite:///never-opened.db")
    return look(app, {"inline_secrets": True, **shared, "sources": list(sources)})[1]


def echo(**more: Any) -> dict[str, Any]:
    return settings_of("telegram", slug="bot", handler="echo", token="inline:123:" + "a" * 35, **more)


def http(**more: Any) -> dict[str, Any]:
    return settings_of("telegram", slug="bot", handler="http", url="https://example.org", **more)


def test_a_slug_that_another_source_s_own_jobs_have_is_told() -> None:
    sentence = "source 'bot.reply': the name is for the replies of 'bot'; choose another."
    first, other = http(), {**echo(), "slug": "bot.reply"}
    assert problems_of(first, other) == problems_of(other, first) == [sentence]
    assert problems_of({**first, "slug": "robot"}, other) == []
    [notice] = problems_of({**echo(), "slug": "bot.notice"})
    assert "slug must not end in .notice" in notice


def test_secrets_are_looked_at_whatever_the_type() -> None:
    given = echo(type="telegran", secrets=["inline:hunter2hunter2", "env:NOT_SET_HERE"])
    told = problems_of({**given, "token": "file:/no/such/token"}, inline_secrets=False)
    for sentence in (
        "there is no type 'telegran'; did you mean 'telegram'?",
        "a secret is written inline; name it env:… or file:…, or set inline_secrets = true.",
        "the secret env:NOT_SET_HERE is not set.",
    ):
        assert f"source 'bot': {sentence}" in told
    assert any("file:/no/such/token" in problem for problem in told)
    assert "hunter2" not in str(told)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"secrets": "env:X"}, 'secrets: must be a list, like secrets = ["env:NAME"], got a text.'),
        ({"secrets": [1]}, "secrets[0]: must be a text, got a whole number."),
        ({"priority": 1.5}, "priority: must be a whole number, got a fraction."),
        ({"timeout": []}, 'timeout: must be a duration like "90s", got a list.'),
        ({"expiry": {"*": []}}, 'expiry: must be a duration like "90s", got a list.'),
        ({"check": {"hwo": "none"}}, "check.hwo: there is no such setting; did you mean 'how'?"),
        ({"colour": "red"}, "colour: there is no such setting."),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else "",
)
def test_a_value_of_the_wrong_kind_is_told_in_the_words_of_the_file(
    change: dict[str, Any], sentence: str
) -> None:
    assert problems_of(echo(**change))[0] == f"source 'bot': {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[source]]\nslug = "bot"', "gateway: source: there is no such setting; did you mean [[sources]]?"),
        ("a = ", "are not TOML"),
        ("sources = 5", "gateway: sources must be a list; write [[sources]] above each."),
    ],
    ids=["source", "toml", "sources"],
)
def test_a_file_without_sources_for_a_reason_is_told_the_reason_alone(
    tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(text)
    [problem] = look(tenure.App("sqlite:///never-opened.db"), file)[1]
    assert sentence in problem
