"""Idle streams: what is open comes out though no row comes any more, also through a chain and after a restart."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.testing import Replay, Stream, replay
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

TOTALS = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
TOP = """
    SELECT k, s FROM (SELECT k, window_end() AS e, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k)
    QUALIFY row_number() OVER (PARTITION BY e ORDER BY s DESC) = 1"""


def minute(second: float) -> str:
    return f"2024-01-01 00:{int(second) // 60:02}:{second % 60:06.3f}"


def scripted(sql: str, batches: list[list[tuple[int, str, int]]], clock: list[float], **how: object) -> Replay:
    rows = [[(minute(second), k, v) for second, k, v in batch] for batch in batches]
    stream = Stream(
        "ts timestamp, k string, v bigint",
        time="ts",
        watermark="2 seconds",
        idle_timeout="30 seconds",
        batches=rows,
    )
    return replay(sql, t=stream, clock=[minute(second) for second in clock], flush=False, **how)  # type: ignore[arg-type]


def test_the_last_window_comes_out(spark: SparkSession) -> None:
    """Rows come until 0:20. At 0:50 the clock is at 0:18; then another run begins, and waits anew. It has rows at 0:54.
    At 1:24 the clock is at 0:52."""
    batches = [[(1, "a", 1), (12, "a", 2)], [(15, "b", 4)], [], [], [], [(19, "a", 8)], [], [(45, "c", 16)]]
    clock = [10.0, 20, 49, 50, 53, 54, 84, 85]
    found = scripted(TOTALS, batches, clock, spark=spark, restart_after=[3])
    assert found.batches[0] == [{"k": "a", "s": 1}]
    assert sorted(found.batches[6], key=str) == [{"k": "a", "s": 10}, {"k": "b", "s": 4}]
    assert [len(batch) for batch in found.batches] == [1, 0, 0, 0, 0, 0, 2, 0]
    assert found.counter("late_rows") == 1


def test_operators_above_get_the_clock(spark: SparkSession) -> None:
    batches = [[(1, "a", 1), (12, "a", 2), (13, "b", 4)], [], [(14, "b", 64)]]
    found = scripted(TOP, batches, [20, 53, 54], spark=spark, shards=2)
    assert found.batches == [[{"k": "a", "s": 1}], [{"k": "b", "s": 4}], []]
    assert found.counter("late_rows") == 1


def declared(folder: Path, more: str) -> str:
    return f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{folder}/in'{more});
        CREATE SINK out WITH (connector = 'json', path = '{folder}/out');
        INSERT INTO out {TOTALS};
        """


def test_a_real_stream(tmp_path: Path, spark: SparkSession) -> None:
    """It runs until the only window is there, which no row closes; without a heartbeat before it is refused."""
    write_file(tmp_path / "in", 0, [{"ts": at(1000), "k": "a", "v": 1}])
    out = threading.Event()
    script = declared(tmp_path, ", idle_timeout = '2 seconds'")
    Engine(spark).run(
        script,
        checkpoint=tmp_path / "checkpoint",
        report=lambda report: out.set() if report.counters.get("rows_out") else None,
        stopped=out.is_set,
    )
    assert [(row["k"], row["s"]) for row in spark.read.json(str(tmp_path / "out")).collect()] == [("a", 1)]
    with pytest.raises(PanesError) as refused:
        Engine(spark).run(declared(tmp_path, ""), checkpoint=tmp_path / "checkpoint", once=True)
    assert refused.value.code == "state-mismatch"
