"""The Spark session: an embedded local one where the user brings none, and what Panes needs of any."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from panes.errors import PanesError

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
# Where a file is already that a first attempt has left, it keeps that one, and says nothing.
KEEPING = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
NEEDED = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def embedded(cores: int | None = None) -> SparkSession:
    """A local Spark with small defaults; an active session is taken as it is."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = cores or os.cpu_count() or 2
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("panes")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return prepare(spark)


def prepare(spark: SparkSession) -> SparkSession:
    """Set what Panes' operators need: the RocksDB state store, and Arrow batches for Python functions."""
    if spark.conf.get(MANAGER, None) == KEEPING:
        name = KEEPING.rpartition(".")[2]
        text = f"with {name}, a micro-batch that runs again after a crash would lose its state"
        raise PanesError("unsafe-checkpoint", text, hint=f"Unset {MANAGER}.")
    for name, value in NEEDED.items():
        spark.conf.set(name, value)
    return spark
