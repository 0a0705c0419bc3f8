"""The names that spans of jobs have: OpenTelemetry's messaging conventions, and a few of our own beside them.

Spelled here and nowhere else, since the conventions still change.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ATTEMPT", "BATCH_SIZE", "DESTINATION", "ERROR_TYPE", "EXCEPTION", "EXCEPTION_MESSAGE", "EXCEPTION_STACK",
    "EXCEPTION_TYPE", "KIND", "MESSAGE_ID", "OPERATION", "OPERATION_TYPE", "OUTCOME", "PROCESS", "SEND", "SYSTEM",
    "SYSTEM_NAME", "TRACEPARENT", "WORKER", "span_name",
]  # fmt: skip

SYSTEM: Final = "messaging.system"
SYSTEM_NAME: Final = "tenure"
DESTINATION: Final = "messaging.destination.name"
"""The queue."""
OPERATION: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
MESSAGE_ID: Final = "messaging.message.id"
"""The job's id."""
BATCH_SIZE: Final = "messaging.batch.message_count"
ERROR_TYPE: Final = "error.type"
EXCEPTION: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACK: Final = "exception.stacktrace"
KIND: Final = "tenure.job.kind"
ATTEMPT: Final = "tenure.job.attempt"
OUTCOME: Final = "tenure.job.outcome"
WORKER: Final = "tenure.worker"
SEND: Final = "send"
PROCESS: Final = "process"
TRACEPARENT: Final = "traceparent"
"""The key in a job's meta: the W3C header of the same name."""


def span_name(operation: str, what: str) -> str:
    """The conventions put the queue here; the kind tells more, and there are as few of them."""
    return f"{operation} {what}"
