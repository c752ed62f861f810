"""The columns of a result, and those of the Delta table that it is written to: what must fit before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
from panes.spark.expressions import with_nested

HELD = (
    *(StringType, BinaryType, BooleanType, NumericType, DateType, TimestampType, TimestampNTZType),
    *(ArrayType, MapType, StructType),
)


@dataclass(frozen=True)
class Result:
    """Rows on their way into a table: their schema, and whether they are changes, to be applied by the key."""

    schema: StructType
    sink: DeltaSink
    changelog: bool

    @property
    def fields(self) -> list[StructField]:
        """What is written; where changes are applied, their kind is not."""
        return [field for field in self.schema.fields if not (self.changelog and field.name == CHANGE)]


def check_result(result: Result, table: StructType | None) -> None:
    """Refuse a result that does not fit; None is a table that is yet to be made."""
    sink = result.sink
    _require(result, sink.key, "key")
    if table is not None:
        matched(result, table)
    else:
        _require(result, sink.partition_by, "partition_by")
        new_schema(result)


def matched(result: Result, table: StructType) -> dict[str, str]:
    """The result's columns by the names that they have in the table."""
    path = result.sink.path
    known = {field.name.lower(): field for field in table.fields}
    found: dict[str, str] = {}
    for field in result.fields:
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


def key_of(sink: DeltaSink, columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that identify a row, as the table calls them."""
    wanted = {name.lower() for name in sink.key}
    return tuple(name for name in columns if name.lower() in wanted)


def new_schema(result: Result) -> StructType:
    """The schema of a new table for a result."""
    fields = [StructField(field.name, field.dataType) for field in result.fields]
    for field in fields:
        for one in with_nested(field.dataType):
            if not isinstance(one, HELD):
                text = f"the column {field.name} is {one.simpleString()}, which no Delta table can hold"
                raise PanesError("type-mismatch", text, None, f"Select CAST({field.name} AS STRING).")
    return StructType(fields).toNullable()


def _require(result: Result, names: Sequence[str], option: str) -> None:
    for name in names:
        if name.lower() not in {one.lower() for one in result.schema.names}:
            text = f"{option} of the Delta table {result.sink.path} names {name}, which the result has not"
            raise PanesError("unknown-column", text, None, suggestion(name, result.schema.names))
