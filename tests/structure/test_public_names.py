"""The public names: exactly these, each importable."""

from __future__ import annotations

import pytest

import tenure

NAMES = [
    "App", "AsyncQueue", "AsyncTransaction", "Attempt", "Bulk", "Bury", "Cancel", "Cancelled", "Cancelling",
    "Cancels", "Changed", "Claim", "ClaimLost", "Context", "Counted", "Crashed", "DeadJob", "Done", "Enqueued", "Explanation", "Exponential", "Fail",
    "FieldError", "FieldTypeError", "Filter", "FilterError", "Fired", "Fixed", "HookSeen", "Job", "JobAsked", "JobFailed", "JobId",
    "JobSeen", "Kind", "Ladder", "NewJob", "Outcome", "Page", "PayloadError", "Queue", "Release", "Renewed",
    "Replayed", "Request", "ResultNotKept", "RetryIn", "RetryPolicy", "ScheduleSeen", "Snooze", "State", "StoreError",
    "StoreRefused", "StoreURLError", "StoreUnavailable", "TenureError", "Transaction", "UnknownKind",
    "UsageError", "WorkerSeen", "__version__", "aopen", "open", "summary",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert sorted(tenure.__all__) == sorted(NAMES)
    assert len(set(tenure.__all__)) == len(tenure.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(tenure, name) is not None


def test_dir_lists_the_public_names() -> None:
    assert dir(tenure) == sorted(NAMES)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"module 'tenure' has no attribute 'enqueu'"):
        tenure.enqueu  # noqa: B018


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n.endswith(("Error", "Lost", "Refused", "Unavailable"))]
)
def test_every_error_is_a_tenure_error(name: str) -> None:
    assert issubclass(getattr(tenure, name), tenure.TenureError)
