"""Rows with equal times and NULL keys: a stream, however it is cut, and a batch see them in one order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.kernels.changelog.changes import CHANGE
from panes.testing import Stream, replay

from .compare import check_rows, rows_of

pytestmark = pytest.mark.spark

SCHEMA = "id int, ts timestamp, k string, v double"
NAN = float("nan")
ROWS = [
    (1, "2024-01-01 00:00:01", "b", 0.0),
    (2, "2024-01-01 00:00:01", None, -0.0),
    (3, "2024-01-01 00:00:00", "b", NAN),
    (4, "2024-01-01 00:00:00", None, NAN),
    (5, "2024-01-01 00:00:00", "a", None),
    (6, "2024-01-01 00:00:01", "a", 0.0),
    (7, "2024-01-01 00:00:02", None, None),
    (8, "2024-01-01 00:00:02", "b", 0.0),
    (9, "2024-01-01 00:00:02", "a", NAN),
    (10, "2024-01-01 00:00:02", None, None),  # only arrival tells it from 7
]
Row = tuple[Any, ...]
Order = Callable[[Row], Any]


def key(row: Row) -> Any:
    return row[2] is not None, row[2] or ""


def value(row: Row) -> Any:
    """NULL, then numbers, -0.0 as 0.0, then NaN."""
    return (0, 0) if row[3] is None else (2, 0) if row[3] != row[3] else (1, row[3])


def numbered(*order: Order) -> list[dict[str, Any]]:
    """Each row with its number; what `order` leaves equal stays as it came."""
    rows = sorted(ROWS, key=lambda row: [part(row) for part in order])
    return [{"id": row[0], "n": at} for at, row in enumerate(rows, 1)]


def time(row: Row) -> Any:
    return row[1]


def windows() -> list[dict[str, Any]]:
    """Two keys of a window with equal counts."""
    counts = {k: sum(row[2] == k for row in ROWS) for k in (None, "a", "b")}
    ordered = sorted(counts, key=lambda k: (counts[k], k is not None, k or ""))
    return [{"k": k, "n": at} for at, k in enumerate(ordered, 1)]


def previous() -> list[dict[str, Any]]:
    rows = sorted(ROWS, key=lambda row: (time(row), key(row)))
    return [{"id": row[0], "n": rows[at - 1][0] if at else None} for at, row in enumerate(rows)]


CASES = {
    "on window close": ("SELECT id, row_number() OVER (ORDER BY ts) AS n FROM t", numbered(time, key)),
    "on window close, two columns": (
        "SELECT id, row_number() OVER (ORDER BY ts, v) AS n FROM t",
        numbered(time, value, key),
    ),
    "changes": ("SELECT id, row_number() OVER (ORDER BY v) AS n FROM t EMIT CHANGES", numbered(value, key, time)),
    "with its window": (
        "SELECT k, row_number() OVER (PARTITION BY e ORDER BY c) AS n FROM (SELECT k, window_end() AS e, "
        "count(*) AS c FROM t GROUP BY tumblingwindow('mi', 1), k)",
        windows(),
    ),
    "stateful": ("SELECT id, lag(id) AS n FROM t", previous()),
    "aggregate": (
        "SELECT collect_list(id) AS n, first(id) AS one FROM t GROUP BY tumblingwindow('mi', 1)",
        [{"n": [row["id"] for row in numbered(time, key)], "one": 4}],
    ),
    "count window": (
        "SELECT collect_list(id) AS n FROM t GROUP BY countwindow(10)",
        [{"n": [row["id"] for row in numbered(time, key)]}],
    ),
}


@pytest.mark.parametrize("mode", CASES)
def test_ties_are_key_with_null_first_then_time_then_arrival(spark: SparkSession, mode: str) -> None:
    sql, expected = CASES[mode]
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame(ROWS, "id int, at string, k string, v double").coalesce(1).selectExpr(
        "id", "CAST(at AS timestamp) AS ts", "k", "v"
    ), time="ts", key=["k"])  # fmt: skip
    batch = [{name: value for name, value in row.items() if name != CHANGE} for row in rows_of(engine.sql(sql))]
    check_rows(batch, expected)
    stream = Stream(SCHEMA, [ROWS[:4], ROWS[4:7], ROWS[7:]], time="ts", watermark="10 seconds", key=["k"])
    check_rows(replay(sql, t=stream, spark=spark).table, expected)


def test_a_struct_breaks_ties_field_by_field(spark: SparkSession) -> None:
    """NULLs first inside it, too, in both modes."""
    keys = [(1, "x"), (None, "y"), None, (1, None), (None, None)]
    rows = [(id_, "2024-01-01 00:00:00", key) for id_, key in enumerate(keys)]
    expected = [{"id": id_, "n": at} for at, id_ in enumerate([2, 4, 1, 3, 0], 1)]
    stream = Stream("id int, ts timestamp, k struct<a: int, b: string>", [rows[:2], rows[2:]])
    stream = replace(stream, time="ts", watermark="1 second", key=["k"])
    for emit in ("", "EMIT CHANGES"):
        sql = f"SELECT id, row_number() OVER (ORDER BY ts) AS n FROM t {emit}"
        check_rows(replay(sql, t=stream, spark=spark).table, expected)


STACKED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "stateful calls": (
        "SELECT id, lag(id) AS n FROM (SELECT id, lag(v) OVER (PARTITION BY k) AS p FROM t) WHERE p > 0 OR true",
        [{"id": row[0], "n": at or None} for at, row in enumerate(ROWS)],
    ),
    "count window": (
        "SELECT collect_list(id) AS n FROM (SELECT id, lag(v) OVER (PARTITION BY k) AS p FROM t) "
        "WHERE p > 0 OR true GROUP BY countwindow(10)",
        [{"n": [row[0] for row in ROWS]}],
    ),
    "OVER": (
        "SELECT id, row_number() OVER (ORDER BY k) AS n FROM "
        "(SELECT id, k, rank() OVER (PARTITION BY v ORDER BY id DESC) AS r FROM t) WHERE r > 0 EMIT CHANGES",
        numbered(key),
    ),
    "OVER a stateful call": (
        "SELECT id, row_number() OVER (ORDER BY k) AS n FROM (SELECT id, k, lag(k) OVER (PARTITION BY v) AS p FROM t) "
        "WHERE p > '' OR true EMIT CHANGES",
        numbered(key),
    ),
}


@pytest.mark.parametrize("case", STACKED)
def test_a_row_that_an_operator_passes_on_came_when_it_came(spark: SparkSession, case: str) -> None:
    """Without a time: the operator below has its rows on other shards, and in another order."""
    sql, expected = STACKED[case]
    engine = Engine(spark)
    engine.stream("t", spark.createDataFrame(ROWS, "id int, ts string, k string, v double").coalesce(1))
    batch = [{name: value for name, value in row.items() if name != CHANGE} for row in rows_of(engine.sql(sql))]
    check_rows(batch, expected)
    stream = Stream("id int, ts string, k string, v double", [ROWS[:6], ROWS[6:]])
    check_rows(replay(sql, t=stream, spark=spark).table, expected)


def test_a_changelog_breaks_ties_by_its_key(spark: SparkSession) -> None:
    rows = [("insert", id_, v) for id_, v in [("b", 0.0), (None, -0.0), ("c", NAN), ("a", NAN), ("d", 0.0)]]
    sql = "SELECT id, row_number() OVER (ORDER BY v) AS n FROM t"
    stream = Stream("id string, v double", [rows[:2], rows[2:]], key=["id"], changelog=True)
    expected = [{"id": id_, "n": at} for at, id_ in enumerate([None, "b", "d", "a", "c"], 1)]
    check_rows(replay(sql, t=stream, spark=spark).table, expected)
