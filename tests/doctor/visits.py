"""What a test asks the doctor, and a store that was used at another time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import tenure
from tenure.clock import from_micros, machine_micros
from tenure.doctor import Finding, Limits, examine
from tests.support.clock import MovedClock

__all__ = ["ago", "visit", "worse"]


def visit(url: str, check: str, /, **limits: Any) -> list[Finding]:
    """What one check found."""
    return [finding for finding in examine(url, limits=Limits(**limits)) if finding.check == check]


def worse(url: str, **limits: Any) -> list[Finding]:
    """All that is not well."""
    return [finding for finding in examine(url, limits=Limits(**limits)) if finding.level != "ok"]


def ago(url: str, **span: float) -> tenure.Queue:
    """The queue as it was used so long ago."""
    return tenure.open(url, clock=MovedClock(from_micros(machine_micros()) - timedelta(**span)))
