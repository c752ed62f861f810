"""Roll-ups: a chunk of slices has its groups also merged over spans of many hops, for windows that hop often.

    slices   1 2 1 3 2 2 1 1 4 …     a group for each slice and key
    spans    [  7  ] [  6  ] [ …     one for every `fan_out` hops, aligned; then for `fan_out` of those, and so on

A window takes the longest spans that lie in it, and at its two ends shorter ones, and slices: a few groups for each
length, however many hops it has. Spans are those of the chunk's own slices. So rows that come late to an old slice are
in a newer chunk, which has spans of its own, and no chunk depends on another.

Groups that hold values are not rolled up: each length would hold all values again, and a window needs them all anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.windows.starts import Times

FAN_OUT = 16
KIND = "slices"
SPAN = "span"  # how long a roll-up is; 0 in a slice

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Intervals of time from `low` to before `high`; `of` says what each belongs to."""

    of: Numbers
    low: Times
    high: Times

    def only(self, some: npt.NDArray[np.bool_]) -> Intervals:
        return self if some.all() else Intervals(self.of[some], self.low[some], self.high[some])

    def __add__(self, other: Intervals) -> Intervals:
        return Intervals(*(np.append(getattr(self, name), getattr(other, name)) for name in ("of", "low", "high")))

    def inside(self, length: int) -> tuple[Intervals, Intervals]:
        """The part of each that is made of aligned spans of a length, and what is left at its ends.

        >>> within, rest = Intervals(np.array([7]), np.array([3]), np.array([13])).inside(4)
        >>> within.low, within.high, rest.low, rest.high
        (array([4]), array([12]), array([ 3, 12]), array([ 4, 13]))
        """
        low, high = up(self.low, length), down(self.high, length)
        some = low < high
        before = Intervals(self.of, self.low, np.where(some, low, self.high))
        after = Intervals(self.of, high, self.high).only(some)
        rest = before + after
        return Intervals(self.of, low, high).only(some), rest.only(rest.low < rest.high)


@dataclass(frozen=True)
class Ranges:
    """Ranges of rows from `first` to before `last`; `of` says what each belongs to."""

    of: Numbers
    first: Numbers
    last: Numbers

    @property
    def counts(self) -> Numbers:
        return self.last - self.first

    def rows(self) -> tuple[Numbers, Numbers]:
        """What each row belongs to, and where it is.

        >>> Ranges(np.array([5, 8]), np.array([2, 0]), np.array([4, 1])).rows()
        (array([5, 5, 8]), array([2, 3, 0]))
        """
        before = np.cumsum(self.counts) - self.counts
        rows = np.arange(self.counts.sum()) + np.repeat(self.first - before, self.counts)
        return np.repeat(self.of, self.counts), rows


@dataclass(frozen=True)
class Rollups:
    """`grouping` is by the start of the slice first, and then by the keys."""

    size: int
    hop: int
    grouping: Grouping
    fan_out: int = FAN_OUT

    @property
    def slice(self) -> str:
        return self.grouping.by[0]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.grouping.by, *(fold.state for fold in self.grouping.folds))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of spans, ascending: of the longest, two fit into a window.

        >>> Rollups(86_400, 1, Grouping(("slice",), ())).lengths
        (16, 256, 4096)
        """
        found = []
        length = self.hop * self.fan_out
        while 2 * length <= self.size:
            found.append(length)
            length *= self.fan_out
        return tuple(found)

    def chunk(self, groups: pa.Table) -> Chunk:
        """A chunk of the groups of slices, with roll-ups of them if these are many fewer."""
        slices = self.sorted(groups)
        starts = slices[self.slice].to_numpy()
        chunk = new_chunk(self._with_rollups(slices), self.slice, KIND)
        return replace(chunk, low=int(starts[0]), high=int(starts[-1]))

    def sorted(self, groups: pa.Table) -> pa.Table:
        starts = groups[self.slice].to_numpy()
        if not (starts[1:] >= starts[:-1]).all():
            groups = groups.take(pa.array(np.argsort(starts, kind="stable")))
        return groups.combine_chunks()

    def load(self, chunk: Chunk) -> pa.Table:
        """Sorted: slices first, and then the spans of each length. Chunks of old checkpoints are not."""
        return chunk.load() if chunk.kind == KIND else self.sorted(chunk.load())

    def slices(self, table: pa.Table) -> pa.Table:
        """The slices of a chunk, without roll-ups."""
        slices = table.slice(0, len(next(self._levels(table))[2]))
        return slices.drop_columns([SPAN]) if SPAN in table.column_names else slices

    def find(self, table: pa.Table, intervals: Intervals) -> Ranges:
        """Where in a chunk the groups are that make up all slices of these intervals; no slice cuts an end."""
        found = []
        for length, offset, starts in reversed(list(self._levels(table))):
            within, intervals = intervals.inside(length) if length else (intervals, intervals)
            first, last = np.searchsorted(starts, within.low), np.searchsorted(starts, within.high)
            some = first < last
            found.append((within.of[some], offset + first[some], offset + last[some]))
        return Ranges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _with_rollups(self, slices: pa.Table) -> pa.Table:
        """A length is left out where slices are few, or where it has more than half as many groups as the one below."""
        if any(fold.accumulator.holds_values for fold in self.grouping.folds):
            return slices
        levels, below = [(0, slices)], slices
        for length in self.lengths:
            if distinct(below[self.slice].to_numpy()) < 2 * self.fan_out:
                break
            spans = self._merged(below, length)
            if 2 * spans.num_rows <= below.num_rows:
                levels.append((length, spans))
                below = spans
        return slices if len(levels) == 1 else _stacked(levels)

    def _merged(self, groups: pa.Table, length: int) -> pa.Table:
        starts = pa.array(down(groups[self.slice].to_numpy(), length))
        groups = groups.set_column(groups.column_names.index(self.slice), self.slice, starts)
        return self.sorted(self.grouping.merge([groups, groups.slice(0, 0)]).select(groups.column_names))

    def _levels(self, table: pa.Table) -> Iterator[tuple[int, int, Times]]:
        """The lengths in a chunk, ascending; the row at which each begins, and the starts of its spans."""
        starts = table[self.slice].to_numpy()
        if SPAN not in table.column_names:
            yield 0, 0, starts
            return
        lengths, first = table[SPAN].to_numpy(), 0
        while first < len(lengths):
            last = int(np.searchsorted(lengths, lengths[first], "right"))
            yield int(lengths[first]), first, starts[first:last]
            first = last


def up(times: Times, length: int) -> Times:
    ends: Times = -np.floor_divide(-times, length) * length
    return ends


def down(times: Times, length: int) -> Times:
    starts: Times = np.floor_divide(times, length) * length
    return starts


def distinct(ascending: Times) -> int:
    """How many different ones there are.

    >>> distinct(np.array([1, 1, 4]))
    2
    """
    return int((ascending[1:] != ascending[:-1]).sum()) + min(1, len(ascending))


def _stacked(levels: Sequence[tuple[int, pa.Table]]) -> pa.Table:
    tables = [
        table.append_column(SPAN, pa.repeat(pa.scalar(length, pa.int64()), len(table))) for length, table in levels
    ]
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
