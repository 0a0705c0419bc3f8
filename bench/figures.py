"""`python -m bench.figures`: write what is kept in bench/results into the tables of README.md and docs/performance.md.

The README has the ratios of store and worker; docs/performance.md has the arena's verdicts, what every contestant did at
every piece of work, and the gateway's figures, each between two marks of its own. What follows from the arena's cells is
written into its results too, where they do not tell it yet.
"""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bench.measure import RESULTS, STORES, mark, said
from bench.peers.arena import Cell, write
from bench.peers.contestants import CONTESTANTS
from bench.peers.verdicts import Verdict, remarks
from bench.peers.verdicts import table as table_of
from bench.peers.verdicts import verdicts as verdicts_of
from bench.peers.works import IDEAL, WORKS, share

__all__ = ["blocks", "cells", "completed", "gateway", "made", "main", "table", "verdicts"]

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("store", "worker")
SLOW = 1.3
"""How many times the run's median canary one may take before its round is marked."""
SLOW_DISK = 2.0
"""The same for the disk, which differs more."""
_HEAD = "| store | what | ratio | wanted | |\n|---|---|--:|--:|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)+")
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n\n)(.*?)(\n<!-- end of figures -->\n)", re.DOTALL)
_LEFT = {"", "store", "what", "what is measured"}
_SERVERS = {"postgres": "PostgreSQL", "redis": "Redis"}
_UNITS = {
    "rate": "jobs/s", "load": "jobs/s stored", "without": "jobs/s with nothing beside them", "p50": "p50, ms", "p99": "p99, ms", "max": "most, ms",
    "cpu": "share of a core", "queries": "statements/s", "rss": "MB", "rows": "rows a job", "wal": "bytes of log a job",
    "share": f"share of the ideal {IDEAL:,.0f}/s", "disk": "bytes to the disk a job", "kept": "last third's pace over the start's", "jobs": "jobs done",
}  # fmt: skip
_UNTOLD = frozenset({"cut"})
_WEIGHED = ("drain", "idle")
"""Where memory is told of."""
Kept = dict[str, Any]


def table(name: str) -> str:
    """One table, as the README has it."""
    rows = _kept(name)["rows"]
    lines = [
        f"| {r['store']} | {r['what']} | {r['ratio']:.2f} | {r['want']} | {mark(r['reached'])} |\n"
        for r in rows
    ]
    return _HEAD + "".join(lines)


def verdicts(kept: Kept) -> str:
    """What the arena was to reach, and what of it was reached."""
    titles, known = _titles(kept), {f.name for f in fields(Verdict)}
    lines = [{**line, "whose": titles.get(line["whose"], line["whose"])} for line in kept["verdicts"]]
    for line in lines:
        if "why" in line:
            line["why"] = _one_line(line["why"] or "")
    judged = [Verdict(**{k: v for k, v in line.items() if k in known}) for line in lines]
    head, _, *rows = table_of(judged).splitlines()
    beneath = [line for remark in remarks(judged, _run(kept), titles) for line in ("", remark)]
    about = kept["about"]
    servers = [f"{title} {about[name].split()[0]}" for name, title in _SERVERS.items() if name in about]
    which = [f"commit {about['commit']}", about["ended"], about["cpu"]] if "commit" in about else []
    run = [
        *which,
        f"{about['minutes']:.0f} minutes",
        f"{about['cores']} cores",
        f"Python {about['python']}",
        *servers,
    ]
    return f"The run: {', '.join(run)}.\n\n" + _lines(head, _rule(head), *rows, *beneath)


@dataclass
class _Run:
    cells: dict[str, dict[str, Cell]]
    absent: dict[str, str]


def completed(kept: Kept) -> Kept:
    """The arena's results with what follows from their cells: of each line the rounds it rests on, of jobs that wait the share
    of the ideal."""
    rounds = {(line.what, line.store): line.rounds for line in verdicts_of(_run(kept))}
    lines = [{**line, "rounds": rounds.get((line["what"], line["store"]))} for line in kept["verdicts"]]
    able = {c.name: c for c in CONTESTANTS}
    waited = {
        name: {**cell, "rounds": [{**r, **_rounded(share(able[name], r["rate"]))} for r in cell["rounds"]]}
        if name in able
        else cell
        for name, cell in kept["cells"].get("wait", {}).items()
    }
    return {**kept, "cells": {**kept["cells"], "wait": waited}, "verdicts": lines}


def _run(kept: Kept) -> _Run:
    cells = {
        work: {name: Cell(rounds=cell["rounds"], failed=cell["failed"]) for name, cell in row.items()}
        for work, row in kept["cells"].items()
    }
    return _Run(cells, kept["absent"])


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}


def cells(kept: Kept) -> str:
    """What every contestant did at every piece of work: the median of the rounds' figures, and their range."""
    titles, works = _titles(kept), {work.name: work.title for work in WORKS}
    usual, disk = _usual(kept, "canaries"), _usual(kept, "disks")
    head = f"| what is measured | {' | '.join(titles.values())} |"
    rows = []
    failed = [f"- {name} took no part: {_one_line(why)}" for name, why in kept["absent"].items()]
    for work, row in kept["cells"].items():
        for figure in _figures(work, row):
            title = f"{works.get(work, work)}: {_UNITS.get(figure, figure)}"
            rows.append(f"| {title} | {' | '.join(_cell(row.get(n), figure, usual, disk) for n in titles)} |")
        failed += [
            f"- {titles[name]} failed at *{works.get(work, work)}*: {_one_line(cell['failed'])}"
            for name, cell in row.items()
            if cell["failed"]
        ]
    note = (
        f"Each ° is a round before which the canary took more than {SLOW} times its median of the whole run"
        f" ({usual * 1000:.1f} ms): the machine was slower then."
    )
    if disk:
        note += f" Each * is one before which the disk took more than {SLOW_DISK} times as long as usual ({disk * 1000:.2f} ms) for a page."
    return _lines(head, _rule(head), *rows, "", note, *(["", *failed] if failed else []))


def gateway(kept: Kept) -> str:
    """What a process of the gateway acknowledged beside the bare apps, and what an update cost each in CPU."""
    head, rows, spent = "| store | what | gateway | other | ratio | wanted | |", [], []
    for row in kept["rows"]:
        store, values = STORES[row["store"]], row["values"]
        if "gateway" in values:
            other = "row" if "one row" in row["what"] else "bare"
            told = [_span(values["gateway"]), _span(values[other]), f"{row['ratio']:.2f}"]
        else:
            told = [_span(values["p99"]), "", ""]
        rows.append(
            f"| {store} | {row['what']} | {' | '.join(told)} | {row['want']} | {mark(row['reached'])} |"
        )
    for store, used in {row["store"]: row["server_us"] for row in kept["rows"] if "server_us" in row}.items():
        spent.append(
            f"on {STORES[store]} {used['gateway']} µs (the app that only parses {used['bare']}, with a row each {used['row']})"
        )
    drift = max(kept["canaries"]) / min(kept["canaries"])
    note = f"CPU of the process for each update: {', '.join(spent)}. The machine's own speed drifted by a factor of {drift:.2f} meanwhile."
    return _lines(head, _rule(head), *rows, "", note)


def _span(values: list[float]) -> str:
    """The median of the rounds, and their range."""
    return f"{said(statistics.median(values))} ({said(min(values))}\N{EN DASH}{said(max(values))})"


def _figures(work: str, row: Kept) -> list[str]:
    """The figures that anybody has, in the order in which they are told."""
    found = dict.fromkeys(f for cell in row.values() for r in cell["rounds"] for f in r if f not in _UNTOLD)
    # Who is too slow for all of them is given fewer, or cut.
    counts = {r["jobs"] for cell in row.values() for r in cell["rounds"] if "jobs" in r}
    left_out = {"rss"} - ({"rss"} if work in _WEIGHED else set()) | ({"jobs"} if len(counts) < 2 else set())
    return [f for f in found if f not in left_out] or ["rate"]


def _usual(kept: Kept, name: str) -> float:
    """The median of what was noted beside all cells."""
    found = [c for row in kept["cells"].values() for cell in row.values() for c in cell.get(name, ())]
    return statistics.median(found) if found else 0.0


def _cell(cell: Kept | None, figure: str, usual: float, disk: float) -> str:
    if cell is None:
        return ""
    slow = "".join("°" for canary in cell["canaries"] if canary > usual * SLOW)
    slow += "".join("\\*" for one in cell.get("disks", ()) if one > disk * SLOW_DISK)
    values = [r[figure] for r in cell["rounds"] if figure in r]
    if cell["failed"]:
        return f"failed {slow}".rstrip()
    if not values:
        return ""
    span = f" ({said(min(values))}\N{EN DASH}{said(max(values))})" if min(values) < max(values) else ""
    return f"{said(statistics.median(values))}{span} {slow}".rstrip()


def _titles(kept: Kept) -> dict[str, str]:
    return {name: about["title"] for name, about in kept["contestants"].items()}


def _rule(head: str) -> str:
    """The line below a head: names to the left, figures to the right."""
    names = [name.strip() for name in head.strip("|").split("|")]
    return f"|{'|'.join('---' if name in _LEFT else '--:' for name in names)}|"


def _one_line(text: str) -> str:
    """Fit for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def _kept(name: str) -> Kept:
    kept: Kept = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return kept


def blocks(text: str) -> dict[str, str]:
    """What a page has between its marks, by name."""
    return {name: inside for _, name, inside, _ in _BLOCK.findall(text)}


def made() -> dict[str, str]:
    """What docs/performance.md has between its marks, made anew."""
    peers = _kept("peers")
    return {"verdicts": verdicts(peers), "cells": cells(peers), "gateway": gateway(_kept("gateway"))}


def main() -> None:
    """Write all of them."""
    write("peers", completed(_kept("peers")))
    readme = ROOT / "README.md"
    tables = iter([table(name) for name in NAMES])
    text, count = _TABLE.subn(lambda _: next(tables), readme.read_text("utf-8"), count=len(NAMES))
    if count != len(NAMES):
        raise SystemExit(f"the README has {count} tables of figures, not {len(NAMES)}")
    readme.write_text(text, "utf-8")
    page = ROOT / "docs" / "performance.md"
    text, new = page.read_text("utf-8"), made()
    if blocks(text).keys() != new.keys():
        raise SystemExit(f"docs/performance.md has marks for {sorted(blocks(text))}, not for {sorted(new)}")
    page.write_text(_BLOCK.sub(lambda found: found[1] + new[found[2]] + found[4], text), "utf-8")


if __name__ == "__main__":
    main()
