"""aopen: who stops waiting for it leaves nothing open."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.client import async_queue
from tenure.store.open import open_store
from tests.support.watching import until


def test_a_store_that_nobody_waits_for_any_more_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    begun, go = threading.Event(), threading.Event()

    def slowly(url: str) -> Any:
        begun.set()
        go.wait(60)
        opened.append(open_store(url))
        return opened[-1]

    monkeypatch.setattr(async_queue, "open_store", slowly)

    async def give_up() -> None:
        opening = asyncio.ensure_future(tenure.aopen(f"sqlite:///{tmp_path / 'jobs.db'}"))
        await asyncio.to_thread(begun.wait, 60)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await opening
        go.set()
        await asyncio.to_thread(until, lambda: bool(opened and opened[0]._closed))

    asyncio.run(give_up())
