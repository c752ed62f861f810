"""Sorted blocks with fences: all rows of a shard in one order, some hundreds a block, and a directory of their ends.

    rows      a1 a2 a3 | a4 b1 c1 | c2 c3 | c4 …       sorted by partition, order and tie break
    fences    a1 … a3  | a4 … c1  | c2 … c3 | …        one row per block: what must be read is known without reading
    segments  2nd, 1st, 2nd, 2nd                       where each block is kept

Many small partitions share a block, and a big one has many. Sort keys are bytes that compare as the rows do, and the
key of a partition is the beginning of its rows' keys.

Blocks are small so that a change touches few rows, and chunks of state are not, for each costs a call: the blocks that
a micro-batch writes go into segments together. A segment of which less than half is still in use, or that is no bigger
than twice what is written now, is written anew with it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted
from panes.kernels.frames import Places
from panes.kernels.kernel import Chunk, new_chunk

SEGMENT, FENCES = "segment", "fences"
NEW = ""  # of a block that is in no segment yet
BLOCKS = 64  # in a segment, as long as they have all their rows
AT, HOME = "row_at", "row_home"
UPWARD = "ASC NULLS FIRST"


@dataclass(frozen=True)
class Sorting:
    """Columns with their directions: `order` are pairs such as ("price", "DESC NULLS LAST")."""

    partition: tuple[str, ...]
    order: tuple[tuple[str, str], ...]
    tie_break: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.partition, *(name for name, _ in self.order), *self.tie_break)))

    def permutation(self, rows: pa.Table) -> Places:
        """The rows' places in order; of equal rows the first is first."""
        directed = [*((name, UPWARD) for name in self.partition), *self.order]
        directed += [(name, UPWARD) for name in self.tie_break]
        order = ", ".join([*(f"{quoted(name)} {direction}" for name, direction in directed), AT])
        numbered = rows.select(self.columns).append_column(AT, pa.array(np.arange(rows.num_rows)))
        found: Places = query(f"SELECT {AT} FROM parts ORDER BY {order}", parts=numbered)[AT].to_numpy()
        return found

    def keys(self, rows: pa.Table) -> Keys:
        """The three sort keys of each row, each the beginning of the next."""
        partition = [(name, UPWARD) for name in self.partition]
        ordered = [*partition, *self.order]
        whole = [*ordered, *((name, UPWARD) for name in self.tie_break)]
        numbered = rows.select(self.columns).append_column(AT, pa.array(np.arange(rows.num_rows)))
        texts = ", ".join(f"{_sort_key(columns)} AS k{at}" for at, columns in enumerate((partition, ordered, whole)))
        found = query(f"SELECT {AT}, {texts} FROM parts", parts=numbered)
        order = found[AT].to_numpy()
        found = found if (order[1:] > order[:-1]).all() else found.take(pa.array(np.argsort(order)))
        return Keys(*(_binary(found[f"k{at}"]) for at in range(3)))

    def reach(self, rows: pa.Table, bounds: Sequence[str], groups: Places) -> list[tuple[bytes, bytes]]:
        """The least and the greatest order key of each group of rows, were the order values those of `bounds`."""
        names = list(dict.fromkeys((*self.partition, *bounds)))
        partition = [(name, UPWARD) for name in self.partition]
        keys = [_sort_key([*partition, (column, self.order[0][1])]) for column in bounds]
        least, most = (", ".join(f"{pick}({key})" for key in keys) for pick in ("min", "max"))
        found = query(
            f"SELECT {AT}, least({least}) AS low, greatest({most}) AS high FROM parts GROUP BY {AT} ORDER BY {AT}",
            parts=rows.select(names).append_column(AT, pa.array(groups)),
        )
        return list(zip(found["low"].to_pylist(), found["high"].to_pylist(), strict=True))


def _sort_key(columns: Sequence[tuple[str, str]]) -> str:
    """Always bytes: DuckDB makes short keys of fixed length numbers, and a text in front prevents that."""
    parts = ["NULL::VARCHAR", f"'{UPWARD}'"]
    for name, direction in columns:
        parts += [quoted(name), f"'{direction}'"]
    return f"create_sort_key({', '.join(parts)})"


@dataclass(frozen=True)
class Keys:
    """Sort keys of rows, such as those that change; mostly the rows are sorted, and so are all three."""

    partition: pa.Array
    order: pa.Array
    row: pa.Array


def _binary(column: pa.ChunkedArray) -> pa.Array:
    joined = column.cast(pa.binary()).combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


Margin = tuple[int, int]


class Fence(NamedTuple):
    """Where a block is, its ends, and the order keys from which to which the RANGE frames of its rows reach."""

    segment: str
    start: int
    rows: int
    first_partition: bytes
    first_order: bytes
    first_row: bytes
    last_partition: bytes
    last_order: bytes
    last_row: bytes
    low: bytes
    high: bytes


TYPES = {str: pa.string(), int: pa.int64(), bytes: pa.binary()}
SCHEMA = pa.schema([(name, TYPES[type_]) for name, type_ in get_type_hints(Fence).items()])


@dataclass(frozen=True)
class Directory:
    """The fences of all blocks in order, and the segments by their ids. All answers are numbers of blocks.

    `name` tells its chunks from those of another directory in the same state.
    """

    fences: tuple[Fence, ...]
    segments: dict[str, Chunk]
    own: Chunk | None = None  # the chunk that this directory was read from
    name: str = ""

    @staticmethod
    def read(chunks: Iterable[Chunk], name: str = "") -> Directory:
        chunks = tuple(chunks)
        own = next((chunk for chunk in chunks if chunk.kind == name + FENCES), None)
        segments = {chunk.id: chunk for chunk in chunks if chunk.kind == name + SEGMENT}
        columns = [column.to_pylist() for column in own.load().columns] if own else []
        return Directory(tuple(map(Fence, *columns)) if own else (), segments, own, name)

    @property
    def rows(self) -> int:
        return sum(fence.rows for fence in self.fences)

    def write(self) -> tuple[Chunk, ...]:
        """The segments, and the directory's own chunk."""
        if not self.fences:
            return ()
        own = self.own
        if own is None:
            columns = zip(zip(*self.fences, strict=True), SCHEMA.types, strict=True)
            table = pa.table([pa.array(column, type_) for column, type_ in columns], SCHEMA)
            own = new_chunk(table, None, self.name + FENCES)
        return (*self.segments.values(), own)

    def _before(self, keys: pa.Array, end: str, side: str = "left") -> Places:
        """How many of the sorted keys are less than this end of each fence, or with "right" not more."""
        ends = pa.array([getattr(fence, end) for fence in self.fences], pa.binary())
        found: Places = pc.search_sorted(keys, ends, side=side).to_numpy().astype(np.int64)
        return found

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

    def with_any(self, keys: Keys) -> set[int]:
        """The blocks into which any of these rows belong, and the next where only there the row's partition begins."""
        found: set[int] = set()
        for at, (start, stop) in enumerate(pairwise(self.homes(keys.row).tolist())):
            if stop > start and self.fences:
                last = keys.partition[stop - 1].as_py()
                begins = any(next_.first_partition == last for next_ in self.fences[at + 1 : at + 2])
                found |= {at, at + 1} if begins and self.fences[at].last_partition != last else {at}
        return found

    def of_partitions(self, keys: Keys) -> set[int]:
        """The blocks that hold rows of any of these partitions."""
        first = self._before(keys.partition, "first_partition")
        return _hit(first, self._before(keys.partition, "last_partition", "right"))

    def after_rows(self, keys: Keys) -> set[int]:
        """The blocks with rows that come after any of these rows in their partition."""
        first = self._before(keys.partition, "first_partition")
        return _hit(first, self._before(keys.row, "last_row", "right"))

    def after_peers(self, keys: Keys) -> set[int]:
        """The same, with all peers of these rows."""
        first = self._before(keys.partition, "first_partition")
        return _hit(first, self._before(keys.order, "last_order", "right"))

    def framing(self, keys: Keys) -> set[int]:
        """The blocks with a row in whose RANGE frame any of these rows can be."""
        return _hit(self._before(keys.order, "low"), self._before(keys.order, "high", "right"))

    def framed(self, blocks: Iterable[int]) -> set[int]:
        """The blocks that RANGE frames of rows in these blocks reach."""
        return self.between([(self.fences[at].low, self.fences[at].high) for at in blocks])

    def between(self, ends: Iterable[tuple[bytes, bytes]]) -> set[int]:
        """The blocks with rows between two order keys, both included."""
        firsts = [fence.first_order for fence in self.fences]
        lasts = [fence.last_order for fence in self.fences]
        return {at for low, high in ends for at in range(bisect_left(lasts, low), bisect_right(firsts, high))}

    def around(
        self, blocks: set[int], before: int, after: int, changed: Keys, margins: Mapping[int, Margin] | None = None
    ) -> set[int]:
        """These blocks, and as many beside them as hold so many rows of the same partition before and after.

        `margins` are the rows at the ends of a block that count as well: what is asked for is beside those between.
        Rows that change do not count: they may be about to go.
        """
        going = np.diff(self.homes(changed.row)).tolist()
        margins = margins or {}
        found = set(blocks)
        for at in blocks:
            first, last = margins.get(at, (0, 0))
            found |= {*self._beside(at, before - first, -1, going), *self._beside(at, after - last, 1, going)}
        return found

    def _beside(self, at: int, rows: int, step: int, going: Sequence[int]) -> Iterator[int]:
        while rows > 0 and 0 <= at + step < len(self.fences):
            one, other = sorted((at, at + step))
            if self.fences[one].last_partition != self.fences[other].first_partition:
                return
            at += step
            rows -= max(0, self.fences[at].rows - going[at])
            yield at

    def neighbours(self, blocks: set[int]) -> set[int]:
        """One for each of these blocks, as far as there are others."""
        return {at + 1 if at + 1 < len(self.fences) else at - 1 for at in blocks if len(self.fences) > 1}

    def load(self, blocks: Sequence[int]) -> pa.Table:
        """The rows of these blocks, at least one, in order; they say where they are from."""
        fences = [self.fences[at] for at in blocks]
        apart = [at for at, pair in enumerate(pairwise(fences), 1) if not self._follows(*pair)]
        slices = []
        for start, stop in pairwise([0, *apart, len(fences)]):
            rows = sum(fence.rows for fence in fences[start:stop])
            slices.append(self.segments[fences[start].segment].load().slice(fences[start].start, rows))
        homes = np.repeat(blocks, [fence.rows for fence in fences])
        return pa.concat_tables(slices, promote_options="permissive").append_column(HOME, pa.array(homes))

    def _follows(self, one: Fence, other: Fence) -> bool:
        return one.segment == other.segment and one.start + one.rows == other.start

    def replaced(self, dirty: Sequence[range], new: Sequence[Sequence[Fence]], rows: pa.Table, most: int) -> Directory:
        """This directory with new blocks in place of each run of blocks that changed.

        `rows` are those of all new blocks, one after the other. A segment is full once it has `most` rows.
        """
        fences: list[Fence] = []
        at = 0
        for run, blocks in zip(dirty, new, strict=True):
            fences += [*self.fences[at : run.start], *blocks]
            at = run.stop
        fences += self.fences[at:]
        live = Counter[str]()
        for fence in fences:
            live[fence.segment] += fence.rows
        worn = self._worn(live, most)
        segments = {id_: chunk for id_, chunk in self.segments.items() if id_ not in worn}
        taken = 0
        tables: dict[int, pa.Table] = {}
        for number, fence in enumerate(fences):
            if fence.segment == NEW:
                tables[number] = rows.slice(taken, fence.rows)
                taken += fence.rows
            elif fence.segment in worn:
                tables[number] = self.segments[fence.segment].load().slice(fence.start, fence.rows)
        for numbers in _filled({number: table.num_rows for number, table in tables.items()}, most):
            joined = pa.concat_tables([tables[number] for number in numbers], promote_options="permissive")
            chunk = new_chunk(joined.combine_chunks(), None, self.name + SEGMENT)
            segments[chunk.id] = chunk
            start = 0
            for number in numbers:
                fences[number] = fences[number]._replace(segment=chunk.id, start=start)
                start += fences[number].rows
        return Directory(tuple(fences), segments, name=self.name)

    def _worn(self, live: Counter[str], most: int) -> set[str]:
        """The segments that are written anew: those mostly unused, and small ones beside what is written anyway."""
        worn = {id_ for id_, chunk in self.segments.items() if 2 * live[id_] < chunk.rows}
        size = live[NEW] + sum(live[id_] for id_ in worn)
        for id_ in reversed(self.segments):
            if id_ not in worn and live[id_] <= min(2 * size, most // 2):
                worn.add(id_)
                size += live[id_]
        return worn


def _hit(start: Places, stop: Places) -> set[int]:
    return set(np.flatnonzero(start < stop).tolist())


def _filled(sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Numbers in their order, together until they have enough.

    >>> list(_filled({0: 2, 1: 2, 5: 3, 6: 1}, 4))
    [[0, 1], [5, 6]]
    """
    run: list[int] = []
    rows = 0
    for number, size in sizes.items():
        run.append(number)
        rows += size
        if rows >= most:
            yield run
            run, rows = [], 0
    if run:
        yield run


@dataclass(frozen=True)
class Cutter:
    """Cuts sorted rows into blocks of at most `size` rows, all about as big. `bounds` are columns of RANGE frames."""

    size: int
    sorting: Sorting
    bounds: tuple[str, ...] = ()

    def rewritten(
        self, directory: Directory, rows: pa.Table, dirty: set[int], loaded: set[int], names: Sequence[str]
    ) -> Directory:
        """The directory with new blocks in place of the dirty ones; `rows` are all of those that were loaded."""
        homes = rows[HOME].to_numpy()
        sizes = dict(enumerate(np.bincount(homes, minlength=max(len(directory.fences), 1)).tolist()))
        runs = self.dirty_runs(dirty, loaded, sizes)
        if not runs:
            return directory
        spans = [np.searchsorted(homes, [run.start, run.stop]).tolist() for run in runs]
        table = pa.concat_tables([rows.select(names).slice(start, stop - start) for start, stop in spans])
        return directory.replaced(runs, self.fences(rows, spans), table, self.size * BLOCKS)

    def fences(self, rows: pa.Table, spans: Sequence[tuple[int, int]]) -> list[list[Fence]]:
        """Blocks of each of these spans of rows, which are in no segment yet."""
        edges = [self._edges(start, stop) for start, stop in spans]
        ends = [pair for one in edges for pair in pairwise(one)]
        made = iter(self._fenced(rows, ends) if ends else ())
        return [[next(made) for _ in pairwise(one)] for one in edges]

    def _edges(self, start: int, stop: int) -> list[int]:
        number = -(-(stop - start) // self.size)
        edges: list[int] = np.linspace(start, stop, number + 1).astype(np.int64).tolist()
        return edges if number else []

    def _fenced(self, rows: pa.Table, ends: Sequence[tuple[int, int]]) -> Iterator[Fence]:
        edges = [at for start, stop in ends for at in (start, stop - 1)]
        keys = self.sorting.keys(rows.take(pa.array(edges)))
        sides = list(zip(keys.partition.to_pylist(), keys.order.to_pylist(), keys.row.to_pylist(), strict=True))
        reach = self._reach(rows, ends)
        for number, (start, stop) in enumerate(ends):
            first, last = sides[2 * number], sides[2 * number + 1]
            low, high = reach[number] if reach else (first[1], last[1])
            yield Fence(NEW, 0, stop - start, *first, *last, min(low, first[1]), max(high, last[1]))

    def _reach(self, rows: pa.Table, ends: Sequence[tuple[int, int]]) -> list[tuple[bytes, bytes]]:
        """The least and the greatest order key to which the frames of each block reach."""
        if not self.bounds:
            return []
        parts = pa.concat_tables([rows.slice(start, stop - start) for start, stop in ends])
        blocks = np.repeat(np.arange(len(ends)), [stop - start for start, stop in ends])
        return self.sorting.reach(parts, self.bounds, blocks)

    def dirty_runs(self, dirty: set[int], loaded: set[int], sizes: dict[int, int]) -> list[range]:
        """Runs of neighbours that are written anew; one with few rows takes in a neighbour that is loaded anyway."""
        grown = set(dirty)
        for run in list(_ranges(dirty)):
            if sum(sizes[at] for at in run) < self.size // 4:
                grown |= {at for at in (run.start - 1, run.stop) if at in loaded}
        return list(_ranges(grown))


def _ranges(numbers: Iterable[int]) -> Iterator[range]:
    """Consecutive numbers as ranges.

    >>> list(_ranges({1, 2, 5}))
    [range(1, 3), range(5, 6)]
    """
    start: int | None = None
    last = 0
    for number in sorted(numbers):
        if start is not None and number > last + 1:
            yield range(start, last + 1)
            start = number
        start = number if start is None else start
        last = number
    if start is not None:
        yield range(start, last + 1)
