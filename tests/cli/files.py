"""The files that a gateway's commands are run on: a bot, its settings, and a certificate of nobody's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["BOT", "CERTIFICATE", "KEY", "SECRET", "SETTINGS", "source", "write"]

SECRET = "nobodys-secret"
SETTINGS = """
[[sources]]
slug = "bot"
type = "telegram"
handler = "python:on_update"
async = true
secrets = ["env:BOT_SECRET"]
retry = ["50ms"]
max_attempts = 2
"""
BOT = '''
import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import tenure

app = tenure.App()
here = Path(__file__).parent


def note(word: str) -> None:
    with (here / "notes").open("a") as file:
        file.write(f"{word} {os.getpid()}\\n")


async def gate() -> None:
    while not (here / "gate").exists():
        await asyncio.sleep(0.01)


@app.job
async def on_update(update: dict[str, Any]) -> int:
    note("handled")
    return update["update_id"]


@app.job
async def waits(update: dict[str, Any]) -> dict[str, Any]:
    """Takes until the gate is open."""
    note("begun")
    await gate()
    return {"in": "time"}


@app.job
def hangs(update: dict[str, Any]) -> None:
    """Takes for ever, in a thread."""
    note("begun")
    time.sleep(600)


@app.job
def outlasts(update: dict[str, Any]) -> None:
    """Takes until the gate is open, in a thread."""
    note("begun")
    while not (here / "gate").exists():
        time.sleep(0.01)
    print("outlasted", file=sys.stderr, flush=True)


@app.job
async def dies_once(update: dict[str, Any]) -> str:
    """Takes its process along, the first time."""
    first = not (here / "notes").exists()
    note("begun")
    if first:
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@app.job
async def asks(update: dict[str, Any]) -> dict[str, Any]:
    """Waits for what a job answers."""
    note("begun")
    await gate()
    job = await on_update.aenqueue({"update_id": 99})
    return {"told": await job.aresult(timeout=30)}
'''
KEY = """-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIASEHBMUE6LUfHQgHCO/pmkau1VPtrqv31IAlkazkq6YoAoGCCqGSM49
AwEHoUQDQgAE9ZRMuUUJ7GlzO76DKU+FuVB2h2YyDzF72fo+cJsL/lhbkHxf5H+h
22U1jg5Zq1hW0Igso2R5qjrJYDY826gU1Q==
-----END EC PRIVATE KEY-----
"""
CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUaYJ6XAuRq78SXArBNm6Roubv+kkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTE3MzI0N1oYDzIxMjYxMDIy
MTczMjQ3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT1lEy5RQnsaXM7voMpT4W5UHaHZjIPMXvZ+j5wmwv+WFuQfF/kf6Hb
ZTWODlmrWFbQiCyjZHmqOslgNjzbqBTVo28wbTAdBgNVHQ4EFgQU+aWFMeTi6MZS
qPnlUj/uMwwaPkcwHwYDVR0jBBgwFoAU+aWFMeTi6MZSqPnlUj/uMwwaPkcwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSQAwRgIhAJG6PJEUzl54Fw8w6mnz8pbUhatiL7HT9/kwvMrvie4NAiEA
tJdEC8MOvGNDsDle1+sqPb9UDdQxsqI8dLusafsLnfs=
-----END CERTIFICATE-----
"""


def source(**given: Any) -> str:
    """A source of the settings, like the usual one but for what is given."""
    words = {"slug": "bot", "type": "telegram", "handler": "python:on_update", "async": True}
    words |= {"secrets": ["env:BOT_SECRET"], **given}
    lines = [f"{name} = {_toml(value)}" for name, value in words.items() if value is not None]
    return "\n".join(["[[sources]]", *lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml(inner)}' for name, inner in value.items())} }}"
    return json.dumps(value)


def write(folder: Path, settings: str = SETTINGS) -> Path:
    """A bot and its settings in this folder."""
    (folder / "bot.py").write_text(BOT)
    (folder / "gateway.toml").write_text(settings)
    return folder
