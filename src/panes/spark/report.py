"""What one micro-batch of a running query did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panes.spark.progress import backlog_of, counters_of, watermark_of


@dataclass(frozen=True)
class Report:
    """What one micro-batch of one query did; `watermark` is in microseconds, `backlog` in rows that wait to be read."""

    sink: str
    batch: int
    seconds: float
    counters: Mapping[str, int]
    rows_read: int = 0
    watermark: int | None = None
    backlog: int | None = None


def report_of(sink: str, progress: Any) -> Report:
    counters = counters_of(progress)
    return Report(
        sink,
        progress.batchId,
        progress.durationMs.get("triggerExecution", 0) / 1000,
        counters,
        progress.numInputRows,
        watermark_of(progress, counters),
        backlog_of(progress),
    )
