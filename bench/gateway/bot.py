"""The bot that `tenure gateway` serves here, as its documentation has it; where its jobs go is $TENURE_URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tenure

__all__ = ["ADDRESS", "SETTINGS", "app"]

ADDRESS = f"{__name__}:app"
SETTINGS = Path(__file__).with_name("bot.toml")
app = tenure.App()


@app.job
async def on_update(update: dict[str, Any]) -> None:
    """Nobody works updates off while they are taken."""
