"""Facts about stateful functions and state windows that other streaming systems keep in their tests, restated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes.testing import Stream, replay

from .compare import check_rows

pytestmark = pytest.mark.spark

DEMO = [(300, 1, 1), (400, 2, 2), (200, 3, 1), (200, 4, 2), (500, 5, 1), (200, 6, 2), (400, 7, 1), (600, 8, 2)]


@dataclass(frozen=True)
class Case:
    """A query over one micro-batch in arrival order, and what comes out of it."""

    select: str
    schema: str
    rows: list[tuple[Any, ...]]
    expect: list[dict[str, Any]]
    rest: str = ""
    flush: bool = False


def column(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


CASES = {
    "equal calls": Case(
        "lag(a) AS p1, lag(a) AS p2",
        "a int",
        [(1,), (2,), (3,)],
        [{"p1": None, "p2": None}, {"p1": 1, "p2": 1}, {"p1": 2, "p2": 2}],
    ),
    "lag in WHERE": Case("a", "a int", [(1,), (2,), (3,), (4,)], column("a", 3, 4), "WHERE lag(a) > 1"),
    "a condition that is stateful": Case(
        "lag(flag) AS prev_flag, lag(a) FILTER (WHERE lag(flag)) AS prev_a",
        "a int, flag boolean",
        [(10, True), (20, False), (30, True), (40, False)],
        [
            {"prev_flag": None, "prev_a": None},
            {"prev_flag": True, "prev_a": None},
            {"prev_flag": False, "prev_a": 20},
            {"prev_flag": True, "prev_a": 20},
        ],
    ),
    "lag in an expression": Case(
        "a + lag(b) FILTER (WHERE flag = 1) AS v",
        "a int, b int, flag int",
        [(1, 10, 1), (2, 20, 0), (3, 30, 1), (4, 40, 0)],
        column("v", None, 12, 13, 34),
    ),
    "latest by partition": Case(
        "latest(a) OVER (PARTITION BY k1) AS latest_a",
        "a int, k1 int",
        [(10, 1), (20, 2), (None, 1), (30, 1), (40, 2), (None, 2)],
        column("latest_a", 10, 20, 10, 30, 40, 40),
    ),
    "changed_col ignores NULL": Case(
        "changed_col(true, a) FILTER (WHERE flag = 1) AS delta",
        "a int, flag int",
        [(1, 1), (1, 1), (2, 1), (None, 1), (2, 0), (3, 1)],
        column("delta", 1, None, 2, None, None, 3),
    ),
    "had_changed keeps NULL": Case(
        "had_changed(false, a, b) AS changed",
        "a int, b string",
        [(1, "x"), (1, "x"), (None, "x"), (None, None), (1, None)],
        column("changed", True, False, True, True, True),
    ),
    "acc_min": Case(
        "acc_min(a) AS min_a", "a double", [(2.0,), (1.0,), (None,), (3.0,)], column("min_a", 2.0, 1.0, 1.0, 1.0)
    ),
    "acc_count": Case("acc_count(a) AS n", "a string", [("x",), (None,), ("y",), ("z",)], column("n", 1, 1, 2, 3)),
    "acc_avg": Case(
        "acc_avg(a) AS avg_a", "a double", [(1.0,), (2.0,), (None,), (3.0,)], column("avg_a", 1.0, 1.5, 1.5, 2.0)
    ),
    "acc_count from a beginning on": Case(
        "acc_count(a, start, false) AS n",
        "a int, start boolean",
        [(1, False), (2, True), (None, False), (3, False)],
        column("n", 0, 1, 1, 2),
    ),
    "a threshold crossed": Case(
        "current, ts",
        "current int, ts int, deviceId int",
        DEMO,
        [{"current": 400, "ts": 2}, {"current": 500, "ts": 5}, {"current": 400, "ts": 7}],
        "WHERE current > 300 AND lag(current) <= 300",
    ),
    "a threshold crossed by one device": Case(
        "current, deviceId, ts",
        "current int, ts int, deviceId int",
        DEMO,
        [{"current": 500, "deviceId": 1, "ts": 5}],
        "WHERE current > 300 AND deviceId = 1 AND lag(current) FILTER (WHERE deviceId = 1) < 300",
    ),
    "a state window opens, then emits": Case(
        "*", "i int", [(1,), (2,)], column("i", 1, 2), "GROUP BY statewindow(true, true)"
    ),
    "the end of input emits an open state window": Case(
        "sum(a) AS s", "a int", [(1,), (2,), (3,)], column("s", 6), "GROUP BY statewindow(a = 1, a = 9)", flush=True
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    sql = f"SELECT {case.select} FROM stream {case.rest}"
    done = replay(sql, flush=case.flush, spark=spark, stream=Stream(case.schema, [case.rows]))
    if "PARTITION BY" in case.select:
        check_rows(done.rows, case.expect)
    else:
        assert done.rows == case.expect
