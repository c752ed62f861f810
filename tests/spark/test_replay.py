"""`replay` runs a query over scripted micro-batches, on real Structured Streaming."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes.errors import PanesError
from panes.testing import Stream, replay

pytestmark = pytest.mark.spark

SUMS = "SELECT k, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"


def stream(
    *batches: Sequence[tuple[int | None, str | None, float | None]], delay: str = "0 seconds", **options: Any
) -> Stream:
    """Rows of (second, key, value) on a day of 2024."""
    rows = [[(_time(second), key, value) for second, key, value in batch] for batch in batches]
    return Stream("ts timestamp, k string, v double", rows, time="ts", watermark=delay, **options)


def _time(second: int | None) -> str | None:
    return None if second is None else f"2024-01-01 00:{second // 60:02}:{second % 60:02}"


def test_an_entry_is_a_micro_batch_and_what_it_causes(spark: SparkSession) -> None:
    out = replay(SUMS, spark=spark, t=stream([(1, "a", 1.0)], [(12, "a", 2.0)]))
    assert out.batches == [[], [{"k": "a", "s": 1.0}], [{"k": "a", "s": 2.0}]]
    assert out.rows == out.table == [{"k": "a", "s": 1.0}, {"k": "a", "s": 2.0}]
    assert out.progress


def test_without_flush_open_windows_stay_open(spark: SparkSession) -> None:
    out = replay(SUMS, flush=False, spark=spark, t=stream([(1, "a", 1.0)], [(12, "a", 2.0)]))
    assert out.batches == [[], [{"k": "a", "s": 1.0}]]


def test_restarts_do_not_show(spark: SparkSession) -> None:
    script = stream([(1, "a", 1.0)], [(3, "a", 2.0)], [(12, "a", 4.0)])
    out = replay(SUMS, restart_after=[0, 1, 2], spark=spark, t=script)
    assert out.batches == [[], [], [{"k": "a", "s": 3.0}], [{"k": "a", "s": 4.0}]]


def test_late_rows_and_rows_without_time_are_counted_and_change_nothing(spark: SparkSession) -> None:
    """After 12, W is 12: a row at 3 is late. A row without a time moves nothing."""
    script = stream([(1, "a", 1.0), (12, "a", 2.0)], [(3, "a", 100.0), (None, "a", 100.0)], [(13, "a", 4.0)])
    out = replay(SUMS, spark=spark, t=script)
    assert out.rows == [{"k": "a", "s": 1.0}, {"k": "a", "s": 6.0}]
    assert (out.counter("late_rows"), out.counter("null_time_rows")) == (1, 1)
    assert out.counter("rows_in") == 5
    assert out.counter("rows_out") == 2


def test_a_row_that_where_removes_moves_the_watermark(spark: SparkSession) -> None:
    sql = "SELECT sum(v) AS s FROM t WHERE k <> 'tick' GROUP BY tumblingwindow('ss', 10)"
    out = replay(sql, flush=False, spark=spark, t=stream([(1, "a", 1.0)], [(10, "tick", 0.0)]))
    assert out.batches == [[], [{"s": 1.0}]]


def test_times_come_and_go_as_utc(spark: SparkSession) -> None:
    """Without a zone a time is UTC; one with a zone is the same instant; what comes out has none."""
    east = timezone(timedelta(hours=2))
    rows = [
        ("2024-01-01 00:00:01", 1),
        (datetime(2024, 1, 1, 0, 0, 2), 2),
        (datetime(2024, 1, 1, 2, 0, 3, 1, east), 3),
    ]
    out = replay(
        "SELECT window_start() AS w, sum(v) AS s, max(ts) AS m FROM t GROUP BY tumblingwindow('ss', 10)",
        spark=spark,
        t=Stream("ts timestamp, v int", [rows], time="ts", watermark="0 seconds"),
    )
    assert out.rows == [{"w": datetime(2024, 1, 1), "s": 6, "m": datetime(2024, 1, 1, 0, 0, 3, 1)}]


def test_values_of_all_types_arrive_as_they_are(spark: SparkSession) -> None:
    schema = "ts timestamp, d decimal(10,2), s struct<a:int,at:timestamp>, l array<string>, x double, n timestamp_ntz"
    at = datetime(2024, 1, 1, 0, 0, 1)
    row = (at, Decimal("1.20"), {"a": 1, "at": at}, ["x", None], float("-inf"), at)
    out = replay(
        "SELECT * FROM t GROUP BY tumblingwindow('ss', 10)",
        spark=spark,
        t=Stream(schema, [[row]], time="ts", watermark="0 seconds"),
    )
    assert [tuple(one.values()) for one in out.rows] == [row]


def test_a_struct_may_be_a_tuple(spark: SparkSession) -> None:
    schema = "ts timestamp, s struct<a:int,at:timestamp>"
    at = datetime(2024, 1, 1, 0, 0, 1)
    out = replay(
        "SELECT last(s) AS s FROM t GROUP BY tumblingwindow('ss', 10)",
        spark=spark,
        t=Stream(schema, [[(at, (1, at))]], time="ts", watermark="0 seconds"),
    )
    assert out.rows == [{"s": {"a": 1, "at": at}}]


def test_a_value_that_is_not_of_its_type_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"MALFORMED|FAILED_READ"):
        replay(
            SUMS,
            spark=spark,
            t=Stream(
                "ts timestamp, k string, v double", [[("2024-01-01", "a", "many")]], time="ts", watermark="0 seconds"
            ),
        )


def test_a_row_of_another_width_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="2 values for 3 columns"):
        replay(
            SUMS,
            spark=spark,
            t=Stream("ts timestamp, k string, v double", [[("2024-01-01", "a")]], time="ts", watermark="0 seconds"),
        )


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT FROM", "parse-error"),
        ("SELECT sum(v) FROM nowhere GROUP BY tumblingwindow('ss', 10)", "unknown-stream"),
        ("SELECT sum(w) FROM t GROUP BY tumblingwindow('ss', 10)", "unknown-column"),
        ("SELECT sum(v) FROM t GROUP BY tumblingwindow('yy', 10)", "unknown-time-unit"),
    ],
)
def test_errors_come_before_anything_starts(spark: SparkSession, sql: str, code: str) -> None:
    before = len(spark.streams.active)
    with pytest.raises(PanesError) as caught:
        replay(sql, spark=spark, t=stream([(1, "a", 1.0)]))
    assert caught.value.code == code
    assert len(spark.streams.active) == before


def test_an_error_in_a_row_stops_the_query(spark: SparkSession) -> None:
    sql = "SELECT sum(1 / v) AS s FROM t GROUP BY tumblingwindow('ss', 10)"
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        replay(sql, spark=spark, t=stream([(1, "a", 0.0)]))
    assert not spark.streams.active


def test_where_guards_what_comes_after_it(spark: SparkSession) -> None:
    sql = "SELECT sum(1 / v) AS s FROM t WHERE v <> 0 GROUP BY tumblingwindow('ss', 10)"
    assert replay(sql, spark=spark, t=stream([(1, "a", 0.0), (2, "a", 2.0)])).rows == [{"s": 0.5}]


def test_a_window_over_sessions_waits_for_all_of_them(spark: SparkSession) -> None:
    """When W is 10, the session [5, 10) is still open: the window [0, 10) above it must wait until W has passed 10."""
    sql = (
        "SELECT count(*) AS n FROM (SELECT k, window_end() AS e FROM t GROUP BY sessionwindow('ss', 5), k) "
        "GROUP BY tumblingwindow('ss', 10)"
    )
    rows = [(1, "c", 0.0), (5, "a", 0.0)], [(10, "b", 0.0)], [(20, "d", 0.0)]
    out = replay(sql, spark=spark, t=stream(*rows))
    assert sorted(row["n"] for row in out.rows) == [1, 1, 2]
