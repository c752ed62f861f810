"""A Python that does not answer in time, as on a busy machine: the query starts again, and nothing is lost or twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from panes import Engine
from panes.spark import slow_start
from panes.testing import Stream, replay

from .input_files import at, write_file

pytestmark = pytest.mark.spark
QUERY = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"


@pytest.fixture
def slow_python(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """An interpreter that does not answer the first time that an operator is planned."""
    script, asked = tmp_path / "python", tmp_path / "asked"
    script.write_text(
        f"""#!/bin/sh
case "$*" in
  *driver_worker*) if [ ! -e {asked} ]; then touch {asked}; exec sleep 15; fi ;;
esac
exec {sys.executable} "$@"
"""
    )
    script.chmod(0o755)
    before = spark.sparkContext.pythonExec
    yield str(script)
    assert asked.exists()
    spark.sparkContext.pythonExec = before


def test_a_run_starts_again(spark: SparkSession, slow_python: str, tmp_path: Path) -> None:
    write_file(tmp_path / "in", 0, [{"ts": at(1000 * n), "k": "a", "v": 1} for n in range(15)])
    engine = Engine(spark)
    spark.sparkContext.pythonExec = slow_python
    engine.run(
        f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v INT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK out WITH (connector = 'json', path = '{tmp_path}/out');
        INSERT INTO out {QUERY};
        """,
        flush=True,
    )
    assert sorted(row["s"] for row in spark.read.json(f"{tmp_path}/out").collect()) == [5, 10]


@pytest.mark.slow
def test_a_replay_starts_again(spark: SparkSession, slow_python: str) -> None:
    def use_it(engine: Engine) -> None:
        engine.spark.sparkContext.pythonExec = slow_python

    rows = [("1970-01-01 00:00:01", "a", 1), ("1970-01-01 00:00:12", "a", 2)]
    stream = Stream("ts timestamp, k string, v int", [rows], time="ts", watermark="0 seconds")
    done = replay(QUERY, spark=spark, setup=use_it, t=stream)
    assert done.batches == [[{"k": "a", "s": 1}], [{"k": "a", "s": 2}]]


@pytest.mark.slow
def test_but_not_forever(spark: SparkSession, slow_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("panes.testing.run_parts"), "MOST_SLOW_STARTS", 0)

    def use_it(engine: Engine) -> None:
        engine.spark.sparkContext.pythonExec = slow_python

    stream = Stream("ts timestamp, k string, v int", [[]], time="ts", watermark="0 seconds")
    with pytest.raises(StreamingQueryException, match=slow_start.NOT_BACK):
        replay(QUERY, spark=spark, setup=use_it, t=stream)
