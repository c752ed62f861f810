"""RANGE frames: rows are kept while a frame can reach them, and wait until the watermark has passed their frame's end.

    W - span                W
       | kept as context    |          a row still to come is at W or later, and reaches back to W - span

All is by time: chunks are added and dropped, and no partition is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from panes.frames import Edge
from panes.kernels.kernel import Chunk, Clock, new_chunk
from panes.kernels.over.calls import Frame, OrderKey, OverCall, Values, columns_of, values_of
from panes.kernels.over.functions import over_values
from panes.kernels.over.sorted_rows import Mask, Places, gathered, inverse
from panes.kernels.partitions import codes
from panes.kernels.state.compaction import compacted

RECENT = "recent"
READY = "frame_ends_at"  # microseconds: a row's frames are complete when the watermark has passed it
PENDING, LATEST, OPEN = "next_frame_end", "latest_frame_end", "first_open_row"
ALWAYS = 2**62


@dataclass(frozen=True)
class Recent:
    """`calls` have RANGE frames with bounds that are columns, or peers."""

    partition: tuple[str, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[OverCall, ...]
    time: str
    ttl: int | None

    def take(
        self, chunks: Sequence[Chunk], facts: Mapping[str, Any], rows: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...], dict[str, Any]]:
        """Rows whose frames are complete, with their values; what is kept, and the facts about it."""
        own = tuple(chunk for chunk in chunks if chunk.kind == RECENT)
        pending = facts.get(PENDING)
        mark = ALWAYS if clock.flush or clock.watermark is None else clock.watermark
        due = pending is not None and pending < mark
        others = {name: value for name, value in facts.items() if name not in (PENDING, LATEST, OPEN)}
        if rows is None and not due:
            return (None, (), others) if clock.flush else (None, own, dict(facts))
        latest = facts.get(LATEST)
        if rows is not None:
            rows, latest = self._ready(rows, latest)
        old = [chunk.load() for chunk in own]
        parts = [*old, *([rows] if rows is not None else [])]
        table = pa.concat_tables(parts, promote_options="permissive")
        ready = table[READY].to_numpy()
        fresh = np.arange(table.num_rows) >= sum(part.num_rows for part in old)
        open_ = fresh if pending is None else fresh | (ready >= pending)
        out = self._evaluated(table, open_ & (ready < mark))
        if clock.flush:
            return out, (), others
        still = open_ & (ready >= mark)
        needed = min(int(self._reach(table)[still].min(initial=ALWAYS)), mark - self._span())
        times = self._times(table, self.time)[still]
        found = {PENDING: int(ready[still].min()), OPEN: int(times.min())} if still.any() else {}
        return out, self._kept(own, rows, needed), {**others, LATEST: latest, **found}

    def wake(self, facts: Mapping[str, Any]) -> int | None:
        return facts[PENDING] + 1 if PENDING in facts else None

    def delayed(self, facts: Mapping[str, Any], clock: Clock) -> Clock:
        """The clock of what comes next: rows that wait here have not come there yet."""
        if clock.watermark is None or OPEN not in facts:
            return clock
        return replace(clock, watermark=min(clock.watermark, facts[OPEN]))

    def _times(self, rows: pa.Table, name: str) -> Places:
        times: Places = rows[name].cast(pa.int64()).to_numpy()
        return times

    def _ready(self, rows: pa.Table, latest: int | None) -> tuple[pa.Table, int]:
        """Rows with the moment up to which their frames reach.

        Never before that of an earlier row: one month after January 30 23:00 is after one month after January 31 01:00.
        """
        ends = self._times(rows, self.time)
        for values in self._forward():
            ends = np.maximum(ends, self._times(rows, values.column))
        ready = np.maximum.accumulate(ends if latest is None else np.maximum(ends, latest))
        return rows.append_column(READY, pa.array(ready)), int(ready[-1])

    def _evaluated(self, table: pa.Table, wanted: Mask) -> pa.Table | None:
        """Values of the wanted rows, computed over those that their frames can reach."""
        if not wanted.any():
            return None
        part = codes(table, self.partition)
        touched = np.zeros(int(part.max(initial=0)) + 1, np.bool_)
        touched[part[wanted]] = True
        inside = touched[part]
        if not self._looks_back():
            inside &= self._times(table, self.time) >= self._reach(table)[wanted].min()
        index = np.flatnonzero(inside)
        read = table.select(columns_of(self.calls, self.order_by))
        sorted_, order = gathered(read if inside.all() else read.take(pa.array(index)), part[index], self.order_by)
        places = pa.array(inverse(order)[wanted[index]])
        found = _picked(table.drop_columns([READY]), wanted)
        for name, column in over_values(sorted_, self.calls).items():
            found = found.append_column(name, column.take(places))
        return found

    def _reach(self, rows: pa.Table) -> Places:
        """The earliest time that the frames of each row reach."""
        reach = self._times(rows, self.time)
        for values in self._backward():
            reach = np.minimum(reach, self._times(rows, values.column))
        return reach

    def _span(self) -> int:
        """How far back a row still to come can reach."""
        return max((values.span for values in self._backward()), default=0)

    def _backward(self) -> list[Values]:
        """Bounds before their row; of a frame that begins with the partition, only the end is looked up."""
        bounds = [f.end if f.start.edge is Edge.UNBOUNDED_PRECEDING else f.start for f in self._frames()]
        return [values for bound in bounds if bound.edge is Edge.PRECEDING and (values := values_of(bound)) is not None]

    def _forward(self) -> list[Values]:
        """Ends behind their row."""
        ends = [frame.end for frame in self._frames() if frame.end.edge is Edge.FOLLOWING]
        return [values for end in ends if (values := values_of(end)) is not None]

    def _looks_back(self) -> bool:
        """Whether a frame begins with the partition and ends before its row: its last row may be any time ago."""
        return any(f.start.edge is Edge.UNBOUNDED_PRECEDING and f.end.edge is Edge.PRECEDING for f in self._frames())

    def _frames(self) -> list[Frame]:
        return [call.frame for call in self.calls if call.frame is not None]

    def _kept(self, own: Sequence[Chunk], rows: pa.Table | None, needed: int) -> tuple[Chunk, ...]:
        """Chunks that something still reaches."""
        kept = self._without_passed(own, needed)
        fresh = None if rows is None else self._reached(rows, needed)
        if fresh is None or not fresh.num_rows:
            return tuple(kept)
        stays, tables = compacted(kept, fresh, lambda chunk: self._reached(chunk.load(), needed))
        return (*stays, new_chunk(pa.concat_tables(tables[::-1], promote_options="permissive"), self.time, RECENT))

    def _without_passed(self, own: Sequence[Chunk], needed: int) -> list[Chunk]:
        """Where the last row before `needed` may be looked up, chunks of old rows shrink once enough have come."""
        rest = [chunk for chunk in own if chunk.high >= needed]
        passed = [chunk for chunk in own if chunk.high < needed]
        if not self._looks_back() or not passed:
            return rest
        if sum(chunk.rows for chunk in passed[1:]) < passed[0].rows:
            return [*passed, *rest]
        rows = pa.concat_tables([chunk.load() for chunk in passed], promote_options="permissive")
        last = self._reached(rows, needed)
        return [new_chunk(last, self.time, RECENT), *rest] if last.num_rows else rest

    def _reached(self, rows: pa.Table, needed: int) -> pa.Table:
        """Rows from `needed` on; and where frames look back, the last one before it of each partition.

        With a ttl not one that has expired by then: whatever follows it in its generation is before `needed`, too.
        """
        times = self._times(rows, self.time)
        mask = times >= needed
        if self._looks_back():
            before = np.flatnonzero(~mask if self.ttl is None else ~mask & (times >= needed - self.ttl))
            part = codes(rows, self.partition)[before]
            mask[before[len(before) - 1 - np.unique(part[::-1], return_index=True)[1]]] = True
        return rows.filter(pa.array(mask))


def _picked(rows: pa.Table, wanted: Mask) -> pa.Table:
    """Some of the rows; mostly those that have just come, which stand together."""
    first, number = int(wanted.argmax()), int(wanted.sum())
    together = wanted[first : first + number].all()
    return rows.slice(first, number) if together else rows.filter(pa.array(wanted))
