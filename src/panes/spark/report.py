"""What one micro-batch of a running query did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from panes.spark.places import Place, clocks_of, places_of
from panes.spark.progress import backlog_of, counters_of, operators_of, watermark_of


@dataclass(frozen=True)
class Report:
    """What one micro-batch of one query did; `watermark` is in microseconds, `backlog` in rows that wait to be read.

    `operators` are the counters of each by its number, `places` where the partitions of topics are. `earliest` and
    `latest` are times of its rows, less the stream's delay where Panes has operators.
    """

    sink: str
    batch: int
    seconds: float
    counters: Mapping[str, int]
    rows_read: int = 0
    watermark: int | None = None
    backlog: int | None = None
    operators: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    earliest: int | None = None
    latest: int | None = None


def report_of(sink: str, progress: Any) -> Report:
    counters = counters_of(progress)
    earliest, latest = clocks_of(progress, "rows_in" in counters)
    return Report(
        sink,
        progress.batchId,
        progress.durationMs.get("triggerExecution", 0) / 1000,
        counters,
        progress.numInputRows,
        watermark_of(progress, counters),
        backlog_of(progress),
        operators_of(progress),
        tuple(places_of(progress)),
        earliest,
        latest,
    )
