"""Rows wait until the watermark has passed them, and then come in the stream's order: (time, key, arrival).

    chunks   [ 1 4 6 | 9 12 ]  [ 8 9 11 ]     W = 8: rows 1, 4 and 6 are out; the first chunk is now 2 rows from 9 on

Chunks are sorted by time. A release moves the beginning of those that it takes rows from, and writes none of them anew;
a chunk goes when its last row has gone. So a micro-batch writes what came with it, however much waits. Many rows that
come at once are several chunks, one after the other in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from panes.kernels.bounded import bounded
from panes.kernels.kernel import Chunk, Clock, new_chunk
from panes.kernels.ordering import in_order
from panes.kernels.partitions import Codes
from panes.kernels.state.compaction import compacted, tiered
from panes.kernels.state.key_hash import Flags

WAITING = "waiting"
CHUNK_BYTES, CHUNK_ROWS = 4 << 20, 1 << 16  # at most; sources over the same time are read a chunk of each at once


@dataclass(frozen=True)
class Release:
    """`order` are the columns of the stream's order, the time first. `waits` is False in arrival mode.

    `in_order` says that rows come in that order already, and that nothing expires: where they do not wait, it makes no
    difference then whether those of a micro-batch are taken at once.

    `together` says that no moment is between rows: all come out with the flush, as one.

    Chunks are of `kind`. `pruned` says that whoever keeps them drops rows of a new one that it has no use for: more are
    dropped when few chunks remain.
    """

    time: str
    order: tuple[str, ...]
    waits: bool
    late: bool
    kind: str = WAITING
    pruned: bool = False
    in_order: bool = False
    together: bool = False

    def depends_on(self) -> dict[str, Any]:
        return {"order": list(self.order), "waits": [self.time] if self.waits else []}

    def take(
        self, chunks: Sequence[Chunk], batch: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], int]:
        """The rows that are released now, in order; what still waits; and how many rows were late."""
        late = 0
        if batch is not None and not self.waits:
            return self._sorted([batch]), tuple(chunks), 0
        if batch is not None and self.late:
            are_late = self.are_late(batch, clock)
            late = int(are_late.sum())
            batch = batch.filter(pa.array(~are_late)) if late else batch
        released: list[pa.Table] = []
        waiting: list[Chunk] = []
        for chunk in chunks:
            if not clock.flush and (clock.watermark is None or chunk.low >= clock.watermark):
                waiting.append(chunk)
            else:
                due, rest = self._split(self.waiting(chunk), clock)
                released.append(due)
                if rest.num_rows:
                    waiting.append(replace(chunk, rows=rest.num_rows, low=int(self._times(rest)[0])))
        if batch is not None and batch.num_rows:
            due, rest = self._split(self._by_time(batch), clock)
            released.append(due)
            waiting = self._added(waiting, rest)
        return self._sorted(released), tuple(waiting), late

    def are_late(self, rows: pa.Table, clock: Clock) -> Flags:
        """Which rows come after the watermark has passed them."""
        if clock.watermark is None:
            return np.zeros(rows.num_rows, bool)
        late: Flags = self._times(rows) < clock.watermark
        return late

    def waiting(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk that are not out, by time."""
        rows = self._by_time(chunk.load())
        return rows.slice(int(np.searchsorted(self._times(rows), chunk.low)))

    def _times(self, table: pa.Table) -> Codes:
        times: Codes = table[self.time].cast(pa.int64()).to_numpy()
        return times

    def _by_time(self, rows: pa.Table) -> pa.Table:
        """Rows of a stream come as good as sorted, and chunks of state are, but for those of old checkpoints."""
        times = self._times(rows)
        return rows if (times[1:] >= times[:-1]).all() else rows.take(pa.array(np.argsort(times, kind="stable")))

    def _split(self, rows: pa.Table, clock: Clock) -> tuple[pa.Table, pa.Table]:
        """Rows before the watermark, strictly: one at the watermark may still have peers on the way."""
        if clock.flush:
            return rows, rows.slice(0, 0)
        if clock.watermark is None:
            return rows.slice(0, 0), rows
        passed = int(np.searchsorted(self._times(rows), clock.watermark))
        return rows.slice(0, passed), rows.slice(passed)

    def _added(self, waiting: list[Chunk], rows: pa.Table) -> list[Chunk]:
        if not rows.num_rows:
            return waiting
        kept, tables = (compacted if self.pruned else tiered)(waiting, rows, self.waiting)
        merged = self._by_time(pa.concat_tables(tables[::-1], promote_options="permissive"))
        parts = [merged] if self.pruned else bounded(merged, CHUNK_BYTES, CHUNK_ROWS)
        return [*kept, *(new_chunk(part, self.time, self.kind) for part in parts)]

    def _sorted(self, parts: Sequence[pa.Table]) -> pa.Table | None:
        tables = [part for part in parts if part.num_rows]
        if not tables:
            return None
        return in_order(pa.concat_tables(tables, promote_options="permissive"), self.order)
