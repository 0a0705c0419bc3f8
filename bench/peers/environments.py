"""Where the peers live: an environment of its own for each, made once, never the project's.

Python packages go into a venv, Node packages into an npm folder, both under `.envs`. Redis is Debian's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from bench.measure import say
from bench.peers.contestants import Contestant

__all__ = ["Missing", "command_of", "need", "redis_server"]

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".envs"
DRIVERS = HERE / "drivers"


class Missing(Exception):
    """A peer, or what it needs, could not be installed here."""


def command_of(contestant: Contestant) -> tuple[list[str], dict[str, str]]:
    """How its driver is called, and in which surroundings; installs it where that was not done yet."""
    driver = str(DRIVERS / contestant.driver)
    match contestant.runtime:
        case "own":
            return [sys.executable, driver], dict(os.environ)
        case "python":
            return [str(_python(contestant)), driver], dict(os.environ)
        case "node":
            home = _node(contestant)
            own = home / "node_modules" / ".bin" / "node"
            return [str(own) if own.exists() else "node", driver], {**os.environ, "ARENA_MODULES": str(home)}


def _python(contestant: Contestant) -> Path:
    home = ENVIRONMENTS / contestant.name
    python = home / "bin" / "python"
    if _has(home, contestant):
        return python
    say(f"installing {' '.join(contestant.packages)} …")
    venv.create(home, with_pip=True, clear=True)
    _run([str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *contestant.packages])
    _note(home, contestant)
    return python


def _node(contestant: Contestant) -> Path:
    if shutil.which("node") is None or shutil.which("npm") is None:
        need("nodejs", "npm")
    home = ENVIRONMENTS / contestant.driver.removeprefix("drive_").removesuffix(".mjs")
    if not _has(home, contestant):
        say(f"installing {' '.join(contestant.packages)} …")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "package.json").write_text('{"private": true}\n', "utf-8")
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", *contestant.packages], home)
        _note(home, contestant)
    return home


def redis_server() -> str:
    """The Redis server's program; installed from Debian's packages where that can be done."""
    if shutil.which("redis-server") is None:
        need("redis-server")
    return "redis-server"


def need(*packages: str) -> None:
    """Install Debian's packages."""
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Missing(f"needs {names}: apt-get install {names}")
    say(f"installing {names} …")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "-qq"], env=quiet)
    _run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], env=quiet)


def _has(home: Path, contestant: Contestant) -> bool:
    told = home / "installed.txt"
    return told.exists() and told.read_text("utf-8") == "\n".join(contestant.packages)


def _note(home: Path, contestant: Contestant) -> None:
    (home / "installed.txt").write_text("\n".join(contestant.packages), "utf-8")


def _run(command: list[str], folder: Path | None = None, env: dict[str, str] | None = None) -> None:
    ended = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    if ended.returncode:
        raise Missing(f"{' '.join(command[:4])} …: {(ended.stderr or ended.stdout).strip()[-300:]}")
