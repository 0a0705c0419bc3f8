"""`tenure demo`: a shop at work, with worker, janitor, gateway and dashboard in one process, for people to look at."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tenure.cli.desk.opening import json_option
from tenure.cli.desk.screen import echo_json, paint
from tenure.cli.showing import PORT

if TYPE_CHECKING:
    from tenure.cli.serving import Bound
    from tenure.client.queue import Queue
    from tenure.demo.traffic import Traffic
    from tenure.testing.telegram import FakeTelegram

__all__ = ["command"]

_APP: Final = "tenure.demo.shop:app"
_HOST: Final = "127.0.0.1"
_GATEWAY: Final = 8000
_TOKEN: Final = "1234567:nobodys-token"  # noqa: S105 - of a Telegram that is ours
_LOOK_AT: Final = """
  {page}    the dashboard; live: leave it open
    Overview    what is wrong, in words; jobs a second, how long they wait and run
    Errors      failures alike, together: the cards that were declined, the mails that timed out
    Jobs        try  state:dead  or  flow:catalogue-1 ; open one, look at its attempts, retry it
    Queues      newsletter is paused, with 40 jobs: resume it
    Cron        stock levels, every 15 seconds; webhooks from a Telegram of ours are under Webhooks

  {gateway}     the gateway: POST /bot and /github
  {url}

In another terminal:
  export TENURE_URL={url}
  {tenure} top
  {tenure} list state:dead
  {tenure} retry 'state:dead kind:charge_card' --dry-run
"""
_LOOK, _LOOKS = 0.02, 250
"""How often it is looked whether the worker has come, in seconds, and how many times at most."""


@click.command("demo")
@click.option(
    "--story", is_flag=True, help="Tell, line by line, what happens to a handful of jobs, and leave."
)
@click.option("--url", metavar="URL", help="Where its jobs go.  [default: a file in a temporary folder, deleted at the end]")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), help=f"The gateway's port.  [default: {_GATEWAY}, or any if that is taken]")  # fmt: skip
@click.option("--dashboard", type=click.IntRange(0, 65_535), metavar="PORT", help=f"The dashboard's port.  [default: {PORT}, or any if that is taken]")  # fmt: skip
@click.option("--for", "span", metavar="DURATION", help="End by itself after so long: 30s, 5m.")
@json_option
def command(
    story: bool, url: str | None, port: int | None, dashboard: int | None, span: str | None, as_json: bool
) -> None:
    """Show Tenure at work: a small shop on SQLite, its customers, and a dashboard to look at, all in one process.

    \b
    tenure demo                   until Ctrl-C; prints where the dashboard is, and what to look at
    tenure demo --for 30s --json  for scripts: a line when it is up, and one when it has ended
    tenure demo --story           line by line, in a second; needs no extras

    Mails that time out and are sent again, cards that are declined, a flow with children, schedules, and webhooks that come
    through the real gateway from a Telegram on this machine. Needs the extras gateway and dashboard.
    """
    if story:
        from tenure.demo.story import main

        raise SystemExit(main(as_json=as_json))
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as folder:
        _logged(Path(folder, "log"))
        try:
            _run(Path(folder), url, port, dashboard, span, as_json=as_json)
        except BaseException:
            logging.shutdown()
            raise


def _run(
    folder: Path, url: str | None, port: int | None, dashboard: int | None, span: str | None, *, as_json: bool
) -> None:
    seconds = None if span is None else _seconds(span)
    place = f"sqlite:///{folder}/jobs.db" if url is None else url
    with _telegram() as (telegram, secret):
        os.environ.update(TENURE_URL=place, TENURE_DEMO_TOKEN=_TOKEN, TENURE_DEMO_SECRET=secret)
        os.environ["TENURE_DEMO_API"] = telegram.url
        shop = _Shop(folder, telegram, secret, seconds, as_json=as_json)
        try:
            shop.run(port, dashboard, fresh=url is None)
        finally:
            shop.close()
        shop.told(place)


def _seconds(span: str) -> float:
    from tenure.worker.settings import positive_span

    return positive_span(span, "--for").total_seconds()


@contextmanager
def _telegram() -> Iterator[tuple[FakeTelegram, str]]:
    """A Telegram on this machine, and the secret that it and the gateway share."""
    from tenure.testing.telegram import FakeTelegram

    with FakeTelegram(token=_TOKEN) as telegram:
        yield telegram, secrets.token_urlsafe(24)


def _logged(file: Path) -> None:
    """What is logged goes to a file: failures are what this is about, and the terminal is for people."""
    from tenure.logs import HumanFormatter, JobFilter

    handler = logging.FileHandler(file, encoding="utf-8")
    handler.addFilter(JobFilter())
    handler.setFormatter(HumanFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class _Shop:
    """Everything that runs: what `tenure up` runs, the customers, and a line that tells how it goes."""

    def __init__(
        self, folder: Path, telegram: FakeTelegram, secret: str, seconds: float | None, *, as_json: bool
    ) -> None:
        self._folder, self._telegram, self._secret = folder, telegram, secret
        self._seconds, self._as_json = seconds, as_json
        self._traffic: Traffic | None = None
        self._ended = threading.Event()
        self._telling: threading.Thread | None = None
        self._page = ""

    def run(self, port: int | None, dashboard: int | None, *, fresh: bool) -> None:
        """Until a signal, or as long as was asked for. A `fresh` store has a past from the start; in anybody else's none is made up."""
        from tenure.cli.gateway.options import make_gateway
        from tenure.cli.serving import bind, free_port
        from tenure.cli.showing import shown
        from tenure.cli.up import run_with_gateway
        from tenure.demo.past import past
        from tenure.demo.shop import settings_text
        from tenure.worker.start import worker_settings

        config = self._folder / "gateway.toml"
        config.write_text(settings_text(self._telegram.url), "utf-8")
        gateway = make_gateway(_APP, str(config))
        if fresh:
            past(gateway.app.url)
        desk = free_port(_HOST, PORT) if dashboard is None else dashboard
        front = free_port(_HOST, _GATEWAY) if port is None else port
        settings, bound = worker_settings(concurrency=20, grace="4s"), bind(_HOST, front)
        with shown(gateway.app, (_HOST, desk), gateway, quiet=True) as page:
            self._page = page or ""
            run_with_gateway(
                gateway, settings, _APP, str(config), tell=lambda: self._up(bound), stopping=self._leave, bound=bound
            )  # fmt: skip

    def _leave(self) -> None:
        """Told to stop: nobody comes any more, while what runs is finished or given back."""
        self._ended.set()
        if self._traffic is not None:
            self._traffic.leave()

    def close(self) -> None:
        """The customers are at home."""
        self._ended.set()
        if self._telling is not None:
            self._telling.join(2)  # it is who lets them in
        if self._traffic is not None:
            self._traffic.stop()

    def told(self, place: str) -> None:
        """What came of it all."""
        import tenure

        with tenure.open(place) as queue:
            states = _states(queue)
        webhooks = 0 if self._traffic is None else self._traffic.webhooks
        if self._as_json:
            echo_json({"webhooks": webhooks, **states})
        else:
            click.echo(f"ended: {_line(states, webhooks)}")

    def _up(self, bound: Bound) -> None:
        """Requests are answered, and the worker comes next: put something there to look at."""
        from tenure.demo.traffic import Traffic

        self._traffic = Traffic(bound.url, self._telegram, self._secret)
        self._traffic.furnish()
        self._telling = threading.Thread(
            target=self._open, args=(self._traffic, bound.url), name="tenure-demo-telling", daemon=True
        )
        self._telling.start()

    def _open(self, traffic: Traffic, gateway: str) -> None:
        """Once somebody works in the shop: say so, open the door, and tell how it goes."""
        from tenure.config import without_password

        place = os.environ["TENURE_URL"]
        self._await_worker(place)
        if self._ended.is_set():
            return
        self._say(gateway, without_password(place))
        traffic.start()
        if self._seconds is not None:
            ending = threading.Timer(self._seconds, lambda: os.kill(os.getpid(), signal.SIGTERM))
            ending.daemon = True
            ending.start()
        self._tell(place)

    def _await_worker(self, place: str) -> None:
        import tenure

        try:
            with tenure.open(place) as queue:
                for _ in range(_LOOKS):
                    if queue.workers() or self._ended.wait(_LOOK):
                        return
        except tenure.TenureError:
            logging.getLogger("tenure.demo").exception("whether the worker has come is not known")

    def _say(self, gateway: str, store: str) -> None:
        """Where everything is."""
        if self._as_json:
            echo_json({"dashboard": self._page, "gateway": gateway, "store": store, "log": str(self._folder / "log")})  # fmt: skip
        else:
            click.echo(paint("Tenure is up: a small shop, with customers who order, write and push.", bold=True))  # fmt: skip
            click.echo(_LOOK_AT.format(page=paint(self._page, "cyan", bold=True), gateway=gateway, url=store, tenure=_tenure()))  # fmt: skip
            own = str(self._folder) in store
            click.echo("Ctrl-C stops it all, and deletes the file" if own else "Ctrl-C stops it all")
        sys.stdout.flush()

    def _tell(self, place: str) -> None:
        """How it goes: on one line of a terminal, elsewhere a line now and then."""
        import tenure

        live = sys.stdout.isatty()
        if self._as_json:
            return
        try:
            with tenure.open(place) as queue:
                while not self._ended.wait(1 if live else 5):
                    line = _line(_states(queue), 0 if self._traffic is None else self._traffic.webhooks)
                    sys.stdout.write(f"\r{line}\033[K" if live else f"{line}\n")
                    sys.stdout.flush()
        except (OSError, ValueError, tenure.TenureError):
            logging.getLogger("tenure.demo").exception("how it goes is not told any more")
        sys.stdout.write(f"{chr(10) if live else ''}stopping: what runs is finished or given back …\n")
        sys.stdout.flush()


def _states(queue: Queue) -> dict[str, int]:
    summed: dict[str, int] = {}
    for states in queue.counts(cap=100_000).values():
        for state, count in states.items():
            summed[state] = summed.get(state, 0) + count
    return summed


def _line(states: dict[str, int], webhooks: int) -> str:
    told = [f"{states.get(state, 0):,} {state}" for state in ("done", "running", "ready", "scheduled", "dead")]  # fmt: skip
    return f"jobs: {', '.join(told)}; {webhooks} webhooks taken"


def _tenure() -> str:
    """This very command, as one types it here."""
    beside = Path(sys.executable).with_name("tenure")
    if not beside.exists():
        return "tenure"
    try:
        return str(beside.relative_to(Path.cwd()))
    except ValueError:
        return "tenure"
