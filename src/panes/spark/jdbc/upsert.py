"""The SQL that makes a staging table and brings it into the table of a sink, in the words of each dialect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from panes.connectors.jdbc import JdbcSink, Upsert

ROW, DELETED = "panes_row", "panes_deleted"


def staging_table(sink: JdbcSink, staging: str, columns: Sequence[str], applied: bool) -> str:
    """Make an empty table with these columns of the sink's, in its types, and those that a merge needs.

    The outer join takes away what else a column has: NOT NULL, or numbers of its own.
    """
    helpers = [f"CAST(0 AS DECIMAL(19)) AS {quoted_name(ROW)}"]
    if applied:
        helpers.append(f"CAST(0 AS INTEGER) AS {quoted_name(DELETED)}")
    select = "SELECT " + ", ".join([*(f"s.{quoted_name(name)}" for name in columns), *helpers])
    nothing = f"FROM {sink.table} t LEFT JOIN {sink.table} s ON 1 = 0 WHERE 1 = 0"
    if sink.dialect.select_into:
        return f"{select} INTO {staging} {nothing}"
    return f"CREATE TABLE {staging} AS {select} {nothing}"


def statements(sink: JdbcSink, staging: str, columns: Sequence[str], key: Sequence[str]) -> list[str]:
    """Append the rows, or apply changes by the key; `columns` are those of both tables."""
    listed = _list(columns)
    if not key:
        return [f"INSERT INTO {sink.table} ({listed}) SELECT {listed} FROM {staging}"]
    wanted = {name.lower() for name in key}
    own = [name for name in columns if name.lower() in wanted]
    rest = [name for name in columns if name not in own]
    staged_key = " AND ".join(f"s.{name} = {sink.table}.{name}" for name in map(quoted_name, own))
    alike = f"SELECT 1 FROM {staging} s WHERE {staged_key} AND s.{quoted_name(DELETED)}"
    delete = f"DELETE FROM {sink.table} WHERE EXISTS ({alike} = 1) AND NOT EXISTS ({alike} = 0)"
    rows = f"SELECT {listed} FROM {staging} WHERE {quoted_name(DELETED)} = 0"
    match sink.dialect.upsert:
        case Upsert.ON_CONFLICT:
            new = ", ".join(f"{quoted_name(name)} = excluded.{quoted_name(name)}" for name in rest)
            upsert = f"INSERT INTO {sink.table} ({listed}) {rows} ON CONFLICT ({_list(own)}) DO "
            return [delete, upsert + (f"UPDATE SET {new}" if rest else "NOTHING")]
        case Upsert.MERGE:
            same = " AND ".join(f"t.{name} = n.{name}" for name in map(quoted_name, own))
            new = ", ".join(f"{name} = n.{name}" for name in map(quoted_name, rest))
            values = ", ".join(f"n.{quoted_name(name)}" for name in columns)
            update = f" WHEN MATCHED THEN UPDATE SET {new}" if rest else ""
            insert = f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({values})"
            merge = f"MERGE INTO {sink.table} t USING ({rows}) n ON ({same})"
            return [delete, f"{merge}{update}{insert}{sink.dialect.end}"]
        case _:
            assert_never(sink.dialect.upsert)


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, names))


def quoted_name(name: str) -> str:
    """A name as Spark's writer quotes it."""
    return '"' + name.replace('"', '""') + '"'
