"""A call that nobody waits for any more ends by itself, and its error is nobody's business."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.client.call import Call
from tenure.store.plan import Plan


async def abandon(url: str, heard: list[Any]) -> None:
    """Stop waiting for a call that then fails."""
    asyncio.get_running_loop().set_exception_handler(lambda _, told: heard.append(told))
    begun, go_on = threading.Event(), threading.Event()

    def fails(_again: bool) -> Plan[None]:
        begun.set()
        go_on.wait(60)
        raise tenure.StoreError("too late to matter")

    async with await tenure.aopen(url) as q:
        call: asyncio.Task[None] = asyncio.ensure_future(q._run(Call(fails, reads=True)))
        await asyncio.to_thread(begun.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        del call
        go_on.set()


def test_the_error_of_a_call_that_was_given_up_is_not_reported_as_lost(tmp_path: Path) -> None:
    heard: list[Any] = []
    asyncio.run(abandon(f"sqlite:///{tmp_path}/jobs.db", heard))
    gc.collect()
    assert heard == []
