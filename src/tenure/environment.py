"""Settings from the environment: durations by name, each with the older name it may also have.

    TENURE_LEASE             QUEUE_STUCK_TIMEOUT       how long a claim lasts unless it is renewed (30s)
    TENURE_RETAIN_DONE       QUEUE_DONE_RETENTION      how long done jobs are kept (168h); 0: for ever
    TENURE_RETAIN_CANCELLED                            the same for cancelled jobs (168h)
    TENURE_RETAIN_DEAD                                 the same for dead ones (0: for ever)
    TENURE_RETAIN_FIGURES                              the same for figures (2160h); minutes go after 8 days
    TENURE_RETAIN_EVERY      QUEUE_JANITOR_INTERVAL    how often finished jobs are looked through (1h)

Under the older name a value of zero or less means the default, and is logged; under the TENURE_ name zero means off
and a negative value is an error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum

from tenure.duration import parse, spell
from tenure.errors import FieldError

__all__ = ["Setting"]

log = logging.getLogger("tenure")


class Setting(Enum):
    """A duration that the environment may set."""

    LEASE = ("TENURE_LEASE", "QUEUE_STUCK_TIMEOUT", timedelta(seconds=30), False)
    RETAIN_DONE = ("TENURE_RETAIN_DONE", "QUEUE_DONE_RETENTION", timedelta(days=7), True)
    RETAIN_CANCELLED = ("TENURE_RETAIN_CANCELLED", None, timedelta(days=7), True)
    RETAIN_DEAD = ("TENURE_RETAIN_DEAD", None, timedelta(0), True)
    RETAIN_FIGURES = ("TENURE_RETAIN_FIGURES", None, timedelta(days=90), True)
    RETAIN_EVERY = ("TENURE_RETAIN_EVERY", "QUEUE_JANITOR_INTERVAL", timedelta(hours=1), True)

    def __init__(self, key: str, alias: str | None, default: timedelta, may_be_off: bool) -> None:
        self.key, self.alias, self.default, self.may_be_off = key, alias, default, may_be_off

    def read(self, environ: Mapping[str, str] | None = None) -> timedelta:
        """What the environment says; zero means off, where that can be."""
        env = os.environ if environ is None else environ
        if env.get(self.key, "").strip():
            return self._checked(env[self.key])
        if self.alias is not None and env.get(self.alias, "").strip():
            span = parse(env[self.alias], self.alias, negative=True)
            if span > timedelta(0):
                return span
            log.warning("%s=%s means the default, %s", self.alias, env[self.alias], spell(self.default))
        return self.default

    def _checked(self, text: str) -> timedelta:
        span = parse(text, self.key)
        if span == timedelta(0) and not self.may_be_off:
            raise FieldError(self.key, "must be longer than zero", text)
        return span
