"""Facts that other streaming systems keep in their tests, restated: when windows close, and what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panes.testing import Stream, replay

from .compare import check_rows

pytestmark = pytest.mark.spark

START, END = "window_start", "window_end"


@dataclass(frozen=True)
class Case:
    """A query over scripted micro-batches; `expect` are all rows that come out. Rows of 'tick' only move the clock."""

    window: str
    delay: str
    batches: list[list[tuple[Any, ...]]]
    expect: list[dict[str, Any]]
    select: str = "k, sum(v) AS sum"
    keys: str = ", k"

    @property
    def sql(self) -> str:
        return (
            f"SELECT window_start() AS window_start, window_end() AS window_end, {self.select} FROM s "
            f"WHERE k <> 'tick' GROUP BY {self.window}{self.keys}"
        )


def at(second: str, day: str = "2023-11-14 22:13:") -> str:
    return f"{day}{second}"


def tick(second: str, day: str = "2023-11-14 22:13:") -> tuple[Any, ...]:
    return at(second, day), "tick", 0


def out(start: str, end: str, **values: Any) -> dict[str, Any]:
    return {START: datetime.fromisoformat(start), END: datetime.fromisoformat(end), **values}


OLD, NEW = "1969-12-31 23:59:", "1970-01-01 00:00:"
CASES = {
    "tumbling: only the first window closes at first": Case(
        "tumblingwindow('ms', 1000)",
        "500 milliseconds",
        [[(at("20.500"), "AAPL", 10), (at("21.500"), "AAPL", 20)], [tick("21.500")], [tick("22.500")]],
        [out(at("20"), at("21"), k="AAPL", sum=10.0), out(at("21"), at("22"), k="AAPL", sum=20.0)],
    ),
    "tumbling: times before 1970": Case(
        "tumblingwindow('ms', 1000)",
        "500 milliseconds",
        [
            [(at("58.500", OLD), "A", 10)],
            [(at("59.500", OLD), "A", 20)],
            [tick("00.000", NEW)],
            [tick("00.500", NEW)],
            [(at("00.000", NEW), "A", 1)],
            [tick("01.500", NEW)],
        ],
        [
            out(at("58", OLD), at("59", OLD), k="A", sum=10.0),
            out(at("59", OLD), at("00", NEW), k="A", sum=20.0),
            out(at("00", NEW), at("01", NEW), k="A", sum=1.0),
        ],
    ),
    "tumbling: without keys, a closed window is forgotten": Case(
        "tumblingwindow('ms', 1000)",
        "500 milliseconds",
        [
            [(at("20.500"), "AAPL", 100), (at("20.800"), "AAPL", 200), (at("21.500"), "AAPL", 300)],
            [tick("21.500")],
            [tick("22.500")],
        ],
        [out(at("20"), at("21"), cnt=2), out(at("21"), at("22"), cnt=1)],
        select="count(*) AS cnt",
        keys="",
    ),
    "tumbling: a NULL time is left out": Case(
        "tumblingwindow('ms', 1000)",
        "0 milliseconds",
        [[(at("20.100"), "A", 1), (None, "A", 50), (at("20.200"), "A", 2)], [tick("21.000")]],
        [out(at("20"), at("21"), k="A", sum=3.0)],
    ),
    "hopping: one window is still open": Case(
        "hoppingwindow('ms', 4000, 2000)",
        "1000 milliseconds",
        [
            [(at("21.000"), "A", 10), (at("23.000"), "A", 20)],
            [tick("23.000")],
            [tick("25.000")],
            [tick("26.000")],
        ],
        [out(at("18"), at("22"), k="A", sum=10.0), out(at("20"), at("24"), k="A", sum=30.0)],
    ),
    "session: a long gap makes one": Case(
        "sessionwindow('ms', 5000)",
        "0 milliseconds",
        [[(at("21.000"), "A", 10), (at("23.000"), "A", 20), (at("24.000"), "A", 30)], [tick("29.001")]],
        [out(at("21"), at("29"), k="A", sum=60.0)],
    ),
    "session: a short gap makes two": Case(
        "sessionwindow('ms', 2000)",
        "0 milliseconds",
        [[(at("21.000"), "A", 10), (at("25.000"), "A", 20), (at("26.000"), "A", 30)], [tick("28.001")]],
        [out(at("21"), at("23"), k="A", sum=10.0), out(at("25"), at("28"), k="A", sum=50.0)],
    ),
    "session: an exact gap touches": Case(
        "sessionwindow('ms', 3000)",
        "0 milliseconds",
        [[(at("21.000"), "A", 1), (at("24.000"), "A", 2)], [tick("27.001")]],
        [out(at("21"), at("27"), k="A", sum=3.0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_windows_close_by_the_watermark(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    stream = Stream("ts timestamp, k string, v double", case.batches, time="ts", watermark=case.delay)
    done = replay(case.sql, flush=False, spark=spark, s=stream)
    check_rows(done.rows, case.expect)
    assert done.counter("late_rows") == 0


def test_the_end_of_input_closes_a_tumbling_window(spark: SparkSession) -> None:
    done = replay(
        "SELECT b, sum(a) AS s FROM s GROUP BY tumblingwindow('ss', 10), b",
        spark=spark,
        s=Stream(
            "t timestamp, a int, b int",
            [[("1970-01-01 00:00:01", 2, 1)], [("1970-01-01 00:00:02", 3, 1)]],
            time="t",
            watermark="0 milliseconds",
        ),
    )
    assert done.rows == [{"b": 1, "s": 5}]


def test_rows_out_of_order_within_the_delay_all_count(spark: SparkSession) -> None:
    done = replay(
        "SELECT sum(a) AS s FROM stream_eventtime GROUP BY tumblingwindow('ss', 10)",
        spark=spark,
        stream_eventtime=Stream(
            "t timestamp, a int",
            [[("1970-01-01 00:00:07", 7)], [("1970-01-01 00:00:01", 1)], [("1970-01-01 00:00:04", 4)]],
            time="t",
            watermark="7000 milliseconds",
        ),
    )
    assert done.rows == [{"s": 12}]


def test_having_on_a_count_window(spark: SparkSession) -> None:
    """Without a time, rows count as they come, and the fourth closes the window."""
    done = replay(
        "SELECT sum(a) AS s, b FROM stream GROUP BY countwindow(4), b HAVING sum(a) > 2 AND sum(a) < 10",
        flush=False,
        spark=spark,
        stream=Stream("a int, b int", [[(1, 1), (1, 1), (5, 2), (0, 2)]]),
    )
    assert done.rows == [{"s": 5, "b": 2}]
