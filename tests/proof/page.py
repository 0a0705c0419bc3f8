"""What is written into RELIABILITY.md by a command stands between two marks there."""

from __future__ import annotations

from pathlib import Path

from tests.support.child import ROOT

__all__ = ["PAGE", "between", "put"]

PAGE = ROOT / "RELIABILITY.md"


def put(page: Path, marks: tuple[str, str], made: str) -> None:
    """Write this between the two marks, in the place of what was there."""
    between(page, marks)
    before, _, rest = page.read_text("utf-8").partition(marks[0])
    after = rest.partition(marks[1])[2]
    page.write_text(f"{before}{marks[0]}\n\n{made}\n\n{marks[1]}{after}", "utf-8")


def between(page: Path, marks: tuple[str, str]) -> str:
    """What stands between the two marks."""
    _, first, rest = page.read_text("utf-8").partition(marks[0])
    found, last, _ = rest.partition(marks[1])
    assert first, f"{page.name} has no place for what is written there"
    assert last, f"{page.name} has no end of what is written there"
    return found.strip("\n")
