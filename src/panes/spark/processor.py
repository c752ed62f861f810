"""The shell around a shard inside `transformWithState`; only what Spark asks of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from panes.spark.worker import be_quiet, set_up

if TYPE_CHECKING:
    from panes.spark.shard import Shard, Task


class ShardProcessor(StatefulProcessor):
    """One shard's operator.

    Whenever a query starts, Spark calls `init` in a new Python on the driver, only to learn which state there is. That
    one need not load Arrow, DuckDB and kernels, which takes longer than a micro-batch: the shard stays pickled until
    there are rows.
    """

    def __init__(self, shard: Shard) -> None:
        self.pickled: bytes = cloudpickle.dumps(shard)  # type: ignore[no-untyped-call]

    def __setstate__(self, state: dict[str, Any]) -> None:
        be_quiet()
        self.__dict__.update(state)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.chunks = handle.getMapState("chunks", "id string", "v binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        yield from self._task().rows(rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        yield from self._task().timer(timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        pass

    def _task(self) -> Task:
        from panes.spark.shard import Task

        return Task(self._shard, self.handle, self.chunks)

    @cached_property
    def _shard(self) -> Shard:
        shard: Shard = pickle.loads(self.pickled)
        set_up(shard.memory)
        return shard
