"""The SQL that brings a staging table into the table of a sink, in the words of each dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from panes.connectors.jdbc import JdbcSink, Upsert

ROW, DELETED = "panes_row", "panes_deleted"


def statements(sink: JdbcSink, staging: str, columns: Mapping[str, str], key: Sequence[str]) -> list[str]:
    """Append the rows, or apply changes by the key; `columns` are those of the staging table by those of the sink's."""
    into, read = _list(columns), _list(columns.values())
    if not key:
        return [f"INSERT INTO {sink.table} ({into}) SELECT {read} FROM {staging}"]
    wanted = {name.lower() for name in key}
    own = {name: staged for name, staged in columns.items() if staged.lower() in wanted}
    rest = {name: staged for name, staged in columns.items() if name not in own}
    staged_key = " AND ".join(f"s.{quoted_name(b)} = {sink.table}.{quoted_name(a)}" for a, b in own.items())
    alike = f"SELECT 1 FROM {staging} s WHERE {staged_key} AND s.{quoted_name(DELETED)}"
    delete = f"DELETE FROM {sink.table} WHERE EXISTS ({alike} = 1) AND NOT EXISTS ({alike} = 0)"
    rows = f"SELECT {read} FROM {staging} WHERE {quoted_name(DELETED)} = 0"
    match sink.dialect.upsert:
        case Upsert.ON_CONFLICT:
            new = ", ".join(f"{quoted_name(name)} = excluded.{quoted_name(name)}" for name in rest)
            upsert = f"INSERT INTO {sink.table} ({into}) {rows} ON CONFLICT ({_list(own)}) DO "
            return [delete, upsert + (f"UPDATE SET {new}" if rest else "NOTHING")]
        case Upsert.MERGE:
            same = " AND ".join(f"t.{quoted_name(a)} = n.{quoted_name(b)}" for a, b in own.items())
            new = ", ".join(f"{quoted_name(a)} = n.{quoted_name(b)}" for a, b in rest.items())
            values = ", ".join(f"n.{quoted_name(name)}" for name in columns.values())
            update = f" WHEN MATCHED THEN UPDATE SET {new}" if rest else ""
            insert = f" WHEN NOT MATCHED THEN INSERT ({into}) VALUES ({values})"
            merge = f"MERGE INTO {sink.table} t USING ({rows}) n ON ({same})"
            return [delete, f"{merge}{update}{insert}{sink.dialect.end}"]
        case _:
            assert_never(sink.dialect.upsert)


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(quoted_name, names))


def quoted_name(name: str) -> str:
    """A name as Spark's writer quotes it."""
    return '"' + name.replace('"', '""') + '"'
