"""Delta in: a table's rows, or its change feed, as a declared stream."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from panes.catalog import Stream
from panes.connectors.delta import DeltaSource, delta_source
from panes.errors import PanesError, suggestion
from panes.kernels.changelog.changes import CHANGE
from panes.spark.data_sources import register
from panes.spark.delta.reader import DeltaStream, Reading
from panes.spark.delta.table import FEED, check_installed, has_feed, open_table, schema_of
from panes.spark.expressions import quoted
from panes.spark.folders import folder
from panes.spark.memory import memory_of
from panes.spark.worker_python import check_workers

LIMITED = (4, 2)  # the first Spark that asks a Python source for no more than so much


def read_delta(stream: Stream, spark: SparkSession) -> DataFrame:
    """All columns of a stream that are not computed, and `_change_type` first if it is a changelog."""
    source = _resolved(delta_source(stream))
    check_installed()
    if source.max_versions is not None and _version(spark) < LIMITED:
        hint = f"Leave it out, or take Spark {LIMITED[0]}.{LIMITED[1]}."
        raise PanesError("stream-options", f"Spark {spark.version} knows no max_versions_per_trigger", None, hint)
    table = open_table(source.path, source.storage)
    if stream.changelog and not has_feed(table):
        hint = f"Set its property {FEED} = true: the feed begins with the next version."
        raise PanesError("delta-failed", f"the Delta table {source.path} has no change feed", None, hint)
    fields = _fields(stream, schema_of(table))
    change = [StructField(CHANGE, StringType())] if stream.changelog else []
    reading = Reading(source, stream.changelog, _order(stream, fields), memory_of(spark))
    schema = StructType([*change, *fields.values()]).toNullable()
    check_workers(spark)
    register(spark, DeltaStream)
    reader = spark.readStream.format(DeltaStream.name()).schema(schema)
    found = reader.options(**reading.options()).load()
    named = [f"{quoted(field.name)} AS {quoted(name)}" for name, field in fields.items()]
    return found.selectExpr(*(field.name for field in change), *named)


def _resolved(source: DeltaSource) -> DeltaSource:
    return replace(source, path=folder(source.path))


def _version(spark: SparkSession) -> tuple[int, ...]:
    return tuple(int(part) for part in spark.version.split(".")[:2])


def _fields(stream: Stream, schema: StructType) -> dict[str, StructField]:
    """The table's fields by the names of the columns that are declared for them."""
    known = {field.name.lower(): field for field in schema.fields}
    stored = [column for column in stream.columns if column.computed is None]
    declared = cast(StructType, StructType.fromDDL(", ".join(f"{quoted(one.name)} {one.type}" for one in stored)))
    found: dict[str, StructField] = {}
    for column in stored:
        field = known.get(column.name.lower())
        if field is None:
            hint = suggestion(column.name, schema.names)
            text = f"the Delta table of the stream {stream.name} has no column {column.name}"
            raise PanesError("unknown-column", text, None, hint)
        if field.dataType.simpleString() != declared[column.name].dataType.simpleString():
            type_ = field.dataType.simpleString()
            hint = f"Declare {column.name} {type_.upper()}, and cast it in a query or a computed column."
            text = f"the column {column.name} of {stream.name} is {column.type}, in its Delta table {type_}"
            raise PanesError("type-mismatch", text, None, hint)
        found[column.name] = field
    return found


def _order(stream: Stream, fields: dict[str, StructField]) -> tuple[str, ...]:
    """What orders the changes of a version: by key, and of each what goes first; by all columns if it is computed."""
    if not stream.changelog:
        return ()
    stored = {name.lower(): field.name for name, field in fields.items()}
    if all(name.lower() in stored for name in stream.key):
        return (*(stored[name.lower()] for name in stream.key), CHANGE)
    flat = [one.name for one in fields.values() if not isinstance(one.dataType, ArrayType | MapType | StructType)]
    return (CHANGE, *flat)
