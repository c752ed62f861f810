"""Connectors in: a declared stream becomes a streaming DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Stream
from panes.errors import PanesError

FILES = frozenset(("json", "csv", "parquet", "orc", "text"))


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
    if connector in FILES:
        if path is None:
            raise PanesError("stream-options", f"the stream {stream.name} has no path", None, "WITH (…, path = '…')")
        reader = reader.schema(", ".join(f"`{column.name}` {column.type}" for column in stream.columns))
    df = reader.load(path) if path is not None else reader.load()
    return df.selectExpr(*(f"CAST(`{column.name}` AS {column.type}) AS `{column.name}`" for column in stream.columns))
