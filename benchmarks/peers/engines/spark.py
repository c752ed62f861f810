"""Spark's own operators, with state in RocksDB or on the heap."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.peers.engines.spark_streams import EVENTS, HEAP, ROCKSDB, rows, run, session
from benchmarks.peers.task import Task, cannot, measure, told

NO_OVER = "OVER on a stream takes only time windows (NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING)"
CANNOT = {
    "lag": NO_OVER,
    "row_number": NO_OVER,
    "range_10s": NO_OVER,
    "sliding": NO_OVER,
    "statewindow": "no window that is opened and closed by conditions, no MATCH_RECOGNIZE",
    "over_changelog": NO_OVER,
}


def query(spark: SparkSession, task: Task) -> tuple[DataFrame, str]:
    """The query, and how its results come out."""
    events = rows(spark, task, EVENTS)
    match task.workload:
        case "tumbling":
            return windows(events, f.window("ts", "10 seconds")), "append"
        case "hopping":
            return windows(events, f.window("ts", "10 seconds", "2 seconds")), "append"
        case "session":
            return windows(events, f.session_window("ts", "1 second"), f.max("ts").alias("closes")), "append"
        case "keep_latest":
            latest = events.groupBy("k").agg(f.max(f.struct("ts", "v")).alias("last"))
            return latest.select("k", "last.ts", "last.v"), "update"
        case unknown:
            raise ValueError(f"Spark has no query for {unknown}")


def windows(events: DataFrame, window: Column, *more: Column) -> DataFrame:
    grouped = events.withWatermark("ts", "0 seconds").groupBy(window.alias("w"), "k")
    sums = grouped.agg(f.sum("v").alias("s"), f.count("*").alias("n"), *more)
    return sums.select("k", f.col("w.start").alias("opens"), *sums.columns[2:])


def main() -> None:
    task = told()
    if task.workload in CANNOT:
        return cannot(CANNOT[task.workload])
    spark = session(HEAP if task.peer == "spark-heap" else ROCKSDB)

    def once(folder: Path) -> None:
        df, mode = query(spark, task)
        run(df, task, folder, mode)

    measure(task, once)


if __name__ == "__main__":
    main()
