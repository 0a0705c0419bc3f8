"""`make torture` itself: what it adds up and writes down, and that its page names nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.proof import torture
from tests.support.child import ROOT

_PAGE = ROOT / "RELIABILITY.md"


def test_rounds_are_added_up_by_topic_and_in_all(tmp_path: Path) -> None:
    sums = torture.Sums(seed=7, command="make torture MINUTES=1 SEED=7", rounds=2, seconds=61)
    for kills in (3, 1_200):
        kept = tmp_path / "tally.json"
        counts = {
            "kills": {"kills": kills, "kills/shared": 1, "jobs": 2_000, "losses": 0, "crashes": 2},
            "wires": {"cuts": 5, "jumps of it": 1},
        }
        kept.write_text(json.dumps({"seeds": [7], "counts": counts}))
        sums.add(kept)
    made = torture.table(sums.plain())
    assert "| kills | 1,203 kills (shared SQLite 2) | 4,000 | 0 | 4 crashes |" in made
    assert "| wires | 10 cuts |  |  | 2 jumps of it |" in made
    assert "| **all** | 1,203 kills (shared SQLite 2), 10 cuts | 4,000 | 0 |  |" in made
    assert "1 minutes, 2 rounds (seeds 7 to 8), 0 failed" in made


def test_the_table_takes_the_place_of_the_one_before_and_leaves_the_rest_of_the_page(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(_PAGE.read_text("utf-8"), "utf-8")
    for made in ("one table", "another table"):
        torture._write(page, made)
    before, _, rest = _PAGE.read_text("utf-8").partition(torture.FIRST)
    after = rest.partition(torture.LAST)[2]
    assert page.read_text("utf-8") == f"{before}{torture.FIRST}\n\nanother table\n\n{torture.LAST}{after}"


def test_everything_that_the_page_names_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)", _PAGE.read_text("utf-8"))
    assert [path for path in linked if not (ROOT / path).exists()] == []


def test_every_part_of_the_proof_is_on_the_page() -> None:
    parts = {path.parent.name for path in (ROOT / "tests" / "proof").glob("*/test_*.py")}
    named = set(re.findall(r"\]\(tests/proof/(\w+)\)", _PAGE.read_text("utf-8")))
    assert parts <= named
