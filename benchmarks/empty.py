"""What an empty micro-batch costs beside Spark's own stateful one, and where its time goes."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryProgress
from rich.console import Console
from rich.table import Table

import panes
from benchmarks.streams import SCHEMA, Bench, bench

COUNT, WARM_UP, ROUNDS = 40, 20, 3
TARGET = 1.6
Reports = list[StreamingQueryProgress]
PARTS = ("triggerExecution", "addBatch", "queryPlanning", "walCommit", "commitOffsets", "latestOffset", "getBatch")


def run(console: Console) -> dict[str, object]:
    with bench() as on:
        _spark(on), _panes(on)  # the first round only warms Spark up
        rounds = [(_spark(on), _panes(on)) for _ in range(ROUNDS)]
    native, ours = (_medians([one for run in runs for one in run]) for runs in zip(*rounds, strict=True))
    table = Table("ms", "Spark", "Panes", title="An empty stateful micro-batch", title_justify="left")
    for part in PARTS:
        table.add_row(part, f"{native[part]:.0f}", f"{ours[part]:.0f}")
    ratio = ours["triggerExecution"] / native["triggerExecution"]
    console.print(table)
    console.print(f"ratio {ratio:.2f} (target ≤ {TARGET})")
    return {"spark_ms": native, "panes_ms": ours, "ratio": ratio, "target": TARGET}


def _files(folder: Path) -> Path:
    """Files without rows: each is a micro-batch. The first has one, so that there is state."""
    at = folder / "empty"
    if not at.exists():
        at.mkdir()
        schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("v", pa.float64())])
        for number in range(COUNT):
            rows = [{"ts": 1_704_067_200_000_000, "k": 1, "v": 1.0}] if number == 0 else []
            file = at / f"{number:03}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema), file)
            os.utime(file, (number + 1, number + 1))
    return at


def _spark(on: Bench) -> Reports:
    rows = on.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(_files(on.folder)))
    windows = rows.withWatermark("ts", "0 seconds").groupBy(f.window("ts", "10 seconds"), "k")
    return on.progress(windows.agg(f.sum("v"), f.count("v"), f.avg("v")))[WARM_UP:]


def _panes(on: Bench) -> Reports:
    engine = panes.Engine(on.spark)
    rows = on.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(_files(on.folder)))
    engine.stream("s", rows, time="ts", watermark="0 seconds")
    query = "SELECT k, sum(v) AS s, count(v) AS n, avg(v) AS mean FROM s GROUP BY tumblingwindow('ss', 10), k"
    return on.progress(engine.sql(query))[WARM_UP:]


def _medians(reports: Reports) -> dict[str, float]:
    return {part: median(one.durationMs.get(part, 0) for one in reports) for part in PARTS}
