"""The ledger's gateway as a process of its own: killed and started again, it has the port it had."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.gateway.ledger import ADDRESS, SECRET, SETTINGS
from tests.support.child import ROOT
from tests.support.workers import Scene, until

__all__ = ["GatewayProcess", "keep_port"]

_PATIENCE = 60.0


class GatewayProcess:
    """`tenure gateway` on the store of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._kept = keep_port()
        self.port: int = self._kept.getsockname()[1]
        if sys.platform != "linux":  # elsewhere nobody else may listen where we are bound
            self._kept.close()
        self._log = scene.folder / "gateway.log"
        self.starts = 0
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        environment = {
            k: v for k, v in os.environ.items() if k != "DATABASE_URL" and not k.startswith("TENURE_")
        }
        environment |= {"TENURE_URL": self.scene.worker_url, "LEDGER_SECRET": SECRET}
        where = (ADDRESS, "-f", str(SETTINGS), "--port", str(self.port))
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tenure", "gateway", *where],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def file(self) -> Path:
        """The file of its jobs, where the store is one."""
        return self.scene.folder / "jobs.db"

    def ready(self) -> None:
        """Wait until it answers."""
        until(lambda: self.process.poll() is not None or self._answers(), within=_PATIENCE)
        assert self.process.poll() is None, self.log[-2000:]

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def again(self) -> None:
        """kill -9, and start it anew."""
        self._kill()
        self.process = self._start()

    def stop(self) -> int:
        """SIGTERM; its exit code once it has left."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self._kill()
        self._kept.close()

    def _kill(self) -> None:
        self.process.kill()
        self.process.wait(_PATIENCE)


def keep_port() -> socket.socket:
    """A port that no outgoing connection is given while nobody listens there."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept
