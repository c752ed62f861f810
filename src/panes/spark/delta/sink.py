"""Delta out: a micro-batch is one commit, which carries the sink's id and the micro-batch's number.

stage      the rows are computed, and written beside the table: always, since state is kept on the way
commit     unless the table says that this micro-batch is in it; a commit fails if another driver has committed in
           between, and is tried again from there
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from panes.connectors.delta import DeltaSink
from panes.errors import PanesError, suggestion
from panes.kernels.changelog.changes import CHANGE
from panes.spark.delta.staging import Staged, clean_up, nullable, stage
from panes.spark.delta.table import (
    ONE_AT_A_TIME,
    arrow_schema_of,
    check_installed,
    exists,
    failures_of,
    open_table,
    schema_of,
)
from panes.spark.expressions import quoted, with_nested
from panes.spark.folders import folder
from panes.spark.last_of_key import DELETED, last_of_key

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable, Schema

HELD = (
    *(StringType, BinaryType, BooleanType, NumericType, DateType, TimestampType, TimestampNTZType),
    *(ArrayType, MapType, StructType),
)
Put = Callable[[DataFrame, int], None]
BEHIND = "Its checkpoint was replaced, or another query has the same id. Begin with another id and an empty table."
SMALL = 64 << 20  # bytes of a micro-batch that may be in memory whole
ATTEMPTS = 20  # at a commit, when others commit as well


@dataclass(frozen=True)
class DeltaWriter:
    """A function for `foreachBatch`. `id` tells the sink apart from all others that write to the table."""

    id: str
    sink: DeltaSink
    changelog: bool  # whether rows are changes, to be applied by the key

    def __call__(self, rows: DataFrame, batch: int) -> None:
        sink = self.sink
        with ONE_AT_A_TIME:
            table = self._table(rows.schema)
            there, arrow = schema_of(table), arrow_schema_of(table)
        columns = matched(rows.schema, self, there)
        if self.changelog:
            rows = last_of_key(rows, sink.key)
            values = {name: quoted(column) for name, column in columns.items()} | {DELETED: DELETED}
        else:  # appended rows have all columns, in their order
            values = {
                one.name: quoted(columns[one.name]) if one.name in columns else _null(one) for one in there.fields
            }
        known = arrow.append(pa.field(DELETED, pa.bool_()))
        schema = pa.schema([pa.field(name, nullable(known.field(name).type)) for name in values])
        named = rows.selectExpr(*(f"{value} AS {quoted(name)}" for name, value in values.items()))
        staged = stage(named, sink.path, sink.storage, self.id, batch, schema, self._key(columns))
        if staged.files:
            with ONE_AT_A_TIME:
                self._commit(staged, list(columns), batch)
                clean_up(sink.path, sink.storage, self.id, batch)

    def _key(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns that identify a row, as the table calls them."""
        wanted = {name.lower() for name in self.sink.key} if self.changelog else set()
        return tuple(name for name in columns if name.lower() in wanted)

    def _table(self, schema: StructType) -> DeltaTable:
        sink = self.sink
        if sink.create and not exists(sink.path, sink.storage):
            create(self, schema)
        return open_table(sink.path, sink.storage)

    def _commit(self, staged: Staged, columns: Sequence[str], batch: int) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError

        properties = CommitProperties(app_transactions=[Transaction(self.id, batch)])
        for _ in range(ATTEMPTS):
            table = open_table(self.sink.path, self.sink.storage)
            if self._has(table, batch):
                return
            try:
                with failures_of(self.sink.path, self.sink.storage):
                    self._apply(table, staged, columns, properties)
                return
            except Exception as error:
                if isinstance(error.__cause__, CommitFailedError):
                    continue
                if not self._has(open_table(self.sink.path, self.sink.storage), batch):
                    raise
                return  # another driver has committed it, and then removed what was staged here
        text = f"micro-batch {batch} could not be committed to {self.sink.path}: others always were faster"
        raise PanesError("delta-failed", text, None, "Restart it when fewer write to the table.")

    def _has(self, table: DeltaTable, batch: int) -> bool:
        """Whether a micro-batch is in the table. One before it cannot come: Spark repeats the last one only."""
        last = table.transaction_version(self.id)
        if last is not None and last > batch:
            text = f"{self.sink.path} has micro-batch {last} of the sink {self.id} already, and this is {batch}"
            raise PanesError("state-mismatch", text, None, BEHIND)
        return last == batch

    def _apply(self, table: DeltaTable, staged: Staged, columns: Sequence[str], properties: CommitProperties) -> None:
        from deltalake import write_deltalake

        if not self.changelog:
            write_deltalake(table, staged.reader(), mode="append", commit_properties=properties)
            return
        key = self._key(columns)
        # With `=` and all rows in memory, delta-rs reads only files whose keys are in the range of those of the rows.
        equal = "IS NOT DISTINCT FROM" if staged.null_keys else "="
        by_range = staged.size <= SMALL and all(_is_exact(staged.schema.field(name).type) for name in key)
        same = " AND ".join(f"(t.{_quoted(name)} {equal} s.{_quoted(name)})" for name in key)
        values = {_quoted(name): f"s.{_quoted(name)}" for name in columns}
        merge = table.merge(staged.reader(), same, "s", "t", streamed_exec=not by_range, commit_properties=properties)
        merge = merge.when_matched_delete(f"s.{DELETED}").when_matched_update(values, f"NOT s.{DELETED}")
        merge.when_not_matched_insert(values, f"NOT s.{DELETED}").execute()


def checked_writer(schema: StructType, sink: DeltaSink, applied: bool, sink_id: Callable[[], str]) -> Put:
    """A writer of micro-batches; its table is looked at before anything starts."""
    sink = replace(sink, path=folder(sink.path))
    check_delta(DeltaWriter("", sink, applied), schema)
    return lambda rows, batch: DeltaWriter(sink_id(), sink, applied)(rows, batch)


def check_delta(writer: DeltaWriter, schema: StructType) -> None:
    """Refuse before anything starts a table that is not there, and a result that does not fit."""
    check_installed()
    sink = writer.sink
    _require(writer, sink.key, schema, "key")
    if not sink.create or exists(sink.path, sink.storage):
        matched(schema, writer, schema_of(open_table(sink.path, sink.storage)))
    else:
        _require(writer, sink.partition_by, schema, "partition_by")
        new_schema(writer, schema)


def _require(writer: DeltaWriter, names: Sequence[str], schema: StructType, option: str) -> None:
    for name in names:
        if name.lower() not in {one.lower() for one in schema.names}:
            text = f"{option} of the Delta table {writer.sink.path} names {name}, which the result has not"
            raise PanesError("unknown-column", text, None, suggestion(name, schema.names))


def matched(schema: StructType, writer: DeltaWriter, table: StructType) -> dict[str, str]:
    """The result's columns by the names that they have in the table."""
    path = writer.sink.path
    known = {field.name.lower(): field for field in table.fields}
    found: dict[str, str] = {}
    for field in _written(schema, writer):
        there = known.get(field.name.lower())
        if there is None:
            text = f"the Delta table {path} has no column {field.name}"
            raise PanesError("unknown-column", text, None, suggestion(field.name, table.names))
        new, old = field.dataType.simpleString(), there.dataType.simpleString()
        if new != old:
            text = f"the column {field.name} is {new}, in the Delta table {path} {old}"
            raise PanesError("type-mismatch", text, None, f"Select CAST({field.name} AS {old.upper()}).")
        if there.name in found:
            raise PanesError("ambiguous-column", f"the result has two columns {field.name} for the Delta table {path}")
        found[there.name] = field.name
    for field in table.fields:
        if field.name not in found and not field.nullable:
            text = f"the result has no {field.name}, which may not be NULL in the Delta table {path}"
            raise PanesError("unknown-column", text, None, f"Select {field.name}.")
    return found


def _written(schema: StructType, writer: DeltaWriter) -> list[StructField]:
    return [field for field in schema.fields if not (writer.changelog and field.name == CHANGE)]


def new_schema(writer: DeltaWriter, schema: StructType) -> Schema:
    """The schema of a new table for a result."""
    from deltalake import Schema

    fields = [StructField(field.name, field.dataType) for field in _written(schema, writer)]
    for field in fields:
        for one in with_nested(field.dataType):
            if not isinstance(one, HELD):
                text = f"the column {field.name} is {one.simpleString()}, which no Delta table can hold"
                raise PanesError("type-mismatch", text, None, f"Select CAST({field.name} AS STRING).")
    return Schema.from_json(StructType(fields).toNullable().json())


def create(writer: DeltaWriter, schema: StructType) -> None:
    """Make the table, unless another driver has."""
    from deltalake import DeltaTable

    sink = writer.sink
    with failures_of(sink.path, sink.storage):
        DeltaTable.create(
            sink.path,
            new_schema(writer, schema),
            mode="ignore",
            partition_by=list(sink.partition_by),
            configuration=dict(sink.properties),
            storage_options=dict(sink.storage),
        )


def _is_exact(type_: pa.DataType) -> bool:
    """Whether statistics of a file tell where such a value cannot be: NaN is not in them, decimals are rounded."""
    types = pa.types
    known = (types.is_integer, types.is_string, types.is_date, types.is_timestamp, types.is_boolean)
    return any(is_one(type_) for is_one in known)


def _null(field: StructField) -> str:
    return f"CAST(NULL AS {field.dataType.simpleString()})"


def _quoted(name: str) -> str:
    """A name in the SQL of delta-rs."""
    return '"' + name.replace('"', '""') + '"'
