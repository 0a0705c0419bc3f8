"""An app that lives in a script: its kinds run in child processes and pools, which find the script by its path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tenure
from tests.support.fresh import KINDS, fresh_url

SCRIPT = """
from __future__ import annotations

import os
from dataclasses import dataclass

import tenure

app = tenure.App()


@dataclass
class Place:
    pid: int
    name: str


@app.job(isolate=True)
def apart(ctx: tenure.Context, name: str) -> Place:
    ctx.progress(0.5)
    return Place(os.getpid(), f"{name} in {__name__}")


@app.job
async def here(name: str) -> Place:
    return Place(os.getpid(), f"{name} in {__name__}")


if __name__ == "__main__":
    jobs = [apart.enqueue("a"), here.enqueue("b")]
    app.run(max_jobs=2, poll="1s")
    for job in jobs:
        found = job.result(timeout=0)
        print(found.pid == os.getpid(), found.name)
"""


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    """A store that does not exist yet, of each kind."""
    with fresh_url(request.param, tmp_path, postgres_url) as made:
        yield made


def run(url: str, folder: Path, *args: str) -> str:
    """What a Python program prints, once it ended well."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", *args],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
        env={**os.environ, "TENURE_URL": url, "TMPDIR": str(folder)},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_script_runs_its_jobs_here_and_in_children(url: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SCRIPT)
    found = run(url, tmp_path, "shop.py")
    assert found.splitlines() == ["False a in __tenure_shop__", "True b in __main__"]


def test_so_does_a_module_that_is_run_by_its_name(url: str, tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "shop.py").write_text(SCRIPT)
    found = run(url, tmp_path, "-m", "pkg.shop")
    assert found.splitlines() == ["False a in pkg.shop", "True b in __main__"]


def test_a_script_has_the_address_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SCRIPT.partition("if __name__")[0] + "print(app.address)")
    assert run("none", tmp_path, "shop.py").strip() == f"{tmp_path.resolve() / 'shop.py'}:app"


def test_an_app_that_another_module_made_has_the_address_of_where_it_stands(tmp_path: Path) -> None:
    """A factory or a subclass: where the app is made is not where it can be imported from."""
    (tmp_path / "core.py").write_text(
        "import tenure\n\nclass Mine(tenure.App):\n    def __init__(self):\n        super().__init__()\n\n"
        "def make():\n    return tenure.App()\n"
    )
    (tmp_path / "shop.py").write_text(
        "import core\nfrom types import SimpleNamespace\n\n"
        "app, mine, held = core.make(), core.Mine(), SimpleNamespace(app=core.make())\n"
    )
    loaded = "from tenure.worker.address import load\nprint(*[load(f'shop:{name}').address for name in ('app', 'mine', 'held.app')])"
    (tmp_path / "loads.py").write_text(loaded)
    assert run("none", tmp_path, "loads.py").split() == ["shop:app", "shop:mine", "shop:held.app"]
    (tmp_path / "file.py").write_text(loaded.replace("shop:", "shop.py:"))
    path = tmp_path.resolve() / "shop.py"
    assert run("none", tmp_path, "file.py").split() == [f"{path}:app", f"{path}:mine", f"{path}:held.app"]
    (tmp_path / "imports.py").write_text(
        "import shop\nprint(shop.app.address, shop.mine.address, shop.held.app.address)"
    )
    assert run("none", tmp_path, "imports.py").split() == ["shop:app", "shop:mine", "None"]


def test_an_app_that_nobody_can_import_has_no_address() -> None:
    assert tenure.App().address is None
