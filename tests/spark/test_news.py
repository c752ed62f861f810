"""A run that waits is woken by the progress and the end of a query, and by nothing after it has stopped listening."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes.spark.news import listening

pytestmark = pytest.mark.spark
MOST = 60  # seconds; a wait that is not woken fails


def run_once(spark: SparkSession, folder: Path) -> None:
    folder.mkdir()
    (folder / "rows.json").write_text('{"a": 1}\n')
    rows = spark.readStream.schema("a int").json(str(folder))
    rows.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()


def test_a_query_wakes_a_run_that_waits(spark: SparkSession, tmp_path: Path) -> None:
    with listening(spark) as news:
        run_once(spark, tmp_path / "in")
        assert news.wait(MOST)
    while news.wait(1):
        pass  # what Spark had told before
    run_once(spark, tmp_path / "later")
    assert not news.wait(1)
