"""Event time through a part that Spark runs: joins, IN, EXISTS and LATERAL VIEW between a stream and a window."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.testing import Stream, replay

from .compare import check_rows, rows_of

pytestmark = pytest.mark.spark

SCHEMA = "ts timestamp, k string, v double, tags array<string>"
TUMBLING = "SELECT k, sum(v) AS s FROM ({}) GROUP BY tumblingwindow('ss', 10), k"
DIM = "VALUES ('a', 'north'), ('b', 'south') AS d(k, name)"
PARTS = {
    "join": f"SELECT ts, k, v FROM t JOIN {DIM} USING (k)",
    "qualified": f"SELECT t.ts, t.k, t.v FROM t INNER JOIN {DIM} ON d.k = t.k WHERE v > 0",
    "star": f"SELECT * FROM t JOIN {DIM} USING (k)",
    "renamed": f"SELECT t.ts AS at, t.k, v FROM t JOIN {DIM} USING (k)",
    "in": "SELECT ts, k, v FROM t WHERE k IN (SELECT k FROM VALUES ('a'), ('b') AS d(k))",
    "exists": f"SELECT ts, k, v FROM t WHERE EXISTS (SELECT 1 FROM {DIM} WHERE d.k = t.k AND t.v > 0)",
    "lateral": "SELECT ts, tag AS k, v FROM t LATERAL VIEW explode(tags) e AS tag",
}


def at(second: int) -> str:
    return f"2024-01-01 00:00:{second:02}"


def rows(*given: tuple[int | None, str | None, float]) -> list[tuple[Any, ...]]:
    return [(None if second is None else at(second), k, v, [k] if k in ("a", "b") else []) for second, k, v in given]


def stream(*batches: list[tuple[Any, ...]], **options: Any) -> Stream:
    return Stream(SCHEMA, batches, time="ts", watermark="0 seconds", **options)


def batch(spark: SparkSession, sql: str, given: Stream) -> list[dict[str, Any]]:
    engine = Engine(spark)
    every = [row for part in given.batches for row in part]
    cast = spark.createDataFrame([(*row,) for row in every], SCHEMA.replace("ts timestamp", "ts string"))
    engine.stream("t", cast.selectExpr("CAST(ts AS timestamp) AS ts", "k", "v", "tags"), time="ts")
    return rows_of(engine.sql(sql))


@pytest.mark.parametrize("part", PARTS)
def test_the_watermark_passes(spark: SparkSession, part: str) -> None:
    """Rows that Spark's part removes, NULL keys among them, still close the window; and the flush comes through."""
    given = stream(
        rows((1, "a", 1.0), (2, "b", 5.0)),
        rows((12, "z", 9.0)),  # no such key: it is removed, and moves the watermark
        rows((13, "a", 2.0), (None, "a", 7.0)),
        rows((25, None, 1.0)),
    )
    sql = TUMBLING.format(PARTS[part])
    done = replay(sql, spark=spark, t=given)
    assert [sorted(row["s"] for row in out) for out in done.batches] == [[], [1.0, 5.0], [], [2.0], []]
    assert (done.counter("late_rows"), done.counter("null_time_rows")) == (0, 1)
    check_rows(done.rows, batch(spark, sql, given))


def test_ordered_features_above_a_join(spark: SparkSession) -> None:
    joined = f"SELECT ts, k, v, name FROM t JOIN {DIM} USING (k)"
    sql = (
        "SELECT k, v, name, lag(v) OVER (PARTITION BY k) AS p, row_number() OVER (PARTITION BY k ORDER BY ts) AS n "
        f"FROM ({joined})"
    )
    given = stream(rows((3, "a", 3.0), (1, "a", 1.0)), rows((12, "z", 9.0)), rows((13, "b", 2.0), (13, "a", 4.0)))
    done = replay(sql, spark=spark, restart_after=[1], t=given)
    assert [[row["v"] for row in out] for out in done.batches[:2]] == [[1.0], [3.0]]
    check_rows(done.rows, batch(spark, sql, given))


def test_a_join_between_two_operators(spark: SparkSession) -> None:
    """The clock, late rows and the end of the input pass through, and each operator counts for itself."""
    inner = "SELECT k, window_end() AS w, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 5), k"
    middle = f"SELECT w, name, s FROM inner_result JOIN {DIM} USING (k)"
    sql = (
        f"WITH inner_result AS ({inner}), middle AS ({middle}) "
        "SELECT window_end() AS w, name, sum(s) AS s, count(*) AS n FROM middle "
        "GROUP BY tumblingwindow('ss', 10), name"
    )
    given = stream(
        rows((1, "a", 1.0), (6, "a", 2.0), (3, "z", 9.0)), rows((12, "z", 9.0)), rows((13, "a", 4.0), (14, "b", 8.0))
    )
    done = replay(sql, spark=spark, restart_after=[0], t=given)
    assert [[(row["name"], row["s"], row["n"]) for row in out] for out in done.batches[:3]] == [
        [],
        [("north", 3.0, 2)],
        [],
    ]
    assert sorted((row["name"], row["s"]) for row in done.batches[3]) == [("north", 4.0), ("south", 8.0)]
    check_rows(done.rows, batch(spark, sql, given))


def test_a_query_that_spark_runs_whole_has_the_watermark(spark: SparkSession) -> None:
    """Spark's own window closes by the declared watermark, and its state is bounded by it."""
    sql = "SELECT window(ts, '10 seconds').end AS w, count(*) AS n FROM t GROUP BY window(ts, '10 seconds')"
    done = replay(
        sql, spark=spark, flush=False, t=stream(rows((1, "a", 1.0)), rows((12, "a", 1.0)), rows((13, "a", 1.0)))
    )
    assert [row["n"] for row in done.rows] == [1]
    assert "state=bounded by the watermark" in _engine(spark).explain(sql)


def _engine(spark: SparkSession) -> Engine:
    engine = Engine(spark)
    df = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'a' AS k", "1.0D AS v")
    engine.stream("t", df, time="ts", watermark="0 seconds")
    engine.stream("u", df, time="ts", watermark="0 seconds")
    return engine


def test_streams_joined_by_spark(spark: SparkSession) -> None:
    """Bounded both ways, the state of a join of two streams ends; else it is refused."""
    engine = _engine(spark)
    bounded = "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k AND t.ts BETWEEN u.ts AND u.ts + INTERVAL 5 SECONDS"
    assert engine.sql(bounded).isStreaming
    with pytest.raises(PanesError) as caught:
        engine.sql("SELECT t.k, u.v FROM t JOIN u ON t.k = u.k AND t.ts >= u.ts")
    assert caught.value.code == "unbounded-state"


def test_views_of_the_user_stay(spark: SparkSession) -> None:
    """A table is read as it is now, a view of the user's is not replaced, and none is left behind."""
    engine = Engine(spark)
    spark.sql("SELECT 1 AS n").createOrReplaceTempView("dim")
    spark.sql("SELECT 'mine' AS x").createOrReplaceTempView("w")
    before = {table.name for table in spark.catalog.listTables()}
    assert rows_of(engine.sql("SELECT * FROM dim")) == [{"n": 1}]
    spark.sql("SELECT 2 AS n").createOrReplaceTempView("dim")
    assert rows_of(engine.sql("SELECT * FROM dim")) == [{"n": 2}]
    found = engine.sql("WITH w AS (SELECT n + 1 AS m FROM dim) SELECT a.m, b.n FROM w a CROSS JOIN dim b")
    assert rows_of(found) == [{"m": 3, "n": 2}]
    assert rows_of(spark.table("w")) == [{"x": "mine"}]
    assert {table.name for table in spark.catalog.listTables()} == before
    for name in ("dim", "w"):
        spark.catalog.dropTempView(name)


def test_a_batch_expires_by_its_own_times(spark: SparkSession) -> None:
    """With a time and state_ttl but no watermark, a batch does not look at the wall clock."""
    engine = Engine(spark)
    times = [(1, "a", 1), (2, "a", 1), (50, "b", 1), (51, "a", 0)]
    df = spark.createDataFrame([(at(second), k, v) for second, k, v in times], "ts string, k string, v int")
    engine.stream("t", df.selectExpr("CAST(ts AS timestamp) AS ts", "k", "v"), time="ts", state_ttl="10 seconds")
    sql = "SELECT k, count(*) AS n FROM t GROUP BY statewindow(v = 1, v = 0) OVER (PARTITION BY k), k"
    assert rows_of(engine.sql(sql)) == [{"k": "b", "n": 1}]
