"""Where a Chromium is for the tests that play the dashboard's page; they are collected only where there is one."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

__all__ = ["MISSING", "find"]

MISSING = "pages: not played, no Chromium found; apt install chromium, or name one in TENURE_TEST_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """The path of one; None where there is none, or nothing to drive it with."""
    if find_spec("playwright") is None:
        return None
    named = os.environ.get("TENURE_TEST_CHROMIUM", "")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)
