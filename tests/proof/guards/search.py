"""Finds, for every mutant, a test that fails: `python -m tests.proof.guards.search sqlite|postgres [--all] [--own] [--share=0/2] [WORDS]`.

Tests that are known to run the statement are tried, those that killed its other mutants first (of a guard that is weaker, those
that miss the guard itself), then the quickest. For the schema they are those that write into the table. A test counts only if it passes without the mutant and fails each time with it. Lines of the table that still hold are kept, unless
`--all` is given; what is found is written at once. Words narrow the search to mutants whose names hold one of them; several
processes can share the work. `--own` tries the tests of single statements only.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from fcntl import LOCK_EX, flock
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.proof.guards.mutants import STORES, Mutant, StoreName, mutants
from tests.proof.guards.playing import Stage, play
from tests.proof.guards.schema import bodies, table_of
from tests.proof.guards.table import read_table, shown, write_table
from tests.support.child import ROOT

__all__ = ["main"]

OWN = "tests/proof/guards"
WHERE = [OWN, "tests/conformance", "tests/structure/test_plans.py", "tests/doctor", "tests/unit/test_postgres_fire.py", "tests/unit/test_postgres_sleepers.py"]  # fmt: skip
_MEMORY = ROOT / ".pytest_cache"
_LONGEST = float(os.environ.get("TENURE_GUARDS_LONGEST", "90"))
"""Seconds for the search of one mutant."""
TOPICS = {
    "absolve": "crashes vanished", "admit": "groups group_first", "ahead": "explain", "audit": "audit", "backlog": "jobs counts",
    "beat": "beat", "cancel": "cancel", "ceiling": "filters", "claim": "order claim pause expiry", "conflict": "unique lost_reply concurrency",
    "counts": "counts", "crashes": "crashes jobs", "enqueue": "group_first groups unique", "epoch": "fence", "error": "figures filters",
    "expire": "expiry", "find": "filters list people_race", "finish": "settle cancel", "fire": "schedules fire", "floor": "filters list",
    "gaps": "order claim", "group": "groups group_first", "held": "renew", "hold": "fence settle", "hook": "on_dead", "lanes": "order claim",
    "late": "jobs", "lease": "reclaim renew", "ledger": "unique retain", "list": "filters list", "look": "order claim pause expiry",
    "minute": "figures", "next_due": "next_due", "next_fold": "figures", "note": "notes", "order": "order list groups", "overdue": "reclaim crashes",
    "pardon": "crashes", "pause": "pause", "pins": "server", "privileges": "server", "progress": "progress fence", "promote": "promote",
    "pulse": "pulse", "purge": "purge", "renew": "renew fence", "replay": "replay unique", "request": "requests", "requeue": "settle",
    "resolve": "unique lost_reply", "resume": "pause", "retain": "retain", "rollup": "figures", "sample": "samples writes reads", "schedule": "schedules", "set_note": "notes",
    "settle": "fence settle lost_reply", "sleepers": "sleepers watch", "sources": "figures", "stalled": "groups", "tend": "expiry promote reclaim",
    "unclaimed": "people_race cancel", "vitals": "server file", "wake": "groups concurrency", "worker": "beat vanished retain", "woken": "groups",
}  # fmt: skip
"""Where a guard is most likely missed: words of a mutant's name, and the subjects of test files."""
_RACES = ("lock", "skip", "order")


def _fits(test: str, store: StoreName) -> bool:
    """Tests of this store, one way of calling; of the plans, those of a table that is empty, or known to be full."""
    if "test_plans" in test:
        return f"test_{store[:8]}" in test and ("[empty" in test or "[analyzed when full" in test)
    if OWN in test:
        return store in test.partition("[")[2]
    if "conformance" in test:
        mine = {"sqlite": ("[sqlite-sync", "-sqlite-sync", "[shared-sync", "-shared-sync"), "postgres": ("[postgres-sync", "-postgres-sync")}  # fmt: skip
        return any(word in test for word in mine[store])
    return "sqlite" not in test if store == "postgres" else "postgres" not in test


def hear(stage: Stage, store: StoreName) -> dict[str, dict[str, Any]]:
    """How long each test takes and which statements it asks for; remembered for the next search."""
    kept = Path(_MEMORY / f"guards-{store}.json")
    known: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    for test in stage.items:
        if test not in known and _fits(test, store):
            verdict = stage.run(test)
            names = sorted(name for where, name in stage.heard if where == store)
            known[test] = {"seconds": verdict.seconds, "passed": verdict.passed, "heard": names}
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(known), "utf-8")
    return {test: facts for test, facts in known.items() if facts["passed"] and test in stage.items}


class Search:
    """A search through one store's mutants."""

    def __init__(self, stage: Stage, store: StoreName, words: list[str]) -> None:
        self._stage, self._store = stage, store
        self._mutants = mutants(store)
        self._known = hear(stage, store)
        self._well: dict[str, bool] = {}
        now = {m.name: shown(m) for m in self._mutants}
        self.tests = {
            n: line.test for n, line in read_table(store).items() if line.test and now.get(n) == line.what
        }
        if "--all" in words:
            self.tests = {}
        # What kills a mutant on one store mostly kills its like on the other.
        other: StoreName = "postgres" if store == "sqlite" else "sqlite"
        lines = read_table(other).items()
        self._mirrored = {
            n: line.test.replace(f"{other}-sync", f"{store}-sync").replace(f"[{other}", f"[{store}")
            for n, line in lines
        }
        self._only = [word for word in words if not word.startswith("--")]
        shard, _, shards = next(
            (w.removeprefix("--share=") for w in words if w.startswith("--share=")), "0/1"
        ).partition("/")
        self._share = slice(int(shard), None, int(shards))

    def run(self) -> None:
        """Look for what is missing."""
        for mutant in self._mutants[self._share]:
            wanted = not self._only or any(word in mutant.name for word in self._only)
            if mutant.name in self.tests or not wanted:
                continue
            begun = time.monotonic()
            test = self._killer(mutant)
            if test:
                self.tests[mutant.name] = test
            _say(f"{mutant.name}: {test or 'NOTHING'} ({time.monotonic() - begun:.1f} s)")
            self._write()
        self._write()

    def _write(self) -> None:
        """Add to the table what was found; others may be searching too."""
        with (_MEMORY / f"guards-{self._store}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            now = {m.name: shown(m) for m in self._mutants}
            kept = {
                n: li.test for n, li in read_table(self._store).items() if li.test and now.get(n) == li.what
            }
            write_table(self._store, self._mutants, {**kept, **self.tests})

    def _killer(self, mutant: Mutant) -> str | None:
        deadline = time.monotonic() + _LONGEST
        for test in self._candidates(mutant):
            if time.monotonic() > deadline:
                _say(f"{mutant.name}: out of time")
                return None
            if not self._stage.run(test, mutant).passed and self._certain(test, mutant):
                return test
        return None

    def _candidates(self, mutant: Mutant) -> list[str]:
        names = self._statements(mutant)
        killers = Counter(
            test
            for other, test in self.tests.items()
            if other.partition(":")[0].removesuffix(".sql") in names
        )
        heard = [test for test, facts in self._known.items() if not names.isdisjoint(facts["heard"])]
        near = {
            f"test_{topic}."
            for word, topics in TOPICS.items()
            if word in mutant.name
            for topic in topics.split()
        }
        ordered = sorted(
            heard,
            key=lambda t: (
                OWN not in t, -min(killers[t], 1), not any(topic in t for topic in near), "shared" in t, self._known[t]["seconds"],
            ),
        )  # fmt: skip
        first = [self._mirrored.get(mutant.name, ""), *self._missing(mutant)]
        return [test for test in dict.fromkeys((*first, *ordered)) if test in self._stage.items]

    def _statements(self, mutant: Mutant) -> set[str]:
        """Which statements the mutant changes; of the schema those that write into the table, or call the function."""
        if not mutant.file[0].isdigit():
            return {mutant.file.removesuffix(".sql")}
        about = table_of(mutant.name)
        done_by = {body.name: body.table for body in bodies(mutant.text)}
        table = done_by.get(about, about)
        writes = re.compile(
            rf"(?:INSERT INTO|UPDATE(?: OR \w+)?|DELETE FROM) tenure[._]{table}\b"
            if table
            else rf"tenure\.{about}\("
        )
        folder = files("tenure.store").joinpath(self._store, "sql")
        return {f.name.removesuffix(".sql") for f in folder.iterdir() if writes.search(f.read_text("utf-8"))}

    def _missing(self, mutant: Mutant) -> list[str]:
        """The tests that miss what is only weaker here, when it is gone."""
        gone = [m for m in self._mutants if m.file == mutant.file and m.what.endswith(" → true")]
        held = [m.name for m in gone if m.what.removesuffix(" → true") in mutant.what]
        return [self.tests[name] for name in held if name in self.tests]

    def _certain(self, test: str, mutant: Mutant) -> bool:
        times = 4 if mutant.name.partition(":")[2].startswith(_RACES) or "concurrency" in test else 1
        if test not in self._well:
            self._well[test] = self._stage.run(test).passed
        return self._well[test] and all(not self._stage.run(test, mutant).passed for _ in range(times))


def _say(words: str) -> None:
    sys.__stderr__.write(f"{words}\n")  # type: ignore[union-attr]
    sys.__stderr__.flush()  # type: ignore[union-attr]


def main(words: list[str]) -> int:
    """Search one store."""
    if not words or words[0] not in STORES:
        _say(str(__doc__))
        return 2
    store: StoreName = "sqlite" if words[0] == "sqlite" else "postgres"
    left: list[str] = []

    def work(stage: Stage) -> None:
        search = Search(stage, store, words[1:])
        search.run()
        found = {name for name, line in read_table(store).items() if line.test}
        left.extend(m.name for m in mutants(store) if m.name not in found)

    places = [OWN] if "--own" in words else WHERE
    play([str(ROOT / place) for place in places], work)
    _say(f"{len(left)} without a test: {', '.join(left)}")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
