"""Session windows: rows whose distance to a neighbour is at most the gap belong together.

    gap 5    t  1  3     9 . . . . . 20
             session [1, 14)         [20, 25)

A session in the making is its first and last time and its accumulators; sessions that a row bridges are merged. A step
reads the sessions of the keys that have rows, and of those that have a session which has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Grouping
from panes.kernels.changelog.changes import difference
from panes.kernels.duck import joined, query, quoted, same
from panes.kernels.kernel import SHARD, Chunk, Clock, Counters, State, Step, seconds
from panes.kernels.state.carry import Carry
from panes.kernels.windows.slices import END, START, earliest

FIRST, LAST, NUMBER, FRESH = "first_time", "last_time", "session_number", "is_fresh"
HOME, PLACE = "first_time_after", "place_in_session"
SESSIONS = "sessions"


@dataclass(frozen=True)
class Facts:
    """What a step without rows needs. No session was seen last before `since`; before `next` none will have ended."""

    since: int = -(2**63)
    next: int | None = None
    open: int = 0
    oldest: int | None = None


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
        if SHARD in rows.column_names and SHARD not in self.keys:
            return replace(self, keys=(SHARD, *self.keys)).pack(rows)
        times = rows[self.time].cast(pa.int64())
        rows = rows.append_column(FIRST, times).append_column(LAST, times)
        numbered = self._numbered(rows)
        return self._with_times(self.grouping.fold(numbered), numbered)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Merge the batch into the open sessions, drop late rows, close what the watermark has passed."""
        chunks, facts = self._read(state)
        over = None if clock.watermark is None else clock.watermark - self.gap  # what was seen last before it has ended
        batch = batch if batch is not None and batch.num_rows else None
        old = self._touched(chunks, facts, batch, over, clock.flush)
        table, late = old, 0
        out: list[pa.Table] = []
        if batch is not None:
            table, due, late = self._merged(old, batch, clock.watermark)
            out = [due] if due is not None else []
        rows = self._changes(old, table) if self.changes and batch is not None else None
        if over is not None and table is not None:
            passed = pc.less(table[LAST], over)
            if pc.any(passed).as_py():
                out.append(table.filter(passed))
                table = table.filter(pc.invert(passed))
        if clock.flush:
            out, table, chunks = [*out, *([table] if table is not None else [])], None, ()
        rows = rows if self.changes else self._values(out)
        chunks = self._carry.replaced(chunks, old if out and chunks else None, table)
        facts = self._facts(facts, chunks, old, table, over)
        counters = Counters(
            late_rows=late,
            rows_out=rows.num_rows if rows is not None else 0,
            groups=facts.open,
            open_windows=facts.open,
            oldest_open_window=facts.oldest,
        )
        wake = None if facts.next is None else facts.next + self.gap + 1
        return Step(State(chunks, asdict(facts)), rows, counters, wake)

    @property
    def _carry(self) -> Carry:
        return Carry(self.keys, SESSIONS, LAST, holds_values=not all(fold.small for fold in self.grouping.folds))

    def _read(self, state: State) -> tuple[tuple[Chunk, ...], Facts]:
        """The state; old checkpoints have all sessions in one chunk without a kind."""
        chunks = self._carry.own(state.chunks)
        if len(chunks) == len(state.chunks):
            return chunks, Facts(**state.facts)
        rows = pa.concat_tables([chunk.load() for chunk in state.chunks])
        ends = pc.min(rows[LAST]).as_py()
        facts = Facts(since=ends, next=ends, open=rows.num_rows, oldest=pc.min(rows[FIRST]).as_py())
        return self._carry.put((), rows), facts

    def _touched(
        self, chunks: Sequence[Chunk], facts: Facts, batch: pa.Table | None, over: int | None, flush: bool
    ) -> pa.Table | None:
        """The open sessions of keys that have rows, and of those that have a session which has ended."""
        if flush:
            return self._carry.all(chunks)
        found = [self._carry.find(chunks, batch)] if batch is not None else []
        if over is not None and facts.next is not None and facts.next < over:
            due = self._carry.due(chunks, facts.since, over)
            known = found[0] if found else None
            found.append(due if due is None or known is None else joined(due, "ANTI", known, self.keys))
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
    ) -> tuple[pa.Table | None, pa.Table | None, int]:
        """Open sessions after the batch, old ones that fell due beside late rows, and the number of late rows.

        A session that is due even with the batch's rows keeps them out: they are late, and what was there comes out.
        """
        fresh = batch.append_column(FRESH, _all(batch, True))
        parts = [fresh] if old is None else [old.append_column(FRESH, _all(old, False)), fresh]
        numbered = self._numbered(pa.concat_tables(parts, promote_options="permissive"))
        due: pa.Table | None = None
        late = 0
        if self.late and watermark is not None:
            passed = query(
                f"SELECT *, max({LAST}) OVER (PARTITION BY {self._by()}) + {self.gap} < {watermark} AS passed "
                "FROM parts",
                parts=numbered,
            )
            if pc.any(passed["passed"]).as_py():
                gone = passed.filter(passed["passed"]).drop_columns(["passed"])
                late = int(pc.sum(gone.filter(gone[FRESH])[COUNT]).as_py() or 0)
                due = gone.filter(pc.invert(gone[FRESH])).drop_columns([FRESH, NUMBER])
                numbered = passed.filter(pc.invert(passed["passed"])).drop_columns(["passed"])
        if not numbered.num_rows:
            return None, due, late
        merged = self.grouping.merge([numbered.drop_columns([FRESH]), numbered.slice(0, 0).drop_columns([FRESH])])
        return self._with_times(merged, numbered), due, late

    def _by(self) -> str:
        return ", ".join(quoted(name) for name in (*self.keys, NUMBER))

    def _numbered(self, rows: pa.Table) -> pa.Table:
        """Number the sessions of each key: a new one starts where the gap to all before is too long."""
        keys = ", ".join(quoted(name) for name in self.keys)
        partition = f"PARTITION BY {keys} " if keys else ""
        order = f"{partition}ORDER BY {FIRST}"
        rows = rows.drop_columns([NUMBER]) if NUMBER in rows.column_names else rows
        return query(
            f"SELECT * EXCLUDE (reach), sum(CASE WHEN {FIRST} - reach <= {self.gap} THEN 0 ELSE 1 END) "
            f"OVER ({order} RANGE UNBOUNDED PRECEDING)::BIGINT AS {NUMBER} FROM ("
            f"SELECT *, max({LAST}) OVER ({order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach "
            "FROM parts)",
            parts=rows,
        )

    def _with_times(self, groups: pa.Table, numbered: pa.Table) -> pa.Table:
        """The groups with the first and last time of each."""
        times = query(
            f"SELECT {self._by()}, min({FIRST}) AS {FIRST}, max({LAST}) AS {LAST} FROM parts GROUP BY {self._by()}",
            parts=numbered,
        )
        groups = groups.drop_columns([name for name in (FIRST, LAST) if name in groups.column_names])
        return query(
            f"SELECT g.* EXCLUDE ({NUMBER}), t.{FIRST}, t.{LAST} FROM groups g "
            f"JOIN times t ON {same((*self.keys, NUMBER), 'g', 't')}",
            groups=groups,
            times=times,
        )

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


def _all(table: pa.Table, value: bool) -> pa.Array:
    return pa.repeat(pa.scalar(value), table.num_rows)
