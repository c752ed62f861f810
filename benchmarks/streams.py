"""Files for streams, and how fast a query reads them: what the benchmarks on Spark share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

import panes
from panes.spark.session import embedded

SCHEMA = "ts timestamp, k long, v double"
FILES_PER_BATCH = 2
WARM_UP = 2  # micro-batches that are not counted
ROUNDS = 2
ROWS = int(os.environ.get("PANES_BENCH_ROWS", "1000000"))  # a micro-batch
START = 1_704_067_200_000_000


@dataclass(frozen=True)
class Shape:
    """`seconds` of event time in each micro-batch, over so many keys."""

    keys: int
    seconds: int
    batches: int = 5
    rows: int = ROWS

    def write(self, folder: Path) -> Path:
        """Parquet files in the order of time, each row a random key and a random number."""
        at = folder / f"{self.keys}-{self.seconds}-{self.batches}-{self.rows}"
        if at.exists():
            return at
        at.mkdir()
        random = np.random.default_rng(1)
        each = self.rows // FILES_PER_BATCH
        for number in range(self.batches * FILES_PER_BATCH):
            start = START + number // FILES_PER_BATCH * self.seconds * 1_000_000
            times = start + np.sort(random.integers(0, self.seconds * 1_000_000, each))
            columns = {
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
                "k": random.integers(0, self.keys, each),
                "v": random.random(each),
            }
            file = at / f"{number:03}.parquet"
            pq.write_table(pa.table(columns), file)
            os.utime(file, (number + 1, number + 1))
        return at


@contextmanager
def bench() -> Iterator[Bench]:
    """A Spark of two cores and a folder for the files."""
    folder = Path(tempfile.mkdtemp(prefix="panes-bench-"))
    try:
        yield Bench(embedded(2), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Bench:
    spark: SparkSession
    folder: Path

    def source(self, shape: Shape) -> DataFrame:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH)
        return reader.parquet(str(shape.write(self.folder)))

    def panes(self, shape: Shape, sql: str) -> DataFrame:
        engine = panes.Engine(self.spark)
        engine.stream("s", self.source(shape), time="ts", watermark="0 seconds")
        return engine.sql(sql)

    def ratio(self, ours: DataFrame, theirs: DataFrame) -> tuple[float, float]:
        """Rows a second of two queries that run in turn; the first run of each, which compiles, is not counted."""
        runs = [[self.batches(df) for df in (ours, theirs)] for _ in range(1 + ROUNDS)][1:]
        one, other = ([batch for run in of_each for batch in run] for of_each in zip(*runs, strict=True))
        return _rate(one), _rate(other)

    def rate(self, df: DataFrame) -> float:
        """Rows a second."""
        return _rate(self.batches(df))

    def batches(self, df: DataFrame) -> list[StreamingQueryProgress]:
        """The micro-batches with data, without the first ones."""
        return [one for one in self.progress(df) if one.numInputRows > 0][WARM_UP:]

    def progress(self, df: DataFrame) -> list[StreamingQueryProgress]:
        """The progress reports of a run over all files."""
        checkpoint = tempfile.mkdtemp(dir=self.folder)
        writer = df.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        shutil.rmtree(checkpoint, ignore_errors=True)
        return list(query.recentProgress)


def _rate(batches: list[StreamingQueryProgress]) -> float:
    """Rows a second of the middle micro-batch."""
    return batches[0].numInputRows / median(one.durationMs["triggerExecution"] / 1000 for one in batches)
