"""Every error Tenure raises, as one tree.

    TenureError
    ├── FieldError (ValueError)          an argument breaks a rule: field, rule, value, fix
    │   ├── FieldTypeError (TypeError)   … because of its type (a naive datetime, say)
    │   ├── FilterError                  a filter's text is not understood: where, what was expected, what may be meant
    │   ├── UnknownKind                  no such kind is registered; names the nearest
    │   └── PayloadError                 a payload or result cannot be stored; `path` says where inside it
    ├── ClaimLost                        the claim was taken away; nothing was changed
    ├── JobAsked                         raised by ctx.check(): somebody asked for the job to be cancelled
    ├── JobFailed                        the job whose result was waited for is dead, cancelled or gone
    ├── ResultNotKept                    the job whose result was waited for is done, and nothing of what it returned was kept
    ├── UsageError                       the call cannot work here (wrong connection, no transaction, …)
    └── StoreError
        ├── StoreURLError                the URL names no store we know
        ├── StoreRefused                 the store exists but must not be used (foreign tables, newer schema, …)
        └── StoreUnavailable             the database is down, full, locked or read-only; try again later

Messages say what is wrong and what to do; the facts are attributes.
"""

from __future__ import annotations

__all__ = [
    "ClaimLost",
    "FieldError",
    "FieldTypeError",
    "FilterError",
    "JobAsked",
    "JobFailed",
    "PayloadError",
    "ResultNotKept",
    "StoreError",
    "StoreRefused",
    "StoreURLError",
    "StoreUnavailable",
    "TenureError",
    "UnknownKind",
    "UsageError",
]

_SHOWN = 80


def shown(value: object) -> str:
    """The value as an error message shows it: short, and never a wall of text."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


class TenureError(Exception):
    """The root: catch this to catch everything Tenure raises on purpose."""


class FieldError(TenureError, ValueError):
    """An argument breaks a rule. Nothing was stored."""

    def __init__(self, field: str, rule: str, value: object, fix: str = "") -> None:
        self.field, self.rule, self.value, self.fix = field, rule, value, fix
        super().__init__(f"{field}: {rule}, got {shown(value)}" + (f"; {fix}" if fix else ""))


class FieldTypeError(FieldError, TypeError):
    """An argument has a type that cannot work. Nothing was stored."""


class FilterError(FieldError):
    """A filter's text is not understood, from `start` to `end` of it: what was `expected` there, what is `near` it."""

    def __init__(
        self, text: str, start: int, end: int, rule: str, expected: str = "", near: str = ""
    ) -> None:
        fix = f"did you mean {near}?" if near else ""
        super().__init__("filter", rule, text[start:end], fix)
        self.text, self.start, self.end, self.expected, self.near = text, start, end, expected, near
        told = [f"filter, column {start + 1}: {rule}"]
        told += [f"expected {expected}"] if expected else []
        self.args = ("; ".join([*told, *([fix] if fix else [])]),)

    def pointed(self) -> str:
        """The text, and carets below what is wrong with it: two lines for a terminal."""
        line = "".join(c if c.isprintable() else " " for c in self.text)
        return f"{line}\n{' ' * self.start}{'^' * max(self.end - self.start, 1)}"


class PayloadError(FieldError):
    """A payload or result cannot be stored; `path` is where inside it."""

    def __init__(self, field: str, path: str, rule: str, value: object, fix: str = "") -> None:
        self.path = path
        super().__init__(f"{field}{path}", rule, value, fix)


class UnknownKind(FieldError):
    """No kind of this name is registered with the app."""


class JobAsked(TenureError):
    """Somebody asked for this job to be cancelled; raised inside its handler by ctx.check()."""


class JobFailed(TenureError):
    """The job whose result was waited for ended without one: `state` is dead, cancelled or None (it is gone)."""

    def __init__(self, job_id: str, state: str | None, why: str) -> None:
        self.job_id, self.state = job_id, state
        super().__init__(f"job {job_id} has no result: it is {state or 'gone'}{': ' if why else ''}{why}")


class ResultNotKept(TenureError):
    """The job whose result was waited for is done, and its handler says it returns something, but nothing of it was kept."""

    def __init__(self, job_id: str, why: str) -> None:
        self.job_id = job_id
        super().__init__(f"job {job_id} is done, but no result of it was kept: {why}")


class ClaimLost(TenureError):
    """The claim was taken away (reclaimed, cancelled or settled before): nothing was changed."""

    def __init__(self, job_id: str, epoch: int) -> None:
        self.job_id, self.epoch = job_id, epoch
        super().__init__(
            f"the claim on job {job_id} at epoch {epoch} is lost: its lease ran out and the job was taken back, "
            "or it was settled before; roll back what this attempt did"
        )


class UsageError(TenureError):
    """The call cannot work here; the message says what to do instead."""


class StoreError(TenureError):
    """Something about the database."""


class StoreURLError(StoreError, ValueError):
    """The URL names no store we know."""


class StoreRefused(StoreError):
    """The store exists but must not be used by this code."""


class StoreUnavailable(StoreError):
    """The database is down, full, locked or read-only. Nothing was acknowledged."""
