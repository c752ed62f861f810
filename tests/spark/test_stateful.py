"""Stateful functions on Spark: users' own, values of every type, state_ttl, arrival times, heartbeats, counters."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from present import present
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import panes
from panes import Engine
from panes.functions.stateful import StatefulFunction, StatefulFunctionInstance
from panes.testing import Stream, replay
from spark.input_files import at, write_file

from .compare import check_rows, rows_of

pytestmark = pytest.mark.spark
# Spark's workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class Streak(StatefulFunction):
    """How many rows in a row had this value."""

    name = "streak"

    def return_type(self, input_types: Sequence[str]) -> str:
        return "bigint"

    def create_instance(self) -> StatefulFunctionInstance:
        return StreakInstance()


class StreakInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.value: Any = None
        self.length = 0

    def eval(self, args: Sequence[Any]) -> int:
        if args[0] == "boom":
            raise RuntimeError("no such value")
        self.length = self.length + 1 if args[0] == self.value else 1
        self.value = args[0]
        return self.length


class Total(StatefulFunction):
    """The sum so far, computed for all rows of a micro-batch at once."""

    name = "total"

    def return_type(self, input_types: Sequence[str]) -> str:
        return input_types[0]

    def create_instance(self) -> StatefulFunctionInstance:
        return TotalInstance()


class TotalInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.sum = 0

    def eval_batch(self, args: list[pa.Array]) -> pa.Array:
        totals = pc.add(pc.cumulative_sum(args[0]), self.sum)
        self.sum = totals[-1].as_py()
        return totals


def register(engine: Engine) -> None:
    engine.register(Streak())
    engine.register(Total())


GAMES = [[("ann", "win", 1), ("bob", "win", 2), ("ann", "win", 3)], [("ann", "win", 4), ("bob", "loss", 5)]]


@pytest.mark.parametrize("restarts", [[], [0]])
def test_functions_of_your_own_go_on_after_a_restart(spark: SparkSession, restarts: list[int]) -> None:
    out = replay(
        "SELECT p, streak(r) OVER (PARTITION BY p) AS s, total(n) OVER (PARTITION BY p) AS t, "
        "streak(r) OVER (PARTITION BY p WHEN n > 1) AS c FROM games",
        setup=register,
        spark=spark,
        restart_after=restarts,
        games=Stream("p string, r string, n bigint", GAMES),
    )
    rows = sorted((row["p"], row["t"], row["s"], row["c"]) for row in out.rows)
    assert rows == [("ann", 1, 1, None), ("ann", 4, 2, 1), ("ann", 8, 3, 2), ("bob", 2, 1, 1), ("bob", 7, 1, 1)]


def test_an_error_in_a_function_of_your_own_names_it_and_the_row(spark: SparkSession) -> None:
    with pytest.raises(StreamingQueryException) as caught:
        replay(
            "SELECT streak(r) AS s FROM games",
            setup=register,
            spark=spark,
            games=Stream("r string", [[("ok",), ("boom",)]]),
        )
    assert "function-failed" in str(caught.value) and "streak" in str(caught.value) and "boom" in str(caught.value)


TYPES = {
    "s string": ["x", None, "é"],
    "d decimal(20,3)": [Decimal("1.500"), Decimal("-7.125"), None],
    "t timestamp": [datetime(2024, 1, 1, 12), None, datetime(1969, 7, 20)],
    "a date": [date(2024, 2, 29), None, date(1960, 1, 1)],
    "l array<int>": [[1, None], [], None],
    "r struct<a:int,b:string>": [{"a": 1, "b": None}, None, {"a": None, "b": "y"}],
    "m map<string,int>": [{"k": 1}, None, {}],
    "b binary": [b"\x00\xff", None, b""],
    "f double": [float("inf"), None, -0.0],
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_values_of_every_type_pass(spark: SparkSession, zone: str) -> None:
    """Over a batch, as lag and latest, in any time zone."""
    old = present(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        names = [one.split()[0] for one in TYPES]
        values = [dict(zip(names, row, strict=True)) for row in zip(*TYPES.values(), strict=True)]
        df = spark.createDataFrame([(i, *row.values()) for i, row in enumerate(values)], f"i int, {', '.join(TYPES)}")
        engine = Engine(spark)
        engine.stream("t", df.coalesce(1))
        calls = [f"lag({name}) AS {name}, latest({name}) AS last_{name}" for name in names]
        given = rows_of(df.coalesce(1))
        rows = sorted(rows_of(engine.sql(f"SELECT i, {', '.join(calls)} FROM t")), key=lambda row: row["i"])
    finally:
        spark.conf.set("spark.sql.session.timeZone", old)
    for number, row in enumerate(rows):
        for name in names:
            assert row[name] == (given[number - 1][name] if number else None), name
            last = [one[name] for one in given[: number + 1] if one[name] is not None]
            assert row[f"last_{name}"] == (last[-1] if last else None), name


def seconds(second: float) -> str:
    return f"2024-01-01 00:00:{second:06.3f}"


TTL = {
    "lag": "SELECT k, v, lag(v) OVER (PARTITION BY k) AS p FROM t",
    "count": "SELECT k, sum(v) AS s FROM t GROUP BY countwindow(2) OVER (PARTITION BY k), k",
    "state": "SELECT k, sum(v) AS s FROM t GROUP BY statewindow(v = 1, v = 9) OVER (PARTITION BY k), k",
    "sliding": "SELECT k, v, sum(v) AS s FROM t GROUP BY slidingwindow('ss', 40) OVER (PARTITION BY k), k, v",
    "row_number": "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY ts) AS n FROM t",
}
KEPT = {
    "lag": [("a", 1, None), ("a", 2, 1), ("a", 9, None), ("b", 1, None), ("b", 3, None)],
    "count": [("a", 3), ("b", 3)],
    "state": [],
    "sliding": [("a", 1, 1), ("a", 1, 1), ("a", 2, 2), ("a", 9, 9), ("b", 1, 1), ("b", 3, 3)],
    "row_number": [("a", 1, 1), ("a", 2, 2), ("a", 9, 1), ("b", 1, 1), ("b", 3, 1)],
}


@pytest.mark.parametrize("name", ["lag", "count", "row_number"])
@pytest.mark.parametrize("cut", [[6], [1, 2, 3]])
def test_partitions_that_were_quiet_too_long_are_forgotten(spark: SparkSession, name: str, cut: list[int]) -> None:
    rows = [
        (seconds(0), "a", 1),
        (seconds(5), "a", 2),
        (seconds(6), "b", 1),
        (seconds(30), "a", 9),
        (seconds(31), "b", 3),
    ]
    batches, left = [], rows
    for size in cut:
        batches.append(left[:size])
        left = left[size:]
    stream = Stream("ts timestamp, k string, v int", batches, time="ts", watermark="0 seconds", state_ttl="20 seconds")
    done = replay(TTL[name], spark=spark, t=stream)
    expected = KEPT[name] if name != "count" else [("a", 3), ("a", 9), ("b", 3)]
    assert sorted(tuple(row.values()) for row in done.rows) == expected
    engine = Engine(spark)
    df = spark.createDataFrame(
        [(datetime.fromisoformat(ts), k, v) for ts, k, v in rows], "ts timestamp, k string, v int"
    )
    engine.stream("t", df, time="ts", watermark="0 seconds", state_ttl="20 seconds")
    check_rows(rows_of(engine.sql(TTL[name])), done.rows)


def test_an_open_state_window_of_a_forgotten_partition_is_dropped_and_counted(spark: SparkSession) -> None:
    batches = [[(seconds(0), "a", 1), (seconds(1), "a", 2)], [(seconds(40), "b", 5)], [(seconds(41), "a", 9)]]
    stream = Stream("ts timestamp, k string, v int", batches, time="ts", watermark="0 seconds", state_ttl="20 seconds")
    done = replay(TTL["state"], spark=spark, t=stream)
    assert done.rows == []
    assert done.counter("expired_rows") == 2


def test_the_clock_of_arrival_mode_can_be_scripted(spark: SparkSession) -> None:
    """A window with a lookahead is over when the clock has passed it, though no row comes."""
    done = replay(
        "SELECT k, count(*) AS n, window_trigger() AS at FROM t GROUP BY slidingwindow('ss', 10, 5) "
        "OVER (PARTITION BY k), k",
        spark=spark,
        clock=["2024-01-01 00:00:00", "2024-01-01 00:00:04", "2024-01-01 00:00:06", "2024-01-01 00:00:20"],
        t=Stream("k string", [[("a",)], [("a",)], [], []]),
    )
    first, second = datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 4)
    assert done.batches == [[], [], [{"k": "a", "n": 2, "at": first}], [{"k": "a", "n": 2, "at": second}], []]


def test_a_heartbeat_brings_out_what_falls_due(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path / "in", 0, [{"k": "a", "ts": at(0)}])
    engine = Engine(spark)
    df = spark.readStream.schema("k string").json(str(tmp_path / "in"))
    engine.stream("t", df, heartbeat="1 second")
    result = engine.sql("SELECT k, count(*) AS n FROM t GROUP BY slidingwindow('ss', 0, 1) OVER (PARTITION BY k), k")
    out: list[Any] = []
    query = result.writeStream.foreachBatch(lambda df, number: out.extend(df.collect())).start()
    try:
        deadline = time.monotonic() + 120
        while not out and time.monotonic() < deadline and query.isActive:
            time.sleep(0.2)
        assert [(row.k, row.n) for row in out] == [("a", 1)]
        assert panes.counters(query).keys() >= {"rows_in", "late_rows", "state_bytes", "watermark"}
    finally:
        query.stop()
