"""Connectors in: a declared stream becomes a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Catalog, Column, Stream
from panes.errors import PanesError
from panes.kernels.changelog.changes import CHANGE
from panes.physical import plan as physical
from panes.spark.expressions import quoted
from panes.spark.failures import refused_by_spark
from panes.spark.folders import FILES


def read(stream: Stream, spark: SparkSession) -> DataFrame:
    """The DataFrame of a CREATE STREAM; any connector that Panes has no word for is Spark's `format`."""
    options = dict(stream.options)
    connector = options.pop("connector", None)
    if connector is None:
        hint = "WITH (connector = 'json', path = '…')"
        raise PanesError("stream-options", f"the stream {stream.name} has no connector", None, hint)
    reader = spark.readStream.format(connector)
    path = options.pop("path", None)
    for name, value in options.items():
        reader = reader.option(name, value)
    columns = [*([Column(CHANGE, "string")] if stream.changelog else []), *stream.columns]
    if connector in FILES:
        if path is None:
            raise PanesError("stream-options", f"the stream {stream.name} has no path", None, "WITH (…, path = '…')")
        reader = reader.schema(", ".join(f"{quoted(column.name)} {column.type}" for column in columns))
    df = reader.load(path) if path is not None else reader.load()
    named = ((quoted(column.name), column.type) for column in columns)
    return df.selectExpr(*(f"CAST({name} AS {type_}) AS {name}" for name, type_ in named))


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
