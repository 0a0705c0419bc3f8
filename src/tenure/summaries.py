"""What counts() says, for people. (Not named after its function: a module would hide the function `tenure.summary`.)"""

from __future__ import annotations

from collections.abc import Mapping

from tenure.job import State

__all__ = ["summary"]


def summary(counts: Mapping[str, Mapping[str, int]]) -> str:
    """The jobs of all queues by state, as `queue.counts()` tells them: a line for each state, zeros too."""
    totals = {state: sum(queue.get(state, 0) for queue in counts.values()) for state in State}
    names = max(len(state) for state in State)
    figures = max(len(f"{total:,}") for total in totals.values())
    return "\n".join(f"{state:<{names}}  {total:>{figures},}" for state, total in totals.items())
