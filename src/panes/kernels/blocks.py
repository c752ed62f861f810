"""Sorted blocks with fences: all rows of a shard in one order, some thousands a block, and a directory of their ends.

    rows     a1 a2 a3 | a4 b1 c1 | c2 c3 | c4 …       sorted by partition, order and tie break
    fences   a1 … a3  | a4 … c1  | c2 … c3 | …        one row per block: what must be read is known without reading

Many small partitions share a block, and a big one has many. Sort keys are bytes that compare as the rows do, and the
key of a partition is the beginning of its rows' keys.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from panes.kernels.duck import query, quoted
from panes.kernels.frames import Places
from panes.kernels.kernel import Chunk, new_chunk

BLOCK, FENCES = "block", "fences"
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

    @property
    def all(self) -> tuple[pa.Array, ...]:
        return self.partition, self.order, self.row


def _binary(column: pa.ChunkedArray) -> pa.Array:
    joined = column.cast(pa.binary()).combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def left(keys: pa.Array, one: bytes) -> int:
    """How many of the sorted keys are less than `one`."""
    return bisect_left(range(len(keys)), one, key=lambda at: keys[at].as_py())


def right(keys: pa.Array, one: bytes) -> int:
    """How many of the sorted keys are not more than `one`."""
    return bisect_right(range(len(keys)), one, key=lambda at: keys[at].as_py())


@dataclass(frozen=True)
class Fence:
    """The ends of a block, and the order keys from which to which the RANGE frames of its rows reach."""

    id: str
    rows: int
    first_partition: bytes
    first_order: bytes
    first_row: bytes
    last_partition: bytes
    last_order: bytes
    last_row: bytes
    low: bytes
    high: bytes


ENDS = tuple(Fence.__dataclass_fields__)[2:]
SCHEMA = pa.schema([("id", pa.string()), ("rows", pa.int64()), *((name, pa.binary()) for name in ENDS)])


@dataclass(frozen=True)
class Directory:
    """The fences of all blocks in order, and the blocks' chunks by their ids. All answers are numbers of blocks.

    `name` tells its chunks from those of another directory in the same state.
    """

    fences: tuple[Fence, ...]
    chunks: dict[str, Chunk]
    own: Chunk | None = None  # the chunk that this directory was read from
    name: str = ""

    @staticmethod
    def read(chunks: Iterable[Chunk], name: str = "") -> Directory:
        chunks = tuple(chunks)
        own = next((chunk for chunk in chunks if chunk.kind == name + FENCES), None)
        blocks = {chunk.id: chunk for chunk in chunks if chunk.kind == name + BLOCK}
        return Directory(tuple(Fence(**row) for row in own.load().to_pylist()) if own else (), blocks, own, name)

    @property
    def rows(self) -> int:
        return sum(fence.rows for fence in self.fences)

    def write(self) -> tuple[Chunk, ...]:
        """The chunks of the blocks in order, and the directory's own."""
        if not self.fences:
            return ()
        own = self.own
        if own is None:
            table = pa.Table.from_pylist([vars(fence) for fence in self.fences], SCHEMA)
            own = new_chunk(table, None, self.name + FENCES)
        return (*(self.chunks[fence.id] for fence in self.fences), own)

    def homes(self, rows: pa.Array) -> Places:
        """For each block where the sorted row keys begin that belong into it; at the end, their number.

        A row belongs into the last block that begins at it or before; rows before all belong into the first.
        """
        inner = [left(rows, fence.first_row) for fence in self.fences[1:]]
        return np.array([0, *inner, len(rows)], np.int64)

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
        return self._hit(
            (left(keys.partition, f.first_partition), right(keys.partition, f.last_partition)) for f in self.fences
        )

    def after_rows(self, keys: Keys) -> set[int]:
        """The blocks with rows that come after any of these rows in their partition."""
        return self._hit((left(keys.partition, f.first_partition), right(keys.row, f.last_row)) for f in self.fences)

    def after_peers(self, keys: Keys) -> set[int]:
        """The same, with all peers of these rows."""
        return self._hit(
            (left(keys.partition, f.first_partition), right(keys.order, f.last_order)) for f in self.fences
        )

    def framing(self, keys: Keys) -> set[int]:
        """The blocks with a row in whose RANGE frame any of these rows can be."""
        return self._hit((left(keys.order, f.low), right(keys.order, f.high)) for f in self.fences)

    def framed(self, blocks: Iterable[int]) -> set[int]:
        """The blocks that RANGE frames of rows in these blocks reach."""
        return self.between([(self.fences[at].low, self.fences[at].high) for at in blocks])

    def between(self, ends: Iterable[tuple[bytes, bytes]]) -> set[int]:
        """The blocks with rows between two order keys, both included."""
        firsts = [fence.first_order for fence in self.fences]
        lasts = [fence.last_order for fence in self.fences]
        return {at for low, high in ends for at in range(bisect_left(lasts, low), bisect_right(firsts, high))}

    def around(self, blocks: set[int], before: int, after: int, changed: Keys) -> set[int]:
        """These blocks, and as many beside them as hold so many rows of the same partition before and after.

        Rows that change do not count: they may be about to go.
        """
        going = np.diff(self.homes(changed.row)).tolist()
        return blocks | {
            beside
            for at in blocks
            for rows, step in ((before, -1), (after, 1))
            for beside in self._beside(at, rows, step, going)
        }

    def _beside(self, at: int, rows: int, step: int, going: Sequence[int]) -> Iterator[int]:
        while rows > 0 and 0 <= at + step < len(self.fences):
            one, other = sorted((at, at + step))
            if self.fences[one].last_partition != self.fences[other].first_partition:
                return
            at += step
            rows -= max(0, self.fences[at].rows - going[at])
            yield at

    def _hit(self, ranges: Iterable[tuple[int, int]]) -> set[int]:
        return {at for at, (start, stop) in enumerate(ranges) if start < stop}

    def small(self, blocks: set[int], least: int) -> set[int]:
        """A neighbour for each of these blocks that has few rows, to be joined to it."""
        few = {at for at in blocks if self.fences[at].rows < least}
        return {at + 1 if at + 1 < len(self.fences) else at - 1 for at in few if len(self.fences) > 1}

    def load(self, blocks: Iterable[int]) -> list[pa.Table]:
        """The rows of each of these blocks, which say where they are from."""
        tables = [(at, self.chunks[self.fences[at].id].load()) for at in blocks]
        return [table.append_column(HOME, pa.repeat(pa.scalar(at, pa.int64()), table.num_rows)) for at, table in tables]

    def replaced(self, dirty: Sequence[range], pieces: Sequence[Sequence[Piece]]) -> Directory:
        """This directory with new pieces in place of each run of blocks that changed."""
        fences: list[Fence] = []
        chunks = dict(self.chunks)
        at = 0
        for run, new in zip(dirty, pieces, strict=True):
            fences += self.fences[at : run.start]
            for old in self.fences[run.start : run.stop]:
                del chunks[old.id]
            for piece in new:
                chunks[piece.fence.id] = replace(piece.chunk, kind=self.name + BLOCK)
                fences.append(piece.fence)
            at = run.stop
        return Directory((*fences, *self.fences[at:]), chunks, name=self.name)


@dataclass(frozen=True)
class Piece:
    """A new block."""

    fence: Fence
    chunk: Chunk


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
        spans = [np.searchsorted(homes, [run.start, run.stop]).tolist() for run in runs]
        return directory.replaced(runs, self.pieces(rows, spans, names)) if runs else directory

    def pieces(self, rows: pa.Table, spans: Sequence[tuple[int, int]], names: Sequence[str]) -> list[list[Piece]]:
        """Blocks of each of these spans of rows; `names` are the columns that are kept."""
        edges = [self._edges(start, stop) for start, stop in spans]
        ends = [pair for one in edges for pair in pairwise(one)]
        if not ends:
            return [[] for _ in spans]
        made = iter(self._fenced(rows, ends, [self._chunk(rows.select(names), a, b) for a, b in ends]))
        return [[next(made) for _ in pairwise(one)] for one in edges]

    def _edges(self, start: int, stop: int) -> list[int]:
        number = -(-(stop - start) // self.size)
        edges: list[int] = np.linspace(start, stop, number + 1).astype(np.int64).tolist()
        return edges if number else []

    def _chunk(self, rows: pa.Table, start: int, stop: int) -> Chunk:
        return new_chunk(rows.slice(start, stop - start).combine_chunks(), None, BLOCK)

    def _fenced(self, rows: pa.Table, ends: Sequence[tuple[int, int]], chunks: Sequence[Chunk]) -> Iterator[Piece]:
        edges = [at for start, stop in ends for at in (start, stop - 1)]
        keys = self.sorting.keys(rows.take(pa.array(edges)))
        reach = self._reach(rows, ends)
        for number, chunk in enumerate(chunks):
            first, last = ([side[at].as_py() for side in keys.all] for at in (2 * number, 2 * number + 1))
            low, high = reach[number] if reach else (first[1], last[1])
            ends_ = dict(zip(ENDS, [*first, *last, min(low, first[1]), max(high, last[1])], strict=True))
            yield Piece(Fence(chunk.id, chunk.rows, **ends_), chunk)

    def _reach(self, rows: pa.Table, ends: Sequence[tuple[int, int]]) -> list[tuple[bytes, bytes]]:
        """The least and the greatest order key to which the frames of each piece reach."""
        if not self.bounds:
            return []
        parts = pa.concat_tables([rows.slice(start, stop - start) for start, stop in ends])
        pieces = np.repeat(np.arange(len(ends)), [stop - start for start, stop in ends])
        return self.sorting.reach(parts, self.bounds, pieces)

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
