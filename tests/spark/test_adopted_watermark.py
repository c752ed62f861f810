"""A DataFrame with withWatermark is a stream with time and watermark; where that cannot be, it is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions

from panes import Engine, PanesError
from panes.options import StreamOptions
from panes.spark.adopted_watermark import adopted
from spark.input_files import at, write_file

pytestmark = pytest.mark.spark

BATCHES = [
    [(-15_000, "a", 1), (1_000, "b", 2)],
    [(11_000, "a", 4), (500, "b", 8)],
    [(3_000, "a", 16), (28_000, "a", 32)],
]
SUMS = "SELECT k, unix_seconds(window_start()) AS w, sum(v) AS s FROM t GROUP BY tumblingwindow('ss', 10), k"


def rows_of(folder: Path, spark: SparkSession) -> DataFrame:
    """The rows as a stream, one file a micro-batch; the second one has a time before 1970 in its first file."""
    for number, rows in enumerate(BATCHES):
        write_file(folder / "in", number, ({"ts": moment(ms), "k": k, "v": v} for ms, k, v in rows))
    reader = spark.readStream.schema("ts timestamp, k string, v bigint").option("maxFilesPerTrigger", 1)
    return reader.json(str(folder / "in"))


def moment(milliseconds: int) -> str:
    return at(milliseconds) if milliseconds >= 0 else "1969-12-31T23:59:45.000Z"


def results(engine: Engine, folder: Path, flush: bool) -> list[tuple[Any, ...]]:
    folder.mkdir()
    engine.run(
        f"CREATE SINK out WITH (connector = 'parquet', path = '{folder}/out'); INSERT INTO out {SUMS}",
        checkpoint=folder / "checkpoint",
        once=True,
        flush=flush,
    )
    return sorted(map(tuple, engine.spark.read.parquet(f"{folder}/out").collect()))


@pytest.mark.parametrize("flush", [False, True])
def test_it_gives_what_the_same_declaration_gives(tmp_path: Path, spark: SparkSession, flush: bool) -> None:
    """Also before 1970, late rows and the flush."""
    rows = rows_of(tmp_path, spark)
    declared, taken = Engine(spark), Engine(spark)
    declared.stream("t", rows, time="ts", watermark="5 seconds")
    stream = taken.stream("t", rows.withWatermark("ts", "5 seconds"))
    assert (stream.time, stream.delay, stream.adopted) == ("ts", 5_000_000, True)
    found = results(taken, tmp_path / "taken", flush)
    assert found == results(declared, tmp_path / "declared", flush)
    early = [("a", -20, 1), ("a", 0, 16), ("a", 10, 4), ("b", 0, 10)]
    assert found == (sorted([*early, ("a", 20, 32)]) if flush else early)


def test_explain_says_so(spark: SparkSession) -> None:
    engine = Engine(spark)
    rate = spark.readStream.format("rate").load()
    engine.stream("t", rate.withWatermark("timestamp", "5 seconds"))
    engine.stream("u", rate, time="timestamp", watermark="5 seconds")
    query = "SELECT lag(value) AS before FROM {}"
    plan = engine.explain(query.format("t"))
    assert "watermark=adopted" in plan and "time=timestamp, delay=5 s" in plan
    assert "adopted" not in engine.explain(query.format("u"))


def test_what_is_said_beside_it_may_be_the_same(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "90 seconds")
    stream = Engine(spark).stream("t", rows, time="TIMESTAMP", watermark="1 minute 30 seconds", key=["value"])
    assert (stream.time, stream.delay, stream.key) == ("timestamp", 90_000_000, ("value",))


def test_a_batch_has_no_watermark_to_adopt(spark: SparkSession) -> None:
    rows = spark.range(3).selectExpr("timestamp_seconds(id) AS ts").withWatermark("ts", "1 second")
    assert adopted("t", rows, StreamOptions()) is None


def joined(rate: DataFrame) -> DataFrame:
    other = rate.selectExpr("timestamp AS ts", "value AS v").withWatermark("ts", "10 seconds")
    return rate.withWatermark("timestamp", "10 seconds").join(other, functions.expr("timestamp = ts"))


REFUSED: list[tuple[Callable[[DataFrame], DataFrame], dict[str, str], str]] = [
    (lambda rate: rate.withWatermark("timestamp", "10 seconds").where("value > 3"), {}, "last step"),
    (lambda rate: rate.withWatermark("timestamp", "10 seconds").select("timestamp"), {}, "last step"),
    (joined, {}, "a watermark each"),
    (lambda rate: rate.withWatermark("timestamp", "1 month"), {}, "months"),
    (lambda rate: rate.withWatermark("timestamp", "1 second").withWatermark("timestamp", "10 seconds"), {}, "another"),
    (lambda rate: rate.withWatermark("timestamp", "10 seconds"), {"time": "value"}, "time='value'"),
    (
        lambda rate: rate.withWatermark("timestamp", "10 seconds"),
        {"time": "timestamp", "watermark": "9 seconds"},
        "watermark='9 seconds'",
    ),
]


@pytest.mark.parametrize(("made", "options", "why"), REFUSED)
def test_it_is_refused_with_the_reason_and_the_line_to_write(
    made: Callable[[DataFrame], DataFrame], options: dict[str, Any], why: str, spark: SparkSession
) -> None:
    rows = made(spark.readStream.format("rate").load())
    with pytest.raises(PanesError) as caught:
        Engine(spark).stream("t", rows, **options)
    assert caught.value.code == "watermark-already-set"
    assert why in caught.value.message
    assert "engine.stream('t', df, time='t" in (caught.value.hint or "")


def test_a_length_that_is_none_is_told_as_everywhere(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "10 seconds")
    with pytest.raises(PanesError) as caught:
        Engine(spark).stream("t", rows, time="timestamp", watermark="soon")
    assert caught.value.code == "stream-options"
