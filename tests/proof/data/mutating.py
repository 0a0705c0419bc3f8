"""Bytes that are nearly right: what people write, changed here and there at random."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

__all__ = ["mutants"]

_ODD = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r\n", b"'", b'"', b"\\", b"%", b"%00", b"%ZZ", b"*", b"-", b"-1", b"0", b"9" * 30,
    b"1e999", b"nan", b"\xc3\xa9", b"\xe2\x80\xae", b"\xd9\xa3", b"\xc2\xb5s", b"..", b"//", b"@", b":", b"?", b"#", b"[", b"]]", b"{", b"}",
    b"=", b",", b" ", b"\t", b"\xc2\xa0", b"\x1b[31m", b"<script>",
)  # fmt: skip


def mutants(corpus: Sequence[str], count: int, rng: random.Random) -> Iterator[str]:
    """So many texts; some of them right as they are. What is no text stands in them as lone surrogates."""
    seeds = [text.encode() for text in corpus]
    for _ in range(count):
        data = bytearray(rng.choice(seeds))
        for _ in range(min(int(rng.expovariate(0.5)), 8)):
            at = rng.randint(0, len(data))
            match rng.randrange(6):
                case 0:
                    data[at:at] = rng.choice(_ODD)
                case 1:
                    del data[at : at + rng.randint(1, 6)]
                case 2 if at < len(data):
                    data[at] = rng.randrange(256)
                case 3:
                    other = rng.choice(seeds)
                    start = rng.randint(0, len(other))
                    data[at:at] = other[start : start + rng.randint(1, 12)]
                case 4:
                    data[at:at] = data[at : at + rng.randint(1, 12)] * rng.randint(1, 5)
                case _:
                    data[at:at] = rng.randbytes(rng.randint(1, 4))
        yield data.decode("utf-8", "surrogateescape")
