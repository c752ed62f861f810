"""What the language takes and refuses beyond what the compiler alone can tell, held against Spark's own batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance

pytestmark = pytest.mark.spark

ROWS = """
SELECT i, timestamp_seconds(i) AS ts, x, arr, named_struct('a', i % 2, 'b', x) AS st, map(i % 2, 1) AS m,
       k COLLATE UTF8_LCASE AS ci, make_dt_interval(0, 0, 0, i) AS span, named_struct('interval', i % 2) AS odd
FROM VALUES (1, 10.0D, array(1, 2), 'a'), (2, NULL, array(3), 'A'), (3, 0.0D, array(1, 2), 'b'),
            (4, -0.0D, NULL, 'B'), (5, double('NaN'), array(3, NULL), 'a'), (6, double('NaN'), array(3, NULL), NULL)
     AS t(i, x, arr, k)
"""
TUMBLING = "tumblingwindow('mi', 1)"


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    rows = spark.sql(ROWS)
    rows.createOrReplaceTempView("language_rows")
    engine = Engine(spark, shards=2)
    engine.stream("t", rows, time="ts")
    yield engine
    spark.catalog.dropTempView("language_rows")


def same(engine: Engine, ours: str, theirs: str) -> None:
    """Our query over t gives what Spark's gives over the same rows."""
    expected = engine.spark.sql(theirs.replace("FROM t", "FROM language_rows"))
    assert sorted(str(tuple(row)) for row in engine.sql(ours).collect()) == sorted(
        str(tuple(row)) for row in expected.collect()
    )


def test_constant_expressions_and_nulls_inside_parentheses(engine: Engine) -> None:
    items = """i, lag(i, 0 + 1) OVER w AS a, lead(i, CAST(2 AS INT), -i) OVER w AS b, ntile(2 * 2) OVER w AS c,
      nth_value(i, 1 + 1) OVER w AS d,
      count(*) OVER (ORDER BY ts ROWS BETWEEN 1 + 1 PRECEDING AND 2 - 1 FOLLOWING) AS e,
      last_value(x{0}){1} OVER w AS f, lag(x{0}){1} OVER w AS g, nth_value(x, 2{0}){1} OVER w AS h,
      transform(arr, e -> e + lag(i) OVER (ORDER BY ts)) AS j
    FROM t WINDOW w AS (ORDER BY ts)"""
    inside, outside = items.format(" IGNORE NULLS", ""), items.format("", " IGNORE NULLS")
    same(engine, f"SELECT {inside}", f"SELECT {outside}")


def test_numbers_of_range_frames_are_cast_as_spark_casts_them(engine: Engine) -> None:
    """Spark takes 1.5 for 1 where ORDER BY is an integer."""
    frames = ("RANGE 1.5 PRECEDING", "RANGE BETWEEN 2 * 1 PRECEDING AND 1 PRECEDING", "RANGE '2' PRECEDING")
    counts = ", ".join(f"count(*) OVER (ORDER BY i {frame})" for frame in frames)
    same(engine, f"SELECT i, {counts} FROM t", f"SELECT i, {counts} FROM t")


def test_keys_of_arrays_and_structs(engine: Engine) -> None:
    items = "count(*), count(DISTINCT arr), count(DISTINCT st), percentile(i, array(1 / 4, '0.5'))"
    for key in ("arr", "st", "odd"):
        same(engine, f"SELECT {items} FROM t GROUP BY {TUMBLING}, {key}", f"SELECT {items} FROM t GROUP BY {key}")
    rank = "SELECT i, rank() OVER (PARTITION BY st ORDER BY arr) AS r FROM t"
    same(engine, rank, rank)


def test_lambdas(engine: Engine) -> None:
    """A call in a lambda is computed once a row or group."""
    item = "transform(collect_list(i), e -> e - max(i)) AS d, aggregate(collect_list(i), 0, (s, e) -> s + e) AS s"
    same(engine, f"SELECT {item} FROM t GROUP BY {TUMBLING}", f"SELECT {item} FROM t")


REFUSED = {
    f"SELECT ci, count(*) FROM t GROUP BY {TUMBLING}, ci": "not-executable",
    f"SELECT count(*) FROM t GROUP BY {TUMBLING}, array(ci)": "not-executable",
    "SELECT lag(i) OVER (PARTITION BY ci) FROM t": "not-executable",
    "SELECT rank() OVER (ORDER BY ci) FROM t": "not-executable",
    "SELECT count(*) FROM t GROUP BY countwindow(2) OVER (PARTITION BY ci)": "not-executable",
    f"SELECT count(DISTINCT i, ci) FROM t GROUP BY {TUMBLING}": "not-executable",
    f"SELECT max(ci) FROM t GROUP BY {TUMBLING}": "not-executable",
    f"SELECT max_by(i, ci) FROM t GROUP BY {TUMBLING}": "not-executable",
    f"SELECT collect_set(ci) FROM t GROUP BY {TUMBLING}": "not-executable",
    "SELECT had_changed(true, ci) FROM t": "not-executable",
    "SELECT acc_min(ci) FROM t": "not-executable",
    f"SELECT count(*) FROM t GROUP BY {TUMBLING}, m": "not-executable",
    "SELECT rank() OVER (PARTITION BY struct(m) ORDER BY ts) FROM t": "not-executable",
    f"SELECT count(DISTINCT m) FROM t GROUP BY {TUMBLING}": "not-executable",
    f"SELECT count(*) FROM t GROUP BY {TUMBLING}, span": "not-executable",
    f"SELECT percentile(i, abs(-1.5)) FROM t GROUP BY {TUMBLING}": "function-arguments",
    f"SELECT percentile(i, nullif(1, 1)) FROM t GROUP BY {TUMBLING}": "function-arguments",
    f"SELECT percentile(i, array(0.5, abs(-2))) FROM t GROUP BY {TUMBLING}": "function-arguments",
    f"SELECT approx_count_distinct(i, abs(-0.5)) FROM t GROUP BY {TUMBLING}": "function-arguments",
    "SELECT count(*) OVER (ORDER BY i RANGE abs(-1) - 2 PRECEDING) FROM t": "over-arguments",
    "SELECT count(*) OVER (ORDER BY i RANGE BETWEEN 1 PRECEDING AND abs(-2) PRECEDING) FROM t": "over-arguments",
    "SELECT count(*) OVER (ORDER BY ts RANGE make_dt_interval(0, 0, 0, -1) PRECEDING) FROM t": "over-arguments",
    "SELECT count(*) OVER (ORDER BY ts RANGE 1 PRECEDING) FROM t": "over-arguments",
    "SELECT count(*) OVER (ORDER BY i RANGE INTERVAL 1 DAY PRECEDING) FROM t": "over-arguments",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused_when_built(engine: Engine, sql: str) -> None:
    with pytest.raises(PanesError) as caught:
        engine.sql(sql)
    assert caught.value.code == REFUSED[sql]


@pytest.mark.parametrize("name", ["len", "UPPER", "language_udf"])
def test_a_function_of_the_session_is_taken(spark: SparkSession, engine: Engine, name: str) -> None:
    class Mine(StatefulFunction):
        def return_type(self, input_types: Sequence[str]) -> str:
            return "int"

        def create_instance(self) -> StatefulFunctionInstance:
            return StatefulFunctionInstance()

    spark.udf.register("language_udf", lambda x: x)
    function = Mine()
    function.name = name
    with pytest.raises(PanesError) as caught:
        engine.register(function)
    assert caught.value.code == "duplicate-name"
