"""Rows in the order of some of their columns, of any type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from panes.kernels.duck import PLACE, query, sortable_column

RANK = "rank"


def in_order(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The rows, ascending, NULLs last, as Spark compares values; of equal ones the first is first.

    >>> in_order(pa.table({"k": [[2], None, [1, 5], [1]]}), ["k"])["k"].to_pylist()
    [[1], [1, 5], [2], None]
    """
    if not any(pa.types.is_nested(rows.schema.field(name).type) for name in by):
        return rows.sort_by([(name, "ascending") for name in by])
    columns = {str(at): _comparable(rows, name) for at, name in enumerate(by)}
    columns[PLACE] = pa.array(np.arange(rows.num_rows))
    return rows.take(pa.table(columns).sort_by([(name, "ascending") for name in columns])[PLACE])


def _comparable(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """A column that Arrow can sort: instead of arrays and structs, their ranks."""
    column = rows[name]
    if not pa.types.is_nested(column.type):
        return column
    parts = pa.table({name: column, PLACE: np.arange(rows.num_rows)})
    rank = f"dense_rank() OVER (ORDER BY {sortable_column(name, column.type)} ASC NULLS LAST) AS {RANK}"
    return query(f"SELECT {PLACE}, {rank} FROM parts ORDER BY {PLACE}", parts=parts)[RANK]
