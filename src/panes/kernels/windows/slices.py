"""Tumbling and hopping windows: a row is folded once, into the slice between two consecutive window edges.

    hop    |----|----|----|        size 10, hop 4: edges at 0, 2, 4, 6, 8, 10, …
    slices |-|--|-|--|-|--|        (4k and 4k + 10 mod 4)

A window is the merge of its slices. With size = hop a slice is the window. Where a window has many hops, chunks have
roll-ups of their slices, and it is merged from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Grouping
from panes.kernels.changelog.changes import difference
from panes.kernels.duck import query, quoted, same
from panes.kernels.idle import latest
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, new_chunk, seconds
from panes.kernels.state.compaction import FAN, LAYERS, layered
from panes.kernels.state.key_hash import HASH, Flags, Hashes, encoding, hashes, matches, sorted_by_hash
from panes.kernels.windows.overlapping import merged_windows
from panes.kernels.windows.rollups import FAN_OUT, KIND, Rollups
from panes.kernels.windows.starts import Starts, Times

SLICE, START, END = "slice", "window_start", "window_end"
MOST_RANGES = 256


def slice_starts(times: Times, size: int, hop: int) -> Times:
    """The start of each time's slice; floor, also before 1970.

    >>> slice_starts(np.array([-1, 0, 1, 2, 5, 9]), 10, 4)
    array([-2,  0,  0,  2,  4,  8])
    """
    base: Times = np.floor_divide(times, hop) * hop
    cut = size % hop
    return np.where(times - base >= cut, base + cut, base) if cut else base


def in_some_window(slices: Times, size: int, hop: int) -> npt.NDArray[np.bool_]:
    """Whether a slice lies in any window: with hop > size there are gaps."""
    inside: npt.NDArray[np.bool_] = slices - np.floor_divide(slices, hop) * hop < size
    return inside


def unique(slices: Times) -> Times:
    """Each once, in no order: there are few among many, so hashing them is much faster than sorting.

    >>> unique(np.array([20, 10, 20]))
    array([20, 10])
    """
    once: Times = pc.unique(pa.array(slices)).to_numpy()
    return once


def earliest(*moments: int | None) -> int | None:
    """The first of several moments, some of which may not be known."""
    return min((moment for moment in moments if moment is not None), default=None)


@dataclass(frozen=True)
class SliceWindows:
    """The kernel of tumbling (size = hop) and hopping windows; lengths and times are microseconds."""

    size: int
    hop: int
    time: str
    keys: tuple[str, ...]
    grouping: Grouping  # by SLICE and the keys
    late: bool = True
    changes: bool = False  # after each batch the groups that changed come out, and closing is silent
    fan_out: int = FAN_OUT  # of roll-ups

    def depends_on(self) -> dict[str, Any]:
        lengths = {"size": seconds(self.size), "hop": seconds(self.hop)}
        return {"state": "slices 1", **lengths, "group by": sorted(self.keys), "order": list(self.grouping.order)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows folded by slice and key; rows in no window are left out."""
        times = rows[self.time].cast(pa.int64()).to_numpy()
        starts = slice_starts(times, self.size, self.hop)
        rows = rows.append_column(SLICE, pa.array(starts))
        if self.hop > self.size:
            rows = rows.filter(pa.array(in_some_window(starts, self.size, self.hop)))
        return self.grouping.fold(rows)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Close what the watermark has passed, take the batch in, and at the end of input close the rest."""
        if self.changes:
            return self._step_with_changes(state, batch, clock)
        closed = state.facts.get("closed")
        watermark = clock.watermark
        chunks = state.chunks
        out: list[pa.Table] = []
        late = 0
        if self.late and watermark is not None:
            out += self._due(chunks, closed, watermark)
            closed = latest(closed, watermark)
        if batch is not None and batch.num_rows:
            batch, late = self._without_late(batch, closed if self.late else None)
            chunks = self._add(chunks, batch, closed)
        if not self.late and watermark is not None:
            out += self._due(chunks, closed, watermark)
            closed = latest(closed, watermark)
        if clock.flush:
            out += self._due(chunks, closed, None)
            chunks, closed = (), closed
        chunks = self._without_passed(chunks, closed)
        rows = pa.concat_tables(out) if out else None
        after, gauges = self._finished(state, batch, chunks, closed)
        counters = gauges | Counters(late_rows=late, rows_out=rows.num_rows if rows is not None else 0)
        return Step(after, rows, counters, self._wake(chunks, closed))

    def are_late(self, state: State, rows: pa.Table, clock: Clock) -> Flags:
        """Which rows, as they came, have no window that is still open; one of no window is not late."""
        closed = latest(state.facts.get("closed"), clock.watermark)
        slices = slice_starts(rows[self.time].cast(pa.int64()).to_numpy(), self.size, self.hop)
        if closed is None:
            return np.zeros(len(slices), bool)
        late: Flags = in_some_window(slices, self.size, self.hop) & (self._last_end(slices) <= closed)
        return late

    def _step_with_changes(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Take the batch in, and give out how the open windows that it touches have changed.

        Above another operator rows come with the watermark that released them: the windows that it closes still count.
        """
        before = state.facts.get("closed")
        closed = latest(before, clock.watermark)
        chunks, rows, late = state.chunks, None, 0
        if batch is not None and batch.num_rows:
            open_since = closed if self.late else before
            batch, late = self._without_late(batch, open_since)
            if batch.num_rows:
                rows = self._changes(chunks, batch, open_since)
                chunks = self._add(chunks, batch, open_since)
        chunks = () if clock.flush else self._without_passed(chunks, closed)
        after, gauges = self._finished(state, batch, chunks, closed)
        counters = gauges | Counters(late_rows=late, rows_out=rows.num_rows if rows is not None else 0)
        return Step(after, rows, counters, self._wake(chunks, closed))

    def _changes(self, chunks: Iterable[Chunk], batch: pa.Table, closed: int | None) -> pa.Table:
        windows = self._windows(batch[SLICE].to_numpy(), closed, None)
        if not windows.num_rows:
            windows = pa.table({START: pa.array([], pa.int64())})
        low, high = (pc.min_max(windows[START]).as_py()[end] or 0 for end in ("min", "max"))
        sought = np.unique(hashes(batch, self.keys))
        near = [chunk for chunk in chunks if chunk.low < high + self.size and chunk.high >= low]
        old = [self._of_keys(chunk, sought) for chunk in near]
        touched = self._in_windows(batch, windows)
        before = self._touched(self.grouping.merge(old) if old else batch.slice(0, 0), windows, touched)
        after = self._touched(self.grouping.merge([*old, batch, batch.slice(0, 0)]), windows, touched)
        return difference(self._bounded(before), self._bounded(after), (START, END, *self.keys))

    def _in_windows(self, parts: pa.Table, windows: pa.Table) -> pa.Table:
        """Each group of `parts` once for every window that it is in."""
        return query(
            f"SELECT * FROM parts JOIN due ON {SLICE} >= {START} AND {SLICE} < {START} + {self.size}",
            parts=parts,
            due=windows,
        )

    def _touched(self, parts: pa.Table, windows: pa.Table, touched: pa.Table) -> pa.Table:
        """The groups of the windows and keys that a batch touches, merged over their slices."""
        names = [quoted(name) for name in self.keys]
        merges = [fold.merge_sql() for fold in self.grouping.folds]
        return query(
            f"SELECT {', '.join([f'{START} AS {SLICE}', *names, *merges])} "
            f"FROM inside p SEMI JOIN touched t ON {same((START, *self.keys), 'p', 't')} "
            f"GROUP BY {', '.join([START, *names])}",
            inside=self._in_windows(parts, windows),
            touched=touched,
        )

    def _bounded(self, groups: pa.Table) -> pa.Table:
        """The values of groups, with the bounds of their windows."""
        values = self.grouping.evaluate(groups)
        starts = values[SLICE]
        ends = pc.add(starts, pa.scalar(self.size, pa.int64()))
        return values.drop_columns([SLICE]).append_column(START, starts).append_column(END, ends)

    def _last_end(self, slices: Times) -> Times:
        """The end of the last window that a slice is in."""
        ends: Times = np.floor_divide(slices, self.hop) * self.hop + self.size
        return ends

    def _without_late(self, batch: pa.Table, closed: int | None) -> tuple[pa.Table, int]:
        """The groups that are not late, and how many rows are; nothing else asks for the number of rows."""
        groups = batch.drop_columns([COUNT])
        if closed is None:
            return groups, 0
        open_ = self._last_end(batch[SLICE].to_numpy()) > closed
        if open_.all():
            return groups, 0
        late = int(pc.sum(batch[COUNT].filter(pa.array(~open_))).as_py())
        return groups.filter(pa.array(open_)), late

    def _add(self, chunks: tuple[Chunk, ...], batch: pa.Table, closed: int | None) -> tuple[Chunk, ...]:
        """A new chunk for the batch; of older ones that it takes in, closed windows are left out."""
        if not batch.num_rows:
            return chunks
        if self._overlapping:
            chunks = tuple(chunk if chunk.kind == KIND else self._rollups.chunk(chunk.load()) for chunk in chunks)
        fan = FAN if self._overlapping else LAYERS
        kept, parts = layered(chunks, batch, lambda chunk: self._open(self._groups(chunk), closed), *self._sizes, fan)
        merged = self.grouping.merge(parts) if len(parts) > 1 else self.grouping.merge([batch, batch.slice(0, 0)])
        if not merged.num_rows:
            return kept
        if self._overlapping:
            return (*kept, self._rollups.chunk(merged))
        merged = sorted_by_hash(merged, self.keys) if self.changes else merged
        return (*kept, new_chunk(merged, SLICE, self._kind))

    @property
    def _overlapping(self) -> bool:
        """Whether windows are merged from several slices when they close."""
        return self.size != self.hop and not self.changes

    @property
    def _rollups(self) -> Rollups:
        return Rollups(self.size, self.hop, self.grouping, self.fan_out)

    @property
    def _kind(self) -> str:
        """Where groups are looked for by their keys, they are sorted by hashes that the kind tells the encoding of."""
        return encoding() if self.changes else ""

    @property
    def _sizes(self) -> tuple[Callable[[Chunk], int], Callable[[pa.Table], int]]:
        """What counts in compaction: groups, and where these hold values, bytes."""
        if all(fold.small for fold in self.grouping.folds):
            return (lambda chunk: chunk.rows), (lambda table: table.num_rows)
        return (lambda chunk: chunk.bytes), (lambda table: table.nbytes)

    def _groups(self, chunk: Chunk) -> pa.Table:
        if self._overlapping:
            return self._rollups.slices(self._rollups.load(chunk))
        groups = chunk.load()
        return groups.drop_columns([HASH]) if HASH in groups.column_names else groups

    def _of_keys(self, chunk: Chunk, sought: Hashes) -> pa.Table:
        """The groups of a chunk whose keys have these hashes."""
        groups = chunk.load() if chunk.kind == self._kind else sorted_by_hash(self._groups(chunk), self.keys)
        places = matches(groups[HASH].to_numpy(), sought)[1]
        return groups.take(pa.array(places)).drop_columns([HASH])

    def _open(self, part: pa.Table, closed: int | None) -> pa.Table:
        return part if closed is None else part.filter(pa.array(self._last_end(part[SLICE].to_numpy()) > closed))

    def _due(self, chunks: Iterable[Chunk], closed: int | None, watermark: int | None) -> list[pa.Table]:
        """The windows that end in (closed, watermark], evaluated; without a watermark, all."""
        touched = [c for c in chunks if watermark is None or self._first_end(c.low) <= watermark]
        if not touched or (closed is not None and watermark is not None and closed >= watermark):
            return []
        if self.size == self.hop:
            tables = [self._reached(self._groups(chunk), closed, watermark) for chunk in touched]
            return self._due_slices(self.grouping.merge(tables), closed, watermark)
        starts = self._due_starts(touched, closed, watermark)
        if not len(starts):
            return []
        groups = merged_windows(self._rollups, [self._rollups.load(chunk) for chunk in touched], starts)
        return [self._bounded(groups)] if groups.num_rows else []

    def _due_starts(self, chunks: list[Chunk], closed: int | None, watermark: int | None) -> Times:
        """The windows that end in (closed, watermark], from the first to the last that have rows.

        Between these may be others that have none. Where there are more windows than groups, they are left out.
        """
        ends = np.array([min(chunk.low for chunk in chunks), max(chunk.high for chunk in chunks)])
        starts = self._ending(self._starts(ends).hull(), closed, watermark)
        if starts.count > sum(chunk.rows for chunk in chunks):
            slices = np.concatenate([self._groups(chunk)[SLICE].to_numpy() for chunk in chunks])
            starts = self._ending(self._starts(slices), closed, watermark)
        return starts.all()

    def _reached(self, groups: pa.Table, closed: int | None, watermark: int | None) -> pa.Table:
        """The groups of slices that lie in a window which ends in (closed, watermark]."""
        slices = groups[SLICE].to_numpy()
        inside = np.full(len(slices), True) if watermark is None else slices < watermark
        inside &= True if closed is None else self._last_end(slices) > closed
        return groups if inside.all() else groups.filter(pa.array(inside))

    def _due_slices(self, groups: pa.Table, closed: int | None, watermark: int | None) -> list[pa.Table]:
        """Tumbling windows are slices: there is nothing to merge."""
        ends = groups[SLICE].to_numpy() + self.size
        due = np.full(len(ends), True) if watermark is None else ends <= watermark
        due &= True if closed is None else ends > closed
        return [self._bounded(groups.filter(pa.array(due)))] if due.any() else []

    def _first_end(self, slice_: int) -> int:
        """The end of the first window that a slice is in."""
        first = -((self.size - 1 - slice_) // self.hop) * self.hop if self.size != self.hop else slice_
        return first + self.size

    def _windows(self, slices: Times, closed: int | None, watermark: int | None) -> pa.Table:
        """The starts of the windows that hold any of these slices and end in (closed, watermark]."""
        return pa.table({START: self._ending(self._starts(slices), closed, watermark).all()})

    def _starts(self, slices: Times) -> Starts:
        return Starts.of_slices(unique(slices), self.size, self.hop)

    def _ending(self, starts: Starts, closed: int | None, watermark: int | None) -> Starts:
        """Those of windows that end in (closed, watermark]."""
        after, until = (None if end is None else end - self.size for end in (closed, watermark))
        return starts.between(after, until)

    def _without_passed(self, chunks: tuple[Chunk, ...], closed: int | None) -> tuple[Chunk, ...]:
        if closed is None:
            return chunks
        return tuple(chunk for chunk in chunks if int(self._last_end(np.array([chunk.high]))[0]) > closed)

    def _wake(self, chunks: tuple[Chunk, ...], closed: int | None) -> int | None:
        """The earliest end of an open window."""
        if not chunks:
            return None
        first = min(self._first_end(chunk.low) for chunk in chunks)
        if closed is not None and first <= closed:
            first += ((closed - first) // self.hop + 1) * self.hop
        return first

    def _open_windows(self, state: State, batch: pa.Table | None, closed: int | None) -> Starts:
        """The windows that are open, for the gauges; the oldest ones, where there are very many ranges of them."""
        old = state.facts.get("slices")  # as old checkpoints have it
        known = Starts.of_ranges(state.facts.get("open", ()), self.hop)
        known = known if old is None else self._starts(np.array(old, np.int64))
        if batch is not None and batch.num_rows:
            known = known.union(self._starts(batch[SLICE].to_numpy()))
        return self._ending(known, closed, None).oldest_ranges(MOST_RANGES)

    def _finished(
        self, state: State, batch: pa.Table | None, chunks: tuple[Chunk, ...], closed: int | None
    ) -> tuple[State, Counters]:
        """The state after a step, and its gauges."""
        starts = self._open_windows(state, batch, closed) if chunks else Starts.of_ranges((), self.hop)
        facts = {"closed": closed, "open": starts.ranges}
        groups = sum(chunk.rows for chunk in chunks)
        counters = Counters(groups=groups, open_windows=starts.count, oldest_open_window=starts.oldest)
        return State(chunks, facts), counters
