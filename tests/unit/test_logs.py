"""Log lines: the job on every line of its handler, as people and as machines read it, and no secrets."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.context import Context, current
from tenure.logs import FORMAT, FORMATS, LEVEL, HumanFormatter, JobFilter, JsonFormatter, set_up

log = logging.getLogger("shop")


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[tenure.Claim]:
    """A claim on a job."""
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db") as q:
        q.enqueue("send", {})
        [found] = q.claim(limit=1)
        yield found


@contextmanager
def running(context: Context) -> Iterator[None]:
    """As a worker runs a handler."""
    token = current.set(context)
    try:
        yield
    finally:
        current.reset(token)


def line(formatter: logging.Formatter, say: Callable[[logging.Logger], object]) -> str:
    """What a logger writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(JobFilter())
    logger = logging.Logger("shop")  # noqa: LOG001 - one of the test's own
    logger.addHandler(handler)
    say(logger)
    return stream.getvalue().removesuffix("\n")


def failing(logger: logging.Logger) -> None:
    try:
        int("postgresql://me:hunter2@db/shop")
    except ValueError:
        logger.exception("it failed")


def test_a_line_for_machines_is_one_json_object(claim: tenure.Claim) -> None:
    with running(Context(claim)):
        told = json.loads(line(JsonFormatter(), lambda to: to.warning("sent %d to %s", 3, "é\n")))
    assert datetime.fromisoformat(told.pop("time")).tzinfo is not None
    assert told == {
        "level": "warning", "logger": "shop", "message": "sent 3 to é\n",
        "job_id": claim.id, "kind": "send", "attempt": 1,
    }  # fmt: skip


def test_a_line_for_people_ends_with_the_job(claim: tenure.Claim) -> None:
    with running(Context(claim)):
        told = line(HumanFormatter("%(levelname)s %(message)s"), lambda to: to.info("sent"))
    assert told == f"INFO sent  [send {claim.id} attempt 1]"


def test_outside_a_handler_there_is_no_job_on_the_line() -> None:
    assert line(HumanFormatter("%(message)s"), lambda to: to.info("hello")) == "hello"
    told: dict[str, Any] = json.loads(line(JsonFormatter(), lambda to: to.info("hello")))
    assert not {"job_id", "kind", "attempt"} & set(told)
    with running(Context()):  # called directly
        assert line(HumanFormatter("%(message)s"), lambda to: to.info("hello")) == "hello"


def test_a_record_that_names_its_job_keeps_it(claim: tenure.Claim) -> None:
    about = {"job_id": "j", "job_kind": "charge", "attempt": 7}
    with running(Context(claim)):
        told = line(HumanFormatter("%(message)s"), lambda to: to.info("failed", extra=about))
    assert told == "failed  [charge j attempt 7]"


@pytest.mark.parametrize("formatter", [HumanFormatter("%(message)s"), JsonFormatter()], ids=FORMATS)
@pytest.mark.parametrize(
    "secret",
    [
        "password=hunter2",
        "postgresql://me:hunter2@db/shop",
        "Authorization: Bearer hunter2",
        "api_key: 'hunter2'",
    ],
)
def test_secrets_are_masked(formatter: logging.Formatter, secret: str) -> None:
    told = line(formatter, lambda to: to.info("with %s", secret))
    assert "hunter2" not in told
    assert "***" in told


def test_an_error_is_told_with_its_traceback_and_without_its_secrets() -> None:
    for_people = line(HumanFormatter("%(message)s"), failing)
    for_machines = json.loads(line(JsonFormatter(), failing))
    for text in (for_people, for_machines["traceback"]):
        assert "postgresql://me:***@db/shop" in text
        assert "Traceback" in text
    assert for_machines["message"] == "it failed"


def test_where_nothing_puts_the_job_on_a_record_the_formatters_do_without() -> None:
    record = logging.LogRecord("shop", logging.INFO, __file__, 1, "hello", (), None)
    assert HumanFormatter("%(message)s").format(record) == "hello"
    assert json.loads(JsonFormatter().format(record))["message"] == "hello"


@pytest.mark.parametrize("form", FORMATS)
def test_set_up_sends_every_record_of_the_level_to_standard_error(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    for name in (FORMAT, LEVEL):
        monkeypatch.setenv(name, "")  # so that it is put back
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    root.handlers = []  # what watches the tests is not to be closed
    try:
        set_up(form, "info")
        log.info("heard")
        log.debug("not heard")
    finally:
        root.handlers = before
        root.setLevel(level)
    assert (os.environ[FORMAT], os.environ[LEVEL]) == (form, "info")
    [told] = stream.getvalue().splitlines()
    assert "heard" in told
    assert told.startswith("{") == (form == "json")
