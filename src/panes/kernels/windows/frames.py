"""Windows as ranges of positions among rows that are sorted by partition and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from panes.kernels.partitions import Codes
from panes.kernels.state.expiry import gaps, generation_starts
from panes.kernels.windows.starts import Times

PAIRS, PAIRED_BYTES = 1 << 20, 64 << 20  # pairs of window and row that are folded at once, and the size of their rows
LARGEST = 1 << 62

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Index:
    """Rows by partition and time, as one ascending array of numbers. `order` are their places in the table."""

    order: Positions
    numbers: Codes
    times: Times
    keys: Times
    scale: Scale

    @staticmethod
    def of(numbers: Codes, times: Times) -> Index:
        order = places_by(numbers, times)
        numbers, times = numbers[order], times[order]
        scale = Scale.of(times, int(numbers.max(initial=0)) + 1)
        return Index(order, numbers, times, numbers * scale.length + scale.ticks(times), scale)

    def find(self, numbers: Codes, moments: Times) -> Positions:
        """For each, the first position in its partition at or after the moment."""
        keys = numbers * self.scale.length + self.scale.ticks(moments)
        found: Positions = np.searchsorted(self.keys, keys).astype(np.int64)
        return found

    def inverse(self) -> Positions:
        """The position of each place."""
        positions = np.empty_like(self.order)
        positions[self.order] = np.arange(len(self.order))
        return positions


@dataclass(frozen=True)
class Scale:
    """Times as numbers from 0 to `length`, exclusive: microseconds, or where these are too many, the known times."""

    base: int
    length: int
    known: Times | None = None

    @staticmethod
    def of(times: Times, partitions: int) -> Scale:
        base, last = (int(times.min()), int(times.max())) if len(times) else (0, 0)
        if last - base + 2 <= LARGEST // partitions:
            return Scale(base, last - base + 2)
        known = np.unique(times)
        return Scale(base, len(known) + 1, known)

    def ticks(self, moments: Times) -> Times:
        """How far each moment is along; those between two known times count as the later one."""
        if self.known is not None:
            return np.searchsorted(self.known, moments).astype(np.int64)
        ticks: Times = np.clip(moments, self.base, self.base + self.length - 1) - self.base
        return ticks


@dataclass(frozen=True)
class Frames:
    """Windows as positions [lo, hi) of an index, those of a partition in the order of their triggers.

    `number` says which trigger it is, `host` is the position of the trigger, or of a row at its time.

    Where rows did not come in the order of their time, only those that came from `since` until `until` are in a window.
    """

    index: Index
    number: Positions
    lo: Positions
    hi: Positions
    host: Positions
    since: Positions | None = None
    until: Positions | None = None

    @property
    def ordered(self) -> bool:
        return self.since is None

    def where(self, chosen: npt.NDArray[Any] | slice) -> Frames:
        """Some of the windows."""
        names = ("number", "lo", "hi", "host", "since", "until")
        parts = {name: getattr(self, name) for name in names}
        return replace(self, **{name: part[chosen] for name, part in parts.items() if part is not None})

    def pieces(self, width: int = 0) -> Iterator[Frames]:
        """Windows that together have a bounded number of rows, or one that has more; rows have about `width` bytes."""
        most = max(1, min(PAIRS, PAIRED_BYTES // max(1, width)))
        before = np.cumsum(self.hi - self.lo) - (self.hi - self.lo)
        cuts = [0, *(np.flatnonzero(np.diff(before // most)) + 1).tolist(), len(before)]
        for start, end in pairwise(cuts):
            if end > start:
                yield self.where(slice(start, end))

    def pairs(self) -> tuple[Positions, Positions]:
        """Each row of each window: the number of the window, and the place of the row."""
        sizes = self.hi - self.lo
        before = np.cumsum(sizes) - sizes
        positions = np.arange(int(sizes.sum())) + np.repeat(self.lo - before, sizes)
        numbers, places = np.repeat(self.number, sizes), self.index.order[positions]
        if self.since is None or self.until is None:
            return numbers, places
        came = (places >= np.repeat(self.since, sizes)) & (places <= np.repeat(self.until, sizes))
        return numbers[came], places[came]


def ascending(times: Times) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def places_by(numbers: Codes, times: Times) -> Positions:
    """The places of rows by number, then time, then place."""
    order: Positions = np.arange(len(times)) if ascending(times) else np.argsort(times, kind="stable")
    for shift in range(0, int(numbers.max(initial=0)).bit_length(), 16):
        digits = ((numbers[order] >> shift) & 0xFFFF).astype(np.uint16)  # NumPy sorts short numbers by counting
        order = order[np.argsort(digits, kind="stable")]
    return order


def starts_after_gaps(numbers: Codes, times: Times, ttl: int) -> Positions:
    """For each row, by partition, the position of the first one that it is not cut off from by a gap.

    >>> starts_after_gaps(np.array([0, 0, 0, 1, 1]), np.array([1, 9, 10, 11, 12]), 5)
    array([0, 1, 1, 3, 3])
    """
    first = np.ones(len(times), np.bool_)
    first[1:] = numbers[1:] != numbers[:-1]
    return generation_starts(first | gaps(times, first, times[first], ttl))
