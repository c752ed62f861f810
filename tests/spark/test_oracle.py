"""Windows with aggregates over a batch are what Spark's own `window` and `session_window` give, values and types."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.functions import Functions
from panes.functions.aggregates import AGGREGATES, Aggregate
from panes.functions.refused import REFUSED
from panes.functions.signature import Takes
from panes.functions.within import Within
from panes.testing import Stream, replay

from .compare import check_rows, check_same, rows_of

pytestmark = pytest.mark.spark

WINDOWS = {
    "tumbling": ("tumblingwindow('ss', 10)", "window(ts, '10 seconds')", "window"),
    "hopping": ("hoppingwindow('ss', 10, 4)", "window(ts, '10 seconds', '4 seconds')", "window"),
    "session": ("sessionwindow('ss', 3)", "session_window(ts, '3 seconds')", "session_window"),
}

# Values of each argument type; NULL is among them all.
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, -7, 2**31 - 1, -(2**31), None],
    "bigint": [0, 1, -7, 2**45 + 1, -(2**44) - 3, None],
    "double": [0.0, -0.0, 1.5, -2.25, 1e9, math.nan, math.inf, -math.inf, None],
    "float": [0.0, 1.5, -2.25, 1e9, math.nan, None],
    "decimal(10,2)": [Decimal("0.00"), Decimal("1.25"), Decimal("-99999999.99"), Decimal("12345678.90"), None],
    "decimal(38,10)": [Decimal("0.0000000001"), Decimal("-123456789012345678901.0123456789"), Decimal(3), None],
    "string": ["0", "1", "-2.5", "10", "9", None],  # numbers, since Spark takes sums of such texts
    "date": [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), None],
    "timestamp": [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2024, 2, 29, 12, 0, 0, 1, UTC), None],
    "timestamp_ntz": [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 12, 0, 0, 1), None],
    "boolean": [True, False, None],
    "struct<a:int,b:string>": [(1, "x"), (1, None), (None, "y"), (2, "x"), None],
    "array<int>": [[1, 2], [], [None], None],
}
QUICK = [("tumbling", type_) for type_ in VALUES]
QUICK += [("hopping", "double"), ("hopping", "string"), ("session", "decimal(38,10)"), ("session", "bigint")]
SLOW = [(window, type_) for window in WINDOWS for type_ in VALUES if (window, type_) not in QUICK]
CASES = [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]

SCHEMA = "ts timestamp, k string, n int, x {}, by int, keep boolean"


def rows(type_: str, number: int = 60, seed: int = 0) -> list[tuple[Any, ...]]:
    """Rows around 1970, out of order, with ties in time and in `by`; `n` tells them apart."""
    pick = random.Random(f"{type_} {seed}")
    start = datetime(1969, 12, 31, 23, 59, 30, tzinfo=UTC)
    return [
        (
            start + timedelta(milliseconds=500 * pick.randrange(120)),
            pick.choice(["a", "b", None]),
            n,
            pick.choice(VALUES[type_]),
            pick.choice([1, 2, 3, None]),
            pick.choice([True, True, False, None]),
        )
        for n in pick.sample(range(1000), number)
    ]


def frame(spark: SparkSession, type_: str) -> DataFrame:
    df = spark.createDataFrame(rows(type_), SCHEMA.format(type_))
    df.createOrReplaceTempView("oracle_rows")
    return df


# ── What each aggregate is called with, and what it is in Spark's words ───────────────────────────────────────────

ARGUMENTS = {"x": "x", "y": "by", "by": "by", "condition": "x", "percentage": "0.3"}
IN_ORDER = "array_sort(collect_list(named_struct('ts', ts, 'n', n, 'x', x)){filter})"
GIVEN = f"filter(transform({IN_ORDER}, e -> e.x), e -> e IS NOT NULL)"
FIRST, LAST = f"get({IN_ORDER}, 0).x", f"get(reverse({IN_ORDER}), 0).x"
BY = "collect_list(named_struct('y', $y, 'ts', ts, 'n', n, 'x', x)){filter}"
BEST = f"array_max(filter({BY}, e -> e.y IS NOT NULL)).x"

# Aggregates that follow the stream's order, (time, key): said with functions that follow none.
ORACLES = {
    "first": FIRST,
    "any_value": FIRST,
    "last": LAST,
    "last_row": LAST,
    "collect_list": GIVEN,
    "collect_set": f"array_distinct({GIVEN})",
    "min_by": BEST.replace("$y", "-by"),
    "max_by": BEST.replace("$y", "by"),
    "listagg": f"CASE WHEN size({GIVEN}) > 0 THEN array_join({GIVEN}, '') END",
    "mode": "mode(x, true){filter}",
}
# What Spark makes of an infinity depends on the order of rows; here it is NaN.
FINITE = "IF(abs(x) = double('inf'), double('nan'), x)"
OF_FINITE = ("covar_pop", "covar_samp", "regr_sxy", "regr_slope", "regr_intercept")
# Spark's own places a NaN by the order in which it merges; here it is greater than all.
BY_RANK = f"get(array_sort({GIVEN}), CAST(greatest(ceil(0.3D * size({GIVEN})), 1L) AS INT) - 1)"


def call(name: str, one: Aggregate, distinct: bool = False) -> str:
    params = [param for param in one.signature.params if not param.optional]
    within = " WITHIN GROUP (ORDER BY x DESC)" if one.within is Within.VALUE else ""
    return f"{name}({'DISTINCT ' if distinct else ''}{', '.join(ARGUMENTS[param.name] for param in params)}){within}"


def accepted(sql: str, df: DataFrame) -> bool:
    """Whether Spark takes an aggregate over these types."""
    try:
        df.selectExpr(sql)
    except AnalysisException:
        return False
    return True


def pairs(df: DataFrame, window: str) -> dict[str, tuple[str, str]]:
    """All aggregates that the type of x has: Panes' text and Spark's, plain and with FILTER, and DISTINCT.

    Spark's own DISTINCT counts a value twice in a session that was merged, so sessions have a test of their own.
    """
    found: dict[str, tuple[str, str]] = {}
    is_boolean = dict(df.dtypes)["x"] == "boolean"
    for one in AGGREGATES:
        conditional = any(param.takes is Takes.CONDITION for param in one.signature.params)
        if conditional and not is_boolean:
            continue
        for distinct in (False, True) if one.distinct and window != "session" else (False,):
            text = call(one.name, one, distinct)
            oracle = ORACLES[one.name] if one.name in ORACLES and not distinct else text + "{filter}"
            if one.name == "listagg" and (distinct or not accepted(text, df)):
                continue  # in which order, Spark does not say; below, WITHIN GROUP does
            if one.name in OF_FINITE and dict(df.dtypes)["x"] in ("double", "float"):
                oracle = f"{one.name}(by, {FINITE}){{filter}}"
            if one.name == "percentile_approx" and dict(df.dtypes)["x"] in ("double", "float"):
                oracle = BY_RANK
            if accepted(oracle.format(filter=""), df):
                for filter_ in ("", " FILTER (WHERE keep)"):
                    found[f"{text}{filter_}"] = (f"{text}{filter_}", oracle.format(filter=filter_))
    return found


def panes_sql(window: str, aggregates: list[str], keys: str = "k", table: str = "t") -> str:
    named = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(aggregates))
    head = "".join(f"{key.strip()}, " for key in keys.split(",") if key)
    by = ", ".join([WINDOWS[window][0], *([keys] if keys else [])])
    return f"SELECT {head}window_start() AS ws, window_end() AS we, {named} FROM {table} GROUP BY {by}"


def spark_sql(window: str, aggregates: list[str], keys: str = "k") -> str:
    _, function, name = WINDOWS[window]
    named = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(aggregates))
    head = "".join(f"{key.strip()}, " for key in keys.split(",") if key)
    by = ", ".join([function, *([keys] if keys else [])])
    return f"SELECT {head}{name}.start AS ws, {name}.end AS we, {named} FROM oracle_rows GROUP BY {by}"


@pytest.mark.parametrize(("window", "type_"), CASES)
def test_aggregates(spark: SparkSession, window: str, type_: str) -> None:
    df = frame(spark, type_)
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    both = pairs(df, window)
    ours = engine.sql(panes_sql(window, [panes for panes, _ in both.values()]))
    assert check_same(ours, spark.sql(spark_sql(window, [oracle for _, oracle in both.values()])))


def test_every_aggregate_is_compared(spark: SparkSession) -> None:
    """None is left out of all cases because Spark takes neither it nor its oracle."""
    compared = {
        text.partition("(")[0]
        for type_ in ("bigint", "double", "string", "boolean")
        for text in pairs(frame(spark, type_), "tumbling")
    }
    assert compared == {one.name for one in AGGREGATES}
    assert {("tumbling", type_) for type_ in ("bigint", "double", "string", "boolean")} <= set(QUICK)


RANKED = ["bigint", "decimal(10,2)", "string", "date", "timestamp_ntz"]


@pytest.mark.parametrize(("window", "type_"), [("hopping", "timestamp"), *(("session", type_) for type_ in RANKED)])
def test_approx_percentiles_of_few_values_are_sparks(spark: SparkSession, window: str, type_: str) -> None:
    df = frame(spark, type_)
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    calls = ["percentile_approx(x, array(0.0, 0.3, 1.0))", "approx_percentile(x, 0.5, 100) FILTER (WHERE keep)"]
    assert check_same(engine.sql(panes_sql(window, calls)), spark.sql(spark_sql(window, calls)))


def test_approx_count_distinct_is_within_the_error_of_the_count(spark: SparkSession) -> None:
    """The root of the mean square of relative errors, over some 300 values in each window and group."""
    texts = ("timestamp_micros(id * 10000) AS ts", "CAST(id % 3 AS STRING) AS k", "id AS n")
    df = spark.range(20_000).selectExpr(*texts, "CAST(pmod(hash(id), 5000) AS STRING) AS x")
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    ours = engine.sql(panes_sql("tumbling", ["approx_count_distinct(x, 0.05)"])).collect()
    exact = spark.sql(spark_sql("tumbling", ["count(DISTINCT x)"])).collect()
    counts = {(row.k, row.ws): row.c0 for row in exact}
    assert len(ours) == len(counts) > 50
    errors = [row.c0 / counts[row.k, row.ws] - 1 for row in ours]
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) < 0.06


@pytest.mark.parametrize("type_", ["bigint", "double", "decimal(38,10)"])
def test_distinct_in_sessions(spark: SparkSession, type_: str) -> None:
    """The oracle collects a session's values first, and then aggregates those that differ."""
    df = frame(spark, type_).where("x IS NULL OR abs(x) < 1e100")
    if type_ == "double":
        df = df.withColumn("x", df.x + 0.0)  # Spark's array_distinct has no -0.0, which listagg shows
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    names = [one.name for one in AGGREGATES if one.distinct]
    for filter_ in ("", " FILTER (WHERE keep)"):
        ours = engine.sql(panes_sql("session", [f"{name}(DISTINCT x){filter_}" for name in names]))
        sets = spark_sql("session", [f"array_distinct({GIVEN.format(filter=filter_)})"])
        values = ", ".join(f"{name}(x) AS c{i}" for i, name in enumerate(names))
        one_by_one = f"SELECT k, ws, we, x FROM ({sets}) LATERAL VIEW OUTER explode(c0) AS x"
        check_same(ours, spark.sql(f"SELECT k, ws, we, {values} FROM ({one_by_one}) GROUP BY k, ws, we"))


WITHIN = [
    "listagg(x, ', ') WITHIN GROUP (ORDER BY by DESC NULLS FIRST, n)",
    "string_agg(x, concat('$', '-')) WITHIN GROUP (ORDER BY n DESC) FILTER (WHERE keep)",
    "listagg(by, 1) WITHIN GROUP (ORDER BY x NULLS LAST, by, n)",
    "mode() WITHIN GROUP (ORDER BY x DESC)",
    "mode() WITHIN GROUP (ORDER BY x) FILTER (WHERE keep)",
    "percentile_cont(array(0.0, 0.25, 1.0)) WITHIN GROUP (ORDER BY by)",
    "percentile_disc(array(0.0, 0.25, 0.5, 1.0)) WITHIN GROUP (ORDER BY by DESC)",
    "percentile_disc(1 / 3) WITHIN GROUP (ORDER BY by) FILTER (WHERE keep)",
]


@pytest.mark.parametrize(("window", "type_"), [("tumbling", "string"), ("hopping", "bigint"), ("session", "date")])
def test_within_group(spark: SparkSession, window: str, type_: str) -> None:
    df = frame(spark, type_)
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    assert check_same(engine.sql(panes_sql(window, WITHIN)), spark.sql(spark_sql(window, WITHIN)))


@pytest.mark.parametrize(
    ("panes", "size", "hop", "offset"),
    [
        ("tumblingwindow('ss', 10, offset => INTERVAL 3 SECONDS)", 10, 10, 3),
        ("hoppingwindow('ss', 10, 4, offset => INTERVAL 3 SECONDS)", 10, 4, 3),
        ("hoppingwindow('ss', 10, 4, offset => INTERVAL -3 SECONDS)", 10, 4, -3),
    ],
)
def test_an_offset_is_the_start_time_of_sparks_window(
    spark: SparkSession, panes: str, size: int, hop: int, offset: int
) -> None:
    engine = Engine(spark)
    engine.stream("t", frame(spark, "bigint"), time="ts", key=["n"])
    values = "count(*) AS c, sum(x) AS s, max(ts) AS m"
    ours = engine.sql(f"SELECT k, window_start() AS ws, window_end() AS we, {values} FROM t GROUP BY {panes}, k")
    window = f"window(ts, '{size} seconds', '{hop} seconds', '{offset} seconds')"
    theirs = f"SELECT k, window.start AS ws, window.end AS we, {values} FROM oracle_rows GROUP BY {window}, k"
    assert check_same(ours, spark.sql(theirs))


def test_spark_refuses_a_start_time_of_a_whole_hop_too(spark: SparkSession) -> None:
    frame(spark, "bigint")
    for offset in (4, -4):
        with pytest.raises(AnalysisException):
            spark.sql(
                f"SELECT count(*) FROM oracle_rows GROUP BY window(ts, '10 seconds', '4 seconds', '{offset} seconds')"
            )


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Havana"])
def test_days_of_a_zone_are_those_of_sparks_dates(spark: SparkSession, zone: str) -> None:
    """An hour apart, over both changes of clocks in 2024, and around 1970."""
    times = "explode(sequence(TIMESTAMP '{}', TIMESTAMP '{}', INTERVAL 1 HOUR)) AS ts"
    years = [("2024-03-01 00:00:00Z", "2024-04-05 00:00:00Z"), ("2024-10-20 00:00:00Z", "2024-11-10 00:00:00Z")]
    years += [("1969-12-25 00:00:00Z", "1970-01-05 00:00:00Z")]
    df = spark.sql(" UNION ALL ".join(f"SELECT {times.format(*year)}" for year in years))
    df.createOrReplaceTempView("oracle_hours")
    engine = Engine(spark)
    engine.stream("t", df, time="ts")
    days = f"tumblingwindow('dd', 1, zone => '{zone}')"
    ours = engine.sql(f"SELECT count(*) AS n, min(ts) AS low, max(ts) AS high FROM t GROUP BY {days}")
    date = f"to_date(from_utc_timestamp(ts, '{zone}'))"
    theirs = f"SELECT count(*) AS n, min(ts) AS low, max(ts) AS high FROM oracle_hours GROUP BY {date}"
    assert check_same(ours, spark.sql(theirs))


def test_bits_of_every_whole_number(spark: SparkSession) -> None:
    small = ("CAST(by - 2 AS TINYINT) AS t", "CAST(n AS SMALLINT) AS s")
    df = frame(spark, "bigint").selectExpr("ts", "k", "n", "x", "by", *small)
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    calls = [f"bit_{one}({name})" for one in ("and", "or", "xor") for name in ("x", "by", "t", "s")]
    assert check_same(engine.sql(panes_sql("hopping", calls)), spark.sql(spark_sql("hopping", calls)))


def test_equal_values_have_no_correlation_and_no_shape(spark: SparkSession) -> None:
    """0.1 added up and divided is not 0.1: what is NULL in Spark must not become noise, however rows are cut."""
    df = frame(spark, "int").selectExpr("ts", "k", "n", "0.1D AS x", "CAST(n AS DOUBLE) / 7 AS by", "keep")
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    calls = ["corr(x, by)", "corr(by, x)", "regr_slope(by, x)", "regr_r2(by, x)", "regr_r2(x, by)", "skewness(x)"]
    calls += ["kurtosis(x)", "regr_intercept(x, by)", "covar_samp(by, x)"]
    assert check_same(engine.sql(panes_sql("hopping", calls)), spark.sql(spark_sql("hopping", calls)))


def test_overflow_is_null_where_it_is_tried(spark: SparkSession) -> None:
    df = spark.sql("SELECT TIMESTAMP'2024-01-01' AS ts, CAST(9e18 AS BIGINT) AS x FROM range(2)")
    engine = Engine(spark)
    engine.stream("t", df, time="ts")
    (row,) = engine.sql("SELECT try_sum(x) AS s, try_avg(x) AS a FROM t GROUP BY tumblingwindow('ss', 10)").collect()
    assert (row.s, row.a) == (None, 9e18)


@pytest.mark.parametrize("call", ["bit_and(0.5D)", "listagg(array(x))", "listagg(CAST(x AS BINARY))"])
def test_types_that_an_aggregate_does_not_take(spark: SparkSession, call: str) -> None:
    engine = Engine(spark)
    engine.stream("t", frame(spark, "string"), time="ts")
    with pytest.raises(PanesError) as caught:
        engine.sql(f"SELECT {call} AS v FROM t GROUP BY tumblingwindow('ss', 10)")
    assert caught.value.code == "function-arguments" and caught.value.hint


def test_every_aggregate_of_spark_is_done_or_refused(spark: SparkSession) -> None:
    """Spark's own registry: what it calls an aggregate, and what is one by its class."""
    jvm: Any = spark._jvm
    base = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction")
    names, found = [], jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions().iterator()
    while found.hasNext():
        pair = found.next()
        info = pair._2()._1()
        if info.getGroup() == "window_funcs":
            continue
        if info.getGroup() == "agg_funcs" or base.isAssignableFrom(jvm.java.lang.Class.forName(info.getClassName())):
            names.append(pair._1())
    done = Functions().aggregates
    assert len(names) > 70 and not [name for name in names if name not in done and name not in REFUSED]
    assert not set(REFUSED) & set(done)


def test_aliases(spark: SparkSession) -> None:
    """Other names are the same aggregates."""
    df = frame(spark, "int")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    for type_ in ("int", "boolean"):
        df = frame(spark, type_)
        engine.stream("t", df, time="ts", key=["n"])
        taken = [
            (alias, one)
            for one in AGGREGATES
            for alias in one.aliases
            if any(param.takes is Takes.CONDITION for param in one.signature.params) == (type_ == "boolean")
        ]
        aliases = engine.sql(panes_sql("tumbling", [call(alias, one) for alias, one in taken]))
        check_same(aliases, engine.sql(panes_sql("tumbling", [call(one.name, one) for _, one in taken])))


def test_nulls_are_ignored_on_request(spark: SparkSession) -> None:
    df = frame(spark, "string")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    names = [one.name for one in AGGREGATES if one.ignores_nulls_on_request]
    given = GIVEN.format(filter="")
    spoken = [f"{name}(x) IGNORE NULLS" for name in names]
    argued = [f"{name}(x, true)" for name in names]
    last = f"get(reverse({given}), 0)"
    oracle = [last if name.startswith("last") else f"get({given}, 0)" for name in names]
    expected = spark.sql(spark_sql("tumbling", oracle))
    check_same(engine.sql(panes_sql("tumbling", spoken)), expected)
    check_same(engine.sql(panes_sql("tumbling", argued)), expected)


def test_several_arguments_and_percentages(spark: SparkSession) -> None:
    df = frame(spark, "double").where("x < 100")
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    same = [
        "count(*)",
        "count(*) FILTER (WHERE keep)",
        "count(x, by, keep)",
        "count(DISTINCT by, keep)",
        "percentile(x, array(0.0, 0.5, 1.0))",
        "percentile(by, 0.25)",
        "sum(x + by)",
        "max(CASE WHEN keep THEN x END)",
        "sum(by) + count(*)",
    ]
    check_same(engine.sql(panes_sql("hopping", same)), spark.sql(spark_sql("hopping", same)))


KEYS = {
    "string": "k",
    "none": "",
    "several": "k, by",
    "expression": "by + 1",
    "decimal": "d",
    "date": "dt",
    "timestamp": "at",
    "struct": "s",
    "double": "f",
    "boolean": "keep",
}


@pytest.mark.parametrize("keys", KEYS)
def test_keys(spark: SparkSession, keys: str) -> None:
    """-0.0 and 0.0 are one key, all NaNs are one key, NULL is a key."""
    window = "session" if keys in ("double", "none") else "tumbling"
    df = frame(spark, "int").selectExpr(
        "*",
        "CAST(by AS DECIMAL(10, 2)) / 4 AS d",
        "date_add(DATE'1970-01-01', -by) AS dt",
        "CASE WHEN keep THEN ts END AS at",
        "named_struct('a', by, 'b', k) AS s",
        "CASE by WHEN 1 THEN double('-0.0') WHEN 2 THEN 0.0D WHEN 3 THEN double('NaN') END AS f",
    )
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts")
    aggregates = ["count(*)", "sum(x)"]
    names = KEYS[keys]
    ours, oracle = panes_sql(window, aggregates, names), spark_sql(window, aggregates, names)
    if keys == "expression":
        ours, oracle = ours.replace("by + 1,", "by + 1 AS y,", 1), oracle.replace("by + 1,", "by + 1 AS y,", 1)
    assert check_same(engine.sql(ours), spark.sql(oracle))


@pytest.mark.parametrize("window", WINDOWS)
def test_times_without_zone(spark: SparkSession, window: str) -> None:
    """Window bounds have the time column's type."""
    df = frame(spark, "int").selectExpr("CAST(ts AS TIMESTAMP_NTZ) AS ts", "k", "x", "n")
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts")
    assert check_same(engine.sql(panes_sql(window, ["sum(x)"])), spark.sql(spark_sql(window, ["sum(x)"])))


@pytest.mark.parametrize(
    ("window", "type_"), [("tumbling", "double"), ("hopping", "decimal(38,10)"), ("session", "string")]
)
def test_a_stream_gives_what_the_batch_gives(spark: SparkSession, window: str, type_: str) -> None:
    """The same rows in two micro-batches; none is late, for the delay is longer than all of them."""
    df = frame(spark, type_)
    engine = Engine(spark)
    engine.stream("t", df, time="ts", key=["n"])
    sql = panes_sql(window, [panes for panes, _ in pairs(df, window).values()])
    all_rows = rows(type_)
    out = replay(
        sql,
        spark=spark,
        t=Stream(SCHEMA.format(type_), [all_rows[:30], all_rows[30:]], time="ts", watermark="10 minutes", key=["n"]),
    )
    check_rows(out.rows, rows_of(engine.sql(sql)))
    assert out.rows


# ── Overflow: only the final value is judged ──────────────────────────────────────────────────────────────────────

MOST = 2**63 - 1
NINES = Decimal("9" * 28 + "." + "9" * 10)
OVERFLOWS: dict[str, tuple[list[Any], list[Any], Any]] = {
    "bigint": ([MOST, MOST], [MOST, MOST, -MOST], MOST),
    "decimal(38,10)": ([NINES, NINES], [NINES, NINES, NINES.copy_negate()], NINES),
}


def summed(spark: SparkSession, type_: str, values: list[Any], function: str = "sum") -> tuple[DataFrame, DataFrame]:
    """Panes' sum and Spark's."""
    at = datetime(2024, 1, 1, tzinfo=UTC)
    df = spark.createDataFrame([(at, value) for value in values], f"ts timestamp, x {type_}")
    df.createOrReplaceTempView("oracle_rows")
    engine = Engine(spark)
    engine.stream("t", df, time="ts")
    aggregates = [f"{function}(x)"]
    return engine.sql(panes_sql("tumbling", aggregates, "")), spark.sql(spark_sql("tumbling", aggregates, ""))


@pytest.mark.parametrize("type_", OVERFLOWS)
def test_a_sum_that_overflows_fails(spark: SparkSession, type_: str) -> None:
    ours, theirs = summed(spark, type_, OVERFLOWS[type_][0])
    with pytest.raises(Exception, match=r"OVERFLOW|OUT_OF_RANGE"):
        theirs.collect()
    with pytest.raises(Exception, match=r"value-failed: sum\(x\) is beyond"):
        ours.collect()


@pytest.mark.parametrize("type_", OVERFLOWS)
def test_a_sum_that_comes_back_is_fine(spark: SparkSession, type_: str) -> None:
    _, values, expected = OVERFLOWS[type_]
    (row,) = summed(spark, type_, values)[0].collect()
    assert row["c0"] == expected


@pytest.mark.parametrize("type_", OVERFLOWS)
def test_without_ansi_a_sum_overflows_as_in_spark(spark: SparkSession, type_: str) -> None:
    """BIGINT wraps around, a decimal is NULL."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        ours, theirs = summed(spark, type_, OVERFLOWS[type_][0])
        check_same(ours, theirs)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
