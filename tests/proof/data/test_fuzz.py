"""The same as test_words, looked for by atheris instead of at random; in `make torture`, where atheris is to be had."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof.data.test_words import TARGETS
from tests.proof.tally import Tally
from tests.support.child import ROOT

_SECONDS = 60


@pytest.mark.proof
@pytest.mark.timeout(400)
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_a_fuzzer_finds_is_understood_or_refused_in_words(
    target: str, tmp_path: Path, seed: int, tally: Tally
) -> None:
    found = tmp_path / "found"
    found.mkdir()
    limits = (
        f"-max_total_time={_SECONDS}",
        f"-seed={seed}",
        "-max_len=2000",
        "-timeout=20",
        "-rss_limit_mb=1000",
    )
    ended = subprocess.run(
        [sys.executable, "-m", "tests.proof.data.fuzz", target, str(found), *limits],
        check=False, capture_output=True, text=True, errors="replace", cwd=tmp_path, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    done = re.search(r"Done (\d+) runs", ended.stderr)
    assert done is not None, ended.stderr[-3000:]
    tally(texts=int(done[1]), kept_for_new_code=len(list(found.iterdir())))
