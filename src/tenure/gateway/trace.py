"""The trace that a request belongs to: its W3C traceparent, kept in its job's meta as an instrumented producer keeps it.

The job's runs then stand in that trace, and the handler `http` passes it on. What is no traceparent is not kept; no tracestate or
baggage is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["trace_of"]

_HEADER = "traceparent"
_KNOWN = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
_NONE: Mapping[str, str] = {}


def trace_of(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The meta of a job made from a request with these headers (names in lower case)."""
    given = headers.get(_HEADER)
    return {_HEADER: given} if given is not None and _KNOWN.match(given) else _NONE
