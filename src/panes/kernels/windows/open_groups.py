"""Accumulators of open windows that are known by a number: each micro-batch adds parts, which are merged in time.

    chunks   [ windows 1 … 900 ] [ 3 7 900 … 950 ] [ 950 … 960 ]     a window's parts may be in all of them

Of chunks, bytes count: a list of all values grows, though its group stays one row. Groups of windows that have ended
stay in their chunk until it is written anew: a big one, when about half of it has ended. Only then it is asked which
windows are open, since there may be many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.state.compaction import layered
from panes.kernels.state.key_hash import matches

WINDOW = "window_number"
PARTS = "parts"
MANY = 4  # a chunk is big if it has more groups than one in so many of the open windows

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OpenGroups:
    """`grouping` is by WINDOW first. `sizes` are bytes, `ended` how many groups of a chunk are of ended windows, about.

    `count` is how many windows are open, and `alive` tells which.
    """

    grouping: Grouping
    chunks: tuple[Chunk, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)

    def take(self, ended: Numbers, count: int, alive: Callable[[], Numbers]) -> tuple[list[pa.Table], OpenGroups]:
        """The groups of windows that have ended, `ended` ascending; and the others."""
        found: list[pa.Table] = []
        kept: list[Chunk] = []
        passed = dict(self.ended)
        for chunk in self.chunks:
            if ended.searchsorted(chunk.low) < ended.searchsorted(chunk.high, "right"):
                table = by_window(chunk.load())
                found.append(table.take(pa.array(matches(windows(table), ended)[1])))
                passed[chunk.id] = passed.get(chunk.id, 0) + found[-1].num_rows
                if 2 * passed[chunk.id] >= chunk.rows and _is_big(chunk.rows, count):
                    kept += self._chunks(of(table, alive()))
                    continue
            kept.append(chunk)
        return found, self._with(kept, passed)

    def add(self, groups: pa.Table, count: int, alive: Callable[[], Numbers]) -> OpenGroups:
        if not groups.num_rows:
            return self
        kept, parts = layered(
            self.chunks,
            groups,
            size_of=lambda chunk: self.sizes[chunk.id],
            size=lambda table: int(table.nbytes),
        )
        merged = by_window(self.grouping.merge(parts))
        gone = {chunk.id for chunk in self.chunks} - {chunk.id for chunk in kept}
        passed = sum(self.ended.get(id_, 0) for id_ in gone)
        if passed and _is_big(merged.num_rows, count):
            merged, passed = of(merged, alive()), 0
        new = self._chunks(merged)
        return self._with([*kept, *new], {**self.ended, **{chunk.id: passed for chunk in new}})

    def _chunks(self, groups: pa.Table) -> list[Chunk]:
        return [new_chunk(groups, WINDOW, PARTS)] if groups.num_rows else []

    def _with(self, chunks: Sequence[Chunk], ended: Mapping[str, int]) -> OpenGroups:
        sizes = {one.id: self.sizes[one.id] if one.id in self.sizes else one.load().nbytes for one in chunks}
        passed = {one.id: ended[one.id] for one in chunks if ended.get(one.id)}
        return OpenGroups(self.grouping, tuple(chunks), sizes, passed)


def _is_big(groups: int, count: int) -> bool:
    return MANY * groups >= count


def windows(groups: pa.Table) -> Numbers:
    found: Numbers = groups[WINDOW].to_numpy()
    return found


def by_window(groups: pa.Table) -> pa.Table:
    """In the order of windows; groups of one stay in order."""
    found = windows(groups)
    return groups if (found[1:] >= found[:-1]).all() else groups.take(pa.array(np.argsort(found, kind="stable")))


def of(groups: pa.Table, some: Numbers) -> pa.Table:
    """The groups of some windows."""
    return groups.filter(pa.array(np.isin(windows(groups), some)))


def without(groups: pa.Table, some: Numbers) -> pa.Table:
    """The groups of other windows."""
    return groups.filter(pa.array(np.isin(windows(groups), some, invert=True)))
