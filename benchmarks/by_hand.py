"""What people write without Panes: a function for each key, over pandas frames and a state.

Each gives what Panes gives, whatever the micro-batches are: rows are kept until the watermark has passed them, and
then taken in the order of time. Arrays go into the state as bytes, the fastest way there. Such a function costs some
0.7 ms for each key that has a row in a micro-batch, and little for each row: how many rows a key has in a micro-batch
decides how far behind it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState

from benchmarks.figures import Figures
from benchmarks.identity import identity
from benchmarks.streams import Bench, Shape

Key = tuple[Any, ...]
Frames = Iterable[pd.DataFrame]
Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]

WAITING = "times binary, values binary"  # the state of rows that wait; what else is kept stands behind it
ROW = "k long, ts timestamp, v double"
ROWS = 100_000
LONG = 60  # micro-batches: the JVM goes on compiling for as many, which slows down short ones


@dataclass(frozen=True)
class Case:
    """A query, and the function that gives the same; `carried` is what it keeps beside the rows that wait."""

    name: str
    sql: str
    function: Any
    output: str
    carried: str

    def rows(self, rows: DataFrame) -> DataFrame:
        """The function over the rows of each key."""
        grouped = rows.withWatermark("ts", "0 seconds").groupBy("k")
        state = f"{WAITING}, {self.carried}"
        return grouped.applyInPandasWithState(self.function, self.output, state, "append", "EventTimeTimeout")

    def measure(self, on: Bench, figures: Figures, shape: Shape, share: float, hand: float) -> None:
        """Beside a kernel that does nothing and, with ten rows of each key a micro-batch and a hundred, by hand."""
        ours, nothing = on.ratio(on.panes(shape, self.sql), identity(on, shape))
        figures.note(f"{self.name}, against the identity pipeline", ours / nothing, f"≥ {share}")
        for rows, seconds, long, target in ((ROWS, 6, LONG, f"≥ {hand}"), (10 * ROWS, 60, 8, "")):
            many, few = (Shape(10_000, seconds, batches=batches, rows=rows) for batches in (long, 4))
            on.rate(on.panes(many, self.sql))
            theirs = on.rate(self.rows(on.source(few)))
            ratio = on.rate(on.panes(many, self.sql)) / theirs
            figures.note(f"{self.name}, against applyInPandasWithState, {rows:,} rows a micro-batch", ratio, target)


def released(frames: Frames, state: GroupState) -> tuple[Times, Values, Times, Values]:
    """The rows that the watermark has passed, sorted, and those that still wait."""
    parts = [(frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64), frame["v"]) for frame in frames]
    if state.exists:
        parts.insert(0, (np.frombuffer(state.get[0], np.int64), np.frombuffer(state.get[1])))
    times, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    due = int(np.searchsorted(times, max(state.getCurrentWatermarkMs(), 0) * 1000))
    return times[:due], values[:due], times[due:], values[due:]


def keep(state: GroupState, times: Times, values: Values, *carried: Any) -> None:
    """Remember what waits, and be called again when the watermark has passed the first of it."""
    state.update((times.tobytes(), values.tobytes(), *carried))
    if len(times):
        state.setTimeoutTimestamp(max(int(times[0]) // 1000, state.getCurrentWatermarkMs()) + 1)


def rows_of(key: Key, times: Times, values: Values, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"k": key[0], "ts": times.astype("datetime64[us]"), "v": values, **more})


def lag(key: Key, frames: Frames, state: GroupState) -> Iterator[pd.DataFrame]:
    """The value before."""
    last = state.get[2] if state.exists else None
    times, values, waiting, waiting_values = released(frames, state)
    before = np.concatenate([[np.nan if last is None else last], values[:-1]]) if len(values) else values
    keep(state, waiting, waiting_values, float(values[-1]) if len(values) else last)
    yield rows_of(key, times, values, result=before)


def row_number(key: Key, frames: Frames, state: GroupState) -> Iterator[pd.DataFrame]:
    """How many rows there were."""
    count = state.get[2] if state.exists else 0
    times, values, waiting, waiting_values = released(frames, state)
    keep(state, waiting, waiting_values, count + len(times))
    yield rows_of(key, times, values, result=np.arange(count + 1, count + len(times) + 1))


def range_sum(key: Key, frames: Frames, state: GroupState) -> Iterator[pd.DataFrame]:
    """The sum over the last ten seconds; those stay in the state."""
    recent = (np.frombuffer(state.get[2], np.int64), np.frombuffer(state.get[3])) if state.exists else ()
    times, values, waiting, waiting_values = released(frames, state)
    all_times, all_values = (
        (np.concatenate([recent[0], times]), np.concatenate([recent[1], values])) if recent else (times, values)
    )
    sums = np.concatenate([[0.0], np.cumsum(all_values)])
    ends, starts = np.searchsorted(all_times, times, "right"), np.searchsorted(all_times, times - 10_000_000)
    reached = all_times >= (all_times[-1] - 10_000_000 if len(all_times) else 0)
    keep(state, waiting, waiting_values, all_times[reached].tobytes(), all_values[reached].tobytes())
    yield rows_of(key, times, values, result=sums[ends] - sums[starts])


def state_window(key: Key, frames: Frames, state: GroupState) -> Iterator[pd.DataFrame]:
    """Sum and count from a value above 0.9 to the next below 0.1."""
    total, count = state.get[2:] if state.exists else (0.0, 0)
    _, values, waiting, waiting_values = released(frames, state)
    out = []
    for value in values.tolist():
        if count:
            total, count = total + value, count + 1
            if value < 0.1:
                out.append((key[0], total, count))
                total, count = 0.0, 0
        elif value > 0.9:
            total, count = value, 1
    keep(state, waiting, waiting_values, total, count)
    yield pd.DataFrame(out, columns=["k", "s", "n"])
