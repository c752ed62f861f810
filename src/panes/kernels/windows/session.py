"""Session windows: rows whose distance to a neighbour is at most the gap belong together.

    gap 5    t  1  4     9 . . . . . 20
             session [1, 14)         [20, 25)

A session in the making is its first and last time and its accumulators; sessions that a row bridges are merged. A step
reads the sessions of the keys that have rows, and of those that have a session which has ended. Accumulators that hold
values are kept apart from their sessions: see `SessionValues`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Grouping
from panes.kernels.changelog.changes import difference
from panes.kernels.duck import query, quoted, same
from panes.kernels.kernel import SHARD, Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.state.carry import Carry
from panes.kernels.state.key_hash import Flags
from panes.kernels.windows.neighbours import Sessions, gathered
from panes.kernels.windows.open_groups import PARTS, WINDOW, Numbers, OpenGroups, windows
from panes.kernels.windows.session_values import LOWEST, Numbering, SessionValues, by_number, with_values
from panes.kernels.windows.slices import END, START, earliest

FIRST, LAST, NUMBER = "first_time", "last_time", "session_number"
HOME, PLACE = "first_time_after", "place_in_session"
SESSIONS = "sessions"


@dataclass(frozen=True)
class Facts:
    """What a step without rows needs. No session was seen last before `since`; before `next` none will have ended."""

    since: int = -(2**63)
    next: int | None = None
    open: int = 0
    oldest: int | None = None
    numbers: int = 0  # that sessions have had whose values are kept apart; `sizes` and `ended` are those of OpenGroups
    sizes: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SessionWindows:
    """The kernel of session windows; the gap and all times are microseconds."""

    gap: int
    time: str
    keys: tuple[str, ...]
    grouping: Grouping  # by the keys and NUMBER
    late: bool = True
    changes: bool = False  # after each batch the sessions that changed come out, and closing is silent

    def depends_on(self) -> dict[str, Any]:
        columns = {"group by": sorted(self.keys), "order": list(self.grouping.order)}
        return {"state": "sessions 1", "gap": seconds(self.gap), **columns}

    def pack(self, rows: pa.Table) -> pa.Table:
        """The sessions that the rows of one source partition make by themselves."""
        shard = [SHARD] if SHARD in rows.column_names else []  # which is the same for all rows of a key
        times = rows[self.time].cast(pa.int64()).to_numpy()
        sessions = gathered(rows, self.keys, times, times, self.gap)
        numbered = rows.drop_columns(shard).append_column(NUMBER, pa.array(sessions.number))
        return _with_times(self._by_session.fold(numbered), rows.select([*shard, *self.keys]), sessions)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Merge the batch into the open sessions, drop late rows, close what the watermark has passed."""
        chunks, groups, facts = self._read(state)
        over = None if clock.watermark is None else self._over(clock.watermark)
        batch = batch if batch is not None and batch.num_rows else None
        numbers, numbering = facts.numbers, Numbering.nothing()
        if batch is not None and self._apart:
            batch, numbers = _numbered(batch, numbers), numbers + batch.num_rows
        old = self._touched(chunks, facts, batch, over, clock.flush)
        table, late = old, 0
        out: list[pa.Table] = []
        if batch is not None:
            table, due, late, numbering = self._merged(old, batch, clock.watermark)
            out = [due] if due is not None else []
        rows = self._changes(old, table) if self.changes and batch is not None else None
        if over is not None and table is not None:
            passed = pc.less(table[LAST], over)
            if pc.any(passed).as_py():
                out.append(table.filter(passed))
                table = table.filter(pc.invert(passed))
        if clock.flush:
            out, table, chunks = [*out, *([table] if table is not None else [])], None, ()
        chunks = self._carry.replaced(chunks, old if out and chunks else None, table)
        facts = self._facts(facts, chunks, old, table, over)
        if self._apart:
            open_ = SessionValues(groups, facts.open, lambda: _windows(self._carry.all(chunks)))
            closed = pa.concat_tables(out, promote_options="permissive") if out else None
            values, groups = open_.settled(batch, numbering, _windows(closed))
            out = [] if closed is None else [with_values(closed, values)]
            facts = replace(facts, numbers=numbers if chunks else 0, sizes=groups.sizes, ended=groups.ended)
        rows = rows if self.changes else self._values(out)
        counters = Counters(
            late_rows=late,
            rows_out=rows.num_rows if rows is not None else 0,
            groups=facts.open,
            open_windows=facts.open,
            oldest_open_window=facts.oldest,
        )
        wake = None if facts.next is None else facts.next + self.gap + 1
        return Step(State((*chunks, *groups.chunks), asdict(facts)), rows, counters, wake)

    def are_late(self, state: State, rows: pa.Table, clock: Clock) -> Flags:
        """Which rows, as they came, are in a session that is over, merged with the others and the open sessions."""
        if clock.watermark is None:
            return np.zeros(rows.num_rows, bool)
        chunks, _, _ = self._read(state)
        parts = rows.select(self.keys)
        for name in (FIRST, LAST):
            parts = parts.append_column(name, rows[self.time].cast(pa.int64()))
        old = self._carry.find(chunks, rows)
        if old is not None and old.num_rows:
            parts = pa.concat_tables([parts, old.select(parts.column_names)], promote_options="permissive")
        sessions = gathered(parts, self.keys, parts[FIRST].to_numpy(), parts[LAST].to_numpy(), self.gap)
        late: Flags = (sessions.last < self._over(clock.watermark))[sessions.number][: rows.num_rows]
        return late

    @property
    def _holds_values(self) -> bool:
        return not all(fold.small for fold in self.grouping.folds)

    @property
    def _apart(self) -> bool:
        """Whether values are kept apart from their sessions. Where changes come out, these have all of them anyway."""
        return self._holds_values and not self.changes

    @property
    def _carry(self) -> Carry:
        return Carry(self.keys, SESSIONS, LAST, holds_values=self._holds_values and self.changes)

    def _read(self, state: State) -> tuple[tuple[Chunk, ...], OpenGroups, Facts]:
        """The state; the oldest checkpoints have all sessions in one chunk without a kind, and none apart."""
        chunks, facts = self._carry.own(state.chunks), Facts(**state.facts)
        parts = tuple(chunk for chunk in state.chunks if chunk.kind == PARTS)
        groups = OpenGroups(by_number(self.grouping), parts, facts.sizes, facts.ended)
        if len(chunks) + len(parts) < len(state.chunks):
            rows = pa.concat_tables([chunk.load() for chunk in state.chunks])
            ends = pc.min(rows[LAST]).as_py()
            facts = Facts(since=ends, next=ends, open=rows.num_rows, oldest=pc.min(rows[FIRST]).as_py())
            chunks = self._carry.put((), rows)
        if not self._apart or facts.numbers or not chunks:
            return chunks, groups, facts
        sessions = self._carry.all(chunks)
        assert sessions is not None
        rows = _numbered(sessions, 0)
        states = [fold.state for fold in self.grouping.folds]
        groups = groups.add(rows.select([WINDOW, *states]), rows.num_rows, lambda: _windows(rows))
        return self._carry.put((), rows.drop_columns(states)), groups, replace(facts, numbers=rows.num_rows)

    def _touched(
        self, chunks: Sequence[Chunk], facts: Facts, batch: pa.Table | None, over: int | None, flush: bool
    ) -> pa.Table | None:
        """The open sessions of keys that have rows, and of those that have a session which has ended."""
        if flush:
            return self._carry.all(chunks)
        found = [self._carry.find(chunks, batch)] if batch is not None else []
        if over is not None and facts.next is not None and facts.next < over:
            found.append(self._carry.due(chunks, facts.since, over, but=batch))
        tables = [table for table in found if table is not None and table.num_rows]
        return pa.concat_tables(tables, promote_options="permissive") if tables else None

    def _facts(
        self, facts: Facts, chunks: Sequence[Chunk], old: pa.Table | None, new: pa.Table | None, over: int | None
    ) -> Facts:
        """What is known of all sessions, after those in `old` have become those in `new`."""
        if not chunks:
            return Facts()
        before, after = (0 if table is None else table.num_rows for table in (old, new))
        begun, ends = (None if new is None else pc.min(new[name]).as_py() for name in (FIRST, LAST))
        since = facts.since if over is None else max(facts.since, over)
        next_ = earliest(facts.next, ends)
        if next_ is not None and next_ < since:
            next_ = self._carry.next_seen(chunks, since)
        oldest = earliest(facts.oldest, begun)
        if old is not None and oldest is not None and oldest != begun and oldest == pc.min(old[FIRST]).as_py():
            oldest = self._carry.least(chunks, FIRST, oldest)
        return Facts(since, next_, facts.open + after - before, oldest)

    def _merged(
        self, old: pa.Table | None, batch: pa.Table, watermark: int | None
    ) -> tuple[pa.Table | None, pa.Table | None, int, Numbering]:
        """Open sessions after the batch, old ones that fell due beside late rows, the number of late rows; and by which
        numbers sessions go now whose values are kept apart.

        A session that is due even with the batch's rows keeps them out: they are late, and what was there comes out.
        """
        if self._apart:
            batch = batch.drop_columns([fold.state for fold in self.grouping.folds])
        parts = batch if old is None else pa.concat_tables([old, batch], promote_options="permissive")
        fresh = np.arange(parts.num_rows) >= parts.num_rows - batch.num_rows
        first, last = (parts[name].to_numpy() for name in (FIRST, LAST))
        sessions = gathered(parts, self.keys, first, last, self.gap)
        due: pa.Table | None = None
        late, is_open = 0, np.full(parts.num_rows, True)
        if self.late and watermark is not None:
            is_open = (sessions.last >= self._over(watermark))[sessions.number]
            if not is_open.all():
                late = int(parts[COUNT].to_numpy()[fresh & ~is_open].sum())
                due = parts.filter(pa.array(~fresh & ~is_open))
        is_whole = (np.bincount(sessions.number) == 1)[sessions.number]
        tables = [parts.filter(pa.array(is_open & is_whole))] if (is_open & is_whole).any() else []
        if (is_open & ~is_whole).any():
            tables.append(self._made_one(parts, sessions, is_open & ~is_whole))
        numbering = Numbering.nothing()
        if self._apart:
            numbering = Numbering.lowest(_windows(parts), sessions.number, is_open)
        return pa.concat_tables(tables, promote_options="permissive") if tables else None, due, late, numbering

    def _made_one(self, parts: pa.Table, sessions: Sessions, chosen: Flags) -> pa.Table:
        """The sessions of the chosen parts, which are all that these sessions have."""
        numbered = parts.append_column(NUMBER, pa.array(sessions.number)).filter(pa.array(chosen))
        grouping = replace(self._by_session, folds=(LOWEST,)) if self._apart else self._by_session
        return _with_times(grouping.merged(numbered), parts.select(self.keys), sessions)

    @property
    def _by_session(self) -> Grouping:
        return replace(self.grouping, by=(NUMBER,))

    def _over(self, watermark: int) -> int:
        """What was seen last before this has ended."""
        return max(watermark - self.gap, -(2**63))

    def _changes(self, old: pa.Table | None, new: pa.Table | None) -> pa.Table | None:
        """How open sessions turned into others: each follows the oldest that it grew out of, the rest are deleted.

        An old session lies in one new session, or it has closed, which is silent.
        """
        tables = [table for table in (old, new) if table is not None]
        if not tables:
            return None
        none = tables[0].slice(0, 0)
        sides = {"old": none if old is None else old, "new": none if new is None else new}
        keys = [quoted(name) for name in self.keys]
        home = ", ".join([*(f"o.{name}" for name in keys), f"n.{FIRST}"])
        names = ", ".join([*keys, *(quoted(fold.state) for fold in self.grouping.folds), FIRST, LAST])
        grown = query(
            f"SELECT o.*, n.{FIRST} AS {HOME}, row_number() OVER (PARTITION BY {home} ORDER BY o.{FIRST}) AS {PLACE} "
            f"FROM old o JOIN new n ON {same(self.keys, 'o', 'n')} AND o.{FIRST} >= n.{FIRST} AND o.{LAST} <= n.{LAST}",
            **sides,
        )
        after = query(f"SELECT {names}, {FIRST} AS {HOME}, 1 AS {PLACE} FROM new", new=sides["new"])
        own = (HOME, PLACE)
        changed = difference(self._with_bounds(grown, own), self._with_bounds(after, own), (*self.keys, *own))
        return changed.drop_columns([HOME, PLACE])

    def _values(self, closed: Sequence[pa.Table]) -> pa.Table | None:
        tables = [table for table in closed if table.num_rows]
        if not tables:
            return None
        return self._with_bounds(pa.concat_tables(tables, promote_options="permissive"))

    def _with_bounds(self, groups: pa.Table, also: Sequence[str] = ()) -> pa.Table:
        """The values of sessions, with the bounds of their windows."""
        names = [quoted(name) for name in (*self.keys, *also)]
        values = [fold.evaluate_sql() for fold in self.grouping.folds]
        bounds = [f"{FIRST} AS {START}", f"{LAST} + {self.gap} AS {END}"]
        return query(f"SELECT {', '.join([*names, *values, *bounds])} FROM parts", parts=groups)


def _with_times(folded: pa.Table, keys: pa.Table, sessions: Sessions) -> pa.Table:
    """Sessions that were folded by their number, with their keys and their first and last times."""
    number = folded[NUMBER].to_numpy()
    table = keys.take(pa.array(sessions.row[number])) if keys.num_columns else folded.select([])
    for name in folded.column_names:
        table = table if name == NUMBER else table.append_column(name, folded[name])
    table = table.append_column(FIRST, pa.array(sessions.first[number]))
    return table.append_column(LAST, pa.array(sessions.last[number]))


def _numbered(sessions: pa.Table, first: int) -> pa.Table:
    """Sessions with numbers to go by."""
    return sessions.append_column(WINDOW, pa.array(np.arange(first, first + sessions.num_rows)))


def _windows(sessions: pa.Table | None) -> Numbers:
    return np.zeros(0, np.int64) if sessions is None else windows(sessions)
