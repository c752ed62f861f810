"""Rows of streams with their times, the watermark after each step, and when a row is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from panes.catalog import Stream
from panes.testing.replay import Stream as Scripted
from panes.trace.model import Row
from panes.trace.values import micros_of, plain


@dataclass(frozen=True)
class Clock:
    """The watermark after each step; `times` are those of the micro-batches of a stream in arrival mode."""

    watermarks: tuple[int | None, ...]
    flushed: bool
    arrival: bool

    def released(self, time: int | None, step: int) -> int | None:
        """The step in which the watermark passes a time; the end of the input releases all."""
        if self.arrival:
            return step
        for later in range(step, len(self.watermarks)):
            if self.has_passed(time, later):
                return later
        return None

    def has_passed(self, time: int | None, step: int) -> bool:
        """Whether time < W after a step."""
        if self.flushed and step == len(self.watermarks) - 1:
            return True
        watermark = self.watermarks[step]
        return time is not None and watermark is not None and time < watermark


def rows_of(stream: Stream, numbered: Scripted, times: Sequence[str | datetime]) -> tuple[Row, ...]:
    """The rows of a stream, which end in their numbers; `times` are those of micro-batches in arrival mode."""
    names = [name.lower() for name in stream.column_names]
    place = names.index(stream.time.lower()) + stream.changelog if stream.time is not None else None
    rows: list[Row] = []
    for step, batch in enumerate(numbered.batches):
        for position, (*values, number) in enumerate(batch):
            moment = values[place] if place is not None else times[step] if step < len(times) else None
            time = micros_of(moment) if moment is not None else None
            rows.append(Row(number, step, position, time, tuple(plain(one) for one in values)))
    return tuple(rows)


def watermarks(stream: Stream, rows: Sequence[Row], steps: int, flushed: bool) -> tuple[int | None, ...]:
    """Floor to milliseconds of the largest time so far, less the delay; the end of the input moves nothing."""
    if stream.time is None or stream.changelog:
        return (None,) * steps
    found: list[int | None] = []
    for step in range(steps):
        times = [row.time for row in rows if row.step <= step and row.time is not None]
        found.append(max(times) // 1000 * 1000 - (stream.delay or 0) if times else None)
    return tuple(found)
