"""Count windows and windows without aggregates on real streams, against plain definitions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes import Engine
from panes.testing import Stream, replay

from .compare import rows_of

pytestmark = pytest.mark.spark

SCHEMA = "ts timestamp, k string, u string, v int"
START = datetime(2023, 12, 31, 23, 59, 50)
# Out of order within five seconds; two rows share a time, and n breaks the tie.
ROWS = [
    (START + timedelta(seconds=second), "ab"[(second * 7) % 3 % 2], "xyz"[second * 5 % 7 % 3], number)
    for number, second in enumerate([0, 2, 1, 4, 3, 3, 8, 5, 6, 9, 7, 12, 11, 14, 13, 15, 17])
]
ORDERED = sorted(ROWS, key=lambda row: (row[0], row[3]))
CUTS = [ROWS[:5], ROWS[5:6], [], ROWS[6:]]


def events(batches: list[list[Any]] = CUTS) -> Stream:
    return Stream(SCHEMA, batches, time="ts", watermark="5 seconds", key=["v"])


def counted(count: int, every: int | None, partitioned: bool) -> Iterator[list[Any]]:
    """Windows by the book, the end of input included."""
    parts: dict[Any, list[Any]] = defaultdict(list)
    for row in ORDERED:
        parts[row[1] if partitioned else None].append(row)
    step = every or count
    for rows in parts.values():
        yield from (rows[stop - count : stop] for stop in range(step, len(rows) + 1, step) if stop >= count)
        if len(rows) % step or len(rows) < count:
            yield rows[-count:] if every else rows[len(rows) - len(rows) % count :]


def tuples(rows: list[dict[str, Any]]) -> Counter[Any]:
    return Counter(tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in rows)


@pytest.mark.parametrize(
    ("count", "every", "partitioned"), [(4, None, False), (3, None, True), (3, 2, True), (2, 3, False)]
)
def test_count_windows(spark: SparkSession, count: int, every: int | None, partitioned: bool) -> None:
    """`window_start()` and `window_end()` are the times of the first and the last row."""
    window = f"countwindow({count}{'' if every is None else f', {every}'})"
    over, key = (" OVER (PARTITION BY k)", "k, ") if partitioned else ("", "")
    sql = (
        f"SELECT {key}sum(v) AS s, count(*) AS n, collect_list(v) AS l, window_start() AS w, window_end() AS e FROM t "
        f"GROUP BY {window}{over}"
    )
    out = replay(sql, spark=spark, restart_after=[1], t=events())
    expected = [
        (*([w[0][1]] if partitioned else []), sum(r[3] for r in w), len(w), tuple(r[3] for r in w), w[0][0], w[-1][0])
        for w in counted(count, every, partitioned)
    ]
    assert tuples(out.rows) == Counter(expected)
    engine = Engine(spark)
    engine.stream(
        "t",
        spark.createDataFrame([(str(r[0]), *r[1:]) for r in ROWS], SCHEMA.replace("timestamp", "string")).selectExpr(
            "CAST(ts AS TIMESTAMP) AS ts", "k", "u", "v"
        ),
        time="ts",
        key=["v"],
    )
    assert tuples(rows_of(engine.sql(sql))) == Counter(expected)


def test_keys_group_inside_a_count_window_and_having_filters(spark: SparkSession) -> None:
    sql = "SELECT k, u, count(*) AS n FROM t GROUP BY countwindow(5) OVER (PARTITION BY k), k, u HAVING count(*) > 1"
    expected: list[Any] = []
    for window in counted(5, None, True):
        sizes = Counter((row[1], row[2]) for row in window)
        expected += [(*key, size) for key, size in sizes.items() if size > 1]
    assert tuples(replay(sql, spark=spark, t=events()).rows) == Counter(expected)


def test_count_windows_of_arrival(spark: SparkSession) -> None:
    """Rows without a time count in the order in which they come, however they are cut."""
    numbers = list(range(1, 12))
    for cuts in ([numbers], [numbers[:4], numbers[4:5], numbers[5:]]):
        stream = Stream("v int", [[(number,) for number in cut] for cut in cuts])
        out = replay("SELECT collect_list(v) AS l FROM t GROUP BY countwindow(3, 2)", spark=spark, t=stream)
        assert [row["l"] for row in out.rows] == [[2, 3, 4], [4, 5, 6], [6, 7, 8], [8, 9, 10], [9, 10, 11]]


def starts(time: datetime, size: int, hop: int) -> list[datetime]:
    second = int((time - datetime(1970, 1, 1)).total_seconds())
    first = second // hop * hop
    return [datetime(1970, 1, 1) + timedelta(seconds=s) for s in range(first, second - size, -hop)]


def hopping(size: int, hop: int) -> list[list[Any]]:
    found: dict[datetime, list[Any]] = defaultdict(list)
    for row in ORDERED:
        for start in starts(row[0], size, hop):
            found[start].append(row)
    return list(found.values())


def sessions(gap: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    for row in ORDERED:
        if found and row[0] - found[-1][-1][0] <= timedelta(seconds=gap):
            found[-1].append(row)
        else:
            found.append([row])
    return found


RAW = {
    "tumblingwindow('ss', 5)": hopping(5, 5),
    "hoppingwindow('ss', 5, 3)": hopping(5, 3),
    "sessionwindow('ss', 1)": sessions(1),
    "countwindow(4)": list(counted(4, None, False)),
    "countwindow(3, 2) OVER (PARTITION BY k)": list(counted(3, 2, True)),
}


@pytest.mark.parametrize("window", RAW)
def test_a_window_without_aggregates_gives_its_rows(spark: SparkSession, window: str) -> None:
    """Once for each window they are in."""
    out = replay(f"SELECT * FROM t GROUP BY {window}", spark=spark, t=events())
    expected = [row for rows in RAW[window] for row in rows]
    assert tuples(out.rows) == Counter(expected)


def test_rows_of_a_window_come_in_order(spark: SparkSession) -> None:
    sql = "SELECT v, window_start() AS w FROM t GROUP BY tumblingwindow('ss', 5)"
    out = replay(sql, spark=spark, t=events())
    by_window: dict[Any, list[int]] = defaultdict(list)
    for row in out.rows:
        by_window[row["w"]].append(row["v"])
    assert sorted(by_window.values()) == sorted([row[3] for row in rows] for rows in hopping(5, 5))


def test_keys_without_aggregates_give_one_row_per_key_set(spark: SparkSession) -> None:
    sql = "SELECT k, window_end() AS e FROM t GROUP BY tumblingwindow('ss', 5), k"
    expected = {(row[1], start + timedelta(seconds=5)) for row in ROWS for start in starts(row[0], 5, 5)}
    assert tuples(replay(sql, spark=spark, t=events()).rows) == Counter(expected)
