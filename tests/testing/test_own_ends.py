"""A drain tells how jobs ended in their handlers' own transactions as a worker does."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import tenure
from tenure import testing
from tenure.events import Abandoned, Ended, Event


def test_the_event_of_a_job_that_settled_itself_tells_what_it_said(tmp_path: Path) -> None:
    app = tenure.App(f"sqlite:///{tmp_path}/app.db?shared=true")
    heard: list[Event] = []
    app.listen(heard.append, Ended, Abandoned)

    @app.job
    def settles(ctx: tenure.Context, commit: bool) -> None:
        db = sqlite3.connect(tmp_path / "app.db")
        ctx.claim.settle_in(db, tenure.Bury("no use"))
        if commit:
            db.commit()
        db.close()

    with testing.run(app, url=app.url) as t:
        settles.enqueue(commit=True)
        settles.enqueue(commit=False)
        buried, forgotten = t.drain()
    assert (buried.outcome, buried.job.state, forgotten.job.state) == (None, "dead", "scheduled")
    assert [e.outcome for e in heard if isinstance(e, Ended)] == [tenure.Bury("no use"), forgotten.outcome]
    assert len(heard) == 2
