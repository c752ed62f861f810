"""A query that has ended is let go: a process that runs hundreds of them, one after the other, keeps none.

Java holds the Python function that it calls with each micro-batch. If that held the query, neither would ever go: no
collector sees both sides.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.utils import ForeachBatchFunction

from panes import Engine
from panes.testing import Stream, replay

pytestmark = pytest.mark.spark

SUMS = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"


def test_replay(spark: SparkSession) -> None:
    rows = [("2024-01-01 00:00:01", "a", 1)]
    stream = Stream("ts timestamp, k string, v int", [rows], time="ts", watermark="0 seconds")
    assert_let_go(spark, lambda: replay(SUMS, spark=spark, t=stream))


def test_a_select_of_a_script(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"ts": "2024-01-01T00:00:01Z", "k": "a", "v": 1}\n')
    columns = "ts TIMESTAMP, k STRING, v INT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS"
    script = f"CREATE STREAM t ({columns}) WITH (connector = 'json', path = '{tmp_path}/in'); {SUMS};"
    assert_let_go(spark, lambda: Engine(spark).run(script, flush=True))


def assert_let_go(spark: SparkSession, run: Callable[[], object]) -> None:
    """Runs leave nothing behind that one run had not left."""
    run()
    before = _queries_held(spark)
    for _ in range(3):
        run()
    for _ in range(20):  # Java tells Python a while after it has let go
        if _queries_held(spark) <= before:
            return
        time.sleep(0.5)
    raise AssertionError(f"{_queries_held(spark)} queries are held, and {before} were")


def _queries_held(spark: SparkSession) -> int:
    """How many queries Java may still call Python for."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    gc.collect()
    gateway.jvm.System.gc()
    pool = gateway.gateway_property.pool
    with pool.lock:
        return sum(isinstance(one, ForeachBatchFunction) for one in pool.dict.values())
