"""A data source of Panes' own is registered in every session that reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from panes.spark.data_sources import register
from panes.spark.heartbeat import NAME, Heartbeat

pytestmark = pytest.mark.spark


def test_a_second_session_has_it_too(spark: SparkSession) -> None:
    """Also while the first is the active one."""
    spark.createDataFrame([], "n int")
    for session in (spark, spark.newSession(), spark):
        register(session, Heartbeat)
        assert session.readStream.format(NAME).option("every", "1000000").load().isStreaming
