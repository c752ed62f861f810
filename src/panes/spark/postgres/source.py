"""A table of PostgreSQL as a batch input: read anew whenever Spark runs a query or a micro-batch, and never kept.

Spark has one task for it, which copies the table out as CSV. Arrow reads that into texts, and Spark makes of these what
was declared.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from panes.catalog import Stream
from panes.connectors.postgres import Database, TableName, postgres_table
from panes.errors import PanesError, suggestion
from panes.spark.expressions import quoted
from panes.spark.postgres.connection import connected, identifier, transaction
from panes.spark.postgres.target import StoredColumn, Table, find_table
from panes.spark.postgres.types import is_json
from panes.spark.worker_python import check_workers

if TYPE_CHECKING:
    import psycopg

BLOCK = 16 << 20  # bytes; a row is smaller
# What a declared type may be read from: PostgreSQL's short names.
INTEGERS = ("int2", "int4", "int8")
READ: dict[type[t.DataType], tuple[str, ...]] = {
    t.BooleanType: ("bool",),
    t.ByteType: (),
    t.ShortType: INTEGERS[:1],
    t.IntegerType: INTEGERS[:2],
    t.LongType: INTEGERS,
    t.FloatType: ("float4", "int2"),
    t.DoubleType: ("float4", "float8", "int2", "int4"),
    t.DecimalType: (*INTEGERS, "numeric"),
    t.BinaryType: ("bytea",),
    t.DateType: ("date",),
    t.TimestampType: ("timestamptz",),
    t.TimestampNTZType: ("timestamp",),
}


def read_postgres(stream: Stream, spark: SparkSession) -> DataFrame:
    """All columns of a declared table that are not computed."""
    source = postgres_table(stream)
    declared = ", ".join(f"{quoted(one.name)} {one.type}" for one in stream.columns if one.computed is None)
    schema = spark.createDataFrame([], declared).schema
    with connected(source.database) as connection:
        table = _table(connection, source.table)
    columns = [_column(field, table) for field in schema.fields]
    cells = ", ".join(_cell(column.name, field.dataType) for column, field in zip(columns, schema.fields, strict=True))
    query = f"COPY (SELECT {cells} FROM {table.sql}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
    check_workers(spark)
    texts = ", ".join(f"{quoted(field.name)} string" for field in schema.fields)
    rows = spark.range(1, numPartitions=1).mapInArrow(_reader(source.database, query, schema.names), texts)
    return rows.select(*(_value(f.col(quoted(one.name)), one.dataType).alias(one.name) for one in schema.fields))


def _table(connection: psycopg.Connection[Any], name: TableName) -> Table:
    found = find_table(connection, name)
    if found is None:
        raise PanesError("stream-options", f"PostgreSQL has no table {name}")
    return found


def _column(field: t.StructField, table: Table) -> StoredColumn:
    alike = [one for one in table.columns if one.name.lower() == field.name.lower()]
    column = next((one for one in alike if one.name == field.name), alike[0] if len(alike) == 1 else None)
    if column is None:
        hint = suggestion(field.name, [one.name for one in table.columns])
        raise PanesError("unknown-column", f"the table {table.name} has no column {field.name}", None, hint)
    type_, stored = field.dataType, column.type
    if isinstance(type_, t.StringType) or (is_json(type_) and stored.name in ("json", "jsonb")):
        return column
    one, name = (type_.elementType, stored.element) if isinstance(type_, t.ArrayType) else (type_, stored.name)
    if name is None or not (isinstance(one, t.StringType) or name in READ.get(type(one), ())):
        text = f"{column.name} is {stored.sql} in the table {table.name}, and declared as {type_.simpleString()}"
        raise PanesError("stream-options", text, None, "Declare a type that holds all of it; STRING holds anything.")
    return column


def _cell(name: str, type_: t.DataType) -> str:
    """A column as a text that Spark can read."""
    match type_:
        case t.BinaryType():
            return f"encode({identifier(name)}, 'hex')"
        case t.ArrayType():
            return f"to_json({identifier(name)})"
        case _:
            return identifier(name)


def _value(text: Column, type_: t.DataType) -> Column:
    match type_:
        case t.BinaryType():
            return f.unhex(text)
        case t.ArrayType() | t.StructType() | t.MapType():
            return f.from_json(text, type_, {"mode": "FAILFAST"})
        case _:
            return text.cast(type_)


Read = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _reader(database: Database, query: str, names: Sequence[str]) -> Read:
    """What the task does: an unquoted nothing is NULL, and "" is an empty text."""

    def read(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        texts = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        read = csv.ReadOptions(column_names=list(names), block_size=BLOCK)
        with connected(database) as connection, transaction(connection), connection.cursor() as cursor:
            yield from _batches(cursor.copy(query.encode()), read, parse, texts)

    return read


def _batches(copy: Any, *options: Any) -> Iterator[pa.RecordBatch]:
    with copy as out:
        chunks = _Chunks(iter(out))
        if chunks.peek():  # Arrow refuses a file without a line
            yield from csv.open_csv(io.BufferedReader(chunks, BLOCK), *options)


class _Chunks(io.RawIOBase):
    """What COPY gives, as a file for Arrow."""

    def __init__(self, chunks: Iterator[Any]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def peek(self) -> bytes:
        """What comes next; nothing at the end."""
        if not self._rest:
            self._rest = bytes(next(self._chunks, b""))
        return self._rest

    def readinto(self, buffer: Any) -> int:
        size = min(len(self.peek()), len(buffer))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
