"""Relational work on Arrow tables, by an in-process DuckDB with one thread."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import duckdb
import pyarrow as pa


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """The one connection of this process."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET preserve_insertion_order = false")
    return con


def query(sql: str, **tables: pa.Table) -> pa.Table:
    """The result of a query over tables, each under its name."""
    con = connection()
    for name, table in tables.items():
        con.register(name, table)
    try:
        return con.sql(sql).to_arrow_table()
    finally:
        for name in tables:
            con.unregister(name)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def same(names: Iterable[str], left: str, right: str) -> str:
    """That two rows agree in these columns, NULL with NULL; without columns they always do.

    >>> same(["k"], "a", "b")
    'a."k" IS NOT DISTINCT FROM b."k"'
    """
    parts = [f"{left}.{quoted(name)} IS NOT DISTINCT FROM {right}.{quoted(name)}" for name in names]
    return " AND ".join(parts) or "true"
