"""The app of `tenure up` as its child processes import it: with the jobs of the gateway's sources.

A job that was in flight when its process died runs in a child, which imports the app by its address; what the app is made
of is told in the environment.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Final

__all__ = ["ADDRESS", "tell"]

ADDRESS: Final = "tenure.cli.attached:app"
_APP, _CONFIG = "TENURE_UP_APP", "TENURE_UP_CONFIG"


def tell(app: str | None, config: str) -> None:
    """Tell the processes started from here what the app is made of."""
    os.environ[_APP], os.environ[_CONFIG] = app or "", str(Path(config).resolve())


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    return _made()


@cache
def _made() -> Any:
    from tenure.cli.gateway.options import find_app
    from tenure.gateway.jobs import attach

    config = os.environ[_CONFIG]
    app, _ = find_app(os.environ[_APP] or None, config)
    attach(app, config)
    return app
