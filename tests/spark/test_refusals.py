"""What Spark refuses in an expression is an error of Panes, with the place in the user's own text."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.errors import PanesError

pytestmark = pytest.mark.spark

GROUP = "FROM t GROUP BY tumblingwindow('ss', 10), k"


@pytest.mark.parametrize(
    ("sql", "code", "place"),
    [
        (f"SELECT k, sum(nosuch( v )) AS s {GROUP}", "unknown-function", "nosuch( v )"),
        ("SELECT k, nosuch(v) FROM t", "unknown-function", "nosuch(v)"),
        (
            f"SELECT k, sum(v) AS s {GROUP.replace('t ', 't WHERE ts::timestamptz > now() ', 1)}",
            "parse-error",
            "timestamptz",
        ),
        (f"SELECT k,\n sum(v + array(1)) AS s {GROUP}", "type-mismatch", "v + array(1)"),
        (f"SELECT k, sum(v) AS s {GROUP} HAVING sum(v) > array(1)", "type-mismatch", "> array(1)"),
        ("SELECT k, luhn_check(k, 3), lag(v) OVER (PARTITION BY k) FROM t", "function-arguments", "luhn_check(k, 3)"),
        ("SELECT k, CAST(v AS nosuch) AS u FROM t", "parse-error", "nosuch"),
        ("SELECT t.k, d.zzz AS u FROM t JOIN VALUES ('a') AS d(k) USING (k)", "unknown-column", "d.zzz"),
        ("SELECT k, d FROM bad", "unknown-function", "gone(v)"),
    ],
)
def test_the_place_is_the_users(spark: SparkSession, sql: str, code: str, place: str) -> None:
    engine = Engine(spark)
    df = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'a' AS k", "1.0D AS v")
    engine.stream("t", df, time="ts", watermark="0 seconds")
    engine.run("CREATE VIEW bad AS SELECT k, gone(v) AS d, lag(v) AS l FROM t")
    with pytest.raises(PanesError) as caught:
        engine.sql(sql)
    assert (caught.value.code, caught.value.span and caught.value.span.text) == (code, place)
