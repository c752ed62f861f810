"""PostgreSQL out: each micro-batch once, however often it is tried, and whoever tries it.

look up the table ─ executors copy into a staging table ─ one transaction: lock the sink's id, merge, record
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from panes.connectors.postgres import PostgresSink, database, table_name
from panes.errors import PanesError, suggestion
from panes.kernels.changelog.changes import CHANGE
from panes.secrets import check_references, resolved
from panes.spark.postgres import merge
from panes.spark.postgres.connection import connected, execute
from panes.spark.postgres.staging import left_behind, stage, staging_name, staging_table
from panes.spark.postgres.target import Target, check_target, create_table, find_table, make_tables

if TYPE_CHECKING:
    import psycopg


@dataclass
class PostgresWriter:
    """What a query does with each micro-batch. `sink_id` names it for as long as its checkpoint lasts."""

    sink: PostgresSink
    key: tuple[str, ...]  # of changes that are applied by it; empty for rows to append
    sink_id: Callable[[], str]
    target: Target | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        sink_id = self.sink_id()
        with connected(self.sink.database) as connection:
            target = self.target = self.target or self._make(connection, rows.schema)
            with staging_table(connection, staging_name(sink_id, batch), target) as table:
                staged = stage(rows, self.sink.database, table, target)
                merge.merge(connection, staged, target, sink_id, batch)
            for name in left_behind(connection, target, sink_id, batch):
                execute(connection, f"DROP TABLE IF EXISTS {target.beside(name)}")

    def _make(self, connection: psycopg.Connection[Any], schema: StructType) -> Target:
        fields = self._fields(schema)
        return make_tables(connection, self.sink.table, fields, self.key, self._create(fields))

    def _fields(self, schema: StructType) -> list[StructField]:
        return stored_fields(schema, self.key or self.sink.key, applied=bool(self.key))

    def _create(self, fields: Sequence[StructField]) -> str | None:
        """How to make the table, if that was asked for; rows to append may have a key as well."""
        return create_table(self.sink.table, fields, self.key or self.sink.key) if self.sink.create else None

    def check(self, schema: StructType) -> None:
        """Refuse what cannot work before anything starts."""
        fields = self._fields(schema)
        with connected(self.sink.database) as connection:
            table = find_table(connection, self.sink.table)
        if table is not None or self._create(fields) is None:
            check_target(table, self.sink.table, fields, self.key)


def stored_fields(schema: StructType, key: Sequence[str], applied: bool) -> list[StructField]:
    """The columns that are stored, if the key is among them; where changes are applied, their kind is not."""
    fields = [field for field in schema.fields if field.name != CHANGE or not applied]
    names = [field.name.lower() for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise PanesError("ambiguous-column", f"the result has two columns {name}", None, "Name them apart with AS.")
    for name in key:
        if name.lower() not in names:
            hint = suggestion(name, [field.name for field in fields])
            raise PanesError("unknown-column", f"the key names {name}, which the result has not", None, hint)
    return fields


def checked_writer(
    schema: StructType, sink: PostgresSink, key: tuple[str, ...], sink_id: Callable[[], str]
) -> PostgresWriter:
    """A writer of micro-batches; its table is looked at before anything starts."""
    writer = PostgresWriter(sink, key, sink_id)
    writer.check(schema)
    return writer


def postgres_writer(
    sink_id: str, url: str, table: str, key: tuple[str, ...], changelog: bool, create: bool, password: str | None
) -> PostgresWriter:
    """A writer for a query that is not Panes' to start."""
    if changelog and not key:
        hint = "Add key=['column', …]: the columns that identify a row."
        raise PanesError("stream-options", "a changelog is applied by its key, and there is none", None, hint)
    given = {"url": url, "table": table, **({"password": password} if password is not None else {})}
    check_references(given)
    where = resolved(given)
    sink = PostgresSink(database(where), table_name(where["table"]), key, create)
    return PostgresWriter(sink, key if changelog else (), lambda: sink_id)
