"""What the driver does with a micro-batch: one transaction in which its rows and its number come into the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from panes.errors import PanesError
from panes.spark.postgres.connection import execute, identifier, transaction
from panes.spark.postgres.staging import DELETED, Staged
from panes.spark.postgres.target import SINKS, Target

if TYPE_CHECKING:
    import psycopg


def merge(connection: psycopg.Connection[Any], staged: Staged, target: Target, sink: str, batch: int) -> bool:
    """Whether the rows of a micro-batch were taken in: they are not if it is in the table already.

    Two drivers may be here at once. The one that comes second waits for the row of the sink's id.
    """
    with transaction(connection):
        if not _is_next(connection, target, sink, batch):
            return False
        if staged.rows:  # else there is no table
            _check_staged(connection, staged, target)
            for statement in statements(staged, target, null_keys(connection, staged, target)):
                execute(connection, statement)
        connection.execute(
            f"UPDATE {_record(target)} SET batch = %s, written = now() WHERE id = %s AND target = %s".encode(),
            (batch, sink, target.table.name),
        )
    return True


def _check_staged(connection: psycopg.Connection[Any], staged: Staged, target: Target) -> None:
    ((rows,),) = execute(connection, f"SELECT count(*) FROM {staged.table} WHERE {staged.counts}").fetchall()
    if rows != staged.rows:
        text = f"{staged.rows} rows were copied for {target.table.name}, and {rows} are there: did the server crash?"
        raise PanesError("database-failed", text, None, "Start the query again.")


def _is_next(connection: psycopg.Connection[Any], target: Target, sink: str, batch: int) -> bool:
    """Lock what is recorded of a sink, and compare."""
    who = (sink, target.table.name)
    record = _record(target)
    connection.execute(f"INSERT INTO {record} VALUES (%s, %s, -1, now()) ON CONFLICT DO NOTHING".encode(), who)
    query = f"SELECT batch FROM {record} WHERE id = %s AND target = %s FOR UPDATE"
    ((recorded,),) = connection.execute(query.encode(), who).fetchall()
    if recorded > batch:
        text = f"{target.table.name} has micro-batch {recorded} of the sink {sink} already, and this is {batch}"
        hint = (
            "Its checkpoint was replaced, or another query has the same id. Begin with another id and an empty table."
        )
        raise PanesError("state-mismatch", text, None, hint)
    return bool(recorded < batch)


def _record(target: Target) -> str:
    """The table of the sinks, in SQL with values: a % of a name is none of them."""
    return target.beside(SINKS).replace("%", "%%")


NullKeys = list[frozenset[str]]


def null_keys(connection: psycopg.Connection[Any], staged: Staged, target: Target) -> NullKeys:
    """The columns of the key that are NULL together in some row: where none may be, those are none."""
    if not target.null_safe:
        return [frozenset()]
    nulls = ", ".join(f"{identifier(name)} IS NULL" for name in target.key)
    found = execute(connection, f"SELECT DISTINCT {nulls} FROM {staged.table} WHERE {staged.counts} ORDER BY {nulls}")
    return [frozenset(name for name, is_null in zip(target.key, row, strict=True) if is_null) for row in found]


def statements(staged: Staged, target: Target, nulls: NullKeys) -> list[str]:
    """Append the rows, or apply changes by the key.

    A key may be deleted in one shard and inserted in another: then its row is there afterwards. Keys with other NULLs
    are never the same, so that each kind has a statement of its own: `=` and IS NULL have indexes and hash joins, and
    IS NOT DISTINCT FROM has none.
    """
    names = [one.name for one in target.columns]
    listed = ", ".join(map(identifier, names))
    if not target.key:
        return [f"INSERT INTO {target.table.sql} ({listed}) SELECT {listed} FROM {staged.table} WHERE {staged.counts}"]
    key = ", ".join(map(identifier, target.key))
    rest = [identifier(name) for name in names if name not in target.key]
    new = ", ".join(f"{name} = EXCLUDED.{name}" for name in rest)
    rows = f"(SELECT * FROM {staged.table} WHERE {staged.counts})"
    deletes = []
    for some in nulls:
        gone, new_row = _same(target.key, some, "t", "d"), _same(target.key, some, "n", "d")
        deletes.append(
            f"DELETE FROM {target.table.sql} t USING {rows} d WHERE d.{DELETED} AND {gone} "
            f"AND NOT EXISTS (SELECT 1 FROM {rows} n WHERE NOT n.{DELETED} AND {new_row})"
        )
    return [
        *deletes,
        # In the order of the key, so that two sinks of one table do not wait for each other.
        f"INSERT INTO {target.table.sql} ({listed}) SELECT {listed} FROM {rows} n WHERE NOT {DELETED} ORDER BY {key} "
        f"ON CONFLICT ({key}) DO {f'UPDATE SET {new}' if new else 'NOTHING'}",
    ]


def _same(key: Sequence[str], nulls: Collection[str], one: str, other: str) -> str:
    """Whether two rows have the same key, of which these columns are NULL.

    >>> _same(["a", "b"], {"b"}, "t", "d")
    't."a" = d."a" AND t."b" IS NULL AND d."b" IS NULL'
    """
    return " AND ".join(
        f"{one}.{name} IS NULL AND {other}.{name} IS NULL" if column in nulls else f"{one}.{name} = {other}.{name}"
        for column, name in zip(key, map(identifier, key), strict=True)
    )
