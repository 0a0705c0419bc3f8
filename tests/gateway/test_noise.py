"""What strangers can have logged is told once a minute, with a count."""

from __future__ import annotations

import logging

import pytest

from tenure.gateway.noise import spare


def test_a_kind_of_line_is_told_once_a_minute_and_how_often_it_was_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log, now = logging.getLogger("tests.noise"), [1_000.0]
    spare(log, lambda: now[0])
    spare(log)
    for _ in range(5):
        log.warning("Invalid HTTP request received.")
    log.warning("another")
    now[0] += 60
    log.warning("Invalid HTTP request received.")
    assert [r.getMessage() for r in caplog.records] == [
        "Invalid HTTP request received.",
        "another",
        "Invalid HTTP request received. (and 4 times more since the last time)",
    ]
