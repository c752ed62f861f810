"""What is kept of each partition from one micro-batch to the next: a row or a few, and only changed ones are written.

    chunks   [ 1,000,000 rows ] [ 9,000 ] [ 500 ]     a partition's rows hide those of older chunks

A micro-batch adds a chunk of the rows that it changed, and takes older ones into it now and then. Chunks are sorted by
a hash of the partition: a row is found by binary search, however many there are. A partition that has expired leaves a
row that is only a mark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import PLACE, joined, query, quoted
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.partitions import Codes, distinct
from panes.kernels.state.compaction import layered
from panes.kernels.state.key_hash import HASH, Flags, Hashes, agree, encoding, hashes, matches, sorted_by_hash

GONE = "partition_is_gone"
SEEN = "last_seen"  # microseconds: when a partition had its last row
AGE = "age_of_row"
SOME = 1024  # rows that are looked up at a time


@dataclass(frozen=True)
class Carry:
    """`by` are the partition's columns; without any there is one partition. `kind` tells its chunks from others.

    A partition may have several rows: those of a newer chunk hide all its older ones, and they stay in order. Where
    rows have the column `time`, chunks cover its range, and what was seen last before a moment is found by it.

    In compaction rows count; where they hold many values (`holds_values`), bytes, since one row may be most of a chunk.

    The full kind of a chunk tells how hashes are encoded; one that is sorted by others is put in order when it is read,
    and taken into the next new one.
    """

    by: tuple[str, ...]
    kind: str = "carry"
    time: str = SEEN
    holds_values: bool = False

    def own(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunk for chunk in chunks if chunk.kind.partition(" ")[0] == self.kind)

    def find(self, chunks: Sequence[Chunk], partitions: pa.Table) -> pa.Table | None:
        """The rows of these partitions, each of which may be there many times; None if nothing is known of them."""
        if not self.own(chunks):
            return None
        rows, _ = self._found(chunks, distinct(partitions, self.by))
        rows = None if rows is None else _alive(rows)
        return rows if rows is not None and rows.num_rows else None

    def look_up(self, chunks: Sequence[Chunk], partitions: pa.Table) -> tuple[pa.Table | None, Codes]:
        """The rows of partitions, each of which is there once; and for each the number of its row, -1 if none is known.

        A partition has one row here.
        """
        places: Codes = np.full(partitions.num_rows, -1)
        rows, number = self._found(chunks, partitions)
        if rows is not None and pc.any(rows[GONE]).as_py():
            number, rows = number[~rows[GONE].to_numpy()], _alive(rows)
        places[number] = np.arange(len(number))
        return rows, places

    def _found(self, chunks: Sequence[Chunk], partitions: pa.Table) -> tuple[pa.Table | None, Codes]:
        """The newest rows of partitions, each of which is there once, and for each row the number of its partition."""
        sought = hashes(partitions, self.by)
        order = np.argsort(sought)
        rows, number = self._with_hashes(chunks, sought[order])
        number, apart = order[number], (np.diff(sought[order]) > 0).all()
        if rows is not None and not (apart and self._agree(rows, partitions, number)):
            return self._exactly(chunks, partitions)
        return rows, number

    def _with_hashes(self, chunks: Sequence[Chunk], sought: Hashes) -> tuple[pa.Table | None, Codes]:
        """The newest rows that have these hashes, and for each row the number of its hash.

        They are of other partitions, or not all that are wanted, where two partitions have one hash.
        """
        return self._newest(chunks, sought)

    def _exactly(self, chunks: Sequence[Chunk], wanted: pa.Table) -> tuple[pa.Table | None, Codes]:
        """The newest rows of partitions, and for each row the number of its partition; keys are compared throughout."""
        return self._newest(
            chunks,
            hashes(wanted, self.by),
            lambda rows, number: agree(rows, wanted.take(pa.array(number)), self.by),
        )

    def _newest(
        self, chunks: Sequence[Chunk], sought: Hashes, is_right: Callable[[pa.Table, Codes], Flags] | None = None
    ) -> tuple[pa.Table | None, Codes]:
        open_ = np.arange(len(sought))
        found: list[pa.Table] = []
        numbers: list[Codes] = [np.zeros(0, np.int64)]
        for chunk in reversed(self.own(chunks)):
            if not len(open_):
                break
            table = self._in_order(chunk)
            which, places = matches(table[HASH].to_numpy(), sought[open_])
            if len(places):
                rows = table.take(pa.array(places))
                if is_right is not None:
                    right = is_right(rows, open_[which])
                    which, rows = which[right], rows.filter(pa.array(right))
                found.append(rows)
                numbers.append(open_[which])
                open_ = np.delete(open_, which)
        rows = pa.concat_tables(found, promote_options="permissive").combine_chunks() if found else None
        return None if rows is None else rows.drop_columns([HASH]), np.concatenate(numbers)

    def _agree(self, rows: pa.Table, others: pa.Table, number: Codes) -> bool:
        """Whether rows are all of the partitions that are said to be theirs, by their number among others."""
        return bool(agree(rows, others.select(self.by).take(pa.array(number)), self.by).all()) if self.by else True

    def all(self, chunks: Sequence[Chunk]) -> pa.Table | None:
        """The rows of all partitions."""
        merged = self._merged([self._in_order(chunk) for chunk in reversed(self.own(chunks))])
        return None if merged is None else _alive(merged).drop_columns([HASH])

    def due(self, chunks: Sequence[Chunk], since: int, until: int, but: pa.Table | None = None) -> pa.Table | None:
        """The partitions that have a row which was seen last in [since, until), with all their rows, `but` some.

        None was seen before `since`: rows that say so are hidden by newer ones.
        """
        found: list[pa.Table] = []
        for chunk in self.own(chunks):
            if not self._is_current(chunk) or (chunk.low < until and chunk.high >= since):
                rows = chunk.load()
                seen = rows[self.time].to_numpy()
                found.append(rows.select([*self.by, self.time]).filter(pa.array((seen >= since) & (seen < until))))
        if not any(part.num_rows for part in found):
            return None
        wanted = distinct(pa.concat_tables(found), self.by)
        wanted = wanted if but is None else joined(wanted, "ANTI", distinct(but, self.by), self.by)
        rows = self.find(chunks, wanted) if wanted.num_rows else None
        if rows is None:
            return None
        first = query(
            f"SELECT {PLACE} FROM parts QUALIFY min({SEEN}) OVER ({self._over}) < {until}",
            parts=self._numbered(rows).append_column(SEEN, rows[self.time]),
        )[PLACE].to_numpy()
        return rows.take(pa.array(np.sort(first))) if len(first) else None

    def next_seen(self, chunks: Sequence[Chunk], since: int) -> int | None:
        """The first moment from `since` on at which a row was seen last, hidden ones included."""
        moments: list[int] = []
        for chunk in self.own(chunks):
            if self._is_current(chunk) and chunk.low >= since:
                moments.append(chunk.low)
            elif not self._is_current(chunk) or chunk.high >= since:
                seen = chunk.load()[self.time].to_numpy()
                moments += [int(seen[seen >= since].min())] if (seen >= since).any() else []
        return min(moments, default=None)

    def least(self, chunks: Sequence[Chunk], name: str, since: int) -> int | None:
        """The least value that the rows of all partitions have in a column; none has one below `since`.

        Hidden rows may have lower ones, so that the lowest are looked up, a few at a time.
        """
        tables = [
            _alive(table).select([*self.by, name])
            for table in map(self._in_order, self.own(chunks))
            if name in table.column_names
        ]
        rows = pa.concat_tables(tables) if tables else None
        while rows is not None and rows.num_rows:
            values = rows[name].to_numpy()
            rows = rows.filter(pa.array(values >= since))
            values = rows[name].to_numpy()
            if not len(values):
                break
            some = int(np.partition(values, min(SOME, len(values) - 1))[min(SOME, len(values) - 1)])
            found = self.find(chunks, rows.filter(pa.array(values <= some)))
            least = None if found is None else pc.min(found[name]).as_py()
            if least is not None and least <= some:
                return int(least)
            since = some + 1
        return None

    def put(self, chunks: Sequence[Chunk], changed: pa.Table | None, gone: pa.Table | None = None) -> tuple[Chunk, ...]:
        """The chunks after rows have changed; `gone` are partitions to forget, none of which is in `changed`."""
        parts = [self._marked(part, mark) for part, mark in ((changed, False), (gone, True)) if part is not None]
        parts = [part for part in parts if part.num_rows]
        own = self.own(chunks)
        if not parts:
            return own
        new = sorted_by_hash(pa.concat_tables(parts, promote_options="permissive"), self.by)
        current = all(map(self._is_current, own))
        kept, tables = self._compacted(own, new) if current else ((), [new, *map(self._in_order, own[::-1])])
        merged = self._merged(tables)
        assert merged is not None
        merged = merged if kept else merged.filter(pc.invert(merged[GONE]))
        merged = sorted_by_hash(merged, self.by)
        by = self.time if self.time in merged.column_names else None
        return (*kept, new_chunk(merged, by, self._full_kind)) if merged.num_rows else kept

    def _compacted(self, own: Sequence[Chunk], new: pa.Table) -> tuple[tuple[Chunk, ...], list[pa.Table]]:
        if self.holds_values:
            return layered(own, new, self._in_order, lambda chunk: chunk.bytes, lambda table: int(table.nbytes))
        return layered(own, new, self._in_order)

    def replaced(self, chunks: Sequence[Chunk], old: pa.Table | None, new: pa.Table | None) -> tuple[Chunk, ...]:
        """The chunks after the rows of some partitions have become others, or none."""
        gone = old if old is None or new is None else joined(old, "ANTI", distinct(new, self.by), self.by)
        return self.put(chunks, new, gone)

    @property
    def _full_kind(self) -> str:
        return f"{self.kind} {encoding()}"

    def _is_current(self, chunk: Chunk) -> bool:
        """Whether its hashes are those that this DuckDB makes; the first checkpoints do not say what others cover."""
        return chunk.kind == self._full_kind

    def _in_order(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk, sorted by the hashes that this DuckDB makes."""
        rows = chunk.load()
        if self._is_current(chunk):
            return rows
        rows = rows if GONE in rows.column_names else self._marked(rows, False)
        return sorted_by_hash(rows.drop_columns([HASH]) if HASH in rows.column_names else rows, self.by)

    def _marked(self, rows: pa.Table, gone: bool) -> pa.Table:
        if gone:
            rows = rows.select([*self.by, *([self.time] if self.time in rows.column_names else [])])
        return rows.append_column(GONE, pa.repeat(pa.scalar(gone), rows.num_rows))

    def _merged(self, newest_first: Sequence[pa.Table]) -> pa.Table | None:
        """The rows of each partition that are not hidden by those of a newer table."""
        if len(newest_first) < 2:
            return newest_first[0] if newest_first else None
        shown = [newest_first[0]]
        for at, table in enumerate(newest_first[1:], 1):
            hidden = self._hidden(table, newest_first[:at])
            if hidden is None:
                return self._merged_exactly(newest_first)
            shown.append(table.filter(pa.array(~hidden)) if hidden.any() else table)
        return pa.concat_tables(shown, promote_options="permissive")

    def _hidden(self, rows: pa.Table, newer: Sequence[pa.Table]) -> Flags | None:
        """Which rows are of a partition that a newer table has, by hash; None if two partitions have one hash."""
        found = rows[HASH].to_numpy()
        hidden: Flags = np.full(len(found), False)
        for table in newer:
            others = table[HASH].to_numpy()
            first = np.minimum(np.searchsorted(others, found), len(others) - 1)
            same = np.flatnonzero(others[first] == found)
            if not self._agree(rows.select(self.by).take(pa.array(same)), table, first[same]):
                return None
            hidden[same] = True
        return hidden

    def _merged_exactly(self, newest_first: Sequence[pa.Table]) -> pa.Table:
        rows = pa.concat_tables(newest_first, promote_options="permissive")
        ages = np.repeat(np.arange(len(newest_first)), [table.num_rows for table in newest_first])
        newest = query(
            f"SELECT {PLACE} FROM parts QUALIFY {AGE} = min({AGE}) OVER ({self._over})",
            parts=self._numbered(rows).append_column(AGE, pa.array(ages)),
        )[PLACE].to_numpy()
        return rows if len(newest) == rows.num_rows else rows.take(pa.array(np.sort(newest)))

    @property
    def _over(self) -> str:
        return f"PARTITION BY {', '.join(quoted(name) for name in self.by)}" if self.by else ""

    def _numbered(self, rows: pa.Table) -> pa.Table:
        return rows.select(self.by).append_column(PLACE, pa.array(np.arange(rows.num_rows)))


def _alive(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows[GONE])).drop_columns([GONE])
