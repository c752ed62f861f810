"""Idle streams: what is open comes out though no row comes any more, also through a chain and after a restart."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.testing import Replay, Stream, replay
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

TOTALS = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"
JOINED = "SELECT t.ts, t.k, t.v FROM t JOIN VALUES ('a') AS d(k) USING (k)"
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


def joined(folder: Path) -> str:
    """The same above a join with a table, which Spark runs."""
    above = TOTALS.replace("FROM t", f"FROM ({JOINED})")
    return f"CREATE SINK joined WITH (connector = 'json', path = '{folder}/joined'); INSERT INTO joined {above};"


def run_until_both_are_out(spark: SparkSession, script: str, checkpoint: Path) -> set[str]:
    """The sinks that got rows; it gives up after five minutes."""
    out: set[str] = set()
    last = time.monotonic() + 300
    Engine(spark).run(
        script,
        checkpoint=checkpoint,
        report=lambda report: out.add(report.sink) if report.counters.get("rows_out") else None,
        stopped=lambda: out == {"out", "joined"} or time.monotonic() > last,
    )
    return out


def test_a_real_stream(tmp_path: Path, spark: SparkSession) -> None:
    """It runs until the only window is there, which no row closes; without a heartbeat before it is refused.

    The checkpoint is that of a heartbeat alone, whose offsets do not say when a run began.
    """
    write_file(tmp_path / "in", 0, [{"ts": at(1000), "k": "a", "v": 1}])
    checkpoint = tmp_path / "checkpoint"
    Engine(spark).run(declared(tmp_path, ", heartbeat = '1 second'"), checkpoint=checkpoint, once=True)
    at_once = declared(tmp_path, ", idle_timeout = '1 millisecond'")
    Engine(spark).run(at_once, checkpoint=checkpoint, once=True)  # a run that ends by itself does not wait
    assert spark.read.json(str(tmp_path / "out"), schema="s bigint").count() == 0

    script = declared(tmp_path, ", idle_timeout = '2 seconds'") + joined(tmp_path)
    assert run_until_both_are_out(spark, script, checkpoint) == {"out", "joined"}
    for name in ("out", "joined"):
        assert [(row["k"], row["s"]) for row in spark.read.json(str(tmp_path / name)).collect()] == [("a", 1)], name
    with pytest.raises(PanesError) as refused:
        Engine(spark).run(declared(tmp_path, ""), checkpoint=checkpoint, once=True)
    assert refused.value.code == "state-mismatch"
