"""Throughput of time windows beside Spark's own, on the same files in one run: the ratios count, not the times."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from rich.console import Console
from rich.table import Table

import panes
from panes.spark.session import embedded

SCHEMA = "ts timestamp, k long, v double"
FILES_PER_BATCH = 2
BATCHES = 5
SECONDS_PER_BATCH = 60
WARM_UP = 2  # micro-batches that are not counted


@dataclass(frozen=True)
class Case:
    name: str
    keys: int
    group_by: str
    native: Callable[[], object]
    target: float


CASES = (
    Case("tumbling 10 s, 10,000 keys", 10_000, "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), 4),
    Case("tumbling 10 s, 100 keys", 100, "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), 1),
    Case(
        "hopping 50 s / 10 s, 10,000 keys",
        10_000,
        "hoppingwindow('ss', 50, 10)",
        lambda: f.window("ts", "50 seconds", "10 seconds"),
        4,
    ),
    Case("session 1 s, 10,000 keys", 10_000, "sessionwindow('ss', 1)", lambda: f.session_window("ts", "1 second"), 4),
)


def run(console: Console) -> dict[str, object]:
    """Rows a second of each case, by Panes and by Spark."""
    spark = embedded(2)
    folder = Path(tempfile.mkdtemp(prefix="panes-bench-"))
    rows = int(os.environ.get("PANES_BENCH_ROWS", "1000000"))
    table = Table("case", "Spark rows/s", "Panes rows/s", "ratio", "target", title="Windows, steady state")
    figures: dict[str, object] = {"rows_per_batch": rows}
    try:
        for case in CASES:
            source = _files(folder, case.keys, rows)
            native = _rate(_spark(spark, source, case), folder)
            ours = _rate(_panes(spark, source, case), folder)
            ratio = ours / native
            table.add_row(case.name, f"{native:,.0f}", f"{ours:,.0f}", f"{ratio:.1f}", f"≥ {case.target:g}")
            figures[case.name] = {"spark": native, "panes": ours, "ratio": ratio, "target": case.target}
            console.print(f"{case.name}: {ratio:.1f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print(table)
    return figures


def _files(folder: Path, keys: int, rows: int) -> Path:
    """Parquet files in the order of time, `FILES_PER_BATCH` for each micro-batch."""
    at = folder / f"keys-{keys}"
    if at.exists():
        return at
    at.mkdir()
    random = np.random.default_rng(1)
    each = rows // FILES_PER_BATCH
    for number in range(BATCHES * FILES_PER_BATCH):
        start = 1_704_067_200_000_000 + number // FILES_PER_BATCH * SECONDS_PER_BATCH * 1_000_000
        times = start + np.sort(random.integers(0, SECONDS_PER_BATCH * 1_000_000, each))
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": random.integers(0, keys, each),
            "v": random.random(each),
        }
        file = at / f"{number:03}.parquet"
        pq.write_table(pa.table(columns), file)
        os.utime(file, (number + 1, number + 1))
    return at


def _source(spark: SparkSession, at: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH).parquet(str(at))


def _spark(spark: SparkSession, at: Path, case: Case) -> DataFrame:
    rows = _source(spark, at).withWatermark("ts", "0 seconds")
    return rows.groupBy(case.native(), "k").agg(f.sum("v"), f.count("v"), f.avg("v"))  # type: ignore[arg-type]


def _panes(spark: SparkSession, at: Path, case: Case) -> DataFrame:
    engine = panes.Engine(spark)
    engine.stream("s", _source(spark, at), time="ts", watermark="0 seconds")
    return engine.sql(
        "SELECT k, window_start() AS opens, sum(v) AS s, count(v) AS n, avg(v) AS mean FROM s "
        f"GROUP BY {case.group_by}, k"
    )


def _rate(df: DataFrame, folder: Path) -> float:
    """Rows a second of the micro-batches with data, without the first ones."""
    checkpoint = tempfile.mkdtemp(dir=folder)
    writer = df.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    batches = [one for one in query.recentProgress if one.numInputRows > 0][WARM_UP:]
    shutil.rmtree(checkpoint, ignore_errors=True)
    seconds = sum(one.durationMs["triggerExecution"] for one in batches) / 1000
    return sum(one.numInputRows for one in batches) / seconds
