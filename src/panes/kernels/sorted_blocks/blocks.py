"""Sorted blocks with fences: all rows of a shard in one order, a hundred a block, and a directory of their ends.

    rows      a1 a2 a3 | a4 b1 c1 | c2 c3 | c4 …       sorted by partition, order and tie break
    fences    a1 … a3  | a4 … c1  | c2 … c3 | …        one row per block: what must be read is known without reading
    segments  2nd, 1st, 2nd, 2nd                       where each block is kept

Many small partitions share a block, and a big one has many. A fence has the sort keys of its block's ends. Fences are
in pages, most of which stay closed: see `pages`.

Blocks are small so that a change touches few rows, and chunks of state are not, for each costs a call: the blocks that
a micro-batch writes go into segments together. A segment of which less than half is still in use, or that is no bigger
than twice what is written now, is written anew with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.sorted_blocks.pages import NEW, Fences
from panes.kernels.sorted_blocks.ranges import Mask, Places, Ranges, covered, extents
from panes.kernels.sorted_blocks.search import less, not_more
from panes.kernels.sorted_blocks.sort_keys import Keys, Reach, beginnings

Counts = Places | npt.NDArray[np.float64]
SEGMENT = "segment"
HOME = "row_home"


@dataclass(frozen=True)
class Margins:
    """How many rows of each block are before its first change, and after its last: rows beside the changes."""

    first: Places
    last: Places


@dataclass(frozen=True)
class Directory:
    """The fences of all blocks in order, and the segments by their ids. Some of the blocks are a mask.

    Where a page of fences is closed, it stands for its blocks, and is opened before they are loaded. `name` tells its
    chunks from those of another directory in the same state.
    """

    fences: Fences
    segments: Mapping[str, Chunk]
    own: tuple[Chunk, ...] = ()  # the chunks that the fences were read from, if nothing has changed
    name: str = ""
    encoding: str = ""  # that of its sort keys, if it was read

    @staticmethod
    def read(chunks: Iterable[Chunk], name: str = "") -> Directory:
        chunks = tuple(chunks)
        fences, own, encoding = Fences.read(chunks, name)
        segments = {chunk.id: chunk for chunk in chunks if chunk.kind == name + SEGMENT}
        return Directory(fences, segments, own, name, encoding)

    def write(self) -> tuple[Chunk, ...]:
        """The segments, and the chunks of the fences."""
        if not len(self):
            return ()
        return (*self.segments.values(), *(self.own or self.fences.written(self.name)))

    @property
    def closed(self) -> Mask:
        """Which of the blocks are closed pages."""
        return self.fences.closed

    def opened(self, blocks: Mask) -> Directory:
        """The same with blocks in the place of these pages, so that others have other numbers."""
        return replace(self, fences=self.fences.opened(blocks))

    def opened_where(self, find: Callable[[Directory], Mask]) -> tuple[Directory, Mask]:
        """With those pages open that have any of the blocks that are found; and these."""
        directory, found = self, find(self)
        while (found & directory.closed).any():
            directory = directory.opened(found)
            found = find(directory)
        return directory, found

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self.sizes)

    @cached_property
    def sizes(self) -> Places:
        """How many rows each block has."""
        return _numbers(self.fences.entries, "rows")

    @cached_property
    def first(self) -> Keys:
        """The keys of each block's first row."""
        return self._keys("first")

    @cached_property
    def last(self) -> Keys:
        """The keys of its last."""
        return self._keys("last")

    @cached_property
    def reach(self) -> Reach:
        """How far the RANGE frames of its rows reach."""
        low, high = (self.fences.entries[name].combine_chunks() for name in ("low", "high"))
        return Reach(pc.coalesce(low, self.first.order), pc.coalesce(high, self.last.order))

    def _keys(self, side: str) -> Keys:
        entries = self.fences.entries
        row, order, partition = (entries[f"{side}_{key}"].combine_chunks() for key in ("row", "order", "partition"))
        return Keys(beginnings(row, partition), beginnings(row, order), row)

    # ---- which blocks matter

    def cuts(self, rows: pa.Array) -> Places:
        """For each block where the sorted row keys begin that belong into it; at the end, their number.

        A row belongs into the last block that begins at it or before; rows before all belong into the first.
        """
        return np.concatenate([[0], less(rows, self.first.row)[1:], [len(rows)]])

    def homes_of(self, rows: pa.Array, order: Places) -> Places:
        """The block into which each row belongs; `order` are the places of the rows whose keys these are."""
        counts = np.diff(self.cuts(rows))
        homes = np.empty(len(order), np.int64)
        homes[order] = np.repeat(np.arange(len(counts)), counts)
        return homes

    def with_any(self, keys: Keys) -> Mask:
        """The blocks into which any of these rows belong, and the next where only there the row's partition begins."""
        cuts = self.cuts(keys.row)
        found: Mask = (np.diff(cuts) > 0)[: len(self)]
        at = np.flatnonzero(found[:-1])
        last = keys.partition.take(pa.array(cuts[at + 1] - 1))
        begins = _equal(self.first.partition.take(pa.array(at + 1)), last)
        goes_on = _equal(self.last.partition.take(pa.array(at)), last)
        found[at[begins & ~goes_on] + 1] = True
        return found

    def of_partitions(self, keys: Keys) -> Mask:
        """The blocks that hold rows of any of these partitions."""
        return less(keys.partition, self.first.partition) < not_more(keys.partition, self.last.partition)

    def after_rows(self, keys: Keys) -> Mask:
        """The blocks with rows that come after any of these rows in their partition."""
        return less(keys.partition, self.first.partition) < not_more(keys.row, self.last.row)

    def after_peers(self, keys: Keys) -> Mask:
        """The same, with all peers of these rows."""
        return less(keys.partition, self.first.partition) < not_more(keys.order, self.last.order)

    def framing(self, keys: Keys) -> Mask:
        """The blocks with a row in whose RANGE frame any of these rows can be."""
        return less(keys.order, self.reach.low) < not_more(keys.order, self.reach.high)

    def framing_from_first(self, keys: Keys) -> Mask:
        """The same with frames that begin with the first row of the partition."""
        return less(keys.partition, self.first.partition) < not_more(keys.order, self.reach.high)

    def framed(self, blocks: Mask) -> Mask:
        """The blocks that RANGE frames of rows in these blocks reach."""
        some = pa.array(blocks)
        return self.between(Reach(self.reach.low.filter(some), self.reach.high.filter(some)))

    def between(self, reach: Reach) -> Mask:
        """The blocks with rows that any of these reaches."""
        return covered(Ranges(less(self.last.order, reach.low), not_more(self.first.order, reach.high)), len(self))

    def around(self, blocks: Mask, before: int, after: int, counted: Counts, margins: Margins | None = None) -> Mask:
        """These blocks, and as many beside them as hold so many rows of the same partition before and after.

        `counted` is how many rows of each block count: those that change do not, for they may be about to go. It may be
        a guess.
        """
        none = np.zeros(len(self), np.int64)
        margins = margins or Margins(none, none)
        at = np.flatnonzero(blocks)
        held = np.concatenate([[0], np.cumsum(counted)])
        # the last block from which on enough rows are held, and the first up to which; some have enough without others
        start = np.searchsorted(held, held[at] - (before - margins.first[at]), "right") - 1
        stop = np.searchsorted(held, held[at + 1] + (after - margins.last[at]), "left")
        start = np.clip(start, self._connected.start[at], at)
        stop = np.clip(stop, at + 1, self._connected.stop[at])
        return covered(Ranges(start, stop), len(self))

    @cached_property
    def _connected(self) -> Ranges:
        """For each of the blocks, at least one, those around it through which partitions go on from block to block."""
        apart = ~_equal(self.first.partition.slice(1), self.last.partition.slice(0, len(self) - 1))
        return extents(np.append(0, np.cumsum(apart)), np.ones(len(self), np.bool_))

    def neighbours(self, blocks: Mask) -> Mask:
        """The next one of each of these blocks; of the last, the one before."""
        found = np.append(False, blocks)[: len(self)]
        found[-2:-1] |= blocks[-1:]  # a block that is alone has none
        return found

    # ---- what is in them

    def load(self, blocks: Mask) -> pa.Table:
        """The rows of these blocks, at least one, in order; they say where they are from."""
        homes = np.repeat(np.flatnonzero(blocks), self.sizes[blocks])
        return _rows(self.fences.entries.filter(pa.array(blocks)), self.segments).append_column(HOME, pa.array(homes))

    def replaced(self, dirty: Mask, new: pa.Table, places: Places, rows: pa.Table, most: int) -> Directory:
        """This directory without the blocks that are dirty, and with new ones.

        `places` are the numbers of dirty blocks, in whose stead the new ones stand. A new fence tells where in `rows`
        its block is. A segment is full once it has `most` rows.
        """
        fences = self.fences.replaced(dirty, new, places)
        rewritten = self._rewritten(fences, most)
        fences = fences.opened_for(rewritten)
        moved = pc.is_in(fences.entries["segment"], pa.array([NEW, *rewritten])).combine_chunks()
        segments = {id_: chunk for id_, chunk in self.segments.items() if id_ not in rewritten}
        if moved.true_count:
            fences, written = self._written(fences, moved, rows, most)
            segments |= written
        return Directory(fences, segments, name=self.name)

    def _written(self, fences: Fences, moved: pa.Array, rows: pa.Table, most: int) -> tuple[Fences, dict[str, Chunk]]:
        """New segments of the blocks that are moved, and all fences after it."""
        some = fences.entries.filter(moved)
        tables = _rows(some, {**self.segments, NEW: Chunk(NEW, rows.num_rows, 0, 0, lambda: rows)})
        sizes = _numbers(some, "rows")
        at = np.cumsum(sizes) - sizes
        begins = at[np.diff(at // most, prepend=-1) > 0]
        chunks = [
            new_chunk(_copied(tables.slice(start, stop - start)), None, self.name + SEGMENT)
            for start, stop in pairwise([*begins.tolist(), tables.num_rows])
        ]
        number = np.searchsorted(begins, at, "right") - 1
        ids = pa.array([chunk.id for chunk in chunks]).take(pa.array(number))
        return fences.moved(moved, ids, at - begins[number]), {chunk.id: chunk for chunk in chunks}

    def _rewritten(self, fences: Fences, most: int) -> set[str]:
        """The segments that are written anew: those mostly unused, and small ones beside what is written anyway."""
        live = dict.fromkeys([NEW, *self.segments], 0) | fences.in_use()
        rewritten = {id_ for id_, chunk in self.segments.items() if 2 * live[id_] < chunk.rows}
        size = live[NEW] + sum(live[id_] for id_ in rewritten)
        for id_ in reversed(tuple(self.segments)):
            if id_ not in rewritten and live[id_] <= min(2 * size, most // 2):
                rewritten.add(id_)
                size += live[id_]
        return rewritten


def _rows(fences: pa.Table, segments: Mapping[str, Chunk]) -> pa.Table:
    """The rows of these blocks, one after the other."""
    return pa.concat_tables(_slices(fences, segments), promote_options="permissive")


def _slices(fences: pa.Table, segments: Mapping[str, Chunk]) -> Iterator[pa.Table]:
    """One for each run of blocks, at least one, that stand side by side in a segment."""
    ids = fences["segment"].combine_chunks().dictionary_encode()
    segment, start, sizes = ids.indices.to_numpy(), _numbers(fences, "start"), _numbers(fences, "rows")
    apart = (np.diff(segment) != 0) | (start[:-1] + sizes[:-1] != start[1:])
    firsts = np.append(0, np.flatnonzero(apart) + 1)
    tables = [segments[id_].load() for id_ in ids.dictionary.to_pylist()]
    for first, rows in zip(firsts.tolist(), np.add.reduceat(sizes, firsts).tolist(), strict=True):
        yield tables[segment[first]].slice(start[first], rows)


def _copied(rows: pa.Table) -> pa.Table:
    """Rows on their own: a slice would keep all that it is a slice of in memory."""
    return pa.table([pa.concat_arrays(column.chunks) for column in rows.columns], schema=rows.schema)


def _numbers(fences: pa.Table, name: str) -> Places:
    found: Places = fences[name].to_numpy()
    return found


def _equal(one: pa.Array, other: pa.Array) -> Mask:
    found: Mask = pc.equal(one, other).to_numpy(zero_copy_only=False)
    return found
