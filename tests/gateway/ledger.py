"""A bot whose handler writes one line per handling, and its gateway as a process: who keeps the ledger.

    python -m tests.gateway.ledger 8080              # takes updates
    tenure worker tests.gateway.ledger:app           # handles them

Where the jobs are is $TENURE_URL; the ledger is a file in $SCENE.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import uvicorn

import tenure
import tenure.gateway
from tenure.gateway.server import uvicorn_config

__all__ = ["ADDRESS", "SECRET", "app"]

ADDRESS = "tests.gateway.ledger:app"
SECRET = "a-secret_of-the-ledger"
CONFIG: dict[str, Any] = {
    "inline_secrets": True,
    "sources": [
        {
            "slug": "bot",
            "type": "telegram",
            "handler": "python:on_update",
            "async": True,
            "secrets": [f"inline:{SECRET}"],
        }
    ],
}

app = tenure.App(max_crashes=int(os.environ.get("SCENE_MAX_CRASHES", "3")))


@app.job
async def on_update(ctx: tenure.Context, update: dict[str, Any]) -> None:
    """One write of one line: it is there or it is not, whoever is killed when."""
    line = f"{update['update_id']} {update['message']['chat']['id']} {ctx.claim.worker}\n".encode()
    handle = os.open(Path(os.environ["SCENE"]) / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, line)
    os.close(handle)


tenure.gateway.attach(app, CONFIG)

if __name__ == "__main__":
    gateway = tenure.gateway.asgi(app, CONFIG)
    uvicorn.Server(uvicorn_config(gateway, port=int(sys.argv[1]))).run()
