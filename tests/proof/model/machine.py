"""The state machine: any verb at any time, drawn by Hypothesis, and scenes that lead where chance seldom goes.

`play` runs it on one store for so many examples; each begins with an empty store. A failure prints the steps that lead to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.proof.model.draws import (
    DRESSES,
    GROUPS,
    QUEUES,
    WORKERS,
    ask_of,
    asks,
    few,
    filters,
    outcomes,
    pick,
    waits,
)
from tests.proof.model.pair import MAX_CRASHES, Pair
from tests.proof.model.words import FINISHED, PENDING, SECOND, Ask, Outcome, State, Ticket

__all__ = ["Machine", "play"]

_LONG, _RECENT = 50, 12
_PLAIN: Final = {name: getattr(Ask(), name) for dress in DRESSES for name in dress}
_Step = st.SearchStrategy[tuple[str, dict[str, Any]]]
_STEPS: dict[str, list[_Step]] = {}
LEADS: Final = {
    "enqueue": ("enqueue", "enqueue_many"), "promote": ("expire", "promote"), "admit": ("end",), "claim": ("end",), "done": ("end",),
    "fail": ("end",), "snooze": ("end",), "release": ("end",), "crashed": ("end", "poison"), "bury": ("end",), "cancelled": ("end",),
    "cancel": ("enqueue_many", "expire", "cancel"), "reclaim": ("fall", "poison"), "vanished": ("fall", "poison"), "expire": ("expire",),
    "absolve": ("poison",), "replay": ("end", "replay", "replay_many", "undo"), "unreplay": ("end", "undo"), "retain": ("end", "tick", "retain"), "purge": ("end", "purge"),
    "discard": ("end", "discard"), "restore": ("end", "discard"), "conflicts": ("ask_twice",), "duplicates": ("ask_twice",), "repeated settles": ("end", "repeat_a_settle"),
    "stale renews": ("lose_a_lease", "poison"), "stale settles": ("lose_a_lease", "settle_what_was_lost"),
    "stale settles of jobs that run again": ("end", "lose_a_lease"),
}  # fmt: skip
"""The steps that lead to each thing that is to happen."""
worker = st.sampled_from(WORKERS)
group = st.sampled_from([None, *GROUPS])
later = st.sampled_from([0, 0, 5 * SECOND])


def play(
    start: Callable[[], Pair], *, examples: int, seed: int, towards: Iterable[str] = (), shrink: bool = True
) -> None:
    """Play so many examples; the same again with the same seed. Found failures are made as small as they can be.

    `towards` are things that are to happen (causes of moves, counts of a pair): then only steps are drawn that lead to them.

    More than a dozen examples are better drawn from several seeds: Hypothesis varies the first ones, instead of new ones.
    """
    found = hypothesis.settings(
        max_examples=examples,
        stateful_step_count=_LONG,
        deadline=None,
        database=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    names = sorted({step for thing in towards for step in LEADS[thing]}) or list(_STEPS)
    drawing = st.one_of([step for name in names for step in _STEPS[name]])
    machine = type("Model", (Machine,), {"start": [start], "drawing": drawing})
    run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=found)


def drawn(
    weight: int, **arguments: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """This step is drawn so often beside the others, with these arguments."""

    def mark(step: Callable[..., None]) -> Callable[..., None]:
        name = step.__name__
        _STEPS[name] = [st.tuples(st.just(name), st.fixed_dictionaries(arguments)) for _ in range(weight)]
        return step

    return mark


def _chosen(values: list[Any], at: int) -> Any:
    return values[at % len(values)]


class Machine(RuleBasedStateMachine):
    """One store and the model, and all that can be said to both."""

    start: ClassVar[list[Callable[[], Pair]]]
    drawing: ClassVar[_Step]

    def __init__(self) -> None:
        super().__init__()
        self.pair = self.start[0]()

    def teardown(self) -> None:
        self.pair.shown.at_last()

    def _ask(self, options: dict[str, Any]) -> Ask:
        return ask_of(self.pair.model.now, options, list(self.pair.model.jobs))

    def _job(self, kind: str, name: str | None, at: int = 0, **options: Any) -> Ask:
        """A scene's job; what it carries along, the next one does not."""
        carried = DRESSES[(self.pair.model.arrived + at) % len(DRESSES)]
        return Ask(kind=kind, group=name, limit=GROUPS.get(name or "", 1), **{**carried, **options})

    @rule(step=st.runner().flatmap(lambda machine: machine.drawing))
    def step(self, step: tuple[str, dict[str, Any]]) -> None:
        """One of the steps below. They are no rules of their own: Hypothesis leaves most rules out of most examples."""
        name, arguments = step
        getattr(self, name)(**arguments)

    # Into the line, out of it, and to the end.

    @drawn(2, options=asks)
    def enqueue(self, options: dict[str, Any]) -> None:
        self.pair.enqueue(self._ask(options))

    @drawn(2, many=st.lists(asks, min_size=2, max_size=4))
    def enqueue_many(self, many: list[dict[str, Any]]) -> None:
        self.pair.enqueue(*map(self._ask, many))

    @drawn(1, which=pick)
    def ask_again(self, which: int) -> None:
        if jobs := list(self.pair.model.jobs):
            self.pair.ask_again(_chosen(jobs, which))

    @drawn(4, by=worker, limit=few, only=filters, lease=waits, started=st.booleans(), hasty=st.booleans())
    def claim(
        self, by: str, limit: int, only: dict[str, Any], lease: int, started: bool, hasty: bool
    ) -> None:
        self.pair.claim(by, limit, lease=lease, started=started, hasty=hasty, **only)

    @drawn(1, which=st.lists(pick, min_size=1, max_size=3), lease=waits, started=st.booleans())
    def renew(self, which: list[int], lease: int, started: bool) -> None:
        if recent := self.pair.tickets[-_RECENT:]:
            self.pair.renew([_chosen(recent, at) for at in which], lease=lease, started=started)

    @drawn(1, which=pick, done=st.sampled_from([0.0, 0.5, 1.0]))
    def progress(self, which: int, done: float) -> None:
        if recent := self.pair.tickets[-_RECENT:]:
            self.pair.progress(_chosen(recent, which), done)

    @drawn(4, which=pick, outcome=outcomes)
    def settle(self, which: int, outcome: Outcome) -> None:
        if held := self.pair.held:
            self.pair.settle((_chosen(held, which), outcome))

    @drawn(3, many=st.lists(st.tuples(pick, outcomes), min_size=2, max_size=4))
    def settle_many(self, many: list[tuple[int, Outcome]]) -> None:
        if recent := self.pair.tickets[-_RECENT:]:
            self.pair.settle(*((_chosen(recent, at), outcome) for at, outcome in many))

    @drawn(6, which=st.lists(pick, min_size=1, max_size=4), outcome=outcomes)
    def settle_what_was_lost(self, which: list[int], outcome: Outcome) -> None:
        if lost := self.pair.lost[-_RECENT:]:
            self.pair.settle(*((_chosen(lost, at), outcome) for at in which))

    @drawn(2, which=pick)
    def repeat_a_settle(self, which: int) -> None:
        if said := self.pair.said[-5:]:
            self.pair.settle(_chosen(said, which))

    # Time, workers, people and the house.

    @drawn(2, by=waits)
    def tick(self, by: int) -> None:
        self.pair.tick(by)

    @drawn(1, who=worker)
    def beat(self, who: str) -> None:
        self.pair.beat(who)

    @drawn(1, who=worker)
    def leave(self, who: str) -> None:
        self.pair.leave(who)

    @drawn(1)
    def reclaim(self) -> None:
        self.pair.reclaim()

    @drawn(1)
    def promote(self) -> None:
        self.pair.promote()

    @drawn(3, state=st.sampled_from([*PENDING, "scheduled", "running", "done"]), which=pick)
    def cancel(self, state: State, which: int) -> None:
        if state == "scheduled" and not self.pair.ids(state):
            self.pair.enqueue(Ask(delay=60 * SECOND))
        if jobs := self.pair.ids(state):
            self.pair.cancel(_chosen(jobs, which))

    @drawn(1, state=st.sampled_from([*PENDING, "scheduled", "running"]))
    def cancel_many(self, state: State) -> None:
        self.pair.cancel_many([state])

    @drawn(3, state=st.sampled_from([*FINISHED, "done", "ready"]), which=pick, delay=later)
    def replay(self, state: State, which: int, delay: int) -> None:
        if jobs := self.pair.ids(state):
            self.pair.replay(_chosen(jobs, which), delay)

    @drawn(1, states=st.lists(st.sampled_from(FINISHED), min_size=1, unique=True))
    def replay_many(self, states: list[State]) -> None:
        self.pair.replay_many(states)

    @drawn(2, states=st.lists(st.sampled_from(FINISHED), min_size=1, unique=True), delay=later, claimed=st.booleans())  # fmt: skip
    def undo(self, states: list[State], delay: int, claimed: bool) -> None:
        """What was started anew is put back, but for what somebody has claimed since."""
        self.pair.replay_many(states, delay)
        if claimed:
            self.pair.claim("jon")
        self.pair.unreplay()

    @drawn(1, queue=st.sampled_from([*QUEUES, "bulk"]))
    def pause(self, queue: str) -> None:
        self.pair.pause(queue)

    @drawn(4, queue=st.sampled_from(QUEUES))
    def resume(self, queue: str) -> None:
        self.pair.resume(queue)

    @drawn(2, state=st.sampled_from(FINISHED), age=waits)
    def retain(self, state: State, age: int) -> None:
        self.pair.retain({state: age, "done": 5 * SECOND})

    @drawn(1, state=st.sampled_from(FINISHED))
    def purge(self, state: State) -> None:
        self.pair.purge([state])

    @drawn(1, back=st.sampled_from([True, True, False]))
    def discard(self, back: bool) -> None:
        self.pair.discard()
        if back:
            self.pair.restore()

    @drawn(1, options=asks)
    def look(self, options: dict[str, Any]) -> None:
        self.pair.shown.everything(self._ask(options))

    # Scenes.

    @drawn(6, by=worker, limit=few, lives=st.booleans(), again=st.booleans(), comes_back=st.sampled_from(["settles", "renews", ""]), outcome=outcomes)  # fmt: skip
    def lose_a_lease(
        self, by: str, limit: int, lives: bool, again: bool, comes_back: str, outcome: Outcome
    ) -> None:
        """A worker's lease runs out, somebody may run the job again, and then it comes back."""
        taken = self.pair.claim(by, limit, lease=10 * SECOND)
        self.pair.tick(31 * SECOND)
        if lives:
            self.pair.beat(by)
        self.pair.reclaim()
        if again:
            self.pair.claim("dan", limit)
        if taken and comes_back == "settles":
            self.pair.settle(*((ticket, outcome) for ticket in taken))
        elif taken and comes_back == "renews":
            self.pair.renew(taken)

    @drawn(8, jobs=st.lists(st.tuples(outcomes, group, st.booleans()), min_size=4, max_size=6))
    def end(self, jobs: list[tuple[Outcome, str | None, bool]]) -> None:
        """Jobs end as their worker says, and some were asked to cancel."""
        self.pair.enqueue(
            *(self._job("end", name, at, max_attempts=1 + at % 2) for at, (_, name, _) in enumerate(jobs))
        )
        taken = self.pair.claim("eve", 8, kinds=["end"])
        ends = [(ticket, *_chosen(jobs, at)) for at, ticket in enumerate(taken)]
        for ticket, _, _, asked in ends:
            if asked:
                self.pair.cancel(ticket.job)
        if ends:
            self.pair.settle(*((ticket, outcome) for ticket, outcome, _, _ in ends))

    @drawn(2, jobs=st.lists(st.tuples(group, st.booleans()), min_size=2, max_size=4), seen=st.booleans(), started=st.booleans())  # fmt: skip
    def fall(self, jobs: list[tuple[str | None, bool]], seen: bool, started: bool) -> None:
        """A worker ends with its jobs, some of them asked to cancel; somebody sees it, or their leases run out."""
        self.pair.enqueue(*(self._job("fall", name, at) for at, (name, _) in enumerate(jobs)))
        taken = self.pair.claim("gus", 6, kinds=["fall"], lease=10 * SECOND, started=started)
        for at, ticket in enumerate(taken):
            if _chosen(jobs, at)[1]:
                self.pair.cancel(ticket.job)
        if seen:
            self.pair.vanished("gus", taken[::2], "killed")
        else:
            self.pair.tick(11 * SECOND)
            self.pair.reclaim()

    @drawn(5, name=group, how=st.sampled_from(["reclaim", "reclaim", "vanished", "crashed"]), comes_back=st.booleans())  # fmt: skip
    def poison(self, name: str | None, how: str, comes_back: bool) -> None:
        """A job takes its worker with it until it is convicted; unless that was a mistake, and the worker comes back."""
        self.pair.enqueue(self._job("bomb", name, priority=9))
        taken: list[Ticket] = []
        for _ in range(MAX_CRASHES):
            now = self.pair.claim("fay", 2, kinds=["bomb"], lease=10 * SECOND)
            taken += now
            if how == "reclaim":
                self.pair.tick(11 * SECOND)
                self.pair.reclaim()
            elif how == "vanished":
                self.pair.vanished("fay", now)
            elif now:
                self.pair.settle((now[0], Outcome("crashed", text="killed")))
        if comes_back and taken:
            self.pair.renew(taken[-2:])

    @drawn(5, tried=st.booleans())
    def expire(self, tried: bool) -> None:
        """Jobs pass their expiry while they are scheduled, waiting and ready, tried before or not; one does while it runs."""
        pair = self.pair
        pair.enqueue(self._job("slow", None, expires_in=20 * SECOND))
        runs = pair.claim("hal", 1, kinds=["slow"], lease=60 * SECOND)
        waits = (60 * SECOND, 1 * SECOND, 0)
        own = f"group {pair.model.arrived}"
        names = (None, own, None)
        pair.enqueue(*(
            self._job("brief", name, at, priority=9, order="start", expires_in=20 * SECOND, delay=None if tried else wait)
            for at, (name, wait) in enumerate(zip(names, waits, strict=True))
        ))  # fmt: skip
        if tried and (taken := pair.claim("hal", 6, kinds=["brief"])):
            late = itertools.cycle((waits[0], waits[2]))
            later = [waits[1] if pair.model.jobs[t.job].ask.group else next(late) for t in taken]
            fails = [Outcome("fail", delay=wait, text="not yet") for wait in later]
            pair.settle(*zip(taken, fails, strict=True))
        pair.enqueue(self._job("other", own))
        pair.tick(2 * SECOND)
        pair.promote()
        pair.tick(21 * SECOND)
        pair.expire()
        pair.settle(*((ticket, Outcome("done")) for ticket in runs))

    @drawn(
        4,
        period=st.sampled_from([False, False, True]),
        until=st.sampled_from(["enqueued", "claimed", "done", "done"]),
    )
    def ask_twice(self, period: bool, until: str) -> None:
        """A unique key is asked for again while its job is pending or runs, and when it has ended; then the first is replayed.

        What is asked for carries other things each time: a duplicate changes nothing of what is there.
        """
        first = self._job("only", None, unique="me", unique_for=40 * SECOND if period else None)
        ask = replace(first, **(_PLAIN | DRESSES[(self.pair.model.arrived + 1) % len(DRESSES)]))
        self.pair.enqueue(first)
        taken = self.pair.claim("ida", 2, kinds=["only"]) if until != "enqueued" else []
        self.pair.enqueue(ask, ask)
        if until == "done" and taken:
            self.pair.settle(*((ticket, Outcome("done")) for ticket in taken))
            self.pair.enqueue(ask)
        for job in self.pair.model.jobs.values():
            if job.ask.kind == "only" and job.finished:
                self.pair.replay(job.id)
                break
