"""The next release, made up: a copy of the package with one migration more, which adds what old code does not know.

The new code settles with a column that the old one has never heard of, so that one can tell afterwards who settled.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.child import ROOT

__all__ = ["newer"]

_PACKAGE = ROOT / "src" / "tenure"
_MIGRATIONS = {
    "sqlite": """
ALTER TABLE tenure_jobs ADD COLUMN settled_by INTEGER;
CREATE TABLE tenure_more (id TEXT PRIMARY KEY) STRICT;
CREATE INDEX tenure_jobs_settled_by ON tenure_jobs (settled_by) WHERE settled_by IS NOT NULL;
""",
    "postgres": """
ALTER TABLE tenure.jobs ADD COLUMN settled_by integer;
ALTER TABLE tenure.finished ADD COLUMN settled_by integer;
CREATE TABLE tenure.more (id text PRIMARY KEY);
CREATE INDEX finished_settled_by ON tenure.finished (settled_by) WHERE settled_by IS NOT NULL;
""",
}
_SETTLED = {
    "sqlite": [("was = NULL\nFROM json_each", "was = NULL, settled_by = 2\nFROM json_each")],
    "postgres": [
        ("tenant, extra)", "tenant, extra, settled_by)"),
        ("tenant, extra\nFROM", "tenant, extra, 2\nFROM"),
    ],
}


def newer(folder: Path, *, min_client: int) -> Path:
    """The next release's code in a folder that is to stand first on the path; the oldest client its schema works with."""
    package = folder / "tenure"
    shutil.copytree(_PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for store, text in _MIGRATIONS.items():
        (package / "store" / store / "migrations" / "0002_more.sql").write_text(text, "utf-8")
        for old, new in _SETTLED[store]:
            _replace(package / "store" / store / "sql" / "settle_done.sql", old, new)
    migrate = package / "store" / "migrate.py"
    _replace(migrate, "CLIENT = 1\n", "CLIENT = 2\n")
    _replace(migrate, "_MIN_CLIENT = {1: 1}", f"_MIN_CLIENT = {{1: 1, 2: {min_client}}}")
    return folder


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new), "utf-8")
