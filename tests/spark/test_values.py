"""A value that cannot be computed stops the query, as an error of Panes that says where and whose it was."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError
from panes.kernels.duck import query
from panes.kernels.kernel import Clock, Kernel, State, Step
from panes.spark.failing_rows import Names
from panes.spark.operator import Operator, run
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

BIG = 2**63 - 1
ROWS = [(1, "a", BIG, "7"), (2, "a", 1, "8"), (3, "b", 1, "x"), (12, "b", 1, "9")]
WINDOW = "GROUP BY tumblingwindow('ss', 10), k"


@pytest.mark.parametrize(
    ("sql", "says", "place"),
    [
        (f"SELECT k, count(*) AS n, sum(v) AS s FROM t {WINDOW}", "sum(v) is beyond BIGINT: 9223372036854775808", None),
        ("SELECT k, acc_sum(v) OVER (PARTITION BY k) AS s FROM t", "acc_sum(v) is beyond BIGINT", None),
        (f"SELECT k, cast(max(s) as  int) AS m FROM t {WINDOW}", "[CAST_INVALID_INPUT]", "cast(max(s) as  int)"),
        (f"SELECT k, sum(1/(v - 1)) AS m FROM t {WINDOW}", "[DIVIDE_BY_ZERO]", "1/(v - 1)"),
    ],
)
def test_a_script_names_a_failing_value(
    sql: str, says: str, place: str | None, tmp_path: Path, spark: SparkSession
) -> None:
    rows = ({"ts": at(second * 1000), "k": k, "v": v, "s": s} for second, k, v, s in ROWS)
    write_file(tmp_path / "in", 0, rows)
    script = f"""
        CREATE STREAM t (ts TIMESTAMP, k STRING, v BIGINT, s STRING, WATERMARK FOR ts AS ts - INTERVAL 0 SECONDS)
        WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK out WITH (connector = 'noop');
        INSERT INTO out {sql};
    """
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script, once=True)
    assert caught.value.code == "value-failed"
    assert says in caught.value.message
    assert caught.value.message.endswith("(INSERT INTO out)")
    assert "SQLSTATE" not in caught.value.message
    assert (caught.value.span.text if caught.value.span is not None else None) == place
    if place is None:
        assert "k = a" in caught.value.message


@pytest.mark.parametrize(
    ("micros", "shown"), [(2**63 - 1, "+294247-01-10 04:00:54.775807Z"), (5 - 2**63, "-290308-12-21 19:59:05.224197Z")]
)
def test_a_time_at_an_end_of_bigint_is_named(micros: int, shown: str, tmp_path: Path, spark: SparkSession) -> None:
    """It moves the watermark before it comes to a kernel: neither sum wraps around or fails by itself."""
    write_file(tmp_path / "in", 0, [{"us": 0, "k": "a"}, {"us": micros, "k": "b"}])
    script = f"""
        CREATE STREAM t (us BIGINT, k STRING, ts TIMESTAMP AS timestamp_micros(us),
                         WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
        WITH (connector = 'json', path = '{tmp_path}/in');
        CREATE SINK out WITH (connector = 'noop');
        INSERT INTO out SELECT k, count(*) AS n FROM t GROUP BY tumblingwindow('dd', 7, zone => 'Europe/Berlin'), k;
    """
    with pytest.raises(PanesError) as caught:
        Engine(spark).run(script, once=True)
    assert caught.value.code == "value-failed"
    assert f"k = 'b', ts = {shown}" in caught.value.message


def test_without_ansi_an_overflow_is_what_it_is_in_spark(spark: SparkSession) -> None:
    engine = Engine(spark)
    rows = spark.createDataFrame([("a", BIG), ("a", 1), ("b", 2)], "k string, v bigint")
    engine.stream("t", rows)
    totals = "SELECT k, sum(v) AS s FROM t GROUP BY countwindow(3), k"
    with pytest.raises(PySparkException, match=r"value-failed: sum\(v\) is beyond BIGINT.*k = a"):
        engine.sql(totals).collect()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        theirs = rows.groupBy("k").agg({"v": "sum"}).collect()
        assert sorted(map(tuple, engine.sql(totals).collect())) == sorted(map(tuple, theirs))
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_kernel_names_a_failing_value(spark: SparkSession) -> None:
    """Where the rows are, and where the state is."""
    rows = spark.sql("SELECT 'a' AS panes_c0, 7L AS panes_c1, current_timestamp() AS panes_time, 0 AS panes_shard")
    rows = rows.unionAll(rows.selectExpr("'b'", "300L", "panes_time", "panes_shard"))
    names = Names("OVER", {}, {"panes_c0": "k", "panes_c1": "v"})
    for where in ("pack", "step"):
        operator = Operator(_narrow(where), 1, (("panes_c1", "bigint"),), {}, "panes", names=names)
        with pytest.raises(PySparkException, match=r"value-failed: OVER: .*300.*, at the row k = 'b', v = 300"):
            run(operator, rows, spark, None, None).collect()


def _narrow(where: str) -> Kernel:
    """A kernel whose values must be small; made here so that workers get it by value."""

    class Narrow:
        def depends_on(self) -> dict[str, str]:
            return {}

        def pack(self, rows: pa.Table) -> pa.Table:
            return self.checked(rows, "pack")

        def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
            return Step(state, self.checked(batch, "step"))

        def checked(self, rows: pa.Table | None, here: str) -> pa.Table | None:
            if rows is not None and here == where:
                query("SELECT panes_c1::UTINYINT FROM t", t=rows)
            return rows

    return Narrow()
