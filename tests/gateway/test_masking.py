"""Known secrets stand in no stored error, traceback or log line of a gateway's jobs, whoever runs them."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Any

import pytest

import tenure
import tenure.gateway
from tenure import testing
from tenure.gateway.secrets import Masker
from tests.gateway.signing import settings_of

SECRET = "hunter2-hunter2"
TOKEN = "1:a_"
"""As short as one may be, nearly: nothing about it looks like a token."""
HEADER = "kept-under-the-mat"


def app_of(raises: BaseException) -> tenure.App:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None:
        raise raises from ValueError(f"within {SECRET}")

    return app


def source(folder: Path) -> dict[str, Any]:
    (folder / "secret").write_text(SECRET + "\n")
    options = {"then": "python:on_event", "allow": [7]}
    return settings_of(
        "telegram", slug="bot", secrets=["env:NOT_SET_HERE", f"file:{folder}/secret"], token="env:MASK_TOKEN",
        handler="auth", options=options, apology="", retry=["1h"],
    )  # fmt: skip


WORDS = f"no {SECRET}, no {TOKEN}, no such host"
ENDS: list[tuple[BaseException, str, str]] = [
    (RuntimeError(WORDS), "RuntimeError", "scheduled"),
    (tenure.RetryIn("1h", WORDS), "RetryIn", "scheduled"),
    (tenure.Bury(WORDS, WORDS), "Bury", "dead"),
    (tenure.Cancel(WORDS), "", "cancelled"),
    (tenure.Snooze("1h"), "", "scheduled"),
]


@pytest.mark.parametrize(("raises", "kind", "state"), ENDS, ids=[type(e).__name__ for e, _, _ in ENDS])
def test_what_a_job_failed_with_is_kept_and_logged_without_known_secrets(
    raises: BaseException, kind: str, state: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    app, given = app_of(raises), source(tmp_path)
    tenure.gateway.attach(app, {"sources": [given]})
    monkeypatch.setenv("MASK_TOKEN", TOKEN)  # after it: what counts is what is there when it fails
    body = b'{"update_id": 1, "message": {"from": {"id": 7}, "chat": {"id": 7}, "text": "hi"}}'
    with testing.run(app) as stage, caplog.at_level(logging.DEBUG):
        request = tenure.Request(body, {})
        job_id = stage.queue.enqueue("gateway.bot", {}, queue="gateway", request=request).id
        stage.drain()
        job, history = stage.queue.get(job_id), stage.queue.history(job_id)
    assert job is not None
    assert job.state == state
    assert [one.error_kind for one in history] == ([kind] if kind else [])
    for told in (repr(job), repr(history), caplog.text):
        assert SECRET not in told
        assert TOKEN not in told
    if isinstance(raises, RuntimeError):
        assert history[0].message == "no ***, no ***, no such host"
        assert "ValueError: within ***" in (history[0].traceback or "")
        assert "in on_event" in (history[0].traceback or "")
    if isinstance(raises, tenure.Bury):
        assert job.reason == "no ***, no ***, no such host"


def test_replies_and_notices_are_masked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASK_TOKEN", TOKEN)
    monkeypatch.setenv("MASK_HEADER", f"Bearer {HEADER}")
    app = app_of(RuntimeError())
    options = {"headers": {"Authorization": "env:MASK_HEADER"}}
    given = {**source(tmp_path), "handler": "http", "url": "https://example.org/", "options": options}
    tenure.gateway.attach(app, {"sources": [given]})
    for name in ("gateway.bot", "gateway.bot.reply", "gateway.bot.notice"):
        mask = app.kinds[name].mask
        assert mask is not None
        assert mask(f"{SECRET} {TOKEN} Bearer {HEADER} {HEADER}") == "*** *** *** ***"
    assert app.kinds["on_event"].mask is None


def test_a_secret_is_known_in_every_shape_that_is_as_good() -> None:
    mask = Masker(["user:pass word", "whsec_abcd", "Bearer xyz1", "1:a"])
    basic = base64.b64encode(b"user:pass word").decode()
    for shape in ("pass word", basic, "user%3Apass%20word", "abcd", "xyz1", "1:a"):
        assert mask.blot(f"<{shape}>") == "<***>"
