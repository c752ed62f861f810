"""Connectors in: a declared stream becomes a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from panes.catalog import Catalog, Column, Stream
from panes.connectors import delta
from panes.connectors.kafka import CONNECTOR
from panes.errors import PanesError
from panes.kernels.changelog.changes import CHANGE
from panes.physical import plan as physical
from panes.spark.delta.source import read_delta
from panes.spark.expressions import quoted
from panes.spark.failures import refused_by_spark
from panes.spark.folders import FILES
from panes.spark.kafka.source import read_kafka


def read(stream: Stream, spark: SparkSession) -> DataFrame:
    """The DataFrame of a CREATE STREAM; any connector that Panes has no word for is Spark's `format`."""
    options = dict(stream.options)
    connector = options.pop("connector", None)
    if connector is None:
        hint = "WITH (connector = 'json', path = '…')"
        raise PanesError("stream-options", f"the stream {stream.name} has no connector", None, hint)
    if connector == CONNECTOR:
        return with_computed(read_kafka(stream, spark), stream)
    if connector == delta.CONNECTOR:
        return with_computed(read_delta(stream, spark), stream)
    reader = spark.readStream.format(connector)
    path = options.pop("path", None)
    for name, value in options.items():
        reader = reader.option(name, value)
    columns = [*([Column(CHANGE, "string")] if stream.changelog else []), *stored_columns(stream)]
    if connector in FILES:
        if path is None:
            raise PanesError("stream-options", f"the stream {stream.name} has no path", None, "WITH (…, path = '…')")
        reader = reader.schema(", ".join(f"{quoted(column.name)} {column.type}" for column in columns))
    df = reader.load(path) if path is not None else reader.load()
    named = ((quoted(column.name), column.type) for column in columns)
    return with_computed(df.selectExpr(*(f"CAST({name} AS {type_}) AS {name}" for name, type_ in named)), stream)


def stored_columns(stream: Stream) -> list[Column]:
    """The columns that are in the source: all that are not computed."""
    return [column for column in stream.columns if column.computed is None]


def with_computed(df: DataFrame, stream: Stream) -> DataFrame:
    """A stream's columns in the order in which they were declared; each may be computed from those before it."""
    if all(column.computed is None for column in stream.columns):
        return df
    for column in stream.columns:
        if column.computed is not None:
            df = df.withColumn(column.name, expr(f"CAST(({column.computed}) AS {column.type})"))
    change = [CHANGE] if stream.changelog else []
    return df.select(*(quoted(name) for name in (*change, *stream.column_names)))


def read_folder(stream: Stream) -> str | None:
    """The folder of files that a declared stream reads, as it was written."""
    return stream.options.get("path") if stream.options.get("connector") in FILES else None


def streams_of(plan: physical.Plan, catalog: Catalog) -> tuple[Stream, ...]:
    """The declared streams that a plan reads."""
    if isinstance(plan, physical.DataSource):
        found = catalog.streams.get(plan.stream)
        return (found,) if found is not None else ()
    return tuple(stream for child in physical.children(plan) for stream in streams_of(child, catalog))


def declared(streams: Iterable[Stream], frames: Mapping[str, DataFrame], spark: SparkSession) -> dict[str, DataFrame]:
    """The DataFrames of streams that a script declares; `frames` are those that were registered, by lower-case name."""
    found: dict[str, DataFrame] = {}
    for stream in streams:
        if "connector" in stream.options or stream.name.lower() not in frames:
            with refused_by_spark("stream-options", f"the stream {stream.name} cannot be read"):
                found[stream.name.lower()] = read(stream, spark)
    return found
