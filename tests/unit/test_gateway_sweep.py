"""The bench of the gateway gives its rival the number of connections that serves it best, and keeps how the others did."""

from __future__ import annotations

import pytest

from bench.gateway.__main__ import Bench, Sizes
from bench.measure import Cell, Report


@pytest.mark.parametrize("best", [8, 48, 64])
def test_the_best_number_of_connections_is_used_and_all_that_were_tried_are_kept(
    monkeypatch: pytest.MonkeyPatch, best: int
) -> None:
    report = Report("figures")
    bench = Bench("postgres", lambda name: name, Sizes(quick=False), report)
    monkeypatch.setattr(bench, "_rate", lambda *_: 1_000.0 - abs(bench._connections - best))
    bench._sweep()
    cells = {"gateway": Cell("gateway", [2.0]), "row": Cell("row", [1.0])}
    bench._add("updates/s", cells, "row", 1.3)
    [row] = report.rows
    assert row["row_connections"] == {"row": best}
    assert row["row_tried"] == {str(n): 1_000.0 - abs(n - best) for n in (8, 16, 32, 48, 64)}
