"""Facts about OVER windows that other streaming systems keep in their tests, restated: the table after each change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes.testing import Stream, replay
from panes.testing.sameness import table_of

from .compare import check_rows

pytestmark = pytest.mark.spark

Change = tuple[Any, ...]
Table = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """A query over a changelog; `tables` is the result after each micro-batch, its columns in the order of `names`."""

    sql: str
    schema: str
    key: str
    batches: list[list[Change]]
    names: str
    tables: list[Table] = field(default_factory=list)


def inserts(*rows: Change) -> list[Change]:
    return [("insert", *row) for row in rows]


def update(before: Change, after: Change) -> list[Change]:
    return [("update_preimage", *before), ("update_postimage", *after)]


FOO_BAR = [
    inserts((100001, 701, 805), (100002, 700, 806), (100003, 723, 807), (100004, 702, 808)),
    update((100001, 701, 805), (100001, 733, 805)),
    update((100001, 733, 805), (100001, 733, 804)),
]
POINTS = [*((x, y) for x in (1, 2, 3) for y in range(1, 6)), (1, 3), (2, 3), (3, 3)]
TOP = [inserts(*((*point, number) for number, point in enumerate(POINTS, 1)))]
SALES = [
    inserts(
        (1, "North", "Laptop", 1200.0, 2023),
        (2, "North", "Mouse", 25.0, 2023),
        (3, "North", "Keyboard", 75.0, 2023),
        (4, "South", "Laptop", 1150.0, 2023),
        (5, "South", "Monitor", 350.0, 2023),
        (6, "South", "Mouse", 30.0, 2023),
        (7, "East", "Keyboard", 80.0, 2023),
        (8, "East", "Laptop", 1100.0, 2023),
        (9, "West", "Monitor", 400.0, 2023),
        (10, "West", "Laptop", 1250.0, 2023),
        (11, "North", "Laptop", 1300.0, 2024),
        (12, "North", "Mouse", 28.0, 2024),
        (13, "South", "Monitor", 380.0, 2024),
        (14, "East", "Laptop", 1180.0, 2024),
        (15, "West", "Keyboard", 85.0, 2024),
    )
]
SALES_SCHEMA = "id int, region string, product string, amount double, year int"

CASES = {
    "WHERE is below the window": Case(
        "SELECT rule, lag(rule) OVER (PARTITION BY cat ORDER BY at) AS prev_rule FROM t WHERE rule = 'B'",
        "id int, cat string, rule string, at timestamp",
        "id",
        [inserts((1, "foo", "A", "2023-11-23 12:00:42"), (2, "foo", "B", "2023-11-23 12:01:15"))],
        "rule prev_rule",
        [[("B", None)]],
    ),
    "rank by a column that changes": Case(
        "SELECT *, rank() OVER (PARTITION BY 1::int ORDER BY foo) AS r1 FROM t",
        "id int, foo int, bar int",
        "id",
        FOO_BAR,
        "id foo bar r1",
        [
            [(100002, 700, 806, 1), (100001, 701, 805, 2), (100004, 702, 808, 3), (100003, 723, 807, 4)],
            [(100002, 700, 806, 1), (100004, 702, 808, 2), (100003, 723, 807, 3), (100001, 733, 805, 4)],
            [(100002, 700, 806, 1), (100004, 702, 808, 2), (100003, 723, 807, 3), (100001, 733, 804, 4)],
        ],
    ),
    "rank by a column whose change moves nothing": Case(
        "SELECT *, rank() OVER (PARTITION BY 1::int ORDER BY bar) AS r2 FROM t",
        "id int, foo int, bar int",
        "id",
        FOO_BAR,
        "id foo bar r2",
        [
            [(100001, 701, 805, 1), (100002, 700, 806, 2), (100003, 723, 807, 3), (100004, 702, 808, 4)],
            [(100001, 733, 805, 1), (100002, 700, 806, 2), (100003, 723, 807, 3), (100004, 702, 808, 4)],
            [(100001, 733, 804, 1), (100002, 700, 806, 2), (100003, 723, 807, 3), (100004, 702, 808, 4)],
        ],
    ),
    "ranks from 2 to 3": Case(
        "SELECT x, y FROM (SELECT *, row_number() OVER (PARTITION BY x ORDER BY y) AS rank FROM t) "
        "WHERE rank <= 3 AND rank > 1",
        "x int, y int, _row_id bigint",
        "_row_id",
        TOP,
        "x y",
        [[(x, y) for x in (1, 2, 3) for y in (2, 3)]],
    ),
    "Top-N with ties": Case(
        "SELECT x, y FROM (SELECT *, rank() OVER (PARTITION BY x ORDER BY y) AS rank FROM t) WHERE rank <= 3",
        "x int, y int, _row_id bigint",
        "_row_id",
        TOP,
        "x y",
        [[(x, y) for x in (1, 2, 3) for y in (1, 2, 3, 3)]],
    ),
    "a running average": Case(
        "SELECT region, id, AVG(amount) OVER (PARTITION BY region ORDER BY id "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running_avg FROM t WHERE year = 2023",
        SALES_SCHEMA,
        "id",
        SALES,
        "region id running_avg",
        [
            [
                *[("East", 7, 80.0), ("East", 8, 590.0), ("West", 9, 400.0), ("West", 10, 825.0)],
                *[("North", 1, 1200.0), ("North", 2, 612.5), ("North", 3, 1300 / 3)],
                *[("South", 4, 1150.0), ("South", 5, 750.0), ("South", 6, 510.0)],
            ]
        ],
    ),
    "a cumulative sum, descending": Case(
        "SELECT region, product, SUM(amount) OVER (PARTITION BY region ORDER BY amount DESC) AS cumsum, "
        "ROW_NUMBER() OVER (PARTITION BY region ORDER BY amount DESC) AS rn FROM t WHERE year = 2023",
        SALES_SCHEMA,
        "id",
        SALES,
        "region product cumsum rn",
        [
            [
                *[("East", "Laptop", 1100.0, 1), ("East", "Keyboard", 1180.0, 2)],
                *[("North", "Laptop", 1200.0, 1), ("North", "Keyboard", 1275.0, 2), ("North", "Mouse", 1300.0, 3)],
                *[("South", "Laptop", 1150.0, 1), ("South", "Monitor", 1500.0, 2), ("South", "Mouse", 1530.0, 3)],
                *[("West", "Laptop", 1250.0, 1), ("West", "Monitor", 1650.0, 2)],
            ]
        ],
    ),
    "NULL is a partition": Case(
        "SELECT value, sum(weight) OVER (PARTITION BY value) AS s FROM t",
        "value int, weight int, _row_id bigint",
        "_row_id",
        [inserts((1, 1, 1), (None, 2, 2), (3, 3, 3))],
        "value s",
        [[(1, 1), (None, 2), (3, 3)]],
    ),
    "the key breaks ties": Case(
        "SELECT id, lag(v) OVER (PARTITION BY g ORDER BY k DESC, id) AS p, "
        "lead(v) OVER (PARTITION BY g ORDER BY k DESC, id) AS n FROM t",
        "id int, g int, k int, v int",
        "id",
        [
            inserts((3, 1, 7, 30), (1, 1, 7, 10), (2, 1, 7, 20)),
            inserts((0, 1, 7, 0)),
            [("delete", 2, 1, 7, 20)],
        ],
        "id p n",
        [
            [(1, None, 20), (2, 10, 30), (3, 20, None)],
            [(0, None, 10), (1, 0, 20), (2, 10, 30), (3, 20, None)],
            [(0, None, 10), (1, 0, 30), (3, 10, None)],
        ],
    ),
    "a partition is emptied and filled again": Case(
        "SELECT id, g, row_number() OVER (PARTITION BY g ORDER BY k, id) AS rn, sum(v) OVER "
        "(PARTITION BY g ORDER BY k, id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t",
        "id int, g int, k int, v int",
        "id",
        [
            inserts((1, 1, 1, 1), (2, 2, 1, 2), (3, 2, 2, 4)),
            update((1, 1, 1, 1), (1, 2, 1, 1)),
            update((3, 2, 2, 4), (3, 1, 2, 4)),
            [("delete", 1, 2, 1, 1), ("delete", 2, 2, 1, 2)],
        ],
        "id g rn s",
        [
            [(1, 1, 1, 1), (2, 2, 1, 6), (3, 2, 2, 6)],
            [(1, 2, 1, 3), (2, 2, 2, 7), (3, 2, 3, 6)],
            [(1, 2, 1, 3), (2, 2, 2, 3), (3, 1, 1, 4)],
            [(3, 1, 1, 4)],
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_table_after_each_change(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    stream = Stream(case.schema, case.batches, key=[case.key], changelog=True)
    done = replay(case.sql, flush=False, spark=spark, t=stream)
    for number, table in enumerate(case.tables):
        came = [row for batch in done.batches[: number + 1] for row in batch]
        check_rows(table_of(came), [dict(zip(case.names.split(), row, strict=True)) for row in table])


def test_late_rows_are_dropped_on_window_close(spark: SparkSession) -> None:
    day = "2024-01-01 "
    rows = [
        [(1, day + "00:00:00", 1, 1), (2, day + "00:10:00", 2, 1)],
        [(3, day + "00:04:59", 4, 1), (4, day + "00:05:00", 8, 1)],
        [(5, day + "00:10:01", 16, 1)],
        [(6, day + "00:20:00", 32, 1)],
    ]
    done = replay(
        "SELECT id, row_number() OVER (PARTITION BY bar ORDER BY tm) AS rn, sum(foo) OVER (PARTITION BY bar "
        "ORDER BY tm ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t EMIT ON WINDOW CLOSE",
        flush=False,
        spark=spark,
        t=Stream("id int, tm timestamp, foo int, bar int", rows, time="tm", watermark="5 minutes", key=["id"]),
    )
    out = [[(row["id"], row["rn"], row["s"]) for row in batch] for batch in done.batches]
    assert out == [[(1, 1, 1)], [], [(4, 2, 9)], [(2, 3, 10), (5, 4, 18)]]
    assert done.counter("late_rows") == 1
