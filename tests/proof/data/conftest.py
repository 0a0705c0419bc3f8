"""Fixtures of the data's proof: a fresh store of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.proof import depth
from tests.support.fresh import postgres_schema

collect_ignore = [] if depth.DEPTH == "torture" and find_spec("atheris") else ["test_fuzz.py"]


@pytest.fixture
def direct(tmp_path: Path, postgres_url: str) -> Iterator[dict[str, str]]:
    """A store that does not exist yet, of each kind, by its URL."""
    with postgres_schema(postgres_url) as schema:
        yield {
            "sqlite": f"sqlite:///{tmp_path}/jobs.db",
            "shared": f"sqlite:///{tmp_path}/app.db?shared=true",
            "postgres": f"{postgres_url}?schema={schema}",
        }
