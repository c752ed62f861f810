"""Rows wait until the watermark has passed them, and then come in the stream's order: (time, key, arrival)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.kernel import Chunk, Clock, new_chunk
from panes.kernels.state.compaction import compacted

WAITING = "waiting"


@dataclass(frozen=True)
class Release:
    """`order` are the columns of the stream's order, the time first. `waits` is False in arrival mode."""

    time: str
    order: tuple[str, ...]
    waits: bool
    late: bool

    def depends_on(self) -> dict[str, Any]:
        return {"order": list(self.order), "waits": [self.time] if self.waits else []}

    def take(
        self, chunks: Sequence[Chunk], batch: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], int]:
        """The rows that are released now, in order; what still waits; and how many rows were late."""
        late = 0
        if batch is not None and not self.waits:
            return self._sorted([batch]), tuple(chunks), 0
        if batch is not None and self.late and clock.watermark is not None:
            on_time = pc.greater_equal(self._times(batch), clock.watermark)
            late = batch.num_rows - int(pc.sum(on_time).as_py() or 0)
            batch = batch.filter(on_time)
        released: list[pa.Table] = []
        waiting: list[Chunk] = []
        for chunk in chunks:
            if not clock.flush and (clock.watermark is None or chunk.low >= clock.watermark):
                waiting.append(chunk)
            else:
                due, rest = self._split(chunk.load(), clock)
                released.append(due)
                waiting += [new_chunk(rest, self.time, WAITING)] if rest.num_rows else []
        if batch is not None and batch.num_rows:
            due, rest = self._split(batch, clock)
            released.append(due)
            waiting = self._added(waiting, rest)
        return self._sorted(released), tuple(waiting), late

    def _times(self, table: pa.Table) -> pa.ChunkedArray:
        return table[self.time].cast(pa.int64())

    def _split(self, table: pa.Table, clock: Clock) -> tuple[pa.Table, pa.Table]:
        """Rows before the watermark, strictly: one at the watermark may still have peers on the way."""
        if clock.flush:
            return table, table.slice(0, 0)
        if clock.watermark is None:
            return table.slice(0, 0), table
        passed = pc.less(self._times(table), clock.watermark)
        return table.filter(passed), table.filter(pc.invert(passed))

    def _added(self, waiting: list[Chunk], rows: pa.Table) -> list[Chunk]:
        if not rows.num_rows:
            return waiting
        kept, tables = compacted(waiting, rows)
        return [*kept, new_chunk(pa.concat_tables(tables[::-1], promote_options="permissive"), self.time, WAITING)]

    def _sorted(self, parts: Sequence[pa.Table]) -> pa.Table | None:
        tables = [part for part in parts if part.num_rows]
        if not tables:
            return None
        table = pa.concat_tables(tables, promote_options="permissive")
        return table.sort_by([(name, "ascending") for name in self.order])
