"""Delta out with delta-rs: a micro-batch is one commit, which carries the sink's id and the micro-batch's number.

stage      the rows are computed, and written beside the table: always, since state is kept on the way
commit     unless the table says that this micro-batch is in it; a commit fails if another driver has committed in
           between, and is tried again from there
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from panes.connectors.delta import DeltaSink
from panes.spark.delta.columns import Result, key_of, matched, new_schema
from panes.spark.delta.once import ATTEMPTS, has_batch, never_committed
from panes.spark.delta.staging import Staged, clean_up, nullable, stage
from panes.spark.delta.table import (
    ONE_AT_A_TIME,
    arrow_schema_of,
    exists,
    failures_of,
    open_table,
    schema_of,
)
from panes.spark.expressions import quoted
from panes.spark.last_of_key import DELETED, last_of_key

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

SMALL = 64 << 20  # bytes of a micro-batch that may be in memory whole


@dataclass(frozen=True)
class DeltaWriter:
    """Writes micro-batches with delta-rs. `id` tells the sink apart from all others of the table."""

    id: str
    sink: DeltaSink
    changelog: bool  # whether rows are changes, to be applied by the key

    def __call__(self, rows: DataFrame, batch: int) -> None:
        sink, result = self.sink, Result(rows.schema, self.sink, self.changelog)
        with ONE_AT_A_TIME:
            table = self._table(result)
            there, arrow = schema_of(table), arrow_schema_of(table)
        columns = matched(result, there)
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
        staged = stage(named, sink.path, sink.storage, self.id, batch, schema, self._key(list(columns)))
        if staged.files:
            with ONE_AT_A_TIME:
                self._commit(staged, list(columns), batch)
                clean_up(sink.path, sink.storage, self.id, batch)

    def find(self) -> StructType | None:
        """The schema of the table; None if it is yet to be made."""
        sink = self.sink
        if sink.create and not exists(sink.path, sink.storage):
            return None
        return schema_of(open_table(sink.path, sink.storage))

    def _key(self, columns: Sequence[str]) -> tuple[str, ...]:
        return key_of(self.sink, columns) if self.changelog else ()

    def _table(self, result: Result) -> DeltaTable:
        sink = self.sink
        if sink.create and not exists(sink.path, sink.storage):
            create(result)
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
        raise never_committed(self.sink.path, batch)

    def _has(self, table: DeltaTable, batch: int) -> bool:
        return has_batch(table.transaction_version(self.id), batch, self.id, self.sink.path)

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


def create(result: Result) -> None:
    """Make the table, unless another driver has."""
    from deltalake import DeltaTable, Schema

    sink = result.sink
    with failures_of(sink.path, sink.storage):
        DeltaTable.create(
            sink.path,
            Schema.from_json(new_schema(result).json()),
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
