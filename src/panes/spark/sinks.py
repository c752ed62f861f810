"""Connectors out: a result goes to a declared sink."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink
from panes.errors import PanesError

FILES = frozenset(("json", "csv", "parquet", "orc"))


def check_sink(sink: Sink, changelog: bool) -> None:
    """Refuse before anything starts what a sink cannot take."""
    connector = sink.options["connector"]
    if connector in FILES and "path" not in sink.options:
        raise PanesError("stream-options", f"the sink {sink.name} has no path", None, "WITH (…, path = '…')")
    if changelog and connector not in ("console", "memory", "noop") and sink.options.get("changelog") != "rows":
        hint = "Add changelog = 'rows' to its options to get the changes as rows."
        raise PanesError("stream-options", f"the sink {sink.name} would take changes for facts", None, hint)


def write(df: DataFrame, sink: Sink) -> DataStreamWriter:
    """A writer that only needs its checkpoint, its trigger and `start`."""
    options = dict(sink.options)
    connector = options.pop("connector")
    options.pop("changelog", None)
    writer = df.writeStream.format(connector).outputMode("append")
    if connector == "memory":
        writer = writer.queryName(sink.name)
    if connector == "console":
        options.setdefault("truncate", "false")
    for name, value in options.items():
        writer = writer.option(name, value)
    return writer
