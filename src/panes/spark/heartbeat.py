"""Heartbeats: a source that has a row every so often, so that what falls due comes out though nothing else comes in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from panes.spark.data_sources import register
from panes.spark.worker_python import check_workers

NAME = "panes_heartbeat"
EVERY = "every"  # microseconds
NEVER = 0  # of a run that ends: the source is there and has no rows


class Heartbeat(DataSource):
    """One row for all beats since the last micro-batch: those that were missed are not made up for.

    `started` is when the run began, in microseconds. It is a part of the offset, which Spark logs before a micro-batch:
    so one that runs again, in another run, still tells when its own run began.
    """

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "beat bigint, started bigint"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return Beats(int(self.options[EVERY]))


class Beats(DataSourceStreamReader):
    def __init__(self, every: int) -> None:
        self.every = every
        self.started = time.time_ns() // 1000

    def initialOffset(self) -> dict[str, int]:
        if self.every == NEVER:
            return {"beat": 0}
        return {"beat": time.time_ns() // 1000 // self.every, "started": self.started}

    def latestOffset(self, start: dict[str, int] | None = None, limit: object = None) -> dict[str, int]:
        """Spark 4.1 does not say where to start: there a run that ends may begin with a micro-batch without rows."""
        return start if self.every == NEVER and start is not None else self.initialOffset()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Also in a run that ends, where a micro-batch of another run that had a beat runs again."""
        return [InputPartition((end["beat"], end.get("started")))] if end["beat"] not in (0, start["beat"]) else []

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int | None]]:
        yield partition.value


def heartbeat(spark: SparkSession, every: int) -> DataFrame:
    """A stream with a beat every so many microseconds."""
    check_workers(spark)
    register(spark, Heartbeat)
    return spark.readStream.format(NAME).option(EVERY, str(every)).load()
