"""Figures: what workers count of the jobs they end, as values; no store here.

A `Histogram` keeps how often something took about so long, in buckets that grow by a quarter of an octave: whatever is
added or merged, a quantile is told to within a tenth. Its text is made so that two texts put together are the text of
both: a store merges histograms without reading them. Texts that are added are put together too, and read once, when somebody
asks what they hold: a page adds thousands of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate
from typing import Final

import msgspec
from msgspec import Struct, field

from tenure.errors import FieldError, FieldTypeError

__all__ = [
    "WORDS",
    "ErrorGroup",
    "ErrorTally",
    "Histogram",
    "Rollup",
    "Sample",
    "Tally",
    "error_of",
    "tally_of",
]

WORDS = 300
"""How much is kept of what a group of failures says."""

_PER_OCTAVE: Final = 4
_OCTAVES: Final = 48
"""From a microsecond to nine years."""
_BOUNDS: Final = [2 ** (i / _PER_OCTAVE) / 1_000_000 for i in range(_OCTAVES * _PER_OCTAVE + 1)]
_MOST: Final = len(_BOUNDS) + 1
"""How many buckets there are."""
_bucket = partial(bisect_right, _BOUNDS)
_numbers = msgspec.json.Decoder(list[int]).decode


class Histogram:
    """How often something took about so many seconds."""

    __slots__ = ("_read", "_texts")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._read: Counter[int] = Counter()
        self._texts: list[str] = []
        """What was added as text and not read yet."""
        if values != ():
            self.add_all(values)

    def add(self, seconds: float, times: int = 1) -> None:
        """It took so long, so many times; less than nothing counts as nothing."""
        if math.isnan(seconds):
            raise FieldError("seconds", "must be a number", seconds)
        self._read[_bucket(seconds)] += times

    def add_all(self, values: Iterable[float], times: int = 1) -> None:
        """Each of these, so many times; the cheap way for many: a bucket is looked up once for all that fall into it."""
        line = sorted(values)
        at, end, counts = 0, len(line), self._read
        while at < end:
            bucket = _bucket(line[at])
            after = max(bisect_left(line, _BOUNDS[bucket], at), at + 1) if bucket < len(_BOUNDS) else end
            counts[bucket] += (after - at) * times
            at = after

    def merge(self, other: Histogram) -> None:
        """All that the other holds as well."""
        self._texts += other._texts
        for bucket, count in other._read.items():
            self._read[bucket] += count

    def copy(self) -> Histogram:
        """One of its own that holds the same."""
        made = Histogram()
        made._read = self._counts.copy()
        return made

    @property
    def _counts(self) -> Counter[int]:
        """How often, by bucket."""
        if self._texts:
            found = _counted_text("".join(self._texts))
            self._texts = []
            self._read.update(found)
        return self._read

    @property
    def count(self) -> int:
        """How many there are."""
        return self._counts.total()

    def quantile(self, share: float) -> float | None:
        """The seconds that this share of them took at most, to within a tenth; None if there are none."""
        return self.quantiles(share)[0]

    def quantiles(self, *shares: float) -> list[float | None]:
        """The same, for several shares at once."""
        for share in shares:
            if not 0 <= share <= 1:
                raise FieldError("share", "must be from 0 to 1", share, "0.95 for the 95th percentile")
        counts, total = self._counts, self.count
        buckets = sorted(counts)
        ends = list(accumulate(counts[bucket] for bucket in buckets))
        wanted = [bisect_left(ends, max(math.ceil(share * total), 1)) for share in shares]
        return [_middle(buckets[at]) if at < len(buckets) else None for at in wanted]

    def encode(self) -> str:
        """As text; texts put together are the text of both."""
        return "".join([f"{bucket},{count}," for bucket, count in sorted(self._counts.items())])

    @classmethod
    def decode(cls, text: str) -> Histogram:
        """From its text, or from several put together."""
        made = cls()
        made._read.update(_counted_text(text))
        return made

    def add_text(self, text: str) -> None:
        """All that a text holds as well; whether it is one is seen when somebody asks what is held."""
        if text:
            self._texts.append(text if text.endswith(",") else f"{text},")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Histogram.decode({self.encode()!r})"


def _counted_text(text: str) -> dict[int, int]:
    """How often, by bucket."""
    try:
        numbers = _numbers(f"[{text.removesuffix(',')}]")
        counts = [0] * (_MOST if min(numbers, default=0) >= 0 else 0)
        for bucket, count in zip(numbers[::2], numbers[1::2], strict=True):
            counts[bucket] += count
    except (ValueError, TypeError, IndexError):
        raise FieldError("histogram", 'must be text as encode() makes it, "bucket,count,…"', text) from None
    return {bucket: count for bucket, count in enumerate(counts) if count}


def _middle(bucket: int) -> float:
    """What stands for all values of a bucket: as far from its lower end as from its upper one, by factor."""
    if bucket <= 0:
        return 0.0
    return 2 ** ((min(bucket, len(_BOUNDS)) - 0.5) / _PER_OCTAVE) / 1_000_000


class Tally(Struct):
    """What one of those who count has counted of a kind in a queue since it last told."""

    queue: str
    kind: str
    done: int = 0
    failed: int = 0
    dead: int = 0
    waited: Histogram = field(default_factory=Histogram)
    ran: Histogram = field(default_factory=Histogram)
    cancelled: int = 0


class Rollup(Struct, frozen=True, kw_only=True):
    """A kind in a queue during one step of time, from `at`.

    `failed` are attempts that failed, those too after which their job was dead; `dead` are the jobs that died of it,
    `cancelled` those that were cancelled, while they ran or before.
    `waited` is from when a job could have run until it did, `ran` is how long each attempt took.
    """

    at: datetime
    queue: str
    kind: str
    done: int
    failed: int
    dead: int
    cancelled: int
    waited: Histogram
    ran: Histogram


class Sample(Struct, frozen=True, kw_only=True):
    """How a queue stood in one step of time, from `at`: the most that was seen; `queue` "" is all of them together.

    `oldest_ready` is for how long the first ready job had been due, None where nothing was ready. What workers hold is told of
    all queues together: `busy` of their `slots`.
    """

    at: datetime
    queue: str
    ready: int
    running: int
    oldest_ready: timedelta | None
    busy: int
    slots: int


class ErrorTally(Struct):
    """Failures alike, as one of those who count has met them since it last told."""

    fingerprint: str
    kind: str
    error_kind: str
    message: str
    sample_id: str
    count: int = 0
    dead: int = 0
    frame: str = ""
    """Where in the user's own code the last of them failed: "mail/send.py:41 in send"."""


class ErrorGroup(Struct, frozen=True, kw_only=True):
    """Failures alike: how many, since when (as far back as is kept), the words of the last of them, where in the user's own code it failed (`frame`,
    "" where nothing tells) and the job it was, and how many in each hour."""

    fingerprint: str
    kind: str
    error_kind: str
    message: str
    sample_id: str
    count: int
    dead: int
    first_seen: datetime
    last_seen: datetime
    hours: dict[datetime, int]
    frame: str = ""


def tally_of(value: object) -> Tally:
    """A tally whose figures can be kept."""
    if not isinstance(value, Tally):
        raise FieldTypeError("tallies", "must be a list of Tally", value)
    _counted("tallies", value.done, value.failed, value.dead, value.cancelled)
    return value


def error_of(value: object) -> ErrorTally:
    """A tally of failures that can be kept."""
    if not isinstance(value, ErrorTally):
        raise FieldTypeError("errors", "must be a list of ErrorTally", value)
    _counted("errors", value.count, value.dead)
    return value


def _counted(name: str, *counts: object) -> None:
    for count in counts:
        if type(count) is not int or not 0 <= count < 2**53:
            raise FieldError(name, "must count in whole numbers from 0", count)
