"""Grouping with accumulators: rows are folded into one row per group, groups of several chunks are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

import pyarrow as pa

from panes.kernels.accumulators import ARGUMENTS, Accumulator
from panes.kernels.duck import query, quoted

COUNT = "rows_in_group"


@dataclass(frozen=True)
class Fold:
    """One aggregate: its accumulator, the columns of its arguments and its condition, and the column of its state."""

    accumulator: Accumulator
    args: tuple[str, ...]
    condition: str | None
    state: str

    def fold_sql(self, order: str) -> str:
        names = dict(zip(ARGUMENTS, (quoted(arg) for arg in self.args), strict=False))
        counts = self.accumulator.counts
        conditions = [Template(counts).substitute(names)] if counts else []
        conditions += [f"coalesce({quoted(self.condition)}, false)"] if self.condition else []
        where = f"FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
        return f"{Template(self.accumulator.fold).substitute(names, o=order, w=where)} AS {quoted(self.state)}"

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
        """One row per group, with the number of its rows."""
        order = "{" + ", ".join(f"'{i}': {quoted(name)}" for i, name in enumerate(self.order)) + "}"
        parts = [fold.fold_sql(order) for fold in self.folds]
        return query(self._compacted(self._select([*parts, f"count(*) AS {COUNT}"], "rows")), rows=rows)

    def merge(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Groups of several tables, those with equal keys made one."""
        if len(tables) == 1:
            return tables[0]
        parts = [fold.merge_sql() for fold in self.folds]
        sql = self._select([*parts, f"sum({COUNT})::BIGINT AS {COUNT}"], "parts")
        return query(self._compacted(sql), parts=pa.concat_tables(tables, promote_options="permissive"))

    def evaluate(self, groups: pa.Table) -> pa.Table:
        """The values of all groups."""
        names = [quoted(name) for name in self.by]
        return query(f"SELECT {', '.join([*names, *(f.evaluate_sql() for f in self.folds)])} FROM parts", parts=groups)

    def _select(self, parts: Sequence[str], source: str) -> str:
        names = [quoted(name) for name in self.by]
        group = f" GROUP BY {', '.join(names)}" if names else ""
        return f"SELECT {', '.join([*names, *parts])} FROM {source}{group}"

    def _compacted(self, sql: str) -> str:
        replaced = [fold.compact_sql() for fold in self.folds if fold.accumulator.compact is not None]
        return f"SELECT * REPLACE ({', '.join(replaced)}) FROM ({sql})" if replaced else sql
