"""How long a query takes to its first result in a process that has run nothing yet, beside Spark's own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from rich.console import Console

import panes
from benchmarks.streams import SCHEMA
from panes.spark.session import embedded

ROUNDS, TARGET = 3, 1.5
SECOND = 1_000_000


def run(console: Console) -> dict[str, object]:
    """Each measurement in a process of its own, in turn; Spark's own start is not counted."""
    seconds: dict[str, list[float]] = {"spark": [], "panes": []}
    for _ in range(ROUNDS):
        for name, found in seconds.items():
            done = subprocess.run([sys.executable, "-m", __name__, name], capture_output=True, text=True, check=True)
            found.append(float(done.stdout.split()[-1]))
    native, ours = (median(found) for found in seconds.values())
    console.print(f"first result of a cold query: Spark {native:.1f} s, Panes {ours:.1f} s")
    console.print(f"ratio {ours / native:.2f} (target ≤ {TARGET})")
    return {"seconds": seconds, "ratio": ours / native, "target": TARGET}


def measure(name: str) -> float:
    """Seconds from the SQL to the first result of a tumbling window."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        (at / "rows").mkdir()
        for number in range(2):
            times = pa.array([(number * 60 + second) * SECOND for second in range(20)], pa.timestamp("us", "UTC"))
            rows = pa.table({"ts": times, "k": pa.array([1] * 20), "v": pa.array([1.0] * 20)})
            pq.write_table(rows, at / "rows" / f"{number}.parquet")
        spark = embedded(2)
        spark.range(10).count()
        began = time.perf_counter()
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(at / "rows"))
        windows = _panes(spark, source) if name == "panes" else _spark(source)
        writer = windows.writeStream.format("noop").option("checkpointLocation", str(at / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - began
        assert sum(one.numInputRows for one in query.recentProgress) >= 40
        spark.stop()
    return seconds


def _panes(spark: SparkSession, source: DataFrame) -> DataFrame:
    engine = panes.Engine(spark)
    engine.stream("s", source, time="ts", watermark="0 seconds")
    return engine.sql("SELECT k, sum(v) AS s, count(v) AS n FROM s GROUP BY tumblingwindow('ss', 10), k")


def _spark(source: DataFrame) -> DataFrame:
    windows = source.withWatermark("ts", "0 seconds").groupBy(f.window("ts", "10 seconds"), "k")
    return windows.agg(f.sum("v"), f.count("v"))


if __name__ == "__main__":
    print(measure(sys.argv[1]))
