"""An INSERT with LATE ROWS INTO: each micro-batch has results and late rows, and both are written."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.catalog import Sink
from panes.compile import Compiled
from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.physical.late_rows import WATERMARK
from panes.spark.batch_writers import Put, batch_writer
from panes.spark.micro_batches import checkpoint_id
from panes.spark.store import StorePath


def write_both(df: DataFrame, late: Sink, sink: Sink, compiled: Compiled, checkpoint: StorePath) -> DataStreamWriter:
    """A writer of results and late rows; each sink knows what it has by an id of its own."""
    results = batch_writer(sink, _results(df), compiled, lambda: checkpoint_id(checkpoint))
    late_rows = batch_writer(late, _late_rows(df), None, lambda: f"{checkpoint_id(checkpoint)}/late")

    def put(rows: DataFrame, batch: int) -> None:
        put_both(rows, batch, results, late_rows)

    return df.writeStream.foreachBatch(put).outputMode("append")


def _results(rows: DataFrame) -> DataFrame:
    return rows.where(f"{LATE} IS NULL").drop(LATE)


def _late_rows(rows: DataFrame) -> DataFrame:
    return rows.where(f"{LATE} IS NOT NULL").selectExpr(f"{LATE}.{ROW}.*", f"{LATE}.{CLOCK} AS {WATERMARK}")


def put_both(rows: DataFrame, batch: int, results: Put, late: Put) -> None:
    """Write a micro-batch; of a part that is empty nothing is written.

    The rows are computed once, all of them, before any is written: computing them moves the state on.
    """
    kept = rows.persist()
    try:
        total, late_count = kept.selectExpr("count(*)", f"count({LATE})").collect()[0]
        if total > late_count:
            results(_results(kept), batch)
        if late_count:
            late(_late_rows(kept), batch)
    finally:
        kept.unpersist()
