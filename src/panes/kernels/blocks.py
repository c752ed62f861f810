"""Sorted blocks with fences: all rows of a shard in one order, some hundreds a block, and a directory of their ends.

    rows      a1 a2 a3 | a4 b1 c1 | c2 c3 | c4 …       sorted by partition, order and tie break
    fences    a1 … a3  | a4 … c1  | c2 … c3 | …        one row per block: what must be read is known without reading
    segments  2nd, 1st, 2nd, 2nd                       where each block is kept

Many small partitions share a block, and a big one has many. A fence has the sort keys of its block's ends.

Blocks are small so that a change touches few rows, and chunks of state are not, for each costs a call: the blocks that
a micro-batch writes go into segments together. A segment of which less than half is still in use, or that is no bigger
than twice what is written now, is written anew with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.frames import Mask, Places, Ranges, covered, extents
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.sort_keys import Keys, Reach, beginnings

SEGMENT, FENCES = "segment", "fences"
NEW = ""  # of blocks that are in no segment yet
HOME = "row_home"

# Where a block is; the row keys of its ends, and how much of their beginning is the key of order and partition;
# and from which order key to which the RANGE frames of its rows reach, NULL if not beyond its ends.
FENCE = pa.schema(
    [
        *(("segment", pa.string()), ("start", pa.int64()), ("rows", pa.int64())),
        *(("first_row", pa.binary()), ("first_order", pa.int32()), ("first_partition", pa.int32())),
        *(("last_row", pa.binary()), ("last_order", pa.int32()), ("last_partition", pa.int32())),
        *(("low", pa.binary()), ("high", pa.binary())),
    ]
)


@dataclass(frozen=True)
class Margins:
    """How many rows at the beginning and at the end of each block count as rows beside what is between."""

    first: Places
    last: Places


@dataclass(frozen=True)
class Directory:
    """The fences of all blocks in order, and the segments by their ids. A mask tells some of the blocks.

    `name` tells its chunks from those of another directory in the same state.
    """

    fences: pa.Table
    segments: Mapping[str, Chunk]
    own: Chunk | None = None  # the chunk that this directory was read from
    name: str = ""

    @staticmethod
    def read(chunks: Iterable[Chunk], name: str = "") -> Directory:
        chunks = tuple(chunks)
        own = next((chunk for chunk in chunks if chunk.kind == name + FENCES), None)
        segments = {chunk.id: chunk for chunk in chunks if chunk.kind == name + SEGMENT}
        return Directory(own.load().cast(FENCE) if own else FENCE.empty_table(), segments, own, name)

    def write(self) -> tuple[Chunk, ...]:
        """The segments, and the directory's own chunk."""
        if not self.blocks:
            return ()
        own = self.own
        if own is None:
            ids = self.fences["segment"].dictionary_encode()
            own = new_chunk(self.fences.set_column(0, "segment", ids), None, self.name + FENCES)
        return (*self.segments.values(), own)

    @cached_property
    def blocks(self) -> int:
        """How many there are."""
        return len(self.rows)

    @cached_property
    def rows(self) -> Places:
        """How many each block has."""
        return _numbers(self.fences, "rows")

    # ---- which blocks matter

    def _end(self, name: str) -> pa.Array:
        """The keys of an end of all blocks."""
        column = self.fences[name].combine_chunks()
        match name:
            case "first_row" | "last_row":
                return column
            case "low":
                return pc.coalesce(column, self._end("first_order"))
            case "high":
                return pc.coalesce(column, self._end("last_order"))
        return beginnings(self._end(name.split("_")[0] + "_row"), column)

    def _before(self, keys: pa.Array, end: str, side: str = "left") -> Places:
        """How many of the sorted keys are less than this end of each fence, or with "right" not more."""
        return _searched(keys, self._end(end), side)

    def homes(self, rows: pa.Array) -> Places:
        """For each block where the sorted row keys begin that belong into it; at the end, their number.

        A row belongs into the last block that begins at it or before; rows before all belong into the first.
        """
        return np.concatenate([[0], self._before(rows, "first_row")[1:], [len(rows)]])

    def homes_of(self, rows: pa.Array, order: Places) -> Places:
        """The block into which each row belongs; `order` are the places of the rows whose keys these are."""
        counts = np.diff(self.homes(rows))
        homes = np.empty(len(order), np.int64)
        homes[order] = np.repeat(np.arange(len(counts)), counts)
        return homes

    def with_any(self, keys: Keys) -> Mask:
        """The blocks into which any of these rows belong, and the next where only there the row's partition begins."""
        homes = self.homes(keys.row)
        found: Mask = (np.diff(homes) > 0)[: self.blocks]
        at = np.flatnonzero(found[:-1])
        last = keys.partition.take(pa.array(homes[at + 1] - 1))
        begins = _equal(self._end("first_partition").take(pa.array(at + 1)), last)
        goes_on = _equal(self._end("last_partition").take(pa.array(at)), last)
        found[at[begins & ~goes_on] + 1] = True
        return found

    def of_partitions(self, keys: Keys) -> Mask:
        """The blocks that hold rows of any of these partitions."""
        first = self._before(keys.partition, "first_partition")
        return first < self._before(keys.partition, "last_partition", "right")

    def after_rows(self, keys: Keys) -> Mask:
        """The blocks with rows that come after any of these rows in their partition."""
        return self._before(keys.partition, "first_partition") < self._before(keys.row, "last_row", "right")

    def after_peers(self, keys: Keys) -> Mask:
        """The same, with all peers of these rows."""
        return self._before(keys.partition, "first_partition") < self._before(keys.order, "last_order", "right")

    def framing(self, keys: Keys) -> Mask:
        """The blocks with a row in whose RANGE frame any of these rows can be."""
        return self._before(keys.order, "low") < self._before(keys.order, "high", "right")

    def framed(self, blocks: Mask) -> Mask:
        """The blocks that RANGE frames of rows in these blocks reach."""
        some = pa.array(blocks)
        return self.between(Reach(self._end("low").filter(some), self._end("high").filter(some)))

    def between(self, reach: Reach) -> Mask:
        """The blocks with rows that any of these reaches."""
        start = _searched(self._end("last_order"), reach.low, "left")
        stop = _searched(self._end("first_order"), reach.high, "right")
        return covered(Ranges(start, stop), self.blocks)

    def around(self, blocks: Mask, before: int, after: int, counted: Places, margins: Margins | None = None) -> Mask:
        """These blocks, and as many beside them as hold so many rows of the same partition before and after.

        `counted` is how many rows of each block count: those that change do not, for they may be about to go.
        """
        none = np.zeros(self.blocks, np.int64)
        margins = margins or Margins(none, none)
        at = np.flatnonzero(blocks)
        held = np.concatenate([[0], np.cumsum(counted)])
        start = np.searchsorted(held, held[at] - np.maximum(before - margins.first[at], 0), "right") - 1
        stop = np.searchsorted(held, held[at + 1] + np.maximum(after - margins.last[at], 0), "left")
        start = np.clip(start, self._connected.start[at], at)
        stop = np.clip(stop, at + 1, self._connected.stop[at])
        return covered(Ranges(start, stop), self.blocks)

    @cached_property
    def _connected(self) -> Ranges:
        """For each block those around it through which partitions go on from block to block."""
        apart = ~_equal(
            self._end("first_partition").slice(1), self._end("last_partition").slice(0, max(self.blocks - 1, 0))
        )
        return extents(np.append(0, np.cumsum(apart)), np.ones(self.blocks, np.bool_))

    def neighbours(self, blocks: Mask) -> Mask:
        """One for each of these blocks, as far as there are others."""
        found = np.append(False, blocks[:-1])[: self.blocks]
        found[-2:-1] |= blocks[-1:]
        return found

    # ---- what is in them

    def load(self, blocks: Mask) -> pa.Table:
        """The rows of these blocks, at least one, in order; they say where they are from."""
        homes = np.repeat(np.flatnonzero(blocks), self.rows[blocks])
        return _rows(self.fences.filter(pa.array(blocks)), self.segments).append_column(HOME, pa.array(homes))

    def replaced(self, dirty: Mask, new: pa.Table, homes: Places, rows: pa.Table, most: int) -> Directory:
        """This directory without the blocks that are dirty, and with new ones.

        Fences of new blocks tell their places in `rows`; each stands where the block of number `homes` stood. A segment
        is full once it has `most` rows.
        """
        kept = np.flatnonzero(~dirty)
        order = np.argsort(np.concatenate([kept, homes]), kind="stable")
        fences = pa.concat_tables([self.fences.take(pa.array(kept)), new]).take(pa.array(order)).combine_chunks()
        worn = self._worn(fences, most)
        moved = pc.is_in(fences["segment"], pa.array([NEW, *worn])).combine_chunks()
        segments = {id_: chunk for id_, chunk in self.segments.items() if id_ not in worn}
        if moved.true_count:
            fences, written = self._written(fences, moved, rows, most)
            segments |= written
        return Directory(fences, segments, name=self.name)

    def _written(
        self, fences: pa.Table, moved: pa.Array, rows: pa.Table, most: int
    ) -> tuple[pa.Table, dict[str, Chunk]]:
        """New segments of the blocks that are moved, and all fences after it."""
        some = fences.filter(moved)
        tables = _rows(some, {**self.segments, NEW: new_chunk(rows)})
        sizes = _numbers(some, "rows")
        at = np.cumsum(sizes) - sizes
        begins = at[np.diff(at // most, prepend=-1) > 0]
        chunks = [
            new_chunk(tables.slice(start, stop - start).combine_chunks(), None, self.name + SEGMENT)
            for start, stop in pairwise([*begins.tolist(), tables.num_rows])
        ]
        number = np.searchsorted(begins, at, "right") - 1
        ids = pa.array([chunk.id for chunk in chunks]).take(pa.array(number))
        for name, column in (("segment", ids), ("start", pa.array(at - begins[number]))):
            replaced = pc.replace_with_mask(fences[name].combine_chunks(), moved, column)
            fences = fences.set_column(FENCE.get_field_index(name), FENCE.field(name), replaced)
        return fences, {chunk.id: chunk for chunk in chunks}

    def _worn(self, fences: pa.Table, most: int) -> set[str]:
        """The segments that are written anew: those mostly unused, and small ones beside what is written anyway."""
        used = fences.group_by("segment").aggregate([("rows", "sum")])
        live = dict.fromkeys([NEW, *self.segments], 0)
        live |= dict(zip(used["segment"].to_pylist(), used["rows_sum"].to_pylist(), strict=True))
        worn = {id_ for id_, chunk in self.segments.items() if 2 * live[id_] < chunk.rows}
        size = live[NEW] + sum(live[id_] for id_ in worn)
        for id_ in reversed(tuple(self.segments)):
            if id_ not in worn and live[id_] <= min(2 * size, most // 2):
                worn.add(id_)
                size += live[id_]
        return worn


def _rows(fences: pa.Table, segments: Mapping[str, Chunk]) -> pa.Table:
    """The rows of these blocks, one after the other."""
    return pa.concat_tables(_slices(fences, segments), promote_options="permissive")


def _slices(fences: pa.Table, segments: Mapping[str, Chunk]) -> Iterator[pa.Table]:
    """Blocks that stand side by side in a segment together."""
    ids = fences["segment"].combine_chunks().dictionary_encode()
    number, start, rows = ids.indices.to_numpy(), _numbers(fences, "start"), _numbers(fences, "rows")
    apart = (np.diff(number) != 0) | (start[:-1] + rows[:-1] != start[1:])
    ends = [0, *(np.flatnonzero(apart) + 1).tolist(), len(rows)]
    held = np.add.reduceat(rows, ends[:-1]).tolist()
    tables = [segments[id_].load() for id_ in ids.dictionary.to_pylist()]
    for one, many in zip(ends, held, strict=False):
        yield tables[number[one]].slice(start[one], many)


def _numbers(fences: pa.Table, name: str) -> Places:
    found: Places = fences[name].to_numpy()
    return found


def _searched(keys: pa.Array, wanted: pa.Array, side: str) -> Places:
    found: Places = pc.search_sorted(keys, wanted, side=side).to_numpy().astype(np.int64)
    return found


def _equal(one: pa.Array, other: pa.Array) -> Mask:
    found: Mask = pc.equal(one, other).to_numpy(zero_copy_only=False)
    return found
