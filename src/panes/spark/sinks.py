"""Connectors out: a result goes to a declared sink."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink
from panes.connectors.kafka import CONNECTOR, kafka_sink
from panes.errors import PanesError
from panes.spark.batch_writers import BATCH
from panes.spark.folders import FILES, folder
from panes.spark.kafka.broker import check_topics
from panes.spark.kafka.sink import write_kafka
from panes.spark.packages import check_packages, has_source

WRITTEN = ("_spark_metadata/[0-9]*", f"{BATCH}=*")  # what a run leaves in a folder of files


def check_sink(sink: Sink, changelog: bool) -> None:
    """Refuse before anything starts what a sink cannot take."""
    connector = sink.options["connector"]
    if connector in FILES and "path" not in sink.options:
        raise PanesError("stream-options", f"the sink {sink.name} has no path", None, "WITH (…, path = '…')")
    rows = ("console", "memory", "noop", *([CONNECTOR] if sink.options.get("changelog") else []))
    if changelog and connector not in rows and sink.options.get("changelog") != "rows":
        hint = "Add changelog = 'rows' to its options to get the changes as rows."
        if connector == CONNECTOR:
            hint += " Or changelog = 'upsert' and its key: then a topic has the last row of each key."
        raise PanesError("stream-options", f"the sink {sink.name} would store every change as a row", None, hint)


def check_connector(sink: Sink, spark: SparkSession) -> None:
    """Refuse a connector that Spark does not know: a writer would find it out only when others have started."""
    connector = sink.options["connector"]
    if connector in FILES or connector in ("console", "memory", "noop"):
        return
    check_packages(spark, sink)
    if connector == CONNECTOR:
        check_topics(spark, kafka_sink(sink).spark, ())  # a broker may make a topic for its first record
    elif not has_source(spark, connector):
        raise PanesError("stream-options", f"Spark has no connector {connector} for the sink {sink.name}")


def written_folder(sink: Sink) -> str | None:
    """The folder of files that a sink writes, as it was written."""
    return sink.options.get("path") if sink.options["connector"] in FILES else None


def check_unwritten(sink: Sink) -> None:
    """Refuse a folder of files that another checkpoint has written to: Spark would skip the first micro-batches."""
    path = written_folder(sink)
    if path is not None and any(found for pattern in WRITTEN for found in Path(folder(path)).glob(pattern)):
        hint = "Go on with the checkpoint that was used for it, or give the sink another path."
        raise PanesError("state-mismatch", f"{path} holds the results of another checkpoint", None, hint)


def forgets(sink: Sink) -> bool:
    """Whether a sink is empty after a restart of its query."""
    return sink.options["connector"] == "memory"


def write(df: DataFrame, sink: Sink, changelog: bool, checkpoint: Path) -> DataStreamWriter:
    """A writer that only needs its trigger and `start`."""
    options = dict(sink.options)
    connector = options.pop("connector")
    if connector == CONNECTOR:
        writer = write_kafka(df, kafka_sink(sink), changelog, checkpoint)
        return writer.option("checkpointLocation", str(checkpoint))
    options.pop("changelog", None)
    writer = df.writeStream.format(connector).outputMode("append")
    if connector == "memory":
        writer = writer.queryName(sink.name)
    if connector == "console":
        options.setdefault("truncate", "false")
    for name, value in options.items():
        writer = writer.option(name, value)
    return writer.option("checkpointLocation", str(checkpoint))
