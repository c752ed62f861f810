"""Sliding windows: each row at t that triggers gives one window, with the rows of its partition around t.

    lookback 10    t   1   5   12   14        windows   1:(1)   5:(1 5)   12:(5 12)   14:(5 12 14)

Rows are sorted by partition and time, so that a window is a range of positions: see `frames`. Small accumulators are
folded over these ranges by a window function, others over the pairs of window and row: these come out in pieces, since
with keys inside a window there may be as many results as pairs.

Rows are kept in blocks, in the order in which they came; blocks that are in all windows of a micro-batch are read as
summaries: see `block_store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.partitions import Codes, codes
from panes.kernels.state.release import WAITING, Release
from panes.kernels.windows.block_store import SUMMARY, Reach, Store, appended, is_full
from panes.kernels.windows.frames import Frames, Index, ascending, places_by, starts_after_gaps
from panes.kernels.windows.slices import END, START
from panes.kernels.windows.starts import Times

TRIGGER = "window_trigger"
ROWS, PENDING = "rows", "pending"  # kinds of chunks, besides SUMMARY
DUE, WINDOW = "window_due", "window_number"
POSITION, CHOSEN, BACK, AHEAD = "row_position", "is_chosen", "rows_back", "rows_ahead"
FIRST = "first_block"  # a fact: the number of the oldest block


@dataclass(frozen=True)
class SlidingWindows:
    """The kernel of sliding windows; lengths are microseconds. `keys` group the rows inside a window.

    Without `lookahead` a window comes out with its trigger, otherwise once the watermark has passed its end. Where rows
    do not wait (`release.waits` is False) and there is no lookahead, a window holds the rows that came before its
    trigger, and the trigger. `trigger` is the column that says which rows trigger; without it, all do.

    A row more than `ttl` after the previous one of its partition does not see the older rows, and older triggers
    whose window would reach it are dropped.
    """

    lookback: int
    lookahead: int | None
    trigger: str | None
    partition: tuple[str, ...]
    keys: tuple[str, ...]
    folds: tuple[Fold, ...]
    release: Release
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        lengths = {"lookback": seconds(self.lookback), "lookahead": seconds(self.lookahead)}
        columns = {"partition by": sorted(self.partition), "group by": sorted(self.keys), "when": self.trigger}
        return {
            "state": "sliding 1",
            **lengths,
            **columns,
            **self.release.depends_on(),
            "state_ttl": seconds(self.ttl),
        }

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Give out the windows that fall due, keep the rows that later ones can reach."""
        rows, waiting, late = self.release.take(_of(state, WAITING), batch, clock)
        triggers, pending = self._due(_of(state, PENDING), rows, clock)
        store = Store(_of(state, ROWS), _of(state, SUMMARY), state.facts.get(FIRST, 0))
        out, expired = Windows(), 0
        if triggers is not None:
            out, expired, store = self._windows(triggers, rows, store)
        if clock.flush:
            store = Store()
        elif rows is not None or triggers is not None:
            store = self._kept(store, rows, clock.watermark)
        chunks = (*waiting, *pending, *store.blocks, *store.summaries)
        counters = self._counters(waiting, pending, store) | Counters(
            late_rows=late,
            rows_out=out.rows.num_rows if out.rows is not None else 0,
            expired_rows=expired,
        )
        wake = min((chunk.low + 1 for chunk in (*waiting, *pending)), default=None)
        return Step(State(chunks, {FIRST: store.first}), out.rows, counters, wake, out.pieces)

    @property
    def _ahead(self) -> int:
        return self.lookahead or 0

    @property
    def _order(self) -> tuple[str, ...]:
        return self.release.order if any(fold.accumulator.ordered for fold in self.folds) else ()

    @property
    def _folded(self) -> list[str]:
        """What is read of a row that is in a window."""
        read = [name for fold in self.folds for name in (*fold.args, fold.condition) if name is not None]
        return list(dict.fromkeys([*self.keys, *self._order, *read]))

    @property
    def _columns(self) -> list[str]:
        """What is kept of a row."""
        return list(dict.fromkeys([*self.partition, self.release.time, *self._folded]))

    def _due(
        self, pending: Sequence[Chunk], rows: pa.Table | None, clock: Clock
    ) -> tuple[pa.Table | None, tuple[Chunk, ...]]:
        """The triggers whose windows come out now, in order; and those that have to wait."""
        new = rows.filter(_true(rows, self.trigger)) if rows is not None and self.trigger else rows
        if self.lookahead is None:
            return (new if new is not None and new.num_rows else None), ()
        if new is not None:
            names = dict.fromkeys([*self.partition, self.release.time, *self.release.order])
            due = pc.add(_times(new, self.release.time), self.lookahead)
            new = new.select(list(names)).append_column(DUE, due)
        ends = Release(DUE, self.release.order, waits=True, late=False, kind=PENDING)
        passed, later, _ = ends.take(pending, new, clock)
        return passed, later

    def _windows(self, triggers: pa.Table, rows: pa.Table | None, store: Store) -> tuple[Windows, int, Store]:
        """The windows of these triggers; how many were dropped; and the store, perhaps with more summaries."""
        reach = Reach.of(_array(triggers, self.release.time), self.lookback, self._ahead)
        near, between = self._split(store, reach, rows)
        summary = None
        if between:
            summary, store = store.summary(between, Grouping(self.partition, self.folds, self._order))
        parts = [self._in_reach(chunk, reach) for chunk in near]
        parts += [rows.select(self._columns)] if rows is not None else []
        table = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
        frames = self._frames(table, triggers, rows)
        if self._slides and frames.ordered:
            values = self._slid(table, frames, triggers, summary)
            out = Windows(self._labelled(values, triggers, frames) if values is not None else None)
        else:
            columns = table.select(self._folded or [self.release.time])
            out = Windows(None, Pairs(self, columns, frames, triggers))
        return out, triggers.num_rows - len(frames.number), store

    @property
    def _slides(self) -> bool:
        """Whether windows are folded without looking at each pair of window and row."""
        return not self.keys and all(fold.small for fold in self.folds)

    @property
    def _arrival(self) -> bool:
        """Whether a window holds what came before its trigger, not all that is in its range."""
        return not self.release.waits and self.lookahead is None

    @property
    def _expires(self) -> bool:
        """Whether the ttl can show: in the order of time, neighbours in a window are no further apart than its ends."""
        return self.ttl is not None and (self._arrival or self.ttl < self.lookback + self._ahead)

    def _split(self, store: Store, reach: Reach, rows: pa.Table | None) -> tuple[list[Chunk], list[int]]:
        """The blocks whose rows are needed, and the numbers of those that are as a whole in every window."""
        if self._arrival and self._expires:
            return list(store.blocks), []
        near = {number: chunk for number, chunk in enumerate(store.blocks, store.first) if reach.meets(chunk)}
        if not self._slides or self._expires or (self._arrival and not ascending(self._times(rows))):
            return list(near.values()), []
        between = [number for number, chunk in near.items() if is_full(chunk) and self._in_all(chunk, reach)]
        skipped = sum(near[number].rows for number in between)
        needed = sum(chunk.rows for chunk in near.values()) - skipped + (rows.num_rows if rows is not None else 0)
        if skipped <= needed:
            return list(near.values()), []
        return [chunk for number, chunk in near.items() if number not in set(between)], between

    def _in_all(self, chunk: Chunk, reach: Reach) -> bool:
        """Whether a block is as a whole in every window; with lookahead it may hold triggers, and then is needed."""
        return reach.covers(chunk) and (self.lookahead is None or not reach.triggers(chunk))

    def _in_reach(self, chunk: Chunk, reach: Reach) -> pa.Table:
        table = chunk.load()
        if (self._arrival and self._expires) or (reach.low <= chunk.low and chunk.high <= reach.high):
            return table
        times = _times(table, self.release.time)
        return table.filter(pc.and_(pc.greater_equal(times, reach.low), pc.less_equal(times, reach.high)))

    def _times(self, table: pa.Table | None) -> Times:
        return _array(table, self.release.time) if table is not None else np.zeros(0, np.int64)

    def _frames(self, table: pa.Table, triggers: pa.Table, rows: pa.Table | None) -> Frames:
        """Where the window of each trigger is among the sorted rows of the table; new rows are its last ones."""
        times, moments = self._times(table), self._times(triggers)
        of_rows, of_triggers = _codes([table, triggers], self.partition)
        index, number = Index.of(of_rows, times), places_by(of_triggers, moments)
        of_triggers, moments = of_triggers[number], moments[number]
        lo = index.find(of_triggers, moments - self.lookback)
        hi = index.find(of_triggers, moments + self._ahead + 1)
        frames = Frames(index, number, lo, hi, index.find(of_triggers, moments))
        if rows is not None and self._arrival:
            frames = self._so_far(frames, times, rows)
        return self._since_gaps(frames) if self._expires and frames.ordered else frames

    def _so_far(self, frames: Frames, times: Times, rows: pa.Table) -> Frames:
        """Windows end with their trigger; where times are not in order, what came later is left out row by row."""
        new = np.arange(rows.num_rows) if self.trigger is None else np.flatnonzero(_true(rows, self.trigger))
        came = (len(times) - rows.num_rows + new)[frames.number]
        if ascending(times if self._expires else self._times(rows)):
            host = frames.index.inverse()[came]
            return replace(frames, host=host, hi=host + 1)
        since = np.zeros(len(times), np.int64)
        if self.ttl is not None:
            numbers = frames.index.numbers[frames.index.inverse()]
            places = places_by(numbers, np.zeros_like(times))
            since[places] = places[starts_after_gaps(numbers[places], times[places], self.ttl)]
        return replace(frames, since=since[came], until=came).where(np.argsort(frames.number))

    def _since_gaps(self, frames: Frames) -> Frames:
        """Windows start after the last gap of more than the ttl; those with one after their trigger are dropped."""
        assert self.ttl is not None
        starts = starts_after_gaps(frames.index.numbers, frames.index.times, self.ttl)
        frames = replace(frames, lo=np.maximum(frames.lo, starts[frames.host]))
        return frames.where(starts[frames.hi - 1] <= frames.host)

    def paired(self, columns: pa.Table, piece: Frames, triggers: pa.Table) -> pa.Table:
        """Some windows, from pairs of window and row."""
        grouping = Grouping((WINDOW, *self.keys), self.folds, self._order)
        numbers, places = piece.pairs()
        rows = _with(columns.take(pa.array(places)), {WINDOW: numbers})
        return self._labelled(grouping.evaluate(grouping.fold(rows)), triggers, piece)

    def _slid(self, table: pa.Table, frames: Frames, triggers: pa.Table, summary: pa.Table | None) -> pa.Table | None:
        """The values of windows, from a window function over the rows and what is between them."""
        if not len(frames.number):
            return None
        rows = self._with_frames(table, frames)
        frame = f"ORDER BY {POSITION} ROWS BETWEEN {BACK} PRECEDING AND {AHEAD} FOLLOWING"
        states = _sorted(Grouping((POSITION,), self.folds, self._order).slide(rows, frame, CHOSEN), POSITION)
        hosts = np.searchsorted(_array(states, POSITION), frames.host)
        states = _with(states.take(pa.array(hosts)), {WINDOW: frames.number, COUNT: frames.hi - frames.lo})
        grouping = Grouping((WINDOW,), self.folds)
        if summary is not None:
            states = grouping.merge([states.drop_columns([POSITION]), self._beside(triggers, summary)])
        return grouping.evaluate(states)

    def _with_frames(self, table: pa.Table, frames: Frames) -> pa.Table:
        """The sorted rows, with their frames: the triggers' windows, and nothing but itself for any other row."""
        columns = self._folded or [self.release.time]
        chosen = np.zeros(table.num_rows, np.bool_)
        back, ahead = np.zeros((2, table.num_rows), np.int32)
        chosen[frames.host] = True
        back[frames.host] = frames.host - frames.lo
        ahead[frames.host] = frames.hi - 1 - frames.host
        positions = np.arange(table.num_rows, dtype=np.int32)
        bounds = {POSITION: positions, CHOSEN: chosen, BACK: back, AHEAD: ahead}
        return _with(table.select(columns).take(pa.array(frames.index.order)), bounds)

    def _beside(self, triggers: pa.Table, summary: pa.Table) -> pa.Table:
        """The summary of its partition for each window."""
        of_triggers, of_summary = _codes([triggers, summary], self.partition)
        places = np.full(int(max(of_triggers.max(), of_summary.max())) + 1, -1)
        places[of_summary] = np.arange(summary.num_rows)
        found = places[of_triggers]
        windows = np.flatnonzero(found >= 0)
        parts = summary.drop_columns(list(self.partition)).take(pa.array(found[windows]))
        return _with(parts, {WINDOW: windows})

    def _labelled(self, values: pa.Table, triggers: pa.Table, frames: Frames) -> pa.Table:
        """Values in the order of the frames, with the partition and the bounds of the window."""
        rank = np.empty(triggers.num_rows, np.int64)
        rank[frames.number] = np.arange(len(frames.number))
        values = _sorted(_with(values, {POSITION: rank[_array(values, WINDOW)]}), POSITION)
        triggers = triggers.select([*self.partition, self.release.time]).take(values[WINDOW])
        times = _times(triggers, self.release.time)
        out = triggers.select(self.partition)
        for name in (*(key for key in self.keys if key not in self.partition), *(fold.state for fold in self.folds)):
            out = out.append_column(name, values[name])
        for name, shift in ((START, -self.lookback), (END, self._ahead), (TRIGGER, 0)):
            out = out.append_column(name, pc.add(times, pa.scalar(shift, pa.int64())))
        return out

    def _kept(self, store: Store, rows: pa.Table | None, watermark: int | None) -> Store:
        """The store with new rows, and without those that no later trigger reaches."""
        oldest = watermark - self._ahead - self.lookback if watermark is not None else None
        if oldest is not None:
            store = store.since(oldest)
        if rows is not None:
            ends_gaps = self._arrival and self._expires  # also a row that no trigger reaches
            young = rows if ends_gaps or oldest is None else _from(rows, self.release.time, oldest)
            blocks = appended(store.blocks, young.select(self._columns), self.release.time, ROWS)
            store = replace(store, blocks=blocks)
        return store

    def _counters(self, waiting: Sequence[Chunk], pending: Sequence[Chunk], store: Store) -> Counters:
        oldest = min((chunk.low for chunk in pending), default=None)
        gauges = Counters(
            open_windows=sum(chunk.rows for chunk in pending),
            buffered_rows=sum(chunk.rows for chunk in (*waiting, *store.blocks)),
        )
        return gauges if oldest is None else gauges | Counters(oldest_open_window=oldest - self._ahead - self.lookback)


@dataclass(frozen=True)
class Windows:
    """The windows that come out: all at once, or in pieces."""

    rows: pa.Table | None = None
    pieces: Iterable[pa.Table] = ()


@dataclass(frozen=True)
class Pairs:
    """Windows in pieces that are made as they are asked for; `columns` are those of the rows in them."""

    kernel: SlidingWindows
    columns: pa.Table
    frames: Frames
    triggers: pa.Table

    def __iter__(self) -> Iterator[pa.Table]:
        width = self.columns.nbytes // max(1, self.columns.num_rows)
        for piece in self.frames.pieces(width):
            yield self.kernel.paired(self.columns, piece, self.triggers)


def _of(state: State, kind: str) -> tuple[Chunk, ...]:
    return tuple(chunk for chunk in state.chunks if chunk.kind == kind)


def _times(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table[name].cast(pa.int64())


def _array(table: pa.Table, name: str) -> Times:
    times: Times = _times(table, name).to_numpy()
    return times


def _with(table: pa.Table, columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column))
    return table


def _true(table: pa.Table, name: str) -> pa.ChunkedArray:
    return pc.fill_null(table[name], False)


def _codes(tables: Sequence[pa.Table], by: Sequence[str]) -> list[Codes]:
    """Partitions of several tables as numbers, the same ones in each."""
    ends = np.cumsum([table.num_rows for table in tables])
    if not by:
        return [np.zeros(table.num_rows, np.int64) for table in tables]
    every = pa.concat_tables([table.select(by) for table in tables], promote_options="permissive")
    return np.split(codes(every, by), ends[:-1])


def _sorted(table: pa.Table, name: str) -> pa.Table:
    """A table by a column of numbers."""
    numbers = _array(table, name)
    return table if ascending(numbers) else table.take(pa.array(np.argsort(numbers, kind="stable")))


def _from(table: pa.Table, time: str, oldest: int) -> pa.Table:
    """Rows that are not older."""
    young = pc.greater_equal(_times(table, time), oldest)
    return table if pc.all(young).as_py() else table.filter(young)
