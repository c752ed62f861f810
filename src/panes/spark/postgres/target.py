"""The table of a sink: looked up, made if that was asked for, and refused if the result does not fit it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructField

from panes.connectors.postgres import TableName
from panes.errors import PanesError, suggestion
from panes.spark.postgres.connection import execute, identifier, transaction
from panes.spark.postgres.types import Stored, accepts, postgres_type

if TYPE_CHECKING:
    import psycopg

LOCK = "SELECT pg_advisory_xact_lock(hashtext('panes: tables are made one after the other'))"
SINKS = "panes_sinks"
RECORD = "(id text, target text, batch bigint NOT NULL, written timestamptz NOT NULL, PRIMARY KEY (id, target))"
NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
TABLE = """
    SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = %(name)s AND c.relkind IN ('r', 'p', 'f', 'v', 'm') AND
        CASE WHEN %(schema)s::text IS NULL THEN pg_table_is_visible(c.oid) ELSE n.nspname = %(schema)s END
"""
COLUMNS = """
    SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE coalesce(b.typname, t.typname) END,
        format_type(a.atttypid, a.atttypmod), e.typname,
        a.attnotnull AND NOT a.atthasdef AND a.attidentity = '', a.attgenerated <> '' OR a.attidentity = 'a'
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
        LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
KEYS = """
    SELECT array_agg(a.attname::text), NOT bool_and(a.attnotnull) AND i.nulls = 'true'
    FROM (
        SELECT indexrelid, indrelid, (indkey::int2[])[0:indnkeyatts - 1] AS numbers,
            coalesce(to_jsonb(x)->>'indnullsnotdistinct', '') AS nulls
        FROM pg_index x
        WHERE indrelid = %s AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL AND indexprs IS NULL
    ) i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.numbers)
    GROUP BY i.indexrelid, i.nulls
"""


@dataclass(frozen=True)
class StoredColumn:
    name: str
    type: Stored
    needed: bool  # it is NOT NULL, and nothing fills it in
    made_by_postgres: bool


@dataclass(frozen=True)
class UniqueKey:
    """Columns that are unique together; one that is `null_safe` takes NULLs, and two of them are the same."""

    columns: frozenset[str]
    null_safe: bool


@dataclass(frozen=True)
class Table:
    """What PostgreSQL has under a name."""

    oid: int
    schema: str
    name: str
    columns: tuple[StoredColumn, ...]
    keys: tuple[UniqueKey, ...]

    @property
    def sql(self) -> str:
        return f"{identifier(self.schema)}.{identifier(self.name)}"


@dataclass(frozen=True)
class Target:
    """A table that a result fits: its columns in the order of the result's, and the key that tells its rows apart."""

    table: Table
    columns: tuple[StoredColumn, ...]
    key: tuple[str, ...]
    null_safe: bool

    def beside(self, name: str) -> str:
        """Another table in the same schema."""
        return f"{identifier(self.table.schema)}.{identifier(name)}"


def find_table(connection: psycopg.Connection[Any], name: TableName) -> Table | None:
    found = connection.execute(TABLE, {"name": name.name, "schema": name.schema}).fetchone()
    if found is None:
        return None
    oid, schema, table = found
    columns = tuple(_column(*row) for row in connection.execute(COLUMNS, (oid,)))
    keys = tuple(UniqueKey(frozenset(names), null_safe) for names, null_safe in connection.execute(KEYS, (oid,)))
    return Table(oid, schema, table, columns, keys)


def _column(name: str, type_: str, sql: str, element: str | None, needed: bool, made: bool) -> StoredColumn:
    digits = NUMERIC.match(sql)
    stored = Stored(type_, sql, element, (int(digits[1]), int(digits[2])) if digits is not None else None)
    return StoredColumn(name, stored, needed, made)


def check_target(table: Table | None, name: TableName, fields: Sequence[StructField], key: Sequence[str]) -> Target:
    """The table of a sink, if all columns of a result find their place in it; `key` is empty for rows to append."""
    if table is None:
        raise PanesError(
            "sink-mismatch", f"PostgreSQL has no table {name}", None, "Make it, or let Panes: create = 'true'."
        )
    columns = tuple(_fitting(field, table) for field in fields)
    left_out = [one.name for one in table.columns if one.needed and one not in columns]
    if left_out:
        hint = f"Select a column {left_out[0]}, or give it a DEFAULT in the table."
        raise PanesError("sink-mismatch", f"{name} needs {', '.join(left_out)}, which the result has not", None, hint)
    own = {field.name.lower(): column.name for field, column in zip(fields, columns, strict=True)}
    names = tuple(own[one.lower()] for one in key)
    unique = [one for one in table.keys if one.columns == set(names)]
    if key and not unique:
        listed = ", ".join(names)
        hint = f"ALTER TABLE {name} ADD UNIQUE ({listed}), or name another key: key = '…'."
        raise PanesError("sink-mismatch", f"{name} has no unique key of exactly ({listed})", None, hint)
    return Target(table, columns, names, any(one.null_safe for one in unique))


def _fitting(field: StructField, table: Table) -> StoredColumn:
    postgres_type(field.name, field.dataType)
    names = [one.name for one in table.columns]
    alike = [one for one in table.columns if one.name.lower() == field.name.lower()]
    column = next((one for one in alike if one.name == field.name), alike[0] if len(alike) == 1 else None)
    if column is None:
        hint = suggestion(field.name, names)
        raise PanesError("sink-mismatch", f"the table {table.name} has no column {field.name}", None, hint)
    if column.made_by_postgres:
        raise PanesError("sink-mismatch", f"PostgreSQL computes {column.name} of {table.name} itself")
    if not accepts(column.type, field.dataType):
        hint = f"Cast it in SELECT. A table that Panes makes has {postgres_type(field.name, field.dataType)} there."
        types = f"{column.type.sql} in the table {table.name} and {field.dataType.simpleString()} in the result"
        raise PanesError("sink-mismatch", f"{column.name} is {types}", None, hint)
    return column


def make_tables(
    connection: psycopg.Connection[Any],
    name: TableName,
    fields: Sequence[StructField],
    key: Sequence[str],
    create: str | None,
) -> Target:
    """The table of a sink, by `create` if it is missing, and the one that knows which micro-batches are in it."""
    with transaction(connection):
        connection.execute(LOCK)
        if create is not None and find_table(connection, name) is None:
            execute(connection, create)
        target = check_target(find_table(connection, name), name, fields, key)
        if find_table(connection, TableName(SINKS, target.table.schema)) is None:
            execute(connection, f"CREATE TABLE {target.beside(SINKS)} {RECORD}")
    return target


def create_table(name: TableName, fields: Sequence[StructField], key: Sequence[str]) -> str:
    """CREATE TABLE for a result."""
    own = {field.name.lower(): field.name for field in fields}
    parts = [f"{identifier(field.name)} {postgres_type(field.name, field.dataType)}" for field in fields]
    parts += [f"PRIMARY KEY ({', '.join(identifier(own[one.lower()]) for one in key)})"] if key else []
    schema = f"{identifier(name.schema)}." if name.schema is not None else ""
    return f"CREATE TABLE {schema}{identifier(name.name)} ({', '.join(parts)})"
