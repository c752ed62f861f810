"""An INSERT with LATE ROWS INTO: each micro-batch has results and late rows, and both are written."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink
from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.physical.late_rows import WATERMARK
from panes.spark.batch_writers import Put, batch_writer


def write_both(df: DataFrame, sink: Sink, late: Sink, changelog: bool, checkpoint: Path) -> DataStreamWriter:
    """A writer of results and late rows that only needs its trigger and `start`."""
    results = batch_writer(sink, changelog, checkpoint, df.sparkSession)
    late_rows = batch_writer(late, False, checkpoint, df.sparkSession)

    def put(rows: DataFrame, batch: int) -> None:
        put_both(rows, batch, results, late_rows)

    return df.writeStream.foreachBatch(put).outputMode("append").option("checkpointLocation", str(checkpoint))


def put_both(rows: DataFrame, batch: int, results: Put, late: Put) -> None:
    """Write a micro-batch; of a part that is empty nothing is written.

    The rows are computed once, all of them, before any is written: computing them moves the state on.
    """
    kept = rows.persist()
    try:
        total, late_count = kept.selectExpr("count(*)", f"count({LATE})").collect()[0]
        if total > late_count:
            results(kept.where(f"{LATE} IS NULL").drop(LATE), batch)
        if late_count:
            dropped = kept.where(f"{LATE} IS NOT NULL")
            late(dropped.selectExpr(f"{LATE}.{ROW}.*", f"{LATE}.{CLOCK} AS {WATERMARK}"), batch)
    finally:
        kept.unpersist()
