"""Where the tests of tenure.testing have their stores: nowhere special, in a file, in a file of the user's own, on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fresh import KINDS


@pytest.fixture(params=["default", *KINDS])
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> str | None:
    """What a user would pass as url=."""
    urls = {
        "default": None,
        "sqlite": f"sqlite:///{tmp_path}/jobs.db",
        "shared": f"sqlite:///{tmp_path}/app.db?shared=true",
        "postgres": postgres_url,
    }
    return urls[request.param]
