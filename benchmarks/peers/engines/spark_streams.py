"""Running a query of Spark over the files, with its results as files: what Panes and Spark's peers share."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers.task import Task, ready

EVENTS = "ts timestamp, k long, v double"
CHANGES = "id long, k long, v double, _change_type string"
FILES = 2  # a micro-batch: one for each core
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HEAP = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def session(state: str) -> SparkSession:
    """Two cores, two partitions; settings that Panes makes for itself are made for everyone."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.streaming.stateStore.providerClass", state)
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.sql.execution.arrow.pythonUDF.columnarInput.enabled", "true")
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def rows(spark: SparkSession, task: Task, schema: str) -> DataFrame:
    reader = spark.readStream.schema(schema)
    if not task.stop:
        reader = reader.option("maxFilesPerTrigger", FILES)
    return reader.parquet(task.rows)


def run(df: DataFrame, task: Task, folder: Path, mode: str = "append") -> None:
    """All files as fast as it goes, or as they come."""
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=Path(task.result)) as checkpoint:
        if task.stop:
            _at_rate(df, task, folder, mode, checkpoint)
        elif mode == "append":
            _files(df, folder, checkpoint)
        else:
            _replacing(df, folder, mode, checkpoint)


def _files(df: DataFrame, folder: Path, checkpoint: str) -> None:
    writer = df.writeStream.format("parquet").option("path", str(folder)).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


def _replacing(df: DataFrame, folder: Path, mode: str, checkpoint: str) -> None:
    """Spark writes files only of rows that never change; so those that replace others are written by hand."""

    def write(batch: DataFrame, number: int) -> None:
        batch.selectExpr("*", f"{number}L AS _order").write.mode("append").parquet(str(folder))

    writer = df.writeStream.outputMode(mode).option("checkpointLocation", checkpoint).foreachBatch(write)
    writer.trigger(availableNow=True).start().awaitTermination()


def _at_rate(df: DataFrame, task: Task, folder: Path, mode: str, checkpoint: str) -> None:
    """Results come to the driver, and are stamped there."""
    found: list[pa.Table] = []

    def take(batch: DataFrame, number: int) -> None:
        table = batch.toArrow()
        count = table.num_rows
        table = table.append_column("stamped", pa.repeat(pa.scalar(time.time_ns()), count))
        found.append(table.append_column("_order", pa.repeat(pa.scalar(number), count)) if mode != "append" else table)

    writer = df.writeStream.outputMode(mode).option("checkpointLocation", checkpoint).foreachBatch(take)
    query = writer.start()
    wait(lambda: bool(query.lastProgress), query.awaitTermination)
    ready()
    wait(lambda: task.stopped, query.awaitTermination)
    query.stop()
    folder.mkdir(parents=True)
    pq.write_table(pa.concat_tables(found), folder / "results.parquet")


def wait(until: Callable[[], bool], ended: Callable[[int], bool | None]) -> None:
    """Until it is so; the query's own error comes out."""
    while not until():
        ended(1)
