"""docs/gateway.md keeps its word: its files work together as they are written, and its tables name what there is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tenure
from tenure.gateway import look
from tenure.gateway.settings import GatewaySettings, SourceSettings
from tenure.gateway.sources import SOURCES
from tests.support.child import run_child

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "gateway.md").read_text("utf-8")
FILES = {
    name: block
    for block in re.findall(r"```(?:python|toml)\n(.*?)```", TEXT, re.DOTALL)
    for name in re.findall(r"\A# (\S+)\n", block)
}
SAY = "import serve; print(sorted(serve.gateway.registry.routes), sorted(serve.app.kinds))"


def test_the_files_of_the_docs_make_a_gateway(tmp_path: Path) -> None:
    assert sorted(FILES) == ["bot.py", "gateway.toml", "serve.py"]
    for name, block in FILES.items():
        (tmp_path / name).write_text(block, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SAY],
        cwd=tmp_path,
        env={"BOT_SECRET": "abc"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "['bot'] ['gateway.bot', 'gateway.bot.notice', 'on_update']\n", done.stderr


def test_the_generic_example_of_the_docs_is_what_settings_take() -> None:
    [block] = re.findall(r"```toml\n(\[\[sources\]\]\nslug = \"shop\".*?)```", TEXT, re.DOTALL)
    msgspec.convert(tomllib.loads(block), GatewaySettings)


def test_the_bot_of_the_docs_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = re.findall(r"```toml\n(\[\[sources\]\]\nslug = \"bot\".*?)```", TEXT, re.DOTALL)
    monkeypatch.setenv("BOT_SECRET", "abc")
    monkeypatch.setenv("BOT_TOKEN", "123:abc")
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_update(update: dict[str, Any]) -> None: ...

    assert look(app, tomllib.loads(block))[1] == []


def test_the_telegram_of_the_docs_can_be_started() -> None:
    [block] = re.findall(r"```python\n(from tenure.testing.telegram.*?)```", TEXT, re.DOTALL)
    assert run_child(block).startswith("http://127.0.0.1:")


def test_the_docs_name_every_setting_and_every_source() -> None:
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| .*$", TEXT, re.MULTILINE))))
    told = {f.encode_name for kind in (SourceSettings, GatewaySettings) for f in msgspec.structs.fields(kind)}
    assert told - named - {"sources"} == set()
    assert set(SOURCES) - named == set()
