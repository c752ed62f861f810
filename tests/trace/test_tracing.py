"""What a trace says of rows and windows is what a definition of a dozen lines says, and no result is another for it.

All on the double of Spark's runtime, and some on Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from panes.testing import Stream, replay
from panes.trace import Fate, Trace, from_json, to_json
from panes.trace.tracing import trace
from panes.trace.values import plain

from .on_double import plain_on_double, trace_on_double

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# number: micro-batch, key, value, second; the watermark is 5 s behind
ROWS: dict[int, tuple[int, str, int, int | None]] = {
    1: (0, "a", 1, 1),
    2: (0, "a", 2, 7),
    3: (0, "b", 5, 4),
    4: (1, "a", 0, 12),
    5: (1, "b", 6, 26),
    6: (1, "b", 1, None),
    7: (2, "a", 3, 2),  # late, for the watermark is 21
    8: (2, "b", 9, 28),  # removed by WHERE v < 9, where there is one
}
LATE = {7}
TIMED = {number: row for number, row in ROWS.items() if row[3] is not None and number not in LATE}
Expected = set[tuple[str, tuple[int, ...]]]  # the key of each window, and the rows in it


def stream(**options: Any) -> Stream:
    batches: list[list[tuple[Any, ...]]] = [[], [], []]
    for step, key, value, second in ROWS.values():
        batches[step].append((key, value, None if second is None else f"2024-01-01 00:00:{second:02}"))
    given = {"time": "ts", "watermark": "5 seconds"} | options
    return Stream("k string, v int, ts timestamp", batches, **given)


def by_key(kept: Iterable[int] = TIMED) -> dict[str, list[int]]:
    """The rows of each key in order of time."""
    found: dict[str, list[int]] = {}
    for number in sorted(kept, key=lambda one: ROWS[one][3] or 0):
        found.setdefault(ROWS[number][1], []).append(number)
    return found


def second(number: int) -> int:
    return ROWS[number][3] or 0


def tumbling() -> Expected:
    windows: dict[tuple[str, int], list[int]] = {}
    for number in TIMED:
        if ROWS[number][2] < 9:
            windows.setdefault((ROWS[number][1], second(number) // 10), []).append(number)
    return {(key, tuple(rows)) for (key, _), rows in windows.items()}


def hopping() -> list[tuple[str, tuple[int, ...]]]:
    starts = range(-20, 40, 10)
    windows = [
        (key, tuple(sorted(one for one in rows if start <= second(one) < start + 20)))
        for key, rows in by_key().items()
        for start in starts
    ]
    return [(key, rows) for key, rows in windows if rows]


def session() -> Expected:
    found: Expected = set()
    for key, rows in by_key().items():
        parts = [[rows[0]]]
        for one in rows[1:]:
            near = second(one) - second(parts[-1][-1]) <= 5
            parts = [*parts[:-1], [*parts[-1], one]] if near else [*parts, [one]]
        found |= {(key, tuple(sorted(part))) for part in parts}
    return found


def count() -> Expected:
    return {(key, tuple(rows[at : at + 2])) for key, rows in by_key().items() for at in range(0, len(rows), 2)}


def sliding() -> list[tuple[str, tuple[int, ...]]]:
    return [
        (key, tuple(one for one in rows if second(trigger) - 6 <= second(one) <= second(trigger) + 2))
        for key, rows in by_key().items()
        for trigger in rows
    ]


def state() -> Expected:
    found: Expected = set()
    for key, rows in by_key().items():
        window: list[int] = []
        for one in rows:
            value = ROWS[one][2]
            if window or value > 1:
                window = [*window, one]
                if len(window) > 1 and value in (0, 9):
                    found.add((key, tuple(window)))
                    window = []
        if window:
            found.add((key, tuple(window)))
    return found


CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "tumbling": (
        "SELECT k, sum(v) AS s, window_end() AS e FROM t WHERE v < 9 GROUP BY tumblingwindow('ss', 10), k"
        " HAVING sum(v) > 3",
        tumbling,
    ),
    "hopping": ("SELECT k, count(*) AS n FROM t GROUP BY hoppingwindow('ss', 20, 10), k", hopping),
    "session": ("SELECT k, sum(v) AS s FROM t GROUP BY sessionwindow('ss', 5), k EMIT CHANGES", session),
    "count": ("SELECT k, max(v) AS m FROM t GROUP BY countwindow(2) OVER (PARTITION BY k)", count),
    "sliding": ("SELECT k, sum(v) AS s FROM t GROUP BY slidingwindow('ss', 6, 2) OVER (PARTITION BY k)", sliding),
    "state": ("SELECT * FROM t GROUP BY statewindow(v > 1, v IN (0, 9)) OVER (PARTITION BY k)", state),
}


def traced(sql: str, given: Stream, spark: SparkSession | None = None) -> Trace:
    """The trace, whose results are those of the plain query, step by step."""
    if spark is None:
        made, out = trace_on_double(sql, {"t": given}), plain_on_double(sql, {"t": given})
    else:
        made, out = trace(sql, {"t": given}, spark=spark), replay(sql, spark=spark, shards=1, t=given).batches
    assert made.steps == len(out)
    for step, rows in enumerate(out):
        expected = [tuple(str(plain(value)) for value in row.values()) for row in rows]
        came = [one for one in made.results if one.step == step]
        got = [
            (*([one.change] if one.change is not None else []), *(str(value) for value in one.values)) for one in came
        ]
        assert Counter(got) == Counter(expected), f"step {step}"
    assert from_json(to_json(made)) == made
    return made


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["hopping", "state"])
def test_it_is_so_on_spark(kind: str, spark: SparkSession) -> None:
    sql, _ = CASES[kind]
    assert traced(sql, stream(), spark) == trace_on_double(sql, {"t": stream()})


@pytest.mark.parametrize("kind", CASES)
def test_windows_hold_the_rows_of_their_definition(kind: str) -> None:
    sql, definition = CASES[kind]
    made = traced(sql, stream())
    (level,) = made.levels
    assert level.kind == kind
    points = {point.id: point.rows for point in level.points}
    windows = [
        (str(window.lane[0]), tuple(row for point in window.last.points for row in points[point]))
        for window in level.windows
    ]
    expected = definition()
    assert Counter((key, tuple(sorted(rows))) for key, rows in windows) == Counter(
        (key, tuple(sorted(rows))) for key, rows in expected
    )
    by_id = {window.id: window for window in level.windows}
    for result in made.results:
        window = by_id[result.of or 0]
        assert result.rows is not None and set(result.rows) <= set(window.at(result.step).points)  # type: ignore[union-attr]
        if not made.changelog:
            assert window.closed == result.step
    fates = {row.id: row.fate for row in made.rows}
    assert fates[6] is Fate.NULL_TIME
    assert {number for number, fate in fates.items() if fate is Fate.LATE} == LATE
    assert {row.missed for row in made.rows if row.id in LATE} == {1704067221_000000}
    assert fates[8] is (Fate.FILTERED if kind == "tumbling" else Fate.COUNTED)
    inside = {row for _, rows in windows for row in rows}
    assert {number for number, fate in fates.items() if fate is Fate.NO_WINDOW} == set(TIMED) - inside - (
        {8} if kind == "tumbling" else set()
    )


def test_sessions_merge_when_a_row_joins_them() -> None:
    rows = [[("a", 1, "2024-01-01 00:00:00"), ("a", 2, "2024-01-01 00:00:08")], [("a", 3, "2024-01-01 00:00:04")]]
    made = traced(
        "SELECT k, sum(v) AS s FROM t GROUP BY sessionwindow('ss', 5), k",
        replace(stream(watermark="1 minute"), batches=rows),
    )
    first, second_ = made.levels[0].windows
    assert [growth.points for growth in first.growths] == [(1,), (1, 3, 2)]
    assert (second_.merged, second_.into, second_.closed) == (1, first.id, None)
    assert (first.opened, first.closed, made.results[0].rows) == (0, 2, (1, 2, 3))


def test_values_of_stateful_calls_and_what_where_removes() -> None:
    sql = "SELECT k, v - lag(v) OVER (PARTITION BY k) AS rise FROM t WHERE lag(v) OVER (PARTITION BY k) > 1"
    made = traced(sql, stream())
    (level,) = made.levels
    expected = {
        number: rows[index - 1] if index else None for rows in by_key().values() for index, number in enumerate(rows)
    }
    values = {point.id: point.values for point in level.points if point.values}
    assert values == {number: (None if one is None else ROWS[one][2],) for number, one in expected.items()}
    kept = {number for number, (value,) in values.items() if isinstance(value, int) and value > 1}
    assert {row.id for row in made.rows if row.fate is Fate.FILTERED} == set(TIMED) - kept
    assert {one.of for one in made.results} == kept


def test_frames_of_over_on_close() -> None:
    sql = (
        "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s,"
        " max(v) OVER (PARTITION BY k ORDER BY ts ROWS 1 PRECEDING) AS m,"
        " lag(v) OVER (PARTITION BY k ORDER BY ts) AS l FROM t"
    )
    made = traced(sql, stream())
    frames = {(one.point, one.call): one.points for one in made.levels[0].frames}
    expected: dict[tuple[int, int], tuple[int, ...]] = {}
    for rows in by_key().values():
        for index, number in enumerate(rows):
            expected[number, 0] = tuple(rows[: index + 1])
            expected[number, 1] = tuple(rows[max(index - 1, 0) : index + 1])
            expected[number, 2] = tuple(rows[index - 1 : index]) if index else ()
    assert frames == expected


def test_frames_of_over_with_changes() -> None:
    sql = "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM t EMIT CHANGES"
    made = traced(sql, stream())
    last = {one.point: set(one.points) for one in made.levels[0].frames}
    timed = [number for number, row in ROWS.items() if row[3] is not None]  # nothing is late here
    for number in timed:
        key, value = ROWS[number][1:3]
        assert last[number] == {one for one in timed if ROWS[one][1] == key and ROWS[one][2] >= value}


def test_windows_over_windows() -> None:
    sql = (
        "WITH w AS (SELECT k, window_end() AS e, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 5), k)"
        " SELECT max(s) AS best FROM w GROUP BY tumblingwindow('ss', 20)"
    )
    made = traced(sql, stream())
    below, above = made.levels
    assert (above.below, len(below.windows), len(above.points)) == (0, 5, 5)
    assert [sorted(one.rows or ()) for one in made.results] == [[1, 2, 3, 4], [5, 8]]


def test_what_is_open_at_the_end_of_a_trace_without_a_flush() -> None:
    sql = "SELECT k, count(*) AS n FROM t GROUP BY statewindow(v > 1, v = 0) OVER (PARTITION BY k)"
    made = trace_on_double(sql, {"t": stream()}, flush=False)
    assert (made.steps, made.flushed) == (3, False)
    assert {row.id for row in made.rows if row.fate is Fate.WAITING} == {5, 8}
    closed = {window.lane: window.closed for window in made.levels[0].windows}
    assert closed == {("a",): 1, ("b",): None}


@pytest.mark.spark
def test_a_part_that_spark_runs_has_no_lineage_and_says_so(spark: SparkSession) -> None:
    sql = (
        "SELECT k, count(*) AS n FROM (SELECT t.k, t.ts FROM t JOIN (VALUES ('a')) AS wanted (k) ON t.k = wanted.k)"
        " GROUP BY tumblingwindow('ss', 10), k"
    )
    made = traced(sql, stream(), spark)
    assert made.unknown and not made.levels
    assert {one.rows for one in made.results} == {None}
    assert {row.fate for row in made.rows} == {Fate.UNKNOWN}
