"""Stateful functions: each released row gets values that depend on the rows of its partition before it.

    partition  a  b  a  a  b
    v          1  2  3  4  5
    lag(v)     .  .  1  3  2

Rows are sorted by partition once; after that a call is index arithmetic over the sorted rows, continued from one carry
row per partition: "the value before" is a row's number, or the number of a kept value, and one `take` fetches all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.partitions import Codes, by_partition
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import expired_before, expires_at, gaps, generation_starts, split_expired
from panes.kernels.state.release import WAITING, Release
from panes.kernels.stateful.arrangement import Arrangement
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.table import evaluate

LAST = "time_of_last_row"  # microseconds; SEEN is the largest time, which differs where rows come in any order


@dataclass(frozen=True)
class StatefulFunctions:
    """The kernel. Calls are evaluated in their order; `ttl` in microseconds.

    The kernel never holds more than it must: a partition expires by the times of its own rows, and chunks of the carry
    that the watermark has left behind by more than the ttl are dropped, since nobody can ask for them again.
    """

    partition: tuple[str, ...]
    calls: tuple[StatefulCall, ...]
    release: Release
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), **self.release.depends_on()}
        return {"state": "stateful functions 1", **columns, "state_ttl": seconds(self.ttl)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Compute all calls for the rows that are released now."""
        waiting = [chunk for chunk in state.chunks if chunk.kind == WAITING]
        rows, still_waiting, late = self.release.take(waiting, batch, clock)
        kept = self._carry.own(state.chunks)
        if rows is not None:
            rows, changed = self._computed(rows.combine_chunks(), kept, clock)
            kept = self._put(kept, changed, clock) if changed.num_columns else kept
        kept = () if clock.flush else self._unexpired(kept, clock)
        counters = Counters(
            late_rows=late,
            rows_out=rows.num_rows if rows is not None else 0,
            groups=sum(chunk.rows for chunk in kept),
            buffered_rows=sum(chunk.rows for chunk in still_waiting),
            expired_rows=0,
        )
        return Step(State((*still_waiting, *kept), state.facts), rows, counters, self._wake(still_waiting, kept))

    @property
    def _carry(self) -> Carry:
        return Carry(self.partition)

    def _computed(self, rows: pa.Table, kept: tuple[Chunk, ...], clock: Clock) -> tuple[pa.Table, pa.Table]:
        """The rows with a column per call, and the carry rows of their partitions."""
        order, first = by_partition(rows, self.partition)
        partitions = rows.select(self.partition).take(order[first]) if self.partition else rows.slice(0, 1)
        carry, carried = self._known(kept, partitions, clock)
        arrangement = self._arrangement(rows, order, first, carry, carried)
        changed = {name: partitions[name] for name in self.partition}
        for call in self.calls:
            values, after = evaluate(call, rows, arrangement, call.kept(carry))
            rows = rows.append_column(call.output, values)
            changed |= {call.column(number): column for number, column in enumerate(after)}
        if self.ttl is not None:
            changed |= self._seen(rows, arrangement, carry, carried)
        return rows, pa.table(changed)

    def _known(self, kept: tuple[Chunk, ...], partitions: pa.Table, clock: Clock) -> tuple[pa.Table | None, Codes]:
        """The carry rows of partitions, and each partition's among them, -1 if it has none.

        Where rows come in any order, the watermark alone says what has expired.
        """
        carry, carried = self._carry.look_up(kept, partitions)
        oldest = expired_before(self.ttl, clock)
        if carry is None or self.release.waits or oldest is None:
            return carry, carried
        expired = np.append(carry[SEEN].to_numpy() < oldest, True)
        return carry, np.where(expired[carried], -1, carried)

    def _arrangement(
        self, rows: pa.Table, order: Codes, first: Codes, carry: pa.Table | None, carried: Codes
    ) -> Arrangement:
        """Where each partition begins, and where it had expired and begins again."""
        sizes = np.diff(np.append(first, len(order)))
        ends = first + sizes - 1
        if self.ttl is None:
            return Arrangement(order, np.repeat(first, sizes), np.repeat(carried, sizes), ends)
        times = self._times(rows)[order]
        before = np.append(carry[LAST].to_numpy(), 0)[carried] if carry is not None else times[first]
        begins = gaps(times, first, before, self.ttl)
        carried = np.where(begins[first], -1, carried)
        begins[first] = True
        starts = generation_starts(begins)
        continues = starts == np.repeat(first, sizes)
        return Arrangement(order, starts, np.where(continues, np.repeat(carried, sizes), -1), ends)

    def _seen(
        self, rows: pa.Table, arrangement: Arrangement, carry: pa.Table | None, carried: Codes
    ) -> dict[str, Codes]:
        """The time of each partition's last row, and the largest of its times."""
        times = self._times(rows)[arrangement.order]
        seen = np.maximum.reduceat(times, np.append(0, arrangement.ends[:-1] + 1))
        if carry is not None:
            seen = np.where(carried >= 0, np.maximum(seen, carry[SEEN].to_numpy()[carried]), seen)
        return {LAST: times[arrangement.ends], SEEN: seen}

    def _times(self, rows: pa.Table) -> Codes:
        times: Codes = rows[self.release.time].cast(pa.int64()).to_numpy()
        return times

    def _put(self, kept: tuple[Chunk, ...], changed: pa.Table, clock: Clock) -> tuple[Chunk, ...]:
        """The carry with changed rows; chunks that are rewritten lose what has expired."""
        own = {chunk.id: chunk for chunk in kept}
        put = self._carry.put([self._pruned(chunk, clock) for chunk in kept], self._remaining(changed, clock))
        return tuple(own.get(chunk.id, chunk) for chunk in put)

    def _pruned(self, chunk: Chunk, clock: Clock) -> Chunk:
        return replace(chunk, load=lambda: self._remaining(chunk.load(), clock))

    def _remaining(self, carry: pa.Table, clock: Clock) -> pa.Table:
        return carry if self.ttl is None else split_expired(carry, self.ttl, clock)[1]

    def _unexpired(self, kept: tuple[Chunk, ...], clock: Clock) -> tuple[Chunk, ...]:
        """The chunks that a row can still ask for."""
        oldest = expired_before(self.ttl, clock)
        return kept if oldest is None else tuple(chunk for chunk in kept if chunk.high >= oldest)

    def _wake(self, waiting: Sequence[Chunk], kept: Sequence[Chunk]) -> int | None:
        moments = [chunk.low + 1 for chunk in waiting]
        moments += [expires_at(chunk.high, self.ttl) for chunk in kept] if self.ttl is not None else []
        return min(moments, default=None)
