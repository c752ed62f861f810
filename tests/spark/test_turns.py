"""A query has its turn when those before it are through their first micro-batch, have failed, or wait for rows."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import DataFrame, SparkSession

from panes.spark import turns
from panes.spark.turns import is_starting, wait_for_turn

pytestmark = pytest.mark.spark


def never() -> bool:
    return False


def test_a_query_starts_until_its_first_micro_batch_has_ended(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "rows.json").write_text('{"a": 1}\n')
    inside, go_on = Event(), Event()

    def hold(rows: DataFrame, batch: int) -> None:
        inside.set()
        assert go_on.wait(60)

    rows = spark.readStream.schema("a int").json(str(folder))
    query = rows.writeStream.foreachBatch(hold).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        assert inside.wait(60)
        assert is_starting(query)
        wait_for_turn([query], never, at_once=2)  # there is room for another
        wait_for_turn([query], lambda: True, at_once=1)  # the run is stopped
        go_on.set()
        query.processAllAvailable()
        wait_for_turn([query], never, at_once=1)
        assert not is_starting(query)
    finally:
        go_on.set()
        query.stop()
    assert not is_starting(query)


def test_patience_has_an_end(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.2)
    monkeypatch.setattr(turns, "is_starting", lambda query: True)
    folder = tmp_path / "in"
    folder.mkdir()
    query = spark.readStream.schema("a int").json(str(folder)).writeStream.format("noop").start()
    try:
        began = time.monotonic()
        wait_for_turn([query], never, at_once=1)
        assert time.monotonic() - began >= 0.2
    finally:
        query.stop()


def test_a_query_without_rows_lets_others_start(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    query = spark.readStream.schema("a int").json(str(folder)).writeStream.format("noop").start()
    try:
        wait_for_turn([query], never, at_once=1)
        assert not is_starting(query)
    finally:
        query.stop()
