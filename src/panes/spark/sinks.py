"""Connectors out: a result goes to a declared sink."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink
from panes.compile import Compiled
from panes.connectors import delta, jdbc, kafka, postgres
from panes.errors import PanesError
from panes.spark.batch_writers import own_writer
from panes.spark.folders import FILES
from panes.spark.kafka.broker import check_written_topic
from panes.spark.late_rows import write_both
from panes.spark.micro_batches import checkpoint_id
from panes.spark.packages import check_packages, has_source
from panes.spark.sink_log import BY_BATCH, LOG
from panes.spark.store import StorePath, is_reachable, store_path

TABLES = (postgres.CONNECTOR, jdbc.CONNECTOR, delta.CONNECTOR)  # they apply changelogs


def check_sink(sink: Sink, changelog: bool) -> None:
    """Refuse before anything starts what a sink cannot take."""
    connector = sink.options["connector"]
    if connector in FILES and "path" not in sink.options:
        raise PanesError("stream-options", f"the sink {sink.name} has no path", None, "WITH (…, path = '…')")
    rows = ("console", "memory", "noop", *TABLES, *([kafka.CONNECTOR] if sink.options.get("changelog") else []))
    if changelog and connector not in rows and sink.options.get("changelog") != "rows":
        hint = "Add changelog = 'rows' to its options to get the changes as rows."
        if connector == kafka.CONNECTOR:
            hint += " Or changelog = 'upsert' and its key: then a topic has the last row of each key."
        raise PanesError("stream-options", f"the sink {sink.name} would store every change as a row", None, hint)


def check_connector(sink: Sink, spark: SparkSession) -> None:
    """Refuse a connector that Spark does not know: a writer would find it out only when others have started."""
    connector = sink.options["connector"]
    if connector in FILES or connector in ("console", "memory", "noop", *TABLES):
        return
    check_packages(spark, sink)
    if connector == kafka.CONNECTOR:
        written = kafka.kafka_sink(sink).spark
        check_written_topic(spark, written, written["topic"])
    elif not has_source(spark, connector):
        raise PanesError("stream-options", f"Spark has no connector {connector} for the sink {sink.name}")


def written_folder(sink: Sink) -> str | None:
    """The folder of files that a sink writes, as it was written."""
    return sink.options.get("path") if sink.options["connector"] in FILES else None


def check_unwritten(sink: Sink, spark: SparkSession) -> None:
    """Refuse a folder of files that another checkpoint has written to: Spark would skip the first micro-batches.

    Of a folder in another store nobody can tell over Spark Connect.
    """
    path = written_folder(sink)
    if path is None or not is_reachable(path, spark):
        return
    there = store_path(path, spark)
    logged = any(name[:1].isdigit() for name in (there / LOG).names())
    if logged or any(name.startswith(BY_BATCH) for name in there.names()):
        hint = "Go on with the checkpoint that was used for it, or give the sink another path."
        raise PanesError("state-mismatch", f"{path} holds the results of another checkpoint", None, hint)


def forgets(sink: Sink) -> bool:
    """Whether a sink is empty after a restart of its query."""
    return sink.options["connector"] == "memory"


def write(df: DataFrame, sink: Sink, late: Sink | None, compiled: Compiled, checkpoint: StorePath) -> DataStreamWriter:
    """A writer that only needs its trigger and `start`; `late` is the sink of late rows."""
    writer = (
        write_both(df, late, sink, compiled, checkpoint)
        if late is not None
        else _write_results(df, sink, compiled, checkpoint)
    )
    return writer.option("checkpointLocation", str(checkpoint))


def _write_results(df: DataFrame, sink: Sink, compiled: Compiled, checkpoint: StorePath) -> DataStreamWriter:
    own = own_writer(sink, df, compiled, lambda: checkpoint_id(checkpoint))
    return df.writeStream.foreachBatch(own) if own is not None else _write_by_spark(df, sink)


def _write_by_spark(df: DataFrame, sink: Sink) -> DataStreamWriter:
    options = {name: value for name, value in sink.options.items() if name not in ("connector", "changelog")}
    writer = df.writeStream.format(sink.options["connector"]).outputMode("append")
    if sink.options["connector"] == "memory":
        writer = writer.queryName(sink.name)
    if sink.options["connector"] == "console":
        options.setdefault("truncate", "false")
    return writer.options(**options)
