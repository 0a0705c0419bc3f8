"""Log lines for people, or JSON for machines; every line of a running job carries its id, kind and attempt.

How they look is told in the environment, so that the processes of a pool and those of isolated jobs log the same way; where
nobody set up logging, they leave it alone, too.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tenure.clock import from_micros
from tenure.context import current
from tenure.job import Claim
from tenure.payload import mask

__all__ = [
    "FORMAT",
    "FORMATS",
    "LEVEL",
    "LEVELS",
    "HumanFormatter",
    "JobFilter",
    "JsonFormatter",
    "job_fields",
    "log_alike",
    "set_up",
    "set_up_as_told",
]

FORMATS: Final = ("human", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
FORMAT, LEVEL = "TENURE_LOG", "TENURE_LOG_LEVEL"
"""The variables that tell a process how to log."""


def job_fields(claim: Claim) -> dict[str, object]:
    """What a record about this job carries, as `extra`, where it is written outside the job's handler."""
    return {"job_id": claim.id, "job_kind": claim.kind, "attempt": claim.attempt}


class JobFilter(logging.Filter):
    """Puts the running job's id, kind and attempt on every record that does not name its own; None outside a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        context = current.get()
        claim = None if context is None or not context.claimed else context.claim
        if not hasattr(record, "job_id"):
            record.job_id = None if claim is None else claim.id
        if not hasattr(record, "job_kind"):
            record.job_kind = None if claim is None else claim.kind
        if not hasattr(record, "attempt"):
            record.attempt = None if claim is None else claim.attempt
        return True


class HumanFormatter(logging.Formatter):
    """One line, the job at its end."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = mask(super().format(record))
        job = getattr(record, "job_id", None)
        if job is None:
            return line
        return f"{line}  [{record.job_kind} {job} attempt {record.attempt}]"  # type: ignore[attr-defined]


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: dict[str, Any] = {
            "time": from_micros(int(record.created * 1_000_000)).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": mask(record.getMessage()),
            "job_id": getattr(record, "job_id", None),
            "kind": getattr(record, "job_kind", None),
            "attempt": getattr(record, "attempt", None),
        }
        if record.exc_info:
            told["traceback"] = mask(self.formatException(record.exc_info))
        return json.dumps({k: v for k, v in told.items() if v is not None}, ensure_ascii=True)


def set_up(form: str, level: str) -> None:
    """Send every log record to standard error, in this form; processes started from here do so too."""
    os.environ[FORMAT], os.environ[LEVEL] = form, level
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(JobFilter())
    handler.setFormatter(
        JsonFormatter()
        if form == "json"
        else HumanFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    )
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def set_up_as_told() -> None:
    """The same as the process that started this one; nothing, if that left logging as it was."""
    form, level = os.environ.get(FORMAT), os.environ.get(LEVEL)
    if form in FORMATS and level in LEVELS:
        set_up(form, level)


@contextmanager
def log_alike() -> Iterator[None]:
    """Processes started within log as this one does: from the same level on if it has a handler, not at all if it has none."""
    before = {name: os.environ.pop(name, None) for name in (FORMAT, LEVEL)}
    ours = logging.getLogger("tenure")
    if ours.hasHandlers():
        forms = [handler.formatter for handler in (*ours.handlers, *logging.getLogger().handlers)]
        os.environ[FORMAT] = "json" if any(isinstance(form, JsonFormatter) for form in forms) else "human"
        os.environ[LEVEL] = _level(ours.getEffectiveLevel())
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _level(number: int) -> str:
    return next((name for name in LEVELS if number <= getattr(logging, name.upper())), LEVELS[-1])
