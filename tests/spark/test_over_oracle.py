"""OVER windows against Spark's own over the same rows: values and types, for every function and kind of frame."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from panes import Engine
from panes.testing import Stream, replay

from .compare import check_rows, check_same, rows_of

pytestmark = pytest.mark.spark

SCHEMA = "id int, ts timestamp, k string, v int, d decimal(12,2), f double, s string"
BY_TIME = "PARTITION BY k ORDER BY ts"
FRAMES = {
    "default": "",
    "rows before": "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "rows from the first": "ROWS UNBOUNDED PRECEDING",
    "rows around": "ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING",
    "rows after": "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "range before": "RANGE INTERVAL 4 SECONDS PRECEDING",
    "range around": "RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND INTERVAL 3 SECONDS FOLLOWING",
    "range in months": "RANGE INTERVAL 1 MONTH PRECEDING",
}
FRAMED = (
    *("count(*)", "count(v)", "sum(v)", "sum(d)", "sum(f)", "avg(v)", "avg(d)", "avg(f)", "min(s)", "max(d)"),
    *("stddev(f)", "first_value(v)", "last_value(v)", "first_value(s) IGNORE NULLS", "last_value(s) IGNORE NULLS"),
    *("nth_value(v, 2)", "bool_or(v > 2)", "collect_list(v)", "max_by(s, id)"),
    *("sum(v) FILTER (WHERE f > 0.5)", "count(s) FILTER (WHERE v > 0)"),
)
UNFRAMED = (
    *("row_number()", "rank()", "dense_rank()", "lag(v)", "lag(v, 2, -1)", "lag(s) IGNORE NULLS", "lead(v)"),
    *("lead(d, 3)", "lead(s, 1, 'none')"),
)
WHOLE = ("percent_rank()", "cume_dist()", "ntile(3)", "ntile(100)")
ORDERS = (
    *("PARTITION BY k ORDER BY v DESC NULLS LAST, id", "PARTITION BY v ORDER BY s, id", "ORDER BY f, id"),
    *("PARTITION BY k, v ORDER BY id DESC", "PARTITION BY k ORDER BY d NULLS LAST, id DESC"),
)


def made(count: int = 60) -> list[tuple[object, ...]]:
    """No two rows have one time: ties are Panes' own to break."""
    choose = random.Random(1)
    rows: list[tuple[object, ...]] = []
    for number in range(count):
        values = (
            choose.choice(["a", "b", None]),
            choose.choice([None, *range(-3, 6)]),
            choose.choice([None, Decimal("1.25"), Decimal("-7.50"), Decimal("99.99")]),
            choose.random(),
            choose.choice([None, "x", "y", "é"]),
        )
        rows.append((number, datetime(2024, 1, 1) + timedelta(milliseconds=number * 700), *values))
    choose.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    df = spark.createDataFrame(made(), SCHEMA)
    df.createOrReplaceTempView("over_oracle")
    return df


def check(spark: SparkSession, rows: DataFrame, sql: str) -> None:
    engine = Engine(spark)
    engine.stream("t", rows, time="ts")
    assert len(check_same(engine.sql(sql.format("t")), spark.sql(sql.format("over_oracle")))) == 60


def query(calls: tuple[str, ...], over: str) -> str:
    return f"SELECT id, {', '.join(f'{call} OVER ({over}) AS c{i}' for i, call in enumerate(calls))} FROM {{}}"


@pytest.mark.parametrize("frame", FRAMES)
def test_frames(spark: SparkSession, rows: DataFrame, frame: str) -> None:
    check(spark, rows, query(FRAMED, f"{BY_TIME} {FRAMES[frame]}"))


@pytest.mark.parametrize("order", [BY_TIME, *ORDERS])
def test_ranks_and_neighbours_in_any_order(spark: SparkSession, rows: DataFrame, order: str) -> None:
    check(spark, rows, query((*UNFRAMED, *WHOLE, "sum(v)", "count(*)"), order))


@pytest.mark.parametrize("frame", ["default", "rows before", "range before", "range around"])
def test_a_stream_that_emits_on_close_gives_what_spark_gives(spark: SparkSession, rows: DataFrame, frame: str) -> None:
    calls = tuple(call for call in FRAMED if not (frame == "default" and call.startswith("collect")))
    sql = query(calls, f"{BY_TIME} {FRAMES[frame]}")
    given = sorted(made(), key=lambda row: str(row[1]))
    batches = [given[start : start + 17] for start in range(0, len(given), 17)]
    stream = Stream(SCHEMA, batches, time="ts", watermark="1 second")
    done = replay(sql.format("t"), spark=spark, restart_after=[1], t=stream)
    check_rows(done.rows, rows_of(spark.sql(sql.format("over_oracle"))))


def test_ranks_on_close_are_spark_s(spark: SparkSession, rows: DataFrame) -> None:
    sql = query(UNFRAMED, BY_TIME)
    given = sorted(made(), key=lambda row: str(row[1]))
    stream = Stream(SCHEMA, [given[:20], given[20:25], given[25:]], time="ts", watermark="1 second")
    done = replay(sql.format("t"), spark=spark, t=stream)
    check_rows(done.rows, rows_of(spark.sql(sql.format("over_oracle"))))
