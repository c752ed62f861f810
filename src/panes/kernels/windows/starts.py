"""Which windows hold given slices: ranges of window starts, without a list of all windows of each slice.

    size 10, hop 2    slices 0 and 6    starts -8 … 6, every 2: one range

In a day's window that hops by the second a row is in 86,400 windows; they are one range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Starts:
    """Starts of windows, `hop` apart, as ranges from `first` to `last`, both included; ascending and apart."""

    first: Times
    last: Times
    hop: int

    @staticmethod
    def of_slices(slices: Times, size: int, hop: int) -> Starts:
        """The windows that hold any of these slices.

        >>> Starts.of_slices(np.array([6, 0, 40]), size=10, hop=2).ranges
        [[-8, 6], [32, 40]]
        """
        first = -np.floor_divide(size - 1 - slices, hop) * hop
        return Starts(first, np.floor_divide(slices, hop) * hop, hop)._apart()

    @staticmethod
    def of_ranges(ranges: Sequence[Sequence[int]], hop: int) -> Starts:
        bounds = np.array(ranges, np.int64).reshape(-1, 2)
        return Starts(bounds[:, 0], bounds[:, 1], hop)

    @property
    def ranges(self) -> list[list[int]]:
        return [list(one) for one in zip(self.first.tolist(), self.last.tolist(), strict=True)]

    @property
    def count(self) -> int:
        return int(((self.last - self.first) // self.hop + 1).sum())

    @property
    def oldest(self) -> int | None:
        return int(self.first[0]) if len(self.first) else None

    def all(self) -> Times:
        """Every start.

        >>> Starts.of_ranges([[0, 4], [10, 10]], hop=2).all()
        array([ 0,  2,  4, 10])
        """
        counts = (self.last - self.first) // self.hop + 1
        before = np.cumsum(counts) - counts
        steps = np.arange(counts.sum()) - np.repeat(before, counts)
        starts: Times = np.repeat(self.first, counts) + steps * self.hop
        return starts

    def union(self, other: Starts) -> Starts:
        first, last = np.append(self.first, other.first), np.append(self.last, other.last)
        return Starts(first, last, self.hop)._apart()

    def hull(self) -> Starts:
        """One range from the first start to the last.

        >>> Starts.of_ranges([[0, 8], [20, 30]], hop=2).hull().ranges
        [[0, 30]]
        """
        return Starts(self.first[:1], self.last[-1:], self.hop)

    def between(self, after: int | None, until: int | None) -> Starts:
        """The starts in (after, until].

        >>> Starts.of_ranges([[0, 8], [20, 30]], hop=2).between(3, 20).ranges
        [[4, 8], [20, 20]]
        """
        first, last = self.first, self.last
        if after is not None:
            first = np.maximum(first, (after // self.hop + 1) * self.hop)
        if until is not None:
            last = np.minimum(last, until // self.hop * self.hop)
        some = first <= last
        return Starts(first[some], last[some], self.hop)

    def oldest_ranges(self, most: int) -> Starts:
        return Starts(self.first[:most], self.last[:most], self.hop)

    def _apart(self) -> Starts:
        """Ranges that touch or overlap made one; empty ones left out."""
        some = self.first <= self.last
        order = np.argsort(self.first[some], kind="stable")
        first, last = self.first[some][order], np.maximum.accumulate(self.last[some][order])
        begins = np.append(True, first[1:] > last[:-1] + self.hop)[: len(first)]
        ends = np.append(begins[1:], True)[: len(first)]
        return Starts(first[begins], last[ends], self.hop)
