"""The other side of the forge: processes that a test starts, watches and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.child import ROOT
from tests.support.workers import Scene, until

__all__ = ["Forge", "Forged"]

_WARM = (
    "tenure.cli",
    "tenure.cli.worker",
    "tenure.cli.janitor",
    "tenure.worker.start",
    "tenure.janitor.alone",
)


class Forge:
    """A warm process on a scene's store; `modules` are what those it forks will need."""

    def __init__(self, scene: Scene, *modules: str, url: str | None = None, **environment: str) -> None:
        self.folder = scene.folder
        kept = {k: v for k, v in os.environ.items() if k != "DATABASE_URL" and not k.startswith("TENURE_")}
        kept |= {
            "TENURE_URL": url or scene.url,
            "SCENE": str(scene.folder),
            "TMPDIR": str(scene.folder),
            "SCENE_MAX_CRASHES": str(scene.max_crashes),
        }
        with (self.folder / "forge.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.proof.kills.forge", *_WARM, *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=kept | environment,
            )

    def start(self, name: str, run: str, *args: str) -> Forged:
        """Fork a process that calls `run` ("module:function") with these arguments."""
        log = self.folder / f"{name}.log"
        return Forged(self, self.ask(do="start", run=run, args=args, log=str(log)), log)

    def ask(self, **what: Any) -> Any:
        """One word to the forge, and its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, (self.folder / "forge.log").read_text(errors="replace")[-2000:]
        return json.loads(answer)

    def close(self) -> None:
        """Everybody it started is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        finally:
            self._process.stdout.close()


class Forged:
    """One process that the forge started."""

    def __init__(self, forge: Forge, pid: int, log: Path) -> None:
        self._forge, self.pid, self._log = forge, pid, log

    @property
    def log(self) -> str:
        """What it and those of its name before it have said."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def code(self) -> int | None:
        """Its exit code; None while it lives."""
        code: int | None = self._forge.ask(do="look", pid=self.pid)
        return code

    def kill(self) -> None:
        """kill -9; returns when it is gone. One that had left by itself should not have."""
        code = self._forge.ask(do="kill", pid=self.pid)
        assert code == -signal.SIGKILL, f"it had left by itself with {code}:\n{self.log[-2000:]}"

    def leave(self) -> int:
        """SIGTERM; its exit code once it has left."""
        os.kill(self.pid, signal.SIGTERM)
        return self.left()

    def left(self) -> int:
        """Its exit code, once it has left by itself."""
        until(lambda: self.code is not None)
        code = self.code
        assert code is not None
        return code
