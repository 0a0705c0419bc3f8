"""Serving from a command: bound before anything starts, run in a thread, told to stop by signals, gone within a limit.

The server has a thread and an event loop of its own: signals are the command's to hear, and no job of a worker beside it can
hold up a request.
"""

from __future__ import annotations

import atexit
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    import uvicorn

    from tenure.gateway.asgi import Gateway

__all__ = ["Bound", "Serving", "bind", "ended_well", "free_port", "leave_within", "serve", "server_config"]

log = logging.getLogger("tenure.gateway")
_QUEUED: Final = 2_048
"""How many connections the kernel keeps for us. The event loop takes fewer at once where few files may be open."""
_LOOK = 0.01
_LOOK_UP = 0.2
_HURRY = 2.0
"""How long stopping may take once it was told twice, in seconds."""
_WHY: Final = {
    errno.EADDRINUSE: "another process listens there; choose another port with --port",
    errno.EADDRNOTAVAIL: "this machine has no such address; 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses",
    errno.EACCES: "this user may not; ports from 1024 on are open to everybody",
}


class Bound(NamedTuple):
    """A socket that listens, and its address as people write it."""

    listening: socket.socket
    url: str


def bind(host: str, port: int, *, tls: bool = False) -> Bound:
    """Listen there; where that cannot be, one sentence says why."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise click.ClickException(f"cannot listen on {host!r}: it is no address, and no host of this name is known") from None  # fmt: skip
    family, _, _, _, place = min(found, key=lambda one: one[0] != socket.AF_INET)
    both = host == "::" and family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        bound = socket.create_server(place, family=family, backlog=_QUEUED, dualstack_ipv6=both)
    except OSError as error:
        why = _WHY.get(error.errno or 0, os.strerror(error.errno or 0))
        raise click.ClickException(f"cannot listen on {host} port {port}: {why}") from None
    shown = f"[{host}]" if ":" in host else host
    return Bound(bound, f"{'https' if tls else 'http'}://{shown}:{bound.getsockname()[1]}")


def free_port(host: str, port: int) -> int:
    """This port if nobody listens there, else 0: any that is free."""
    try:
        bind(host, port).listening.close()
    except click.ClickException:
        return 0
    return port


def server_config(
    gateway: Gateway, *, grace: float, certfile: str | None, keyfile: str | None, **options: Any
) -> uvicorn.Config:
    """The server's settings, its certificate read; one sentence where that cannot be."""
    try:
        from tenure.gateway.room import make_room
        from tenure.gateway.server import uvicorn_config
    except ImportError as cause:
        raise click.ClickException(f"serving needs uvicorn and httptools ({cause}); pip install 'tenure[gateway]'") from None  # fmt: skip
    if keyfile and not certfile:
        raise click.UsageError("--keyfile needs --certfile")
    for name, file in (("--certfile", certfile), ("--keyfile", keyfile)):
        if file is not None and not Path(file).is_file():
            raise click.UsageError(f"{name}: there is no file {file!r}")
    room = make_room()
    config = uvicorn_config(
        gateway,
        log_config=None,
        limit_concurrency=room.connections,
        backlog=room.backlog,
        timeout_graceful_shutdown=max(1, int(grace * 0.8)),
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
        **options,
    )
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        raise click.UsageError(f"--certfile: not a certificate with its key in PEM ({error})") from None
    if not logging.getLogger().isEnabledFor(logging.DEBUG):  # that it starts and stops is said in our words
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
    return config


class Serving:
    """A server in a thread. `stop` and `hurry` may be called from a signal handler."""

    def __init__(
        self,
        config: uvicorn.Config,
        bound: Bound,
        *,
        ready: Callable[[], None],
        ended: Callable[[], None],
        stopping: Callable[[], None] = lambda: None,
    ) -> None:
        import uvicorn

        self.told = self.failed = False
        """Whether it was told to stop; whether it ended without."""
        self._told_at = 0.0
        self._server, self._bound = uvicorn.Server(config), bound
        self._ready, self._ended, self._stopping = ready, ended, stopping
        self._leave: Callable[[], None] = getattr(config.app, "leave", lambda: None)
        """Ends what an app would stream for ever."""
        self._thread = threading.Thread(target=self._run, name="tenure-serving", daemon=True)

    def start(self) -> None:
        """Serve, and say so once requests are answered; returns then, or when that cannot be."""
        if self.told:
            return
        self._thread.start()
        while self._thread.is_alive() and not self._server.started:
            time.sleep(_LOOK)
        if self._server.started:
            with suppress(OSError):  # it has ended already
                self._bound.listening.listen(_QUEUED)  # again: the event loop has set it to what it takes
            self._ready()

    def stop(self) -> None:
        """Take nothing more, and answer what is under way."""
        self._told_at = self._told_at or time.monotonic()
        self._leave()
        self._stopping()
        self.told = self._server.should_exit = True

    def hurry(self) -> None:
        """Wait for nobody."""
        self.told = self._server.should_exit = self._server.force_exit = True

    def left(self, grace: float) -> float:
        """How many seconds of a grace period are left since it was first told to stop."""
        return grace - (time.monotonic() - self._told_at) if self.told else grace

    def join(self, timeout: float) -> bool:
        """Wait until it has ended; whether it has."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._bound.listening])
        except SystemExit:
            pass  # uvicorn has told why
        except Exception as error:
            log.error("the server ended: %s", error)  # noqa: TRY400 - uvicorn has told more
        finally:
            self._bound.listening.close()
            self.failed = not self.told
            self._ended()


def serve(
    config: uvicorn.Config, bound: Bound, *, grace: float, ready: Callable[[], None], what: str = "gateway"
) -> None:
    """Serve until SIGTERM or SIGINT, then answer what is under way; a second signal waits for nobody."""
    words: SimpleQueue[bool] = SimpleQueue()
    """True: told to stop; False: the server has ended. The one kind of queue that a signal handler may put something into."""
    serving = Serving(config, bound, ready=ready, ended=lambda: words.put(False))
    before = {s: signal.signal(s, lambda *_: words.put(True)) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        serving.start()
        gc.collect()
        gc.freeze()  # all that is there by now stays; who collects garbage need not look at it again
        while _heard(words):
            if serving.told:
                serving.hurry()
                leave_within(_HURRY)
            else:
                log.info("told to stop; %g s are left", grace)
                serving.stop()
                leave_within(grace)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    ended_well(serving)
    # Python waits for threads, of handlers that took too long, before it does this.
    atexit.register(log.info, "the %s has stopped", what)


def _heard(words: SimpleQueue[bool]) -> bool:
    """The next word. A signal may reach another thread, and then nothing wakes this one: so it looks up now and then."""
    while True:
        try:
            return words.get(timeout=_LOOK_UP)
        except Empty:
            continue


def ended_well(serving: Serving) -> None:
    """A server that nobody told to stop has failed."""
    if serving.failed:
        raise click.ClickException("the server ended by itself; the log says why")


def leave_within(
    seconds: float, why: str = "the grace period is over; leaving what hangs behind", code: object = 1
) -> None:
    """End this process after so many seconds if it is still here, whatever hangs."""

    def leave() -> None:
        log.error(why)
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else code is not None)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()
