"""JDBC out: as to PostgreSQL, with Spark's own writer for the staging table and the dialect's own upsert.

Spark's writer commits each task on its own, and a task may run twice. A number in each row tells: if one is there
twice, nothing is merged, and the query stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from panes.connectors.jdbc import JdbcSink
from panes.errors import PanesError, suggestion
from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.spark.jdbc.connection import Connection, connected, told_by_jdbc
from panes.spark.jdbc.upsert import DELETED, ROW, quoted_name, staging_table, statements
from panes.spark.postgres.sink import stored_fields
from panes.spark.postgres.staging import staging_name, staging_prefix

SINKS = "panes_jdbc_sinks"
RECORD = (
    "(id VARCHAR(200) NOT NULL, target VARCHAR(200) NOT NULL, batch DECIMAL(19) NOT NULL, PRIMARY KEY (id, target))"
)


@dataclass
class JdbcWriter:
    """What a query does with each micro-batch. `sink_id` names it for as long as its checkpoint lasts."""

    sink: JdbcSink
    key: tuple[str, ...]  # of changes that are applied by it; empty for rows to append
    sink_id: Callable[[], str]
    columns: list[str] | None = None  # of the table, for those of the result

    def __call__(self, rows: DataFrame, batch: int) -> None:
        spark, sink_id = rows.sparkSession, self.sink_id()
        with connected(self.sink, spark) as connection:
            if self.columns is None:
                self.columns = self._prepare(connection, rows.schema, spark, sink_id, batch)
            staging = self.sink.beside(staging_name(sink_id, batch))
            try:
                connection.run(staging_table(self.sink, staging, self.columns, applied=bool(self.key)))
                with told_by_jdbc(self.sink):
                    stage(rows, self.sink, staging, applied=bool(self.key))
                self._merge(connection, staging, sink_id, batch)
            finally:
                connection.succeeds(f"DROP TABLE {staging}")  # there is none if it could not be made

    def _prepare(
        self, connection: Connection, schema: StructType, spark: SparkSession, sink_id: str, batch: int
    ) -> list[str]:
        fields = stored_fields(schema, self.key or self.sink.key, applied=bool(self.key))
        if self.sink.create and not connection.has_table(self.sink.table):
            self._create(connection, fields, spark)
        for name in connection.tables():
            prefix = staging_prefix(sink_id)
            if name.lower().startswith(prefix) and int(name[len(prefix) :].partition("_")[0]) < batch:
                connection.succeeds(f"DROP TABLE {self.sink.beside(name)}")
        record = self.sink.beside(SINKS)
        if not connection.has_table(record):
            connection.run_once(f"CREATE TABLE {record} {RECORD}", done=lambda: connection.has_table(record))
        return check_table(self.sink, fields, spark)

    def _create(self, connection: Connection, fields: Sequence[StructField], spark: SparkSession) -> None:
        """A table with Spark's types and a unique key, in one statement: a crash leaves no table without its key."""
        table = self.sink.table
        key = {name.lower() for name in self.key or self.sink.key}
        typed = StructType([StructField(one.name, one.dataType, one.name.lower() not in key) for one in fields])
        jvm, java = spark._jvm, spark._jsparkSession.parseDataType(typed.json())
        utils = jvm.org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils  # type: ignore[union-attr]
        columns = utils.schemaString(connection.dialect, java, False, jvm.scala.Option.empty())  # type: ignore[union-attr]
        unique = ", ".join(quoted_name(one.name) for one in fields if one.name.lower() in key)
        sql = f"CREATE TABLE {table} ({columns}{f', UNIQUE ({unique})' if key else ''})"
        connection.run_once(sql, done=lambda: connection.has_table(table))

    def _merge(self, connection: Connection, staging: str, sink_id: str, batch: int) -> None:
        """One transaction; an UPDATE locks the row of the sink's id, in every dialect."""
        record, who = self.sink.beside(SINKS), (sink_id, self.sink.table)
        which = "WHERE id = ? AND target = ?"

        def is_known() -> bool:
            return bool(connection.number(f"SELECT count(*) FROM {record} {which}", *who))

        if not is_known():
            connection.run_once(f"INSERT INTO {record} VALUES (?, ?, -1)", *who, done=is_known)
        with connection.transaction():
            connection.run(f"UPDATE {record} SET batch = batch {which}", *who)
            recorded = connection.number(f"SELECT batch FROM {record} {which}", *who)
            if recorded is None or recorded > batch:
                raise behind(self.sink.table, sink_id, recorded, batch)
            if recorded == batch:
                return
            if connection.number(f"SELECT count(*) - count(DISTINCT {quoted_name(ROW)}) FROM {staging}"):
                text = f"a task that wrote to {staging} ran twice"
                raise PanesError("database-failed", text, None, "Start the query again.")
            self._check_keys(connection, staging)
            for statement in statements(self.sink, staging, self.columns or (), self.key):
                connection.run(statement)
            connection.run(f"UPDATE {record} SET batch = ? {which}", batch, *who)

    def _check_keys(self, connection: Connection, staging: str) -> None:
        """A NULL equals nothing, so that its row would be inserted again and again."""
        key = {name.lower() for name in self.key}
        for name in (one for one in self.columns or () if one.lower() in key):
            if connection.number(f"SELECT count(*) FROM {staging} WHERE {quoted_name(name)} IS NULL"):
                hint = "Keep rows without it out."
                raise PanesError("database-failed", f"a row has no {name}, which is in its key", None, hint)


def behind(table: str, sink_id: str, recorded: int | None, batch: int) -> PanesError:
    text = f"{table} has micro-batch {recorded} of the sink {sink_id} already, and this is {batch}"
    hint = "Its checkpoint was replaced, or another query has the same id. Begin with another id and an empty table."
    return PanesError("state-mismatch", text, None, hint)


def stage(rows: DataFrame, sink: JdbcSink, staging: str, applied: bool) -> None:
    """Add the rows of a micro-batch to the table of this attempt."""
    numbered = rows.selectExpr("*", f"monotonically_increasing_id() AS {ROW}")
    if applied:
        deleted = f"CASE WHEN {CHANGE} IN ('{INSERT}', '{AFTER}') THEN 0 ELSE 1 END AS {DELETED}"
        numbered = numbered.selectExpr("*", deleted).drop(CHANGE)
    numbered.write.format("jdbc").options(**sink.spark, dbtable=staging).mode("append").save()


def check_table(sink: JdbcSink, fields: Sequence[StructField], spark: SparkSession) -> list[str]:
    """The columns of the table for those of a result, if all of them find their place there."""
    with told_by_jdbc(sink):
        found = spark.read.format("jdbc").options(**sink.spark, dbtable=sink.table).load().schema
    up_cast = spark._jvm.org.apache.spark.sql.catalyst.expressions.Cast.canUpCast  # type: ignore[union-attr]
    java = spark._jsparkSession.parseDataType
    columns: list[str] = []
    for field in fields:
        column = next((one for one in found.fields if one.name.lower() == field.name.lower()), None)
        if column is None:
            hint = suggestion(field.name, found.names)
            raise PanesError("sink-mismatch", f"the table {sink.table} has no column {field.name}", None, hint)
        if not up_cast(java(field.dataType.json()), java(column.dataType.json())):
            types = f"{column.dataType.simpleString()} in the table {sink.table}, and {field.dataType.simpleString()}"
            raise PanesError("sink-mismatch", f"{column.name} is {types} in the result", None, "Cast it in SELECT.")
        columns.append(column.name)
    return columns


def checked_writer(df: DataFrame, sink: JdbcSink, key: tuple[str, ...], sink_id: Callable[[], str]) -> JdbcWriter:
    """A writer of micro-batches like `df`; its table is looked at before anything starts."""
    fields = stored_fields(df.schema, key or sink.key, applied=bool(key))
    with connected(sink, df.sparkSession) as connection:
        there = connection.has_table(sink.table)
    if there:
        check_table(sink, fields, df.sparkSession)
    elif not sink.create:
        hint = "Make it, or let Spark: create = 'true'."
        raise PanesError("sink-mismatch", f"the database has no table {sink.table}", None, hint)
    return JdbcWriter(sink, key, sink_id)
