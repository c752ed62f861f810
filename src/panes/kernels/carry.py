"""What is kept of each partition from one micro-batch to the next: one row, and only changed rows are written.

    chunks   [ 1,000,000 rows ] [ 9,000 ] [ 500 ]     a row hides those of its partition in older chunks

A micro-batch adds a chunk of the rows that it changed and merges older chunks that are not much bigger, so that few
remain and each row is written O(log n) times. A partition that is forgotten leaves a row that is only a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted
from panes.kernels.kernel import Chunk, new_chunk

GONE = "partition_is_gone"
SEEN = "last_seen"  # microseconds: when a partition had its last row


@dataclass(frozen=True)
class Carry:
    """`by` are the partition's columns; without any there is one partition. `kind` tells its chunks from others.

    Where rows have a column SEEN, chunks cover its range, and what was seen last before a moment is found by it.
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
            part = self._join("SEMI", chunk.load(), wanted)
            if part.num_rows:
                found.append(part)
                wanted = self._join("ANTI", wanted, part)
            if not wanted.num_rows:
                break
        return _alive(pa.concat_tables(found, promote_options="permissive")) if found else None

    def all(self, chunks: Sequence[Chunk]) -> pa.Table | None:
        """The rows of all partitions."""
        merged = self._merged([chunk.load() for chunk in reversed(self.own(chunks))])
        return None if merged is None else _alive(merged)

    def put(self, chunks: Sequence[Chunk], changed: pa.Table | None, gone: pa.Table | None = None) -> tuple[Chunk, ...]:
        """The chunks after rows have changed; `gone` are partitions to forget, none of which is in `changed`."""
        parts = [self._marked(part, mark) for part, mark in ((changed, False), (gone, True)) if part is not None]
        parts = [part for part in parts if part.num_rows]
        kept = list(self.own(chunks))
        if not parts:
            return tuple(kept)
        newest = pa.concat_tables(parts, promote_options="permissive")
        tables, rows = [newest], newest.num_rows
        while kept and kept[-1].rows <= 2 * rows:
            tables.append(kept.pop().load())
            rows += tables[-1].num_rows
        merged = self._merged(tables)
        assert merged is not None
        merged = merged if kept else merged.filter(pc.invert(merged[GONE]))
        by = SEEN if SEEN in merged.column_names else None
        return (*kept, new_chunk(merged, by, self.kind)) if merged.num_rows else tuple(kept)

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
                rest = self._join("ANTI", table, merged)
                merged = pa.concat_tables([merged, rest], promote_options="permissive") if rest.num_rows else merged
        return merged

    def _distinct(self, partitions: pa.Table) -> pa.Table:
        if not self.by:
            return partitions.slice(0, 1)
        return query(f"SELECT DISTINCT {', '.join(quoted(name) for name in self.by)} FROM parts", parts=partitions)

    def _join(self, kind: str, left: pa.Table, right: pa.Table) -> pa.Table:
        if not self.by:
            return left if (kind == "SEMI") == bool(right.num_rows) else left.slice(0, 0)
        same = " AND ".join(f"l.{quoted(name)} IS NOT DISTINCT FROM r.{quoted(name)}" for name in self.by)
        return query(
            f"SELECT l.* FROM left_side l {kind} JOIN right_side r ON {same}", left_side=left, right_side=right
        )


def _alive(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows[GONE])).drop_columns([GONE])
