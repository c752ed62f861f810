"""Event time → pixels, and the ticks of its axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

SECOND = 1_000_000
DAY = 86_400 * SECOND
# What a tick can be apart: milliseconds to years, each read easily as a multiple.
_APART = (
    *(SECOND * n // 1000 for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(SECOND * n for n in (1, 2, 5, 10, 15, 30)),
    *(60 * SECOND * n for n in (1, 2, 5, 10, 15, 30)),
    *(3600 * SECOND * n for n in (1, 2, 3, 6, 12)),
    *(DAY * n for n in (1, 2, 7, 14, 30, 90, 365, 3650)),
)


@dataclass(frozen=True)
class Scale:
    """Times from `first` to `last` between two places."""

    first: int
    last: int
    left: float
    right: float

    def __call__(self, time: int) -> float:
        """The place of a time; what lies outside is put at the edge."""
        share = (time - self.first) / (self.last - self.first)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    def ticks(self, most: int) -> list[int]:
        """Round times, at most so many."""
        span = self.last - self.first
        apart = next((one for one in _APART if span // one < most), _APART[-1] * (span // _APART[-1] // most + 1))
        start = -(-self.first // apart) * apart
        return list(range(start, self.last + 1, apart))


def scale_of(times: Iterable[int], left: float, right: float) -> Scale:
    """A scale that holds these times with some room at both ends."""
    known = sorted(times) or [0]
    first, last = known[0], known[-1]
    room = max((last - first) // 40, 1) if last > first else SECOND
    return Scale(first - room, last + room, left, right)


def tick_texts(ticks: Sequence[int]) -> list[str]:
    """The ticks as times of day, as short as they can be; with days where they span several.

    >>> tick_texts([0, 5_000_000])
    ['00:00:00', '00:00:05']
    """
    moments = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=tick) for tick in ticks]
    days = {moment.date() for moment in moments}
    if all(tick % DAY == 0 for tick in ticks) and len(days) > 1:
        return [f"{moment:%Y-%m-%d}" for moment in moments]
    pattern = "%H:%M:%S" if any(tick % (60 * SECOND) for tick in ticks) else "%H:%M"
    texts = [moment.strftime(pattern) for moment in moments]
    if any(tick % SECOND for tick in ticks):
        texts = [f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}" for moment in moments]
    return [f"{moment:%m-%d} {one}" for moment, one in zip(moments, texts, strict=True)] if len(days) > 1 else texts
