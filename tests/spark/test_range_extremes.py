"""RANGE frames at the ends of their types: the values that Spark's own windows give, and errors where they fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from panes import Engine

from .compare import Row, check_rows, rows_of

pytestmark = pytest.mark.spark

LEAST, MOST = "-9223372036854775808L", "9223372036854775807L"
ENDS = ["'0001-01-01'", "'0001-01-01 00:00:05'", "'9999-12-31 23:59:59.999999'", "NULL"]
CASES = {
    "bigint, both": ("bigint", ["-9223372036854775798L", "-9223372036854775790L", "0", MOST, "NULL"], "10", "1"),
    "bigint, below": ("bigint", [LEAST, "0"], "10", "1"),
    "bigint, above": ("bigint", [MOST, "0"], "1", "10"),
    "tinyint": ("tinyint", ["-128", "-120", "127", "NULL"], "10", "0"),
    "decimal(38,0)": ("decimal(38,0)", [f"'{'9' * 38}'", f"'-{'9' * 38}'", "0", "NULL"], "10", "10"),
    "decimal(10,2)": ("decimal(10,2)", ["99999999.99", "99999999", "-99999999.99", "NULL"], "2", "2.5"),
    "double": ("double", ["'-inf'", "'inf'", "'NaN'", "'NaN'", "-0.0", "0.0", "1e308", "NULL"], "1.0D", "1.0D"),
    "date": ("date", ["'0001-01-01'", "'0001-01-05'", "'9999-12-25'", "'9999-12-31'", "NULL"], "10", "3"),
    "seconds": ("timestamp", ENDS, "INTERVAL 9 SECONDS", "INTERVAL 9 SECONDS"),
    "days": ("timestamp", ENDS, "INTERVAL 400 DAYS", "INTERVAL 400 DAYS"),
    "months": ("timestamp", ENDS, "INTERVAL 13 MONTHS", "INTERVAL 13 MONTHS"),
}


def outcome(run: Callable[[], DataFrame]) -> list[Row] | str:
    """The rows, or the condition of the error."""
    try:
        return rows_of(run())
    except PySparkException as error:
        return error.getCondition() or type(error).__name__


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("case", CASES)
def test_range_bounds_at_the_ends_of_a_type(spark: SparkSession, case: str, direction: str) -> None:
    type_, values, before, after = CASES[case]
    rows = [f"SELECT {at} AS id, CAST({value} AS {type_}) AS o" for at, value in enumerate(values)]
    df = spark.sql(" UNION ALL ".join(rows))
    frame = f"RANGE BETWEEN {before} PRECEDING AND {after} FOLLOWING"
    sql = f"SELECT id, collect_list(id) OVER (ORDER BY o {direction} {frame}) AS near FROM {{}}"
    df.createOrReplaceTempView("range_extremes")
    engine = Engine(spark)
    engine.stream("t", df)
    found, own = outcome(lambda: engine.sql(sql.format("t"))), outcome(lambda: spark.sql(sql.format("range_extremes")))
    if isinstance(own, str):
        assert isinstance(found, str)
    else:
        assert not isinstance(found, str), found
        ours, theirs = ([row | {"near": sorted(row["near"])} for row in side] for side in (found, own))
        check_rows(ours, theirs)
