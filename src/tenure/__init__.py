"""Tenure: a durable job queue in the database you already have.

import tenure

q = tenure.open("sqlite:///jobs.db")
q.enqueue("send_email", {"to": "a@b.c"})
[claim] = q.claim(limit=1)
q.settle(claim, tenure.Done())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenure.release import VERSION

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.client.async_queue import AsyncQueue, aopen
    from tenure.client.queue import Queue, open  # noqa: A004
    from tenure.client.transaction import AsyncTransaction, Transaction
    from tenure.context import Context
    from tenure.dead import DeadJob, HookSeen
    from tenure.errors import (
        ClaimLost,
        FieldError,
        FieldTypeError,
        FilterError,
        JobAsked,
        JobFailed,
        PayloadError,
        ResultNotKept,
        StoreError,
        StoreRefused,
        StoreUnavailable,
        StoreURLError,
        TenureError,
        UnknownKind,
        UsageError,
    )
    from tenure.filters import Filter
    from tenure.handle import Job
    from tenure.job import (
        Attempt,
        Cancelling,
        Claim,
        Enqueued,
        JobId,
        JobSeen,
        Renewed,
        Replayed,
        Request,
        State,
    )
    from tenure.kinds import Kind
    from tenure.newjob import NewJob
    from tenure.outcome import Bury, Cancel, Cancelled, Crashed, Done, Fail, Outcome, Release, RetryIn, Snooze
    from tenure.retry import Exponential, Fixed, Ladder, RetryPolicy
    from tenure.schedule import Fired, ScheduleSeen
    from tenure.store.explain import Explanation
    from tenure.store.people import Bulk, Cancels, Changed
    from tenure.store.search import Counted, Page
    from tenure.store.views import WorkerSeen
    from tenure.summaries import summary

__version__ = VERSION

_HOME = {
    "tenure.app": ("App",),
    "tenure.client.async_queue": ("AsyncQueue", "aopen"),
    "tenure.client.queue": ("Queue", "open"),
    "tenure.client.transaction": ("AsyncTransaction", "Transaction"),
    "tenure.errors": (
        "ClaimLost", "FieldError", "FieldTypeError", "FilterError", "JobAsked", "JobFailed", "PayloadError", "ResultNotKept", "StoreError",
        "StoreRefused", "StoreURLError", "StoreUnavailable", "TenureError", "UnknownKind", "UsageError",
    ),
    "tenure.context": ("Context",),
    "tenure.dead": ("DeadJob", "HookSeen"),
    "tenure.filters": ("Filter",),
    "tenure.handle": ("Job",),
    "tenure.kinds": ("Kind",),
    "tenure.job": (
        "Attempt", "Cancelling", "Claim", "Enqueued", "JobSeen", "JobId", "Renewed", "Replayed", "Request", "State",
    ),
    "tenure.newjob": ("NewJob",),
    "tenure.outcome": ("Bury", "Cancel", "Cancelled", "Crashed", "Done", "Fail", "Outcome", "Release", "RetryIn", "Snooze"),
    "tenure.retry": ("Exponential", "Fixed", "Ladder", "RetryPolicy"),
    "tenure.schedule": ("Fired", "ScheduleSeen"),
    "tenure.store.explain": ("Explanation",),
    "tenure.store.people": ("Bulk", "Cancels", "Changed"),
    "tenure.store.search": ("Counted", "Page"),
    "tenure.store.views": ("WorkerSeen",),
    "tenure.summaries": ("summary",),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "App",
    "AsyncQueue",
    "AsyncTransaction",
    "Attempt",
    "Bulk",
    "Bury",
    "Cancel",
    "Cancelled",
    "Cancelling",
    "Cancels",
    "Changed",
    "Claim",
    "ClaimLost",
    "Context",
    "Counted",
    "Crashed",
    "DeadJob",
    "Done",
    "Enqueued",
    "Explanation",
    "Exponential",
    "Fail",
    "FieldError",
    "FieldTypeError",
    "Filter",
    "FilterError",
    "Fired",
    "Fixed",
    "HookSeen",
    "Job",
    "JobAsked",
    "JobFailed",
    "JobId",
    "JobSeen",
    "Kind",
    "Ladder",
    "NewJob",
    "Outcome",
    "Page",
    "PayloadError",
    "Queue",
    "Release",
    "Renewed",
    "Replayed",
    "Request",
    "ResultNotKept",
    "RetryIn",
    "RetryPolicy",
    "ScheduleSeen",
    "Snooze",
    "State",
    "StoreError",
    "StoreRefused",
    "StoreURLError",
    "StoreUnavailable",
    "TenureError",
    "Transaction",
    "UnknownKind",
    "UsageError",
    "WorkerSeen",
    "__version__",
    "aopen",
    "open",
    "summary",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first asked for, so that `import tenure` stays cheap."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'tenure' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
