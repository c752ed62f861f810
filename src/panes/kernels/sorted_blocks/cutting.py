"""Rows that are written are cut into blocks, all about as big, and each gets its fence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk
from panes.kernels.sorted_blocks.blocks import HOME, Directory
from panes.kernels.sorted_blocks.pages import FENCE, NEW, Fences
from panes.kernels.sorted_blocks.ranges import Mask, Places, Ranges, covered, equal_parts, unbroken
from panes.kernels.sorted_blocks.sort_keys import Keys, Reach, Sorting, encoding

BLOCKS = 128  # in a segment, as long as they have all their rows


@dataclass(frozen=True)
class Cutter:
    """Cuts sorted rows into blocks of at most `size` rows. `bounds` are columns of RANGE frames."""

    size: int
    sorting: Sorting
    bounds: tuple[str, ...] = ()

    def read(self, chunks: Iterable[Chunk], name: str = "") -> Directory:
        """The directory of blocks in state; where another DuckDB made its sort keys, with those that this one makes."""
        found = Directory.read(chunks, name)
        if found.encoding in ("", encoding()):
            return found
        found = found.opened(found.closed)
        ends = np.cumsum(found.sizes)
        fences = self.fenced(found.load(np.ones(len(found), np.bool_)), Ranges(ends - found.sizes, ends))
        for at, column in enumerate(("segment", "start", "rows")):
            fences = fences.set_column(at, FENCE.field(column), found.fences.entries[column])
        return Directory(Fences.of(fences), found.segments, (), name)

    def rewritten(
        self, directory: Directory, rows: pa.Table, dirty: Mask, loaded: Mask, names: Sequence[str]
    ) -> Directory:
        """The directory with new blocks in place of the dirty ones; `rows` are all of those that were loaded."""
        if not dirty.any():
            return directory
        loaded = np.append(loaded, dirty[len(loaded) :])  # the first rows have a home that is not there yet
        homes = rows[HOME].to_numpy()
        dirty = self.grown(dirty, loaded, np.bincount(homes, minlength=len(dirty)))
        runs = unbroken(dirty)
        rows = rows.filter(pa.array(dirty[homes]))
        ends = np.searchsorted(rows[HOME].to_numpy(), np.append(runs.start, len(dirty)))
        blocks, run = self.cut(Ranges(ends[:-1], ends[1:]))
        fences = self.fenced(rows, blocks)
        return directory.replaced(
            dirty[: len(directory)], fences, runs.start[run], rows.select(names), self.size * BLOCKS
        )

    def grown(self, dirty: Mask, loaded: Mask, rows: Places) -> Mask:
        """With the neighbours that are loaded anyway of those runs of blocks in which few rows are left."""
        runs = unbroken(dirty)
        held = np.concatenate([[0], np.cumsum(rows)])
        few = held[runs.stop] - held[runs.start] < self.size // 4
        beside = Ranges(np.maximum(runs.start[few] - 1, 0), np.minimum(runs.stop[few] + 1, len(dirty)))
        return dirty | (covered(beside, len(dirty)) & loaded)

    def cut(self, spans: Ranges) -> tuple[Ranges, Places]:
        """Each span of rows in parts of at most `size` rows, and of which span each part is."""
        return equal_parts(spans, self.size)

    def fenced(self, rows: pa.Table, blocks: Ranges) -> pa.Table:
        """The fences of blocks that are ranges of these rows."""
        number = len(blocks.start)
        keys = self.sorting.keys(rows.take(pa.array(np.concatenate([blocks.start, blocks.stop - 1]))))
        first, last = keys.slice(0, number), keys.slice(number, number)
        reach = self._reach(rows, blocks, first, last)
        place = {"segment": [NEW] * number, "start": blocks.start, "rows": blocks.stop - blocks.start}
        ends = {**_end("first", first), **_end("last", last), "low": reach.low, "high": reach.high}
        return pa.table({**place, **ends}, FENCE)

    def _reach(self, rows: pa.Table, blocks: Ranges, first: Keys, last: Keys) -> Reach:
        """How far the RANGE frames of each block reach, NULL if not beyond its ends; the blocks cover all rows."""
        number = len(blocks.start)
        none = pa.nulls(number, pa.binary())
        if not self.bounds or not number:
            return Reach(none, none)
        reach = self.sorting.reach(rows, self.bounds, np.repeat(np.arange(number), blocks.stop - blocks.start))
        low = pc.if_else(pc.less(reach.low, first.order), reach.low, none)
        return Reach(low, pc.if_else(pc.greater(reach.high, last.order), reach.high, none))


def _end(side: str, keys: Keys) -> dict[str, pa.Array]:
    order, partition = pc.binary_length(keys.order), pc.binary_length(keys.partition)
    return {f"{side}_row": keys.row, f"{side}_order": order, f"{side}_partition": partition}
