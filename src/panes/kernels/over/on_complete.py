"""OVER windows whose partitions complete with a time window: all rows are there before any comes out.

    PARTITION BY window_end, … ORDER BY total DESC       the partition is complete when window_end <= W

So any order, frame and function is allowed, and each partition is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.functions.over import Reach
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, new_chunk
from panes.kernels.ordering import in_order
from panes.kernels.over.calls import OrderKey, OverCall, bounded, ordered
from panes.kernels.over.functions import over_values
from panes.kernels.over.sorted_rows import arranged
from panes.kernels.state.release import WAITING, Release


@dataclass(frozen=True)
class OverOnComplete:
    """`release.time` is the column with the moment at which a row's partition is complete, one of `partition`.

    Ties of `order_by` are in the order of `release`. `top_n` is a rank's output and the greatest that comes out.
    """

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[OverCall, ...]
    release: Release
    top_n: tuple[str, int] | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), "order by": ordered(self.order_by)}
        columns |= {"top": list(self.top_n or ()), **self.release.depends_on()}
        return {"state": "over on complete 1", **columns}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Compute the partitions that are complete."""
        passed = clock if clock.watermark is None else replace(clock, watermark=clock.watermark + 1)
        release = replace(self.release, pruned=self._prunes)
        rows, waiting, late = release.take(state.chunks, batch, passed)
        chunks = self._needed(state.chunks, waiting)
        out = None if rows is None else self._evaluated(rows)
        counters = Counters(
            late_rows=late,
            rows_out=out.num_rows if out is not None else 0,
            buffered_rows=sum(chunk.rows for chunk in chunks),
        )
        wake = min((chunk.low for chunk in chunks), default=None)
        return Step(State(chunks, state.facts), out, counters, wake)

    @property
    def _prunes(self) -> bool:
        """Of the best n nothing else is needed: a row behind n others stays behind them."""
        return self.top_n is not None and len(self.calls) == 1 and self.calls[0].reach is Reach.RANK

    def _evaluated(self, rows: pa.Table) -> pa.Table:
        table = arranged(bounded(rows, self.calls, self.order_by), self.partition, self.order_by)
        found = table.having(over_values(table, self.calls)).rows
        if self.top_n is None:
            return found
        name, most = self.top_n
        return found.filter(pc.less_equal(found[name], most))

    def _needed(self, old: Sequence[Chunk], waiting: Sequence[Chunk]) -> tuple[Chunk, ...]:
        if not self._prunes:
            return tuple(waiting)
        known = {chunk.id for chunk in old}
        return tuple(chunk if chunk.id in known else self._best(chunk) for chunk in waiting)

    def _best(self, chunk: Chunk) -> Chunk:
        rows = in_order(self.release.waiting(chunk), self.release.order)
        best = self._evaluated(rows).drop_columns([self.calls[0].output])
        return chunk if best.num_rows == chunk.rows else new_chunk(best, self.release.time, WAITING)
