"""`make bench`: installs the peers, starts the servers, measures everything, and says what was reached.

`--quick` is a small run to see that all of it works; `--only` names contestants or pieces of work.
"""

from __future__ import annotations

import argparse
import contextlib
import time

from bench.measure import say
from bench.peers.arena import Arena
from bench.peers.charts import draw
from bench.peers.contestants import CONTESTANTS
from bench.peers.servers import Servers
from bench.peers.verdicts import remarks, table, verdicts
from bench.peers.works import QUICK, WORKS, Sizes


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small round of everything")
    parser.add_argument(
        "--only", default="", help="contestants and works to measure, with commas between them"
    )
    parser.add_argument("--list", action="store_true", help="name the contestants and the works, and leave")
    given = parser.parse_args()
    if given.list:
        print("contestants:", *[c.name for c in CONTESTANTS])
        print("works:", *[w.name for w in WORKS])
        return
    names = {n.strip() for n in given.only.split(",") if n.strip()}
    unknown = names - {c.name for c in CONTESTANTS} - {w.name for w in WORKS}
    if unknown:
        parser.error(f"--only names nothing here: {', '.join(sorted(unknown))}; --list tells the names")
    contestants = [c for c in CONTESTANTS if c.name in names] or list(CONTESTANTS)
    works = [w for w in WORKS if w.name in names] or list(WORKS)
    with contextlib.ExitStack() as stack:
        arena = Arena(Servers(stack), QUICK if given.quick else Sizes())
        for contestant in contestants:
            arena.admit(contestant)
        kept = "peers" if not (given.quick or names) else "peers-part"
        for work in works:
            arena.do(work)
            lines = [v for v in verdicts(arena) if not names or v.ours is not None]
            arena.keep("peers-part", verdicts=[v.as_dict() for v in lines])
        arena.keep(
            kept, verdicts=[v.as_dict() for v in lines]
        )  # a run that is broken off leaves what was kept before
    print("\n" + table(lines))
    for remark in remarks(lines, arena, {c.name: c.title for c in CONTESTANTS}):
        print("\n" + remark)
    for name, why in arena.absent.items():
        print(f"{name} took no part: {why}")
    for work_name, cells in arena.cells.items():
        for name, cell in cells.items():
            if cell.failed:
                print(f"{name} failed at {work_name}: {cell.failed}")
    if kept == "peers":
        draw()
    say(f"{(time.monotonic() - arena.began) / 60:.0f} minutes; kept in bench/results/{kept}.json")


if __name__ == "__main__":
    main()
