"""Spark's state store and timers, as a stateful processor sees them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row


@dataclass
class Store:
    """State and timers of an operator, by grouping key."""

    maps: dict[tuple[str, Any], dict[tuple[Any, ...], tuple[Any, ...]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    timers: set[tuple[int, Any]] = field(default_factory=set)


@dataclass(frozen=True)
class Times:
    watermark: int

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.watermark


class Task:
    """A processor in a micro-batch: its handle and its calls."""

    def __init__(self, processor: Any, store: Store, watermark: int) -> None:
        self.processor, self.store, self.times = processor, store, Times(watermark)
        self.key: Any = None
        processor.init(self)

    def rows(self, key: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.key = key
        given = iter([Row(**row) for row in rows])
        return [row.asDict() for row in self.processor.handleInputRows((key,), given, self.times)]

    def timers(self) -> list[list[dict[str, Any]]]:
        """Those that the watermark has reached, in their order; Spark deletes each after it has fired."""
        outputs = []
        for timer, key in sorted(one for one in self.store.timers if one[0] <= self.times.watermark):
            self.key = key
            found = self.processor.handleExpiredTimer(key=(key,), timerValues=self.times, expiredTimerInfo=timer)
            outputs.append([row.asDict() for row in found])
            self.store.timers.discard((timer, key))
        return outputs

    # The handle that the processor gets.

    def getMapState(self, name: str, key: str, value: str) -> MapState:  # noqa: N802
        return MapState(self, name)

    def registerTimer(self, at: int) -> None:  # noqa: N802
        self.store.timers.add((at, self.key))

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        self.store.timers.discard((at, self.key))


@dataclass(frozen=True)
class MapState:
    task: Task
    name: str

    @property
    def values(self) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        return self.task.store.maps[self.name, self.task.key]

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        return self.values.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self.values[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        self.values.pop(key, None)
