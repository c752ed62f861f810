"""A result on its way: however large, in order, in pieces; its file is gone when it has been read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.kernels.bounded import MOST_BYTES
from panes.kernels.late_rows import CLOCK, LATE, ROW
from panes.spark.blob import from_bytes
from panes.spark.results import LENGTH, Result, read_result, write_result


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return tmp_path


def test_a_small_result_is_a_blob(folder: Path) -> None:
    assert write_result([], ("v",)) == Result()
    done = write_result([pa.table({"v": [1, 2], "other": [0, 0]})], ("v",))
    assert (done.rows, done.file) == (2, None)
    assert [table.to_pydict() for table in read_result(done.blob, done.file)] == [{"v": [1, 2]}]
    assert not list(folder.iterdir())


def test_a_large_one_is_in_pieces_of_a_file(folder: Path) -> None:
    """No piece is made before the one before it has been written."""
    made: list[int] = []
    size = MOST_BYTES // 8

    def tables() -> Iterator[pa.Table]:
        for number in range(4):
            made.append(number)
            yield pa.table({"v": pa.array(np.arange(size * 2) + number)})

    done = write_result(tables(), ("v",))
    assert (done.rows, made) == (8 * size, [0, 1, 2, 3])
    assert done.blob is not None and from_bytes(done.blob).nbytes <= MOST_BYTES
    assert [path.name for path in folder.iterdir()] == [Path(done.file or "").name]
    with Path(done.file or "").open("rb") as file:
        assert int.from_bytes(file.read(LENGTH), "little") < MOST_BYTES
    found = list(read_result(done.blob, done.file))
    assert all(table.nbytes <= MOST_BYTES for table in found)
    assert pa.concat_tables(found).equals(pa.concat_tables(tables()))
    assert not list(folder.iterdir())


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(FileNotFoundError):
        list(read_result(None, "/nowhere/at all"))


ROWS = 1_600_000  # of 24 bytes: more than a blob


@pytest.mark.spark
@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_a_result_that_no_blob_holds_comes_through_spark(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    """All rows of one shard, in order: each has the number of the one before it."""
    folder = str(tmp_path / "in")
    spark.range(ROWS).selectExpr("timestamp_micros(id) AS ts", "id").coalesce(1).write.parquet(folder)
    rows = (spark.readStream if streaming else spark.read).schema("ts timestamp, id long").parquet(folder)
    engine = Engine(spark)
    engine.stream("t", rows, time="ts", watermark="0 seconds" if streaming else None)
    result = engine.sql("SELECT ts, id, lag(id) OVER (PARTITION BY 1) AS before FROM t")
    if streaming:
        writer = result.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        result = spark.read.parquet(str(tmp_path / "out"))
    released = ROWS - 1_000 if streaming else ROWS  # the watermark is in whole milliseconds
    found = result.selectExpr("count(*) AS n", "sum(id - before) AS steps", "max(id) AS last").collect()[0]
    assert (found["n"], found["steps"], found["last"]) == (released, released - 1, released - 1)


def test_late_rows_are_written_as_they_are_and_not_counted() -> None:
    late = pa.table({LATE: [{ROW: {"a": 1}, CLOCK: 5}]})
    done = write_result([pa.table({"v": [1, 2], "other": [0, 0]}), late], ("v",))
    assert done.rows == 2
    assert [table.column_names for table in read_result(done.blob, done.file)] == [["v"], [LATE]]
