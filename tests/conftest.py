"""What every test can ask for."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.proof import depth, figures, tally
from tests.support import again, chromium, memory, postgres, schemas

_SERVER = pytest.StashKey[postgres.PostgresServer | None]()
_FAILED = pytest.StashKey[str | None]()
"""Where to put down what fails."""
_NO_PROMTOOL = "alerts: read here, but not by Prometheus' own tool, no promtool found; apt install prometheus"


def pytest_configure(config: pytest.Config) -> None:
    # A run that a shell started in the background ignores Ctrl-C, and so would every process that the tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A developer's own queue is not for tests.
    os.environ.pop("TENURE_URL", None)
    config.stash[_FAILED] = os.environ.pop("TENURE_FAILED", None)  # it is not for runs that tests start
    depth.draw_seed()
    memory.use()
    if not (hasattr(config, "workerinput") or config.option.collectonly):
        config.stash[_SERVER] = postgres.serve_run()


def pytest_collection_finish() -> None:
    # Twenty thousand tests stay to the end: who collects garbage need not look at them each time.
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    postgres.end_run(config.stash.get(_SERVER, None))


def pytest_sessionfinish(session: pytest.Session) -> None:
    figures.judge(session)
    again.put_down(session, session.config.stash[_FAILED])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    tally.keep(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the pages could not be played, or the rules not be checked, say so: nothing is left out in silence."""
    if chromium.find() is None:
        terminalreporter.write_line(chromium.MISSING, yellow=True)
    if shutil.which("promtool") is None:
        terminalreporter.write_line(_NO_PROMTOOL, yellow=True)
    tally.report(terminalreporter)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """This worker's own database, empty when the run starts."""
    url = postgres.worker_database()
    yield url
    schemas.let_go()
    postgres.drop_worker_database()
