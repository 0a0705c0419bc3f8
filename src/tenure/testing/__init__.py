"""Test an app's jobs: on a store of their own, in this process, by a clock that the test moves.

    from tenure import testing

    with testing.run(app) as t:
        send_email.enqueue("a@b.c", subject="hi")
        t.assert_enqueued(send_email, to="a@b.c")
        t.drain()                            # runs what is ready now, as a worker would
        t.clock.advance("1m")                # retries and schedules follow this clock
        t.drain()

    async with testing.arun(app) as t:       # the same in an async test
        await t.drain()

Works with any test runner, and needs none.
"""

from __future__ import annotations

from tenure.testing.clock import Clock
from tenure.testing.drain import Ran
from tenure.testing.killed import Killed
from tenure.testing.stage import AsyncStage, Stage, arun, run

__all__ = ["AsyncStage", "Clock", "Killed", "Ran", "Stage", "arun", "run"]
