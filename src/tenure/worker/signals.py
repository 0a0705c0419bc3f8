"""Hearing signals in an event loop that sleeps.

The kernel gives a signal to any thread that takes it, and wakes that one alone; Python runs the handler in the main thread,
when that next does something. An event loop with nothing to do would sleep through it, so every signal wakes it.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable

__all__ = ["awake"]


async def awake(work: Awaitable[None]) -> None:
    """Await this in the main thread, and let no signal wait for the event loop meanwhile."""
    loop = asyncio.get_running_loop()
    hears, rings = socket.socketpair()
    with hears, rings:
        hears.setblocking(False)
        rings.setblocking(False)
        loop.add_reader(hears, hears.recv, 4_096)
        before = signal.set_wakeup_fd(rings.fileno(), warn_on_full_buffer=False)
        try:
            await work
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(hears)
