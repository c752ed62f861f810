"""Two attempts of one task that both commit their state, on a cluster of two executors; run by `test_attempts`.

    attempt 0   on one executor commits its state store, and fails afterwards
    attempt 1   on the other commits the same version again: its files are there now
    then        the other executor is killed, and the next micro-batch goes on from the store of attempt 0, in memory
    restarts    read the files: what attempt 1 has written, and what followed on attempt 0

Spark's first checkpoint format takes the two for the same, the second tells them apart.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import panes
from spark.cluster import cluster
from spark.input_files import at, write_file

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
SCHEMA = "k string, v int, before int"
KEYS = 200
TWICE = 1  # the micro-batch whose task is attempted twice


class Attempts:
    """What runs above the operator, in the same task: it notes where, and fails the first attempt when it has ended."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        context = TaskContext.get()
        assert context is not None
        batch, attempt = int(context.getLocalProperty("streaming.sql.batchId") or 0), context.attemptNumber()
        with (self.notes / f"{batch}-{attempt}").open("w") as file:
            file.write(str(executor()))
        if batch == TWICE and attempt == 0:
            time.sleep(1)  # the store is committed by the thread that feeds this function, at the end of its input
            raise RuntimeError("the first attempt fails after its state was committed")


def executor() -> int:
    """The process of this worker's executor: the parent of its daemon."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def main(folder: Path) -> None:
    spark = cluster(
        folder,
        {
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",  # a micro-batch is a file
            "spark.locality.wait": "0",  # after a kill the next task runs wherever an executor is free
            "spark.excludeOnFailure.enabled": "true",  # so that the second attempt is on the other executor
            "spark.excludeOnFailure.timeout": "1s",
        },
    )
    for version in ("1", "2"):
        found = scenario(spark, folder / f"format-{version}", version)
        print("result", json.dumps(found))
    spark.stop()


def scenario(spark: SparkSession, folder: Path, version: str) -> dict[str, object]:
    spark.conf.set(FORMAT, version)
    notes = folder / "notes"
    notes.mkdir(parents=True)
    wait_for_executors(spark)
    feed(folder, 0, [f"k{KEYS}"])
    feed(folder, 1, [f"k{number}" for number in range(KEYS)])
    query = started(spark, folder)
    query.processAllAvailable()
    ran = {path.name: int(path.read_text()) for path in notes.iterdir()}
    os.kill(ran[f"{TWICE}-1"], signal.SIGKILL)
    feed(folder, 2, ["k0"])
    query.processAllAvailable()
    after = next(int(path.read_text()) for path in notes.glob(f"{TWICE + 1}-*"))
    query.stop()
    feed(folder, 3, [f"k{number}" for number in range(KEYS)])
    query = started(spark, folder)
    query.processAllAvailable()
    query.stop()
    rows = spark.read.parquet(str(folder / "out")).collect()
    return {
        "version": version,
        "formats": [commit_format(folder, batch) for batch in (0, 3)],
        "first": ran[f"{TWICE}-0"],
        "second": ran[f"{TWICE}-1"],
        "after": after,
        "rows": sorted((row.k, row.v, row.before if row.before is not None else -1) for row in rows),
        "changed": restarted_with(spark, folder, {"1": "2", "2": "1"}[version]),
    }


def restarted_with(spark: SparkSession, folder: Path, version: str) -> str:
    """What becomes of an old checkpoint under the other format."""
    spark.conf.set(FORMAT, version)
    feed(folder, 4, [f"k{number}" for number in range(KEYS)])
    query = started(spark, folder)
    try:
        query.processAllAvailable()
    except StreamingQueryException as error:
        return str(error).partition("\n")[0]
    query.stop()
    rows = spark.read.parquet(str(folder / "out")).where("v = 4").collect()
    assert [row.before for row in rows] == [3] * KEYS
    return f"goes on, with {commit_format(folder, 4)}"


def wait_for_executors(spark: SparkSession) -> None:
    """Until both are there: with the driver there are three."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    while len(tracker.getExecutorInfos()) < 3:
        time.sleep(0.2)


def feed(folder: Path, number: int, keys: list[str]) -> None:
    write_file(folder / "in", number, ({"ts": at(number * 1000), "k": k, "v": number} for k in keys))


def started(spark: SparkSession, folder: Path):  # type: ignore[no-untyped-def]
    schema = "ts timestamp, k string, v int"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    engine = panes.Engine(spark, shards=1)
    engine.stream("t", source)
    result = engine.sql("SELECT k, v, lag(v) OVER (PARTITION BY k) AS before FROM t")
    writer = result.mapInArrow(Attempts(folder / "notes"), SCHEMA).writeStream.format("parquet")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "out"))


def commit_format(folder: Path, batch: int) -> str:
    """The version of Spark's log of a micro-batch's end."""
    return (folder / "checkpoint" / "commits" / str(batch)).read_text().partition("\n")[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
