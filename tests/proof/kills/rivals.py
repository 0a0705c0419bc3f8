"""Stale settles while the job runs again elsewhere: only the fence can refuse them, for the state would allow each.

One worker claims a few jobs and lets their leases run out though it lives; another one takes them over; then the first says
everything of its claims that can be said, and must be refused every time, without a trace; then the second ends them.
"""

from __future__ import annotations

from collections.abc import Sequence

import tenure
from tests.proof.kills import works
from tests.proof.notes import Acks, Effects
from tests.support.workers import Scene, until

__all__ = ["Rivals"]

_KIND = "contested"
"""Nobody in the crowd knows it."""
_OUTCOMES: tuple[tenure.Outcome, ...] = (
    tenure.Done(),
    tenure.Fail("oops", retry_in=0),
    tenure.Snooze(0),
    tenure.Release(),
    tenure.Bury("no use"),
    tenure.Cancelled("enough"),
    tenure.Crashed("gone"),
)
_SECOND = "rival:0:second"


class Rivals:
    """Two workers of the test's own on a scene's store."""

    def __init__(self, scene: Scene, *, g4: bool) -> None:
        self._scene, self._q, self._g4 = scene, scene.q, g4
        self.meetings = self.tried = 0
        self.stood: list[bool] = []
        """What each stale settle was told: True would mean that it counted."""

    def meet(self) -> None:
        """Once through all of it."""
        self.meetings += 1
        q, folder = self._q, self._scene.folder
        q.beat(q.worker)  # it lives, so nothing has crashed
        ids: list[str] = [
            answer.id for answer in q.enqueue_many([tenure.NewJob(kind=_KIND)] * len(_OUTCOMES))
        ]
        Acks(folder / "acks-rivals").add(*ids)
        lost = q.claim(len(ids), kinds=[_KIND], lease="50ms")
        assert sorted(claim.id for claim in lost) == sorted(ids)
        held: list[tenure.Claim] = []

        def taken() -> bool:
            held.extend(q.claim(len(ids), kinds=[_KIND], lease="10m", worker=_SECOND))
            return len(held) == len(ids)

        until(taken)
        before = self._scene.jobs(ids)
        assert {(job.state.value, job.worker) for job in before} == {("running", _SECOND)}
        self._say_all(lost)
        assert self._scene.jobs(ids) == before, "a stale settle left a trace"
        for claim in held:
            Effects(folder / "effects").add(claim)
        assert all(q.settle_many([(claim, tenure.Done()) for claim in held])), "who held it was refused"

    def _say_all(self, lost: Sequence[tenure.Claim]) -> None:
        """Each outcome of a claim of its own, then of all of them at once, then in a transaction with a write of its own."""
        q = self._q
        self.stood += [q.settle(claim, said) for claim, said in zip(lost, _OUTCOMES, strict=True)]
        self.stood += q.settle_many([(claim, tenure.Done()) for claim in lost])
        self.tried += 2 * len(lost)
        assert set(q.renew(lost).lost) == {claim.id for claim in lost}
        if self._g4:
            self.tried += 1
            try:
                works.write_and_end(self._scene.url, lost[0])
                self.stood.append(True)
            except tenure.ClaimLost:
                self.stood.append(False)
