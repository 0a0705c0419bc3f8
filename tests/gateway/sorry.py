"""A bot whose handler fails for good at once, for workers that are killed while they tell people of it.

Where the jobs are is $TENURE_URL; where Telegram is, and the token, is $SORRY_API and $SORRY_TOKEN.
"""

from __future__ import annotations

import os
from typing import Any

import tenure
import tenure.gateway

__all__ = ["ADDRESS", "app"]

ADDRESS = "tests.gateway.sorry:app"

app = tenure.App()


@app.job
async def on_update(update: dict[str, Any]) -> None:
    raise tenure.Bury("broken", "it never works")


tenure.gateway.attach(
    app,
    {
        "sources": [
            {
                "slug": "bot",
                "type": "telegram",
                "handler": "python:on_update",
                "async": True,
                "secrets": ["env:NOT_NEEDED_HERE"],
                "token": "env:SORRY_TOKEN",
                "api": os.environ.get("SORRY_API", "http://127.0.0.1:9"),
                "apology": "Sorry.",
            }
        ]
    },
)
