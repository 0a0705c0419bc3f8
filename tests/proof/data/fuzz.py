"""What people write, as atheris makes it up: it looks for texts that reach code no other text has reached.

    python -m tests.proof.data.fuzz TARGET FOLDER [OPTIONS OF LIBFUZZER]

TARGET is one of those of test_words; FOLDER keeps what it found worth keeping. It leaves with 0 when it is over, and otherwise
says which text was neither understood nor refused in words.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tenure"]):
    from tests.proof.data.test_words import TARGETS, attempt


def main(given: list[str]) -> None:
    """Fuzz; it does not come back."""
    target, folder, *options = given
    for number, text in enumerate(TARGETS[target][1]):
        (Path(folder) / f"{number}").write_bytes(text.encode())

    def once(data: bytes) -> None:
        attempt(target, data.decode("utf-8", "surrogateescape"))

    atheris.Setup([sys.argv[0], *options, folder], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
