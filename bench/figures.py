"""`python -m bench.figures`: write the kept figures of store and worker (bench/results) into the README's tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("store", "worker")
_HEAD = "| store | what | ratio | wanted | |\n|---|---|--:|--:|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"(?:\|.*\n)+")


def table(name: str) -> str:
    """One table, as the README has it."""
    rows = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text("utf-8"))["rows"]
    lines = [
        f"| {r['store']} | {r['what']} | {r['ratio']:.2f} | {r['want']} | {'reached' if r['reached'] else 'missed'} |\n"
        for r in rows
    ]
    return _HEAD + "".join(lines)


def main() -> None:
    """Write them, in their order."""
    readme = ROOT / "README.md"
    tables = iter([table(name) for name in NAMES])
    text, count = _TABLE.subn(lambda _: next(tables), readme.read_text("utf-8"), count=len(NAMES))
    if count != len(NAMES):
        raise SystemExit(f"the README has {count} tables of figures, not {len(NAMES)}")
    readme.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
