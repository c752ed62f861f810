"""Relational work on Arrow tables, by an in-process DuckDB with one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.sketches.sketch import register
from panes.kernels.spark_types import sortable

PLACE = "place_in_table"


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """The one connection of this process.

    It keeps the order of rows in SELECT, WHERE and windows without ORDER BY, as DuckDB promises; `over.frame_folds` and
    `changes` build on that. JOIN and GROUP BY keep no order.
    """
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET preserve_insertion_order = true")
    register(con)
    return con


def limit_memory(bytes_: int, folder: Path) -> None:
    """Have DuckDB take at most so many bytes in this process, and write to a folder of its own what does not fit.

    Where it does, the groups of a GROUP BY come in another order. What it writes is gone when the query is done.
    """
    _limit(connection(), bytes_, folder)


@lru_cache(maxsize=1)  # tasks of a worker set the same limits again, which takes 2 ms
def _limit(con: duckdb.DuckDBPyConnection, bytes_: int, folder: Path) -> None:
    con.execute(f"SET memory_limit = '{bytes_}B'")
    if con.sql("SELECT current_setting('temp_directory')").fetchall() != [(str(folder),)]:
        con.execute(f"SET temp_directory = {literal(str(folder))}")


def query(sql: str, **tables: pa.Table) -> pa.Table:
    """The result of a query over tables, each under its name."""
    con = connection()
    for name, table in tables.items():
        con.register(name, readable(table))
    try:
        return con.sql(sql).to_arrow_table()
    finally:
        for name in tables:
            con.unregister(name)


def readable(table: pa.Table) -> pa.Table:
    """The table as DuckDB can read it: it refuses nested columns that begin within their buffers.

    So does one whose chunks are not those of the other columns: Arrow slices it where theirs begin.
    """
    nested = [name for name in table.column_names if pa.types.is_nested(table.schema.field(name).type)]
    if not nested:
        return table
    if len({tuple(map(len, column.chunks)) for column in table.columns}) > 1:
        table = table.combine_chunks()
    if any(chunk.offset for name in nested for chunk in table[name].chunks):
        table = table.take(pa.array(np.arange(table.num_rows))).combine_chunks()
    return table


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def sortable_column(name: str, type_: pa.DataType) -> str:
    """A column as DuckDB must be given it to sort it as Spark does.

    >>> sortable_column("v", pa.int64())
    '"v"'
    >>> sortable_column("v", pa.list_(pa.int64()))
    'list_transform("v", lambda e0: {n: e0 IS NOT NULL, v: e0})'
    """
    return sortable(quoted(name), _nesting(type_))


def _nesting(type_: pa.DataType) -> str:
    """A type in Spark's words, as far as `sortable` reads them."""
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'c:{_nesting(field.type)}' for field in type_)}>"
    return f"array<{_nesting(type_.value_type)}>" if pa.types.is_list(type_) else "flat"


def same(names: Iterable[str], left: str, right: str) -> str:
    """That two rows agree in these columns, NULL with NULL; without columns they always do.

    >>> same(["k"], "a", "b")
    'a."k" IS NOT DISTINCT FROM b."k"'
    """
    parts = [f"{left}.{quoted(name)} IS NOT DISTINCT FROM {right}.{quoted(name)}" for name in names]
    return " AND ".join(parts) or "true"


def places(rows: pa.Table, kind: Literal["SEMI", "ANTI"], others: pa.Table, by: Sequence[str]) -> npt.NDArray[np.int64]:
    """Where the rows are that agree with any of the others in columns `by`, or with none; NULL agrees with NULL.

    Only these columns go through DuckDB, which has not all of Arrow's types.

    >>> places(pa.table({"k": [1, None, 2]}), "SEMI", pa.table({"k": [2, None]}), ["k"])
    array([1, 2])
    """
    if not by:
        return np.arange(rows.num_rows if (kind == "SEMI") == bool(others.num_rows) else 0)
    found: npt.NDArray[np.int64] = query(
        f"SELECT l.{PLACE} FROM left_side l {kind} JOIN right_side r ON {same(by, 'l', 'r')}",
        left_side=rows.select(by).append_column(PLACE, pa.array(np.arange(rows.num_rows))),
        right_side=others.select(by),
    )[PLACE].to_numpy()
    return np.sort(found)


def joined(rows: pa.Table, kind: Literal["SEMI", "ANTI"], others: pa.Table, by: Sequence[str]) -> pa.Table:
    """These rows, in their order."""
    found = places(rows, kind, others, by)
    return rows if len(found) == rows.num_rows else rows.take(pa.array(found))
