"""The live stream: /api/stream, server-sent events.

An event `now` whenever the figures of now have changed, at most four times a second; a comment every 15 s, so that nobody
between takes the line for dead. A stream ends after a minute and is opened again by the page: so a server that is told to
stop is rid of its streams soon, whoever serves it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from starlette.responses import StreamingResponse

from tenure.dashboard.access import Refused
from tenure.dashboard.desk import Asked
from tenure.dashboard.present import FRESH, picture
from tenure.errors import StoreError

__all__ = ["stream"]

log = logging.getLogger("tenure.dashboard")
_MOST: Final = 100
_COMMENT: Final = 15.0
_LONGEST: Final = 60.0
_encode = msgspec.json.Encoder().encode


async def stream(asked: Asked) -> StreamingResponse:
    """One page that watches."""
    if asked.desk.streams >= _MOST:
        raise Refused(503, "too many pages watch", retry_after="5")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_events(asked), media_type="text/event-stream", headers=headers)


async def _events(asked: Asked) -> AsyncIterator[bytes]:
    desk, last = asked.desk, b""
    began = said = time.monotonic()
    desk.streams += 1
    try:
        yield b"retry: 500\n\n"
        while not desk.leaving and (moment := time.monotonic()) - began < _LONGEST:
            try:
                told = _encode((await picture(desk))["now"])
            except StoreError as error:
                log.debug("no picture of now: %s", error)
                told = last  # the page sees that nothing comes, and asks other pages, which say why
            if told != last:
                yield b"event: now\ndata: " + told + b"\n\n"
                last, said = told, moment
            elif moment - said >= _COMMENT:
                yield b": still here\n\n"
                said = moment
            await asyncio.sleep(FRESH)
    finally:
        desk.streams -= 1
