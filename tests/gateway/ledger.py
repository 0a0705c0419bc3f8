"""A bot whose handler writes one line per handling: who keeps the ledger.

    tenure gateway tests.gateway.ledger:app -f tests/gateway/ledger.toml      # takes updates
    tenure worker tests.gateway.ledger:app                                    # handles them

Where the jobs are is $TENURE_URL; the ledger is a file in $SCENE.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tenure
import tenure.gateway

__all__ = ["ADDRESS", "SECRET", "SETTINGS", "app"]

ADDRESS = f"{__name__}:app"
SETTINGS = Path(__file__).with_name("ledger.toml")
SECRET = "a-secret_of-the-ledger"

app = tenure.App(max_crashes=int(os.environ.get("SCENE_MAX_CRASHES", "3")))


@app.job
async def on_update(ctx: tenure.Context, update: dict[str, Any]) -> None:
    """One write of one line: it is there or it is not, whoever is killed when."""
    line = f"{update['update_id']} {update['message']['chat']['id']} {ctx.claim.worker}\n".encode()
    handle = os.open(Path(os.environ["SCENE"]) / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, line)
    os.close(handle)


tenure.gateway.attach(app, SETTINGS)
