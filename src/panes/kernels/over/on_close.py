"""OVER windows that emit on window close: each row comes out once, as soon as no row still to come can change it.

    released rows ─ Running   numbers, ranks, aggregates from UNBOUNDED PRECEDING: one row per partition is carried
                  ─ Recent    RANGE frames: rows by time, ready when the watermark has passed the frame's end
                  ─ Tail      ROWS frames, lag, lead: the last rows of each partition, ready when enough have followed

A row goes through the stages that its calls need, and takes the values it has so far along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Edge
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.over.calls import OrderKey, OverCall, bounded, ordered
from panes.kernels.over.recent import Recent
from panes.kernels.over.running import DENSE, NUMBER, RANK, Running
from panes.kernels.over.sorted_rows import arranged
from panes.kernels.over.stages import Stages, staged
from panes.kernels.over.tail import Tail
from panes.kernels.state.expiry import GENERATION
from panes.kernels.state.release import WAITING, Release


@dataclass(frozen=True)
class OverOnClose:
    """`order_by` begins with the stream's time, ascending; ties are in the order of `release`.

    `top_n` is the output of a rank and the greatest one that comes out.
    """

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[OverCall, ...]
    release: Release
    top_n: tuple[str, int] | None = None
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), "order by": ordered(self.order_by)}
        columns |= {"top": list(self.top_n or ()), **self.release.depends_on()}
        return {"state": "over on close 1", "state_ttl": seconds(self.ttl), **columns}

    @cached_property
    def stages(self) -> Stages:
        return staged(self.calls)

    @cached_property
    def running(self) -> Running | None:
        if not self.stages.running and not self.stages.named and self.ttl is None:
            return None
        return Running(self.partition, self.order_by, self.stages.running, self.release.time, self.ttl)

    @cached_property
    def recent(self) -> Recent | None:
        calls = self.stages.recent
        return Recent(self._generations, self.order_by, calls, self.release.time, self.ttl) if calls else None

    @cached_property
    def tail(self) -> Tail | None:
        calls = self.stages.tail
        return Tail(self._generations, self.order_by, calls, self.release.time, self.ttl) if calls else None

    @property
    def _generations(self) -> tuple[str, ...]:
        return self.partition if self.ttl is None else (*self.partition, GENERATION)

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Take released rows through the stages."""
        old = [chunk for chunk in state.chunks if chunk.kind == WAITING]
        rows, waiting, late = self.release.take(old, batch, clock)
        chunks, facts = list(waiting), dict(state.facts)
        if rows is not None and len(self.order_by) > 1:
            rows = arranged(rows, (), self.order_by).rows
        if self.running is not None:
            rows, kept, facts = self.running.take(state.chunks, facts, rows, clock)
            chunks += kept
        if self.recent is not None:
            rows = rows if rows is None else bounded(rows, self.calls, self.order_by)
            rows, kept, facts = self.recent.take(state.chunks, facts, rows, clock)
            chunks += kept
        if self.tail is not None:
            upto = clock if self.recent is None else self.recent.delayed(facts, clock)
            rows, kept, facts = self.tail.take(state.chunks, facts, rows, upto)
            chunks += kept
        out = None if rows is None else self._finished(rows)
        out = out if out is not None and out.num_rows else None
        counters = self._counters(chunks, out, late)
        return Step(State(tuple(chunks), facts), out, counters, self._wake(waiting, facts))

    def _finished(self, rows: pa.Table) -> pa.Table:
        """Input columns, then one for each call; of a partition that came back, the earlier generation first."""
        if self.ttl is not None:
            rows = rows.take(pa.array(np.argsort(rows[GENERATION].to_numpy(), kind="stable")))
        outputs = [call.output for call in self.calls]
        hidden = {NUMBER, RANK, DENSE, GENERATION, *(call.output for call in self.stages.running), *outputs}
        found = rows.select([name for name in rows.column_names if name not in hidden])
        for call in self.calls:
            column = rows[self.stages.named.get(call.output, call.output)]
            found = found.append_column(call.output, self._of_nothing(call, rows, column))
        if self.top_n is None:
            return found
        name, most = self.top_n
        return found.filter(pc.less_equal(found[name], most))

    def _of_nothing(self, call: OverCall, rows: pa.Table, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """An empty frame has no last row to look a running value up at: a count is 0 there."""
        frame, accumulator = call.frame, call.accumulator
        if accumulator is None or frame is None or not column.null_count:
            return column
        if frame.start.edge is not Edge.UNBOUNDED_PRECEDING or frame.end.edge is not Edge.PRECEDING:
            return column
        grouping = Grouping((), (Fold(accumulator, call.args, call.condition, call.output),), (self.release.time,))
        nothing = grouping.evaluate(grouping.fold(rows.slice(0, 0)))[call.output][0]
        return column.fill_null(nothing.cast(column.type)) if nothing.is_valid else column

    def _wake(self, waiting: Sequence[Chunk], facts: Mapping[str, Any]) -> int | None:
        moments = [chunk.low + 1 for chunk in waiting]
        if self.running is not None and self.running.expiry.fact in facts:
            moments.append(facts[self.running.expiry.fact])
        pending = self.recent.wake(facts) if self.recent is not None else None
        if pending is not None:
            moments.append(pending)
        elif self.tail is not None and self.tail.expiry.fact in facts:
            moments.append(facts[self.tail.expiry.fact])
        return min(moments, default=None)

    def _counters(self, chunks: Sequence[Chunk], out: pa.Table | None, late: int) -> Counters:
        carried = sum(chunk.rows for chunk in self.running.carry.own(chunks)) if self.running is not None else 0
        return Counters(
            late_rows=late,
            rows_out=out.num_rows if out is not None else 0,
            groups=carried,
            buffered_rows=sum(chunk.rows for chunk in chunks) - carried,
        )
