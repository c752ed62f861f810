"""State windows: from a row where `open` is true through the first later row where `emit` is true.

    open    1 . 1 . . 1 .      the opening row never emits, and a row that emits does not open the next window
    emit    1 . . 1 1 . 1
    window  a a a a . b b

A partition is active or not, so a row is a function on two states, and all rows together are a scan: see `scan`.
A window in the making is its accumulators, to which each micro-batch adds its part: see `OpenGroups`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping, with_window_bounds
from panes.kernels.duck import query, quoted
from panes.kernels.kernel import Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.partitions import codes
from panes.kernels.state.carry import SEEN, Carry
from panes.kernels.state.expiry import Flags, expired_before, expires_at, gaps
from panes.kernels.state.release import WAITING, Release
from panes.kernels.windows.open_groups import PARTS, WINDOW, Numbers, OpenGroups, of, without
from panes.kernels.windows.slices import END, START, earliest

BEGUN, PLACE = "window_begun", "window_place"
ACTIVE = "active"
NO_WINDOW = -1


@dataclass(frozen=True)
class Scan:
    """For each row whether it opens a window, is in one, closes one, and whether its partition is active after it."""

    opens: Flags
    inside: Flags
    closes: Flags
    active: Flags


def scan(open_: Flags, emit: Flags, starts: Flags, entering: Flags) -> Scan:
    """The state machine over rows that lie partition by partition, in each in the stream's order.

    Before a row of `starts` the state is known, it is `entering`; the first row is one of them. After a row with only
    `open` the partition is active, after one with only `emit` it is not, and a row with both turns the state round. So
    it is what it was after the last row that settled it, turned round as often as rows with both came since.

    >>> one = scan(*(np.array(list(bits)) == "1" for bits in ("1010010", "1001101", "1000000", "0000000")))
    >>> one.inside.astype(int), one.closes.astype(int)
    (array([1, 1, 1, 1, 0, 1, 1]), array([0, 0, 0, 1, 0, 0, 1]))
    """
    settled = starts | (open_ != emit)
    value = np.where(starts & entering, ~emit, open_)
    last = _latest(settled)
    turns = np.cumsum(open_ & ~settled)
    active: Flags = value[last] ^ ((turns - turns[last]) % 2 == 1)
    before = np.where(starts, entering, np.roll(active, 1))
    return Scan(open_ & ~before, open_ | before, emit & before, active)


def _latest(flags: Flags) -> Numbers:
    """For each place the last one up to it where the flag is set."""
    found: Numbers = np.maximum.accumulate(np.where(flags, np.arange(len(flags)), 0))
    return found


@dataclass(frozen=True)
class Facts:
    """What a step without rows needs, so that it loads no chunk. Windows are numbered through all partitions.

    `oldest` is the least first time of an open window; `rows` are in open windows. None was seen last before `since`,
    and none before `seen` will be; `sizes` and `ended` are those of `OpenGroups`.
    """

    number: int = 0
    windows: int = 0
    rows: int = 0
    oldest: int | None = None
    seen: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)
    since: int = -(2**63)


@dataclass(frozen=True)
class Arrangement:
    """Rows partition by partition, in each in the stream's order; `heads` has the partitions, one row for each."""

    order: Numbers  # where each row was
    first: Flags
    last: Flags
    partition: Numbers  # a row's partition as a place in `heads`
    times: Numbers
    heads: pa.Table


def arranged(rows: pa.Table, by: Sequence[str], time: str) -> Arrangement:
    size = rows.num_rows
    partition, order = np.divmod(np.sort(codes(rows, by) * size + np.arange(size)), size)
    first = np.concatenate([[True], partition[1:] != partition[:-1]])
    return Arrangement(
        order,
        first,
        np.roll(first, -1),
        np.cumsum(first) - 1,
        rows[time].cast(pa.int64()).to_numpy()[order],
        rows.select(list(dict.fromkeys([*by, time]))).take(order[first]),
    )


@dataclass(frozen=True)
class Known:
    """The open window of each partition, or NO_WINDOW; its first time, and its last if there is a ttl."""

    window: Numbers
    begun: Numbers
    seen: Numbers


@dataclass(frozen=True)
class Passage:
    """What rows did: groups of the windows they are in, the windows that ended, and the partitions that changed."""

    groups: tuple[pa.Table, ...] = ()
    opened: int = 0
    closed: tuple[pa.Table, ...] = ()  # the number of each window, the place of its last row, and its partition
    expired: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    changed: pa.Table | None = None
    gone: pa.Table | None = None
    outside: int = 0  # rows that are in no window
    had_begun: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))  # first times of open windows, before
    begun: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))  # and after the rows


@dataclass(frozen=True)
class StateWindows:
    """The kernel of state windows. Each `partition` has its machine, `keys` group the rows inside a window.

    Only active partitions are kept: one that is not is like one never seen. So `ttl` concerns open windows alone.
    """

    open: str
    emit: str
    partition: tuple[str, ...]
    keys: tuple[str, ...]
    folds: tuple[Fold, ...]
    release: Release
    ttl: int | None = None

    def depends_on(self) -> dict[str, Any]:
        columns = {"partition by": sorted(self.partition), "group by": sorted(self.keys), **self.release.depends_on()}
        conditions = {"open": self.open, "emit on": self.emit}
        return {"state": "state machines 1", **conditions, **columns, "state_ttl": seconds(self.ttl)}

    def pack(self, rows: pa.Table) -> pa.Table:
        """Rows keep their places: order matters."""
        return rows

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Run the released rows through the machines, and give out every window that closes."""
        facts = Facts(**state.facts)
        waiting = [chunk for chunk in state.chunks if chunk.kind == WAITING]
        held = tuple(chunk for chunk in state.chunks if chunk.kind != WAITING)
        rows, still_waiting, late = self.release.take(waiting, batch, clock)
        out, expired, outside = None, 0, 0
        if rows is not None or clock.flush or self._expires(facts, clock):
            held, facts, out, expired, outside = self._advance(held, facts, rows, clock)
        counters = Counters(
            late_rows=late,
            rows_out=out.num_rows if out is not None else 0,
            expired_rows=expired,
            no_window_rows=outside,
            groups=sum(chunk.rows for chunk in held if chunk.kind == PARTS),
            open_windows=facts.windows,
            buffered_rows=sum(chunk.rows for chunk in still_waiting) + facts.rows,
            oldest_open_window=facts.oldest,
        )
        wakes = [chunk.low + 1 for chunk in still_waiting]
        wakes += [expires_at(facts.seen, self.ttl)] if self.ttl is not None and facts.seen is not None else []
        return Step(State((*still_waiting, *held), asdict(facts)), out, counters, min(wakes, default=None))

    @property
    def _carry(self) -> Carry:
        return Carry(self.partition, ACTIVE)

    @property
    def _grouping(self) -> Grouping:
        return Grouping((WINDOW, *self.keys), self.folds, self.release.order)

    def _expires(self, facts: Facts, clock: Clock) -> bool:
        """Whether the watermark has passed an open window: any later row would find that its partition has expired."""
        oldest = expired_before(self.ttl, clock)
        return oldest is not None and facts.seen is not None and facts.seen < oldest

    def _advance(
        self, held: Sequence[Chunk], facts: Facts, rows: pa.Table | None, clock: Clock
    ) -> tuple[tuple[Chunk, ...], Facts, pa.Table | None, int, int]:
        """Chunks and facts after these rows, the windows that closed, and how many rows expired or are in none."""
        carried = self._carry.own(held)
        passage = Passage() if rows is None else self._passage(carried, rows, facts.number)
        carried = self._carry.put(carried, passage.changed, passage.gone)
        lapsed = self._lapsed(carried, facts, clock)
        carried = self._carry.put(carried, None, lapsed)
        closed = passage.closed
        if clock.flush and (active := self._carry.all(carried)) is not None:
            closed = (*closed, self._closed_last(active, rows))
            carried = ()
        expired = np.union1d(passage.expired, _windows(lapsed))
        ended = np.union1d(np.concatenate([*map(_windows, closed), np.zeros(0, np.int64)]), expired)
        count = facts.windows + passage.opened - len(ended)

        groups = OpenGroups(self._grouping, self._parts(held), facts.sizes, facts.ended)
        alive = cache(lambda: _windows(self._carry.all(carried)))
        found, groups = groups.take(ended, count, alive)
        groups = groups if count else OpenGroups(self._grouping)
        fresh = [without(part, ended) for part in passage.groups]
        for part in fresh:
            groups = groups.add(part, count, alive)
        touched = [*found, *passage.groups]
        after = Facts(
            number=facts.number + passage.opened,
            windows=count,
            rows=facts.rows - _row_count(found) + _row_count(fresh),
            sizes=groups.sizes,
            ended=groups.ended,
            **self._times(facts, carried, passage, lapsed, clock),
        )
        expired_rows = _row_count([of(part, expired) for part in touched])
        return (*carried, *groups.chunks), after, self._values(touched, closed), expired_rows, passage.outside

    def _parts(self, held: Sequence[Chunk]) -> tuple[Chunk, ...]:
        return tuple(chunk for chunk in held if chunk.kind == PARTS)

    def _lapsed(self, carried: Sequence[Chunk], facts: Facts, clock: Clock) -> pa.Table | None:
        """The active partitions that have expired by the watermark."""
        oldest = expired_before(self.ttl, clock)
        return None if oldest is None else self._carry.due(carried, facts.since, oldest)

    def _times(
        self, facts: Facts, carried: Sequence[Chunk], passage: Passage, lapsed: pa.Table | None, clock: Clock
    ) -> dict[str, Any]:
        """The facts about times, after rows have passed and partitions have lapsed."""
        if not carried:
            return {}
        begun = earliest(facts.oldest, *passage.begun.tolist())
        ended = np.setdiff1d(passage.had_begun, passage.begun)
        ended = ended if lapsed is None else np.append(ended, lapsed[BEGUN].to_numpy())
        if begun is not None and begun in ended:
            begun = self._carry.least(carried, BEGUN, begun)
        oldest = expired_before(self.ttl, clock)
        since = facts.since if oldest is None else max(facts.since, oldest)
        seen = earliest(facts.seen, None if passage.changed is None else pc.min(passage.changed[SEEN]).as_py())
        seen = self._carry.next_seen(carried, since) if seen is not None and seen < since else seen
        return {"oldest": begun, "since": since, "seen": seen}

    def _passage(self, carried: Sequence[Chunk], rows: pa.Table, number: int) -> Passage:
        """Rows in the stream's order go through the machines; the next window to be opened has this number."""
        on = arranged(rows, self.partition, self.release.time)
        known = self._known(carried, on.heads)
        again = self._begin_again(on, known)
        entering = on.first & ~again & (known.window != NO_WINDOW)[on.partition]
        open_, emit = (_flags(rows[name])[on.order] for name in (self.open, self.emit))
        machine = scan(open_, emit, on.first | again, entering)

        origin = _latest(machine.opens | entering)
        window = np.where(machine.opens, number - 1 + np.cumsum(machine.opens), known.window[on.partition])[origin]
        begun = np.where(machine.opens, on.times, known.begun[on.partition])[origin]
        opened = int(machine.opens.sum())
        at_end = self._with_partition(
            on.heads, {WINDOW: window[on.last], BEGUN: begun[on.last], SEEN: on.times[on.last]}
        )
        stays, was = machine.active[on.last], known.window != NO_WINDOW
        changed = stays if self.ttl is not None else stays & (window[on.last] != known.window)
        closed = window[machine.closes]
        places = {WINDOW: closed, PLACE: on.order[machine.closes]}
        return Passage(
            (self._folded(rows, on.order[machine.inside], window[machine.inside]),),
            opened,
            (self._with_partition(on.heads.take(on.partition[machine.closes]), places),),
            np.setdiff1d(
                np.concatenate([known.window[was], number + np.arange(opened)]),
                np.concatenate([closed, window[on.last][stays]]),
            ),
            at_end.filter(pa.array(changed)),
            at_end.filter(pa.array(was & ~stays)),
            int((~machine.inside).sum()),
            known.begun[was],
            begun[on.last][stays],
        )

    def _known(self, carried: Sequence[Chunk], heads: pa.Table) -> Known:
        """The open windows of the partitions in `heads`."""
        size = heads.num_rows
        window, begun, seen = np.full(size, NO_WINDOW), np.zeros(size, np.int64), np.zeros(size, np.int64)
        found = self._carry.find(carried, heads)
        if found is not None and found.num_rows:
            both = codes(pa.concat_tables([heads, found], promote_options="permissive"), self.partition)
            place = np.zeros(size, np.int64)
            place[both[:size]] = np.arange(size)
            at = place[both[size:]]
            window[at], begun[at], seen[at] = (found[name].to_numpy() for name in (WINDOW, BEGUN, SEEN))
        return Known(window, begun, seen)

    def _begin_again(self, on: Arrangement, known: Known) -> Flags:
        """The rows whose partition has expired since the row before them."""
        if self.ttl is None:
            return np.zeros(len(on.times), bool)
        return gaps(on.times, on.first, known.seen, self.ttl)

    def _with_partition(self, partitions: pa.Table, columns: Mapping[str, Numbers]) -> pa.Table:
        return pa.table({**{name: partitions[name] for name in self.partition}, **columns})

    def _folded(self, rows: pa.Table, places: Numbers, windows: Numbers) -> pa.Table:
        """Groups of the rows that are in windows."""
        names = [*self.keys, *self.release.order, *(arg for fold in self.folds for arg in fold.args)]
        names += [fold.condition for fold in self.folds if fold.condition is not None]
        number = np.full(rows.num_rows, NO_WINDOW)
        number[places] = windows
        rows = rows.select(list(dict.fromkeys(names))).append_column(WINDOW, pa.array(number))
        return self._grouping.fold(rows.filter(pa.array(number != NO_WINDOW)))

    def _closed_last(self, active: pa.Table, rows: pa.Table | None) -> pa.Table:
        """At the end of the input all windows close, after those that `rows` have closed."""
        place = active[WINDOW].to_numpy() + (0 if rows is None else rows.num_rows)
        return self._with_partition(active, {WINDOW: active[WINDOW].to_numpy(), PLACE: place})

    def _values(self, groups: Sequence[pa.Table], closed: Sequence[pa.Table]) -> pa.Table | None:
        """The windows that closed, evaluated, in the order in which they did."""
        ended = pa.concat_tables(closed, promote_options="permissive") if closed else None
        if ended is None or not ended.num_rows:
            return None
        values = self._grouping.evaluate(self._grouping.merge([of(part, _windows(ended)) for part in groups]))
        values = with_window_bounds(values, (WINDOW,), START, END) if self.keys else values
        keys = [f"v.{quoted(name)}" for name in self.keys]
        names = [*(f"c.{quoted(name)}" for name in self.partition), *keys]
        names += [f"v.{quoted(fold.state)}" for fold in self.folds]
        return query(
            f"SELECT {', '.join(names)} FROM vals v JOIN closed c ON v.{WINDOW} = c.{WINDOW} "
            f"ORDER BY {', '.join([f'c.{PLACE}', *keys])}",
            vals=values,
            closed=ended,
        )


def _windows(table: pa.Table | None) -> Numbers:
    windows: Numbers = np.zeros(0, np.int64) if table is None else table[WINDOW].to_numpy()
    return windows


def _row_count(parts: Sequence[pa.Table]) -> int:
    return sum(pc.sum(part[COUNT]).as_py() or 0 for part in parts)


def _flags(column: pa.ChunkedArray) -> Flags:
    flags: Flags = column.fill_null(False).to_numpy()
    return flags
