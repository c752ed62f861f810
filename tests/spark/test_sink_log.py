"""The log of a folder of files that takes over from another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.spark.sink_log import begin_log, check_log
from panes.spark.store import LocalPath

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("last", [0, 8, 9, 10, 25])
def test_a_log_that_begins_in_the_middle(last: int, tmp_path: Path, spark: SparkSession) -> None:
    """The query has done `last` micro-batches and goes on for twelve more, past the next entry that gathers all."""
    commits = tmp_path / "spark" / "commits"
    commits.mkdir(parents=True)
    for number in range(last + 1):
        (commits / str(number)).write_text("v1")
    begin_log(str(tmp_path / "out"), LocalPath(tmp_path / "spark"), spark)
    written = _log(tmp_path / "out", spark)
    assert written.getLatestBatchId().get() == last
    nothing = spark.sparkContext._gateway.new_array(_sinks(spark).SinkFileStatus, 0)  # type: ignore[union-attr]
    for number in range(last + 1, last + 13):
        assert written.add(number, nothing)
    assert spark.read.schema("a int").parquet(str(tmp_path / "out")).count() == 0


def test_a_log_that_is_there_is_left_alone(tmp_path: Path, spark: SparkSession) -> None:
    log = tmp_path / "out" / "_spark_metadata"
    for folder in (tmp_path / "spark" / "commits", log):
        folder.mkdir(parents=True)
        for number in range(4):
            (folder / str(number)).write_text(f"v1\nfiles of {number}")
    begin_log(str(tmp_path / "out"), LocalPath(tmp_path / "spark"), spark)
    assert {file.name: file.read_text() for file in log.iterdir()} == {
        str(number): f"v1\nfiles of {number}" for number in range(4)
    }


@pytest.mark.parametrize("left", [["9.compact"], ["9.compact", "10"]])
def test_a_log_that_a_kill_left_half_begun_is_completed(left: list[str], tmp_path: Path, spark: SparkSession) -> None:
    for folder, names in (("spark/commits", map(str, range(12))), ("out/_spark_metadata", left)):
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / folder / name).write_text("v1")
    begin_log(str(tmp_path / "out"), LocalPath(tmp_path / "spark"), spark)
    found = {file.name for file in (tmp_path / "out" / "_spark_metadata").iterdir() if not file.name.startswith(".")}
    assert found == {"9.compact", "10", "11"}


@pytest.mark.parametrize("entry", ["_spark_metadata/7", "_spark_metadata/9.compact", "panes_batch=7/part"])
def test_results_of_another_checkpoint_are_refused(entry: str, tmp_path: Path, spark: SparkSession) -> None:
    """The checkpoint has begun micro-batch 7, and in another case only 6."""
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "out" / entry).parent.mkdir(parents=True)
    (tmp_path / "out" / entry).write_text("v1")
    (tmp_path / "spark" / "offsets" / "6").write_text("v1")
    with pytest.raises(PanesError) as caught:
        check_log(str(tmp_path / "out"), LocalPath(tmp_path / "spark"), spark)
    assert caught.value.code == "state-mismatch"
    (tmp_path / "spark" / "offsets" / "9").write_text("v1")
    check_log(str(tmp_path / "out"), LocalPath(tmp_path / "spark"), spark)


def _sinks(spark: SparkSession):  # type: ignore[no-untyped-def]
    return spark._jvm.org.apache.spark.sql.execution.streaming.sinks  # type: ignore[union-attr]


def _log(folder: Path, spark: SparkSession):  # type: ignore[no-untyped-def]
    empty = spark._jvm.scala.Option.empty()  # type: ignore[union-attr]
    return _sinks(spark).FileStreamSinkLog(1, spark._jsparkSession, f"{folder}/_spark_metadata", empty)
