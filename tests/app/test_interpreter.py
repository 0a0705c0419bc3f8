"""The interpreter of a worker's process: as workers need it while one runs, and afterwards as it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import gc
import sys

import tenure

app = tenure.App("sqlite:///jobs.db")


@app.job
async def look() -> tuple[int, float]:
    return gc.get_threshold()[0], sys.getswitchinterval()


gc.set_threshold(int(sys.argv[1]), 7, 8)
before = gc.get_threshold(), sys.getswitchinterval()
job = look.enqueue()
app.run(max_jobs=1)
print(*job.result(timeout=0))
assert (gc.get_threshold(), sys.getswitchinterval()) == before
"""


@pytest.mark.parametrize(("given", "meanwhile"), [(700, 10_000), (50_000, 50_000), (0, 0)])
def test_a_worker_looks_for_garbage_seldom_and_no_longer_once_it_ended(
    given: int, meanwhile: int, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SCRIPT)
    told = subprocess.run(
        [sys.executable, "shop.py", str(given)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert told.stdout.split() == [str(meanwhile), "0.001"]
