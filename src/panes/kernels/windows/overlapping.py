"""Windows that overlap are merged from their slices, and what many of them have in common is merged once.

    windows    |--------------|          stage 0     each window: the stage below it, and what it has at its ends
                |--------------|
                 |--------------|
    in common      |---------|           stage 1     the aligned spans inside, the same for many windows

One window, or a few, are merged in one go. Where thousands close at once, each adds a few groups to what it shares with
its neighbours, so that the work is in proportion to what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.windows.rollups import Intervals, Numbers, Ranges, Rollups, down, up
from panes.kernels.windows.starts import Times

SHARED = 4  # a stage is worth it where so many of the one above have it in common
MOST_BYTES = 64 << 20  # of groups that are merged at once, about


@dataclass(frozen=True)
class Stage:
    """Intervals of time, ascending; `inner` says which one of the next stage, if there is one, lies in each."""

    low: Times
    high: Times
    inner: Numbers

    @property
    def numbers(self) -> Numbers:
        return np.arange(len(self.low))

    @property
    def whole(self) -> Intervals:
        return Intervals(self.numbers, self.low, self.high)

    def around(self, next_: Stage) -> Intervals:
        """What an interval has on both sides of the one of the next stage in it."""
        before = Intervals(self.numbers, self.low, next_.low[self.inner])
        after = Intervals(self.numbers, next_.high[self.inner], self.high)
        sides = before + after
        return sides.only(sides.low < sides.high)

    def inside(self, groups: Numbers) -> Ranges:
        """Where the groups of the next stage's intervals are; `groups` are these intervals, ascending."""
        first, last = (np.searchsorted(groups, self.inner, side) for side in ("left", "right"))
        return Ranges(self.numbers, first, last)


def stages(starts: Times, size: int, lengths: Sequence[int]) -> list[Stage]:
    """From the windows themselves to what most of them share.

    >>> [len(stage.low) for stage in stages(np.arange(1000), 5000, (16, 256))]
    [1000, 126, 9]
    """
    none = np.zeros(0, np.int64)
    found = [Stage(starts, starts + size, none)]
    for length in lengths:
        low, high = up(found[-1].low, length), down(found[-1].high, length)
        begins = np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1]))
        if SHARED * int(begins.sum()) <= len(low):
            found[-1] = replace(found[-1], inner=np.cumsum(begins) - 1)
            found.append(Stage(low[begins], high[begins], none))
    return found


def merged_windows(rollups: Rollups, tables: Sequence[pa.Table], starts: Times, most: int = MOST_BYTES) -> pa.Table:
    """The groups of the windows with these starts, ascending, from chunks that `rollups` made.

    In place of the slice they have the start of the window. A window may have none.
    """
    below, *above = reversed(stages(starts, rollups.size, rollups.lengths))
    parts = [(table, rollups.find(table, below.whole)) for table in tables]
    groups = _merged(rollups, parts, len(below.low), most)
    for stage in above:
        parts = [(table, rollups.find(table, stage.around(below))) for table in tables]
        parts.append((groups, stage.inside(groups[rollups.slice].to_numpy())))
        below, groups = stage, _merged(rollups, parts, len(stage.low), most)
    numbers = groups[rollups.slice].to_numpy()
    return groups.set_column(groups.column_names.index(rollups.slice), rollups.slice, pa.array(starts[numbers]))


def _merged(rollups: Rollups, parts: Sequence[tuple[pa.Table, Ranges]], count: int, most: int) -> pa.Table:
    """The groups of ranges, merged by what the ranges belong to, and sorted by that; a part of them at a time."""
    merged = [rollups.grouping.merge([part, part.slice(0, 0)]) for part in _pieces(rollups, parts, count, most)]
    return pa.concat_tables([rollups.sorted(one) for one in merged])


def _pieces(rollups: Rollups, parts: Sequence[tuple[pa.Table, Ranges]], count: int, most: int) -> Iterator[pa.Table]:
    """The groups of ranges, with what they belong to in place of the slice."""
    weights = np.zeros(count)
    for table, ranges in parts:
        weight = table.nbytes / max(1, table.num_rows)
        weights += np.bincount(ranges.of, weight * ranges.counts, count)
    piece = (np.cumsum(weights) // most).astype(np.int64)
    for number in np.unique(piece):
        yield pa.concat_tables(
            [_taken(rollups, table, ranges, piece == number) for table, ranges in parts], promote_options="permissive"
        )


def _taken(rollups: Rollups, table: pa.Table, ranges: Ranges, some: npt.NDArray[np.bool_]) -> pa.Table:
    if not some.all():
        chosen = some[ranges.of]
        ranges = Ranges(ranges.of[chosen], ranges.first[chosen], ranges.last[chosen])
    of, rows = ranges.rows()  # taken, not sliced: DuckDB refuses structs that begin at an offset
    names = [name for name in rollups.columns if name != rollups.slice]
    return table.select(names).take(pa.array(rows)).append_column(rollups.slice, pa.array(of))
