"""Grouping with accumulators: rows are folded into one row per group, groups of several chunks are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Template

import pyarrow as pa

from panes.kernels.aggregates.accumulator import ARGUMENTS, Accumulator
from panes.kernels.duck import query, quoted
from panes.kernels.kernel import SHARD

COUNT = "rows_in_group"


@dataclass(frozen=True)
class Fold:
    """One aggregate: its accumulator, the columns of its arguments and its condition, and the column of its state."""

    accumulator: Accumulator
    args: tuple[str, ...]
    condition: str | None
    state: str

    @property
    def small(self) -> bool:
        """Whether a state has the same size however many rows are folded, and rows can be folded in any order."""
        return not self.accumulator.holds_values and self.accumulator.in_window is None

    def fold_sql(self, order: str) -> str:
        return self._folding(order, "")

    def over_sql(self, order: str, window: str) -> str:
        """As a window function: at each row, the fold of the rows in its frame."""
        return self._folding(order, f" OVER {window}")

    def _folding(self, order: str, over: str) -> str:
        names = dict(zip(ARGUMENTS, (quoted(arg) for arg in self.args), strict=False))
        counts = self.accumulator.counts
        conditions = [Template(counts).substitute(names)] if counts else []
        conditions += [f"coalesce({quoted(self.condition)}, false)"] if self.condition else []
        where = f"FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
        return f"{Template(self.accumulator.fold).substitute(names, o=order, w=where + over)} AS {quoted(self.state)}"

    def merge_sql(self) -> str:
        column = quoted(self.state)
        return f"{Template(self.accumulator.merge).substitute(s=column)} AS {column}"

    def compact_sql(self) -> str:
        column = quoted(self.state)
        return f"{Template(self.accumulator.compact or '$s').substitute(s=column)} AS {column}"

    def evaluate_sql(self) -> str:
        column = quoted(self.state)
        return f"{Template(self.accumulator.evaluate).substitute(s=column)} AS {column}"


@dataclass(frozen=True)
class Grouping:
    """`by` are the columns of a group besides its accumulators; `order` is a row's place in the stream."""

    by: tuple[str, ...]
    folds: tuple[Fold, ...]
    order: tuple[str, ...] = ()

    def fold(self, rows: pa.Table) -> pa.Table:
        """One row per group, with the number of its rows; groups of several shards stay apart."""
        if SHARD in rows.column_names and SHARD not in self.by:
            return replace(self, by=(SHARD, *self.by)).fold(rows)
        parts = [fold.fold_sql(self._place) for fold in self.folds]
        return query(self._compacted(self._select([*parts, f"count(*) AS {COUNT}"], "rows")), rows=rows)

    def slide(self, rows: pa.Table, frame: str, chosen: str) -> pa.Table:
        """At each row where `chosen` is true, the fold of the rows in its frame; `by` tells which row it is."""
        parts = [fold.over_sql(self._place, "frame") for fold in self.folds]
        names = [*(quoted(name) for name in self.by), *parts, quoted(chosen)]
        sql = f"SELECT {', '.join(names)} FROM rows WINDOW frame AS ({frame})"
        return query(f"SELECT * EXCLUDE ({quoted(chosen)}) FROM ({sql}) WHERE {quoted(chosen)}", rows=rows)

    def merge(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Groups of several tables, those with equal keys made one."""
        return tables[0] if len(tables) == 1 else self.merged(pa.concat_tables(tables, promote_options="permissive"))

    def merged(self, groups: pa.Table) -> pa.Table:
        """Groups with equal keys made one."""
        parts = [fold.merge_sql() for fold in self.folds]
        parts += [f"sum({COUNT})::BIGINT AS {COUNT}"] if COUNT in groups.column_names else []
        return query(self._compacted(self._select(parts, "parts")), parts=groups)

    def evaluate(self, groups: pa.Table) -> pa.Table:
        """The values of all groups: most accumulators are their value."""
        if all(fold.accumulator.is_value for fold in self.folds):
            return groups.select([*self.by, *(fold.state for fold in self.folds)])
        names = [quoted(name) for name in self.by]
        return query(f"SELECT {', '.join([*names, *(f.evaluate_sql() for f in self.folds)])} FROM parts", parts=groups)

    @property
    def _place(self) -> str:
        return "{" + ", ".join(f"'{i}': {quoted(name)}" for i, name in enumerate(self.order)) + "}"

    def _select(self, parts: Sequence[str], source: str) -> str:
        names = [quoted(name) for name in self.by]
        group = f" GROUP BY {', '.join(names)}" if names else ""
        return f"SELECT {', '.join([*names, *parts])} FROM {source}{group}"

    def _compacted(self, sql: str) -> str:
        replaced = [fold.compact_sql() for fold in self.folds if fold.accumulator.compact is not None]
        return f"SELECT * REPLACE ({', '.join(replaced)}) FROM ({sql})" if replaced else sql


def with_window_bounds(values: pa.Table, windows: Sequence[str], start: str, end: str) -> pa.Table:
    """Values of groups inside windows, each with the bounds of its whole window; `windows` tell windows apart.

    >>> values = pa.table({"w": [1, 1], "k": ["a", "b"], "start": [5, 7], "end": [8, 9]})
    >>> with_window_bounds(values, ["w"], "start", "end")["start"].to_pylist()
    [5, 5]
    """
    if start not in values.column_names:
        return values
    low, high = quoted(start), quoted(end)
    whole = f"PARTITION BY {', '.join(quoted(name) for name in windows)}"
    bounds = f"min({low}) OVER ({whole}) AS {low}, max({high}) OVER ({whole}) AS {high}"
    return query(f"SELECT * REPLACE ({bounds}) FROM parts", parts=values)
