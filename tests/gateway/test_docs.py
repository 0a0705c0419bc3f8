"""docs/gateway.md keeps its word: its files work together as they are written, and its tables name what there is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec

from tenure.gateway.settings import GatewaySettings, SourceSettings
from tenure.gateway.sources import SOURCES

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
    assert done.stdout == "['bot'] ['gateway.bot', 'on_update']\n", done.stderr


def test_the_generic_example_of_the_docs_is_what_settings_take() -> None:
    [block] = re.findall(r"```toml\n(\[\[sources\]\]\nslug = \"shop\".*?)```", TEXT, re.DOTALL)
    msgspec.convert(tomllib.loads(block), GatewaySettings)


def test_the_docs_name_every_setting_and_every_source() -> None:
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| .*$", TEXT, re.MULTILINE))))
    told = {f.encode_name for kind in (SourceSettings, GatewaySettings) for f in msgspec.structs.fields(kind)}
    assert told - named - {"sources"} == set()
    assert set(SOURCES) - named == set()
