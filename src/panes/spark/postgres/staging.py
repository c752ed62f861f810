"""A micro-batch on its way: executors copy its rows into a table of this attempt, which the driver then merges.

A task may run twice. Each time it copies in a transaction of its own, whose number stands in its rows. Those rows count
whose number Spark hands to the driver, once for each partition.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType

from panes.connectors.postgres import Database
from panes.errors import PanesError
from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.spark.expressions import quoted
from panes.spark.postgres.connection import STAGING, connected, execute, identifier, nul_in, transaction
from panes.spark.postgres.target import Target
from panes.spark.postgres.types import copy_line

if TYPE_CHECKING:
    import psycopg

ATTEMPT, DELETED = "panes_attempt", "panes_deleted"
COPIED = "attempt bigint, rows bigint"


@dataclass(frozen=True)
class Staged:
    """The rows of a micro-batch in a table: those that these attempts at tasks have copied, so many in all."""

    table: str
    attempts: tuple[int, ...]
    rows: int

    @property
    def counts(self) -> str:
        """The condition for a row to count."""
        return f"{ATTEMPT} = ANY('{{{','.join(map(str, self.attempts))}}}'::bigint[])"


def staging_name(sink: str, batch: int) -> str:
    """A name of its own for each attempt at a micro-batch of a sink.

    >>> staging_name("board", 7)[:-8]
    'panes_staging_f5b79e5ddcdb_7_'
    """
    return f"{staging_prefix(sink)}{batch}_{uuid.uuid4().hex[:8]}"


def staging_prefix(sink: str) -> str:
    return f"{STAGING}_{hashlib.sha256(sink.encode()).hexdigest()[:12]}_"


@dataclass(frozen=True)
class StagingTable:
    """Where the rows of an attempt go. The first task that has some makes it: many micro-batches have none."""

    name: str
    create: str

    def make(self, connection: psycopg.Connection[Any]) -> None:
        """Tasks take turns: PostgreSQL does not make a table once if two ask for it at the same time."""
        with transaction(connection):
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self.name,))
            execute(connection, self.create)


@contextmanager
def staging_table(connection: psycopg.Connection[Any], name: str, target: Target) -> Iterator[StagingTable]:
    """A table for as long as an attempt takes. It is not logged: what a crash of the server leaves is counted."""
    table = target.beside(name)
    needed = () if target.null_safe else target.key
    columns = [
        f"{identifier(one.name)} {one.type.sql}{' NOT NULL' if one.name in needed else ''}" for one in target.columns
    ]
    deleted = [f"{DELETED} boolean NOT NULL"] if target.key else []
    own = [f"{ATTEMPT} bigint NOT NULL DEFAULT txid_current()", *deleted]
    try:
        yield StagingTable(table, f"CREATE UNLOGGED TABLE IF NOT EXISTS {table} ({', '.join([*own, *columns])})")
    finally:
        if not connection.closed:
            execute(connection, f"DROP TABLE IF EXISTS {table}")


def stage(rows: DataFrame, database: Database, table: StagingTable, target: Target) -> Staged:
    """Copy the rows of a micro-batch, on the executors; of a row that is deleted, its key is enough."""
    names = [name for name in rows.columns if name != CHANGE or not target.key]
    key = {name.lower() for name in target.key}
    columns = [one.name for one in target.columns]
    cells = [(f.col(quoted(name)), rows.schema[name].dataType) for name in names]
    if target.key:
        deleted = ~f.col(CHANGE).isin(INSERT, AFTER)
        rest = [
            (one, type_) if name.lower() in key else (f.when(~deleted, one), type_)
            for name, (one, type_) in zip(names, cells, strict=True)
        ]
        cells = [(deleted, BooleanType()), *rest]
        columns = [DELETED, *columns]
    sql = f"COPY {table.name} ({', '.join(identifier(name) for name in columns)}) FROM STDIN"
    copy = _copier(database, table, sql, columns)
    copied = rows.select(copy_line(cells).alias("line")).mapInArrow(copy, COPIED).collect()
    return Staged(table.name, tuple(row["attempt"] for row in copied), sum(row["rows"] for row in copied))


Copy = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _copier(database: Database, table: StagingTable, sql: str, columns: Sequence[str]) -> Copy:
    """What a task does: one transaction with all its lines, or nothing at all where it has none."""

    def copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        rows = 0
        with connected(database) as connection:
            table.make(connection)
            with transaction(connection):
                with connection.cursor() as cursor, cursor.copy(sql.encode()) as out:
                    for batch in chain([first], filled):
                        rows += batch.num_rows
                        check_texts(batch.column(0), columns)
                        out.write(joined(batch.column(0)))
                ((attempt,),) = execute(connection, "SELECT txid_current()").fetchall()
        yield pa.RecordBatch.from_pydict({"attempt": [attempt], "rows": [rows]})

    return copy


def check_texts(lines: pa.Array, columns: Sequence[str]) -> None:
    """Refuse what PostgreSQL does not store; it would not say in which column it is."""
    try:
        lines.validate(full=True)
        if not (np.frombuffer(joined(lines), dtype=np.uint8) == 0).any():
            return
    except pa.ArrowInvalid:
        pass
    for line in lines.cast(pa.binary()):
        for column, cell in zip(columns, line.as_py().split(b"\t"), strict=True):
            if b"\0" in cell:
                raise nul_in(column)
            try:
                cell.decode("utf-8")
            except UnicodeDecodeError:
                hint = "Show what is none in it: make_valid_utf8(…), or keep it as BINARY."
                raise PanesError("database-failed", f"a text in the column {column} is not UTF-8", None, hint) from None


def joined(lines: pa.Array) -> memoryview:
    """The texts of an array, one after the other: as Arrow has them."""
    texts = lines.cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset :]
    return memoryview(data)[ends[0] : ends[len(texts)]]


def left_behind(connection: psycopg.Connection[Any], target: Target, sink: str, batch: int) -> Sequence[str]:
    """The tables of attempts that died, at micro-batches before this one."""
    prefix = staging_prefix(sink)
    found = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = %s AND starts_with(tablename, %s)",
        (target.table.schema, prefix),
    )
    return [name for (name,) in found if int(name[len(prefix) :].partition("_")[0]) < batch]
