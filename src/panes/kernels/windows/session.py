"""Session windows: rows whose distance to a neighbour is at most the gap belong together.

    gap 5    t  1  3     9 . . . . . 20
             session [1, 14)         [20, 25)

A session in the making is its first and last time and its accumulators; sessions that a row bridges are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.grouping import COUNT, Grouping
from panes.kernels.changelog.changes import difference
from panes.kernels.duck import query, quoted, same
from panes.kernels.kernel import Clock, Counters, State, Step, new_chunk, seconds
from panes.kernels.windows.slices import END, START

FIRST, LAST, NUMBER, FRESH = "first_time", "last_time", "session_number", "is_fresh"
HOME, PLACE = "first_time_after", "place_in_session"


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
        times = rows[self.time].cast(pa.int64())
        rows = rows.append_column(FIRST, times).append_column(LAST, times)
        numbered = self._numbered(rows)
        return self._with_times(self.grouping.fold(numbered), numbered)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        """Merge the batch into the open sessions, drop late rows, close what the watermark has passed."""
        table = before = self._state(state)
        late, changed = 0, False
        out: list[pa.Table] = []
        if batch is not None and batch.num_rows:
            table, due, late = self._merged(table, batch, clock.watermark)
            out, changed = [due] if due is not None else [], True
        rows = self._changes(before, table) if self.changes and changed else None
        if clock.watermark is not None and table is not None:
            passed = pc.less(pc.add(table[LAST], self.gap), clock.watermark)
            if pc.any(passed).as_py():
                out.append(table.filter(passed))
                table, changed = table.filter(pc.invert(passed)), True
        if clock.flush and table is not None:
            out.append(table)
            table, changed = None, True
        if changed:
            state = State((new_chunk(table, LAST),) if table is not None and table.num_rows else (), state.facts)
        rows = rows if self.changes else self._values(out)
        sessions = sum(chunk.rows for chunk in state.chunks)
        counters = Counters(
            late_rows=late,
            rows_out=rows.num_rows if rows is not None else 0,
            groups=sessions,
            open_windows=sessions,
        )
        if table is not None and table.num_rows:
            counters["oldest_open_window"] = pc.min(table[FIRST]).as_py()
        wake = min((chunk.low for chunk in state.chunks), default=None)
        return Step(state, rows, counters, None if wake is None else wake + self.gap + 1)

    def _state(self, state: State) -> pa.Table | None:
        parts = [chunk.load() for chunk in state.chunks]
        return pa.concat_tables(parts) if parts else None

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
