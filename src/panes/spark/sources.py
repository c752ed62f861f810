"""Connectors in: a declared stream becomes a streaming DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from panes.catalog import Catalog, Column, Stream
from panes.connectors import delta
from panes.connectors.kafka import CONNECTOR
from panes.connectors.malformed import has_lines
from panes.connectors.postgres import is_table
from panes.errors import PanesError
from panes.kernels.changelog.changes import CHANGE
from panes.physical import plan as physical
from panes.secrets import resolved
from panes.spark.delta.source import read_delta
from panes.spark.expressions import quoted
from panes.spark.failures import refused_by_spark
from panes.spark.folders import FILES
from panes.spark.kafka.source import judged_records, read_kafka
from panes.spark.lines import judged_lines
from panes.spark.malformed import Judged, dead_letters, sound
from panes.spark.postgres.source import read_postgres
from panes.spark.store import is_reachable, store_path


def read(stream: Stream, spark: SparkSession) -> DataFrame:
    """The DataFrame of a CREATE STREAM; any connector that Panes has no word for is Spark's `format`."""
    connector = stream.options.get("connector")
    if connector is None:
        hint = "WITH (connector = 'json', path = '…')"
        raise PanesError("stream-options", f"the stream {stream.name} has no connector", None, hint)
    if stream.dead_letters_of is not None:
        return dead_letters(_judged(stream.dead_letters_of, spark), stream)
    if connector == CONNECTOR:
        return with_computed(read_kafka(stream, spark), stream)
    if connector == delta.CONNECTOR:
        return with_computed(read_delta(stream, spark), stream)
    if is_table(stream.options):
        return with_computed(read_postgres(stream, spark), stream)
    if has_lines(stream):
        return _declared_columns(sound(_judged(stream, spark), stream), stream)
    reader = spark.readStream.format(connector).options(**_spark_options(stream))
    if connector in FILES:
        reader = reader.schema(", ".join(f"{quoted(column.name)} {column.type}" for column in _read_columns(stream)))
        return _declared_columns(reader.load(_path(stream, spark)), stream)
    path = stream.options.get("path")
    return _declared_columns(reader.load(path) if path is not None else reader.load(), stream)


def _judged(stream: Stream, spark: SparkSession) -> Judged:
    if stream.options["connector"] == CONNECTOR:
        return judged_records(stream, spark, headers=True)
    reader = spark.readStream.format(stream.options["connector"]).options(**_spark_options(stream))
    return judged_lines(stream, _read_columns(stream), reader, _path(stream, spark))


def _spark_options(stream: Stream) -> dict[str, str]:
    return {name: value for name, value in stream.options.items() if name not in ("connector", "path")}


def _path(stream: Stream, spark: SparkSession) -> str:
    path = stream.options.get("path")
    if path is None:
        raise PanesError("stream-options", f"the stream {stream.name} has no path", None, "WITH (…, path = '…')")
    if is_reachable(path, spark):
        store_path(path, spark)  # names a jar that is missing
    return path


def _read_columns(stream: Stream) -> list[Column]:
    return [*([Column(CHANGE, "string")] if stream.changelog else []), *stored_columns(stream)]


def _declared_columns(df: DataFrame, stream: Stream) -> DataFrame:
    named = ((quoted(column.name), column.type) for column in _read_columns(stream))
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
    """The declared streams that a plan reads, with their secrets."""
    if isinstance(plan, physical.DataSource):
        found = catalog.streams.get(plan.stream)
        return (replace(found, options=resolved(found.options)),) if found is not None else ()
    return tuple(stream for child in physical.children(plan) for stream in streams_of(child, catalog))


def check_no_dead_letters(streams: Iterable[Stream]) -> None:
    """Refuse streams with dead letters to a query that runs without the one that writes them."""
    for stream in streams:
        if stream.dead_letter is not None:
            hint = f"Run INSERT INTO … with engine.run, or declare {stream.name} with on_error = 'fail'."
            raise PanesError("stream-options", f"nobody would write the dead letters of {stream.name}", None, hint)


def declared(streams: Iterable[Stream], frames: Mapping[str, DataFrame], spark: SparkSession) -> dict[str, DataFrame]:
    """The DataFrames of streams that a script declares; `frames` are those that were registered, by lower-case name."""
    found: dict[str, DataFrame] = {}
    for stream in streams:
        if "connector" in stream.options or stream.name.lower() not in frames:
            with refused_by_spark("stream-options", f"the stream {stream.name} cannot be read"):
                found[stream.name.lower()] = read(stream, spark)
    return found
