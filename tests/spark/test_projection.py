"""The clock of an operator: the stream's time in event time, the micro-batch's in arrival mode, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from panes.errors import PanesError
from panes.physical.plan import EmitMode, Mode, Placement, State
from panes.spark.pack import WATERMARK
from panes.spark.projection import Projection

pytestmark = pytest.mark.spark

IN_EVENT_TIME = Placement(
    ("k",), Mode.EVENT_TIME, EmitMode.ON_WINDOW_CLOSE, State.ACCUMULATORS, late=True, time="ts", time_shift=0, key=()
)


def rows(below: DataFrame, placement: Placement) -> DataFrame:
    return Projection(below, placement, {}).rows([], shards=1, clocked=False, idle=False)


def test_event_time_that_has_lost_its_watermark_is_an_error(spark: SparkSession) -> None:
    """The wall clock would drop every older row as late, and tell nobody."""
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'a' AS k")
    with pytest.raises(PanesError) as caught:
        rows(stream, IN_EVENT_TIME)
    assert caught.value.code == "watermark-required"

    with_its_own = stream.selectExpr("*", f"ts - INTERVAL 7 SECONDS AS {WATERMARK}")
    assert "7" in plan(rows(with_its_own, IN_EVENT_TIME))
    assert "current_timestamp" not in plan(rows(with_its_own, IN_EVENT_TIME))
    arrival = replace(IN_EVENT_TIME, mode=Mode.ARRIVAL, time=None)
    assert "current_timestamp" in plan(rows(stream, arrival))


def plan(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().analyzed().toString())
