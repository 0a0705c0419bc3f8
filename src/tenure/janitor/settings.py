"""What the janitor is told: how long finished jobs are kept, everywhere and in single queues, and how often it looks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct, field

from tenure.duration import Duration, parse
from tenure.environment import Setting
from tenure.errors import FieldError, FieldTypeError
from tenure.newjob import check_name

__all__ = ["JanitorSettings", "Kept", "janitor_settings"]

_STATES = ("done", "cancelled", "dead")


class Kept(Struct, frozen=True, kw_only=True):
    """How long finished jobs are kept; zero: for ever."""

    done: timedelta
    cancelled: timedelta
    dead: timedelta


class JanitorSettings(Struct, frozen=True, kw_only=True):
    """Everything the janitor may be told."""

    kept: Kept
    by_queue: Mapping[str, Kept] = field(default_factory=dict)
    figures: timedelta = timedelta(days=90)
    """How long what workers counted is kept; zero: for ever."""
    retain_every: timedelta = timedelta(hours=1)
    look_every: timedelta = timedelta(seconds=5)
    """How often due jobs are promoted, expired ones ended and overdue ones taken back; claims do all of it by themselves as well."""
    limit: timedelta = timedelta(seconds=30)
    """How long all chores together may take before the janitor pauses: before a worker's first job, and in between.

    Zero: one batch, however long it takes.
    """


def janitor_settings(
    retain: Mapping[str, Duration | Mapping[str, Duration]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> JanitorSettings:
    """From the environment and `retain`: {"done": "7d", "mail": {"done": "1d"}} — a state, or a queue with its states."""
    base = {
        "done": Setting.RETAIN_DONE.read(environ),
        "cancelled": Setting.RETAIN_CANCELLED.read(environ),
        "dead": Setting.RETAIN_DEAD.read(environ),
    }
    queues: dict[str, Mapping[str, Duration]] = {}
    for name, given in (retain or {}).items():
        if isinstance(given, Mapping):
            queues[check_name(name, "retain")] = given
        elif name in _STATES:
            base[name] = parse(given, f"retain.{name}")
        else:
            raise FieldTypeError(
                f"retain.{name}", "must be done, cancelled or dead, or a queue with such a mapping", given,
                'retain={"done": "7d", "mail": {"done": "1d"}}',
            )  # fmt: skip
    return JanitorSettings(
        kept=Kept(**base),
        by_queue={name: _kept(name, base, given) for name, given in queues.items()},
        figures=Setting.RETAIN_FIGURES.read(environ),
        retain_every=Setting.RETAIN_EVERY.read(environ),
    )


def _kept(queue: str, base: Mapping[str, timedelta], given: Mapping[str, Duration]) -> Kept:
    unknown = set(given) - set(_STATES)
    if unknown:
        raise FieldError(f"retain.{queue}", "must name done, cancelled or dead", sorted(unknown))
    return Kept(
        **{**base, **{state: parse(span, f"retain.{queue}.{state}") for state, span in given.items()}}
    )
