"""What is kept of each partition from one micro-batch to the next: one row, and only changed rows are written.

    chunks   [ 1,000,000 rows ] [ 9,000 ] [ 500 ]     a row hides those of its partition in older chunks

A micro-batch adds a chunk of the rows that it changed, and takes older ones into it. A partition that has expired
leaves a row that is only a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import PLACE, joined, query, quoted, same
from panes.kernels.kernel import Chunk, new_chunk
from panes.kernels.partitions import Codes
from panes.kernels.state.compaction import compacted

GONE = "partition_is_gone"
SEEN = "last_seen"  # microseconds: when a partition had its last row


@dataclass(frozen=True)
class Carry:
    """`by` are the partition's columns; without any there is one partition. `kind` tells its chunks from others.

    A partition may have several rows: those of a newer chunk hide all its older ones, and they stay in order. Where
    rows have a column SEEN, chunks cover its range, and what was seen last before a moment is found by it.
    """

    by: tuple[str, ...]
    kind: str = "carry"

    def own(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunk for chunk in chunks if chunk.kind == self.kind)

    def find(self, chunks: Sequence[Chunk], partitions: pa.Table) -> pa.Table | None:
        """The rows of these partitions; None if no partition is known at all."""
        found: list[pa.Table] = []
        wanted = self._distinct(partitions)
        for chunk in reversed(self.own(chunks)):
            part = joined(chunk.load(), "SEMI", wanted, self.by)
            if part.num_rows:
                found.append(part)
                wanted = joined(wanted, "ANTI", part, self.by)
            if not wanted.num_rows:
                break
        return _alive(pa.concat_tables(found, promote_options="permissive")) if found else None

    def look_up(self, chunks: Sequence[Chunk], partitions: pa.Table) -> tuple[pa.Table | None, Codes]:
        """The rows of partitions, each of which is there once; and for each the number of its row, -1 if none is known.

        No partition is marked as gone here: one that has expired is known by its time.
        """
        rows: Codes = np.full(partitions.num_rows, -1)
        found: list[pa.Table] = []
        for chunk in reversed(self.own(chunks)):
            wanted = np.flatnonzero(rows < 0)
            if not len(wanted):
                break
            table = chunk.load()
            numbers, places = self._pairs(partitions, wanted, table)
            rows[numbers] = sum(part.num_rows for part in found) + np.arange(len(numbers))
            found += [table.take(places)] if len(places) else []
        return pa.concat_tables(found, promote_options="permissive").combine_chunks() if found else None, rows

    def _pairs(self, partitions: pa.Table, wanted: Codes, table: pa.Table) -> tuple[Codes, Codes]:
        """The numbers of the wanted partitions that are in a table, and their places there."""
        if not self.by:
            return wanted, wanted
        found = query(
            f"SELECT l.{PLACE} AS number, r.{PLACE} AS place FROM wanted l JOIN known r ON {same(self.by, 'l', 'r')}",
            wanted=self._numbered(partitions.take(wanted), wanted),
            known=self._numbered(table, np.arange(table.num_rows)),
        )
        return found["number"].to_numpy(), found["place"].to_numpy()

    def all(self, chunks: Sequence[Chunk]) -> pa.Table | None:
        """The rows of all partitions."""
        merged = self._merged([chunk.load() for chunk in reversed(self.own(chunks))])
        return None if merged is None else _alive(merged)

    def put(self, chunks: Sequence[Chunk], changed: pa.Table | None, gone: pa.Table | None = None) -> tuple[Chunk, ...]:
        """The chunks after rows have changed; `gone` are partitions to forget, none of which is in `changed`."""
        parts = [self._marked(part, mark) for part, mark in ((changed, False), (gone, True)) if part is not None]
        parts = [part for part in parts if part.num_rows]
        own = self.own(chunks)
        if not parts:
            return own
        kept, tables = compacted(own, pa.concat_tables(parts, promote_options="permissive"))
        merged = self._merged(tables)
        assert merged is not None
        merged = merged if kept else merged.filter(pc.invert(merged[GONE]))
        by = SEEN if SEEN in merged.column_names else None
        return (*kept, new_chunk(merged, by, self.kind)) if merged.num_rows else kept

    def _marked(self, rows: pa.Table, gone: bool) -> pa.Table:
        if gone:
            rows = rows.select([*self.by, *([SEEN] if SEEN in rows.column_names else [])])
        return rows.append_column(GONE, pa.repeat(pa.scalar(gone), rows.num_rows))

    def _merged(self, newest_first: Sequence[pa.Table]) -> pa.Table | None:
        """One row for each partition: its newest."""
        merged: pa.Table | None = None
        for table in newest_first:
            if merged is None:
                merged = table
            else:
                rest = joined(table, "ANTI", merged, self.by)
                merged = pa.concat_tables([merged, rest], promote_options="permissive") if rest.num_rows else merged
        return merged

    def _distinct(self, partitions: pa.Table) -> pa.Table:
        if not self.by:
            return partitions.slice(0, 1)
        return query(f"SELECT DISTINCT {', '.join(quoted(name) for name in self.by)} FROM parts", parts=partitions)

    def _numbered(self, rows: pa.Table, numbers: Codes) -> pa.Table:
        return rows.select(self.by).append_column(PLACE, pa.array(numbers))


def _alive(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows[GONE])).drop_columns([GONE])
