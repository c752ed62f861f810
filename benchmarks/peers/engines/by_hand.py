"""What people write without Panes: a function for each key, in `applyInPandasWithState` and in `transformWithState`.

Rows are kept until the watermark has passed them, and then taken in the order of time. What is carried on goes into the
state as bytes, the fastest way there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.peers.engines.hand_functions import EVENT_FUNCTIONS, keep_latest, over_changelog
from benchmarks.peers.engines.spark_streams import CHANGES, EVENTS, ROCKSDB, rows, run, session
from benchmarks.peers.task import Task, cannot, measure, told

SPARK_HAS_IT = "nobody writes it by hand: Spark has it"
CANNOT = {"tumbling": SPARK_HAS_IT, "hopping": SPARK_HAS_IT, "session": SPARK_HAS_IT}
STATE = "kept binary"
Frames = Iterable[pd.DataFrame]
# What a function makes of the new rows of a key: results, what is kept, and when to be called again (milliseconds).
Step = Callable[[list[pd.DataFrame], Any, int], tuple[pd.DataFrame, Any, int | None]]


def on_watermark(function: Any) -> Step:
    """A function over rows that the watermark has passed."""

    def step(frames: list[pd.DataFrame], kept: Any, watermark: int) -> tuple[pd.DataFrame, Any, int | None]:
        times, values, carry = kept or (np.empty(0, np.int64), np.empty(0), None)
        new = [(frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64), frame["v"]) for frame in frames]
        times, values = (np.concatenate(parts) for parts in zip((times, values), *new, strict=True))
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
        due = int(np.searchsorted(times, watermark * 1000))
        found, carry = function(times[:due], values[:due], carry)
        again = max(int(times[due]) // 1000, watermark) + 1 if due < len(times) else None
        return _frame(found), (times[due:], values[due:], carry), again

    return step


def at_once(frames: list[pd.DataFrame], kept: Any, watermark: int) -> tuple[pd.DataFrame, Any, int | None]:
    """The latest row of a key needs no watermark."""
    frame = pd.concat(frames)
    times = frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64)
    order = np.argsort(times)[-1:]
    last, number = kept or (-1, None)
    if times[order][0] < last:
        return _frame(keep_latest(times[:0], frame["v"].to_numpy()[:0], number)[0]), kept, None
    found, number = keep_latest(times[order], frame["v"].to_numpy()[order], number)
    return _frame(found), (int(times[order][0]), number), None


def changelog(frames: list[pd.DataFrame], kept: Any, watermark: int) -> tuple[pd.DataFrame, Any, int | None]:
    found, kept = over_changelog(pd.concat(frames), kept)
    return found, kept, None


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Times as Spark takes them."""
    timed = ("ts", "opens", "closes")
    return pd.DataFrame({name: one.astype("datetime64[us]") if name in timed else one for name, one in columns.items()})


def step_of(workload: str) -> tuple[Step, str]:
    """The function of a workload, and the columns of its results."""
    if workload == "keep_latest":
        return at_once, "k long, ts timestamp, v double, _order long"
    if workload == "over_changelog":
        return changelog, "k long, id long, v double, r double, _change_type string"
    function, columns = EVENT_FUNCTIONS[workload]
    return on_watermark(function), f"k long, {columns}"


def apply_in_pandas(grouped: Any, step: Step, output: str) -> DataFrame:
    def function(key: tuple[Any, ...], frames: Frames, state: GroupState) -> Iterator[pd.DataFrame]:
        kept = pickle.loads(state.get[0]) if state.exists else None
        found, kept, again = step(list(frames), kept, max(state.getCurrentWatermarkMs(), 0))
        state.update((pickle.dumps(kept),))
        if again is not None:
            state.setTimeoutTimestamp(again)
        found.insert(0, "k", key[0])
        yield found

    df: DataFrame = grouped.applyInPandasWithState(function, output, STATE, "append", "EventTimeTimeout")
    return df


class Processor(StatefulProcessor):
    def __init__(self, step: Step) -> None:
        self.step = step

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("kept", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        yield self._step(key, list(rows), timerValues, None)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        yield self._step(key, [], timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def _step(self, key: Any, frames: list[pd.DataFrame], times: Any, expired: int | None) -> pd.DataFrame:
        state = self.state.get() if self.state.exists() else None
        kept, timer = (None, None) if state is None else pickle.loads(state[0])
        found, kept, again = self.step(frames, kept, max(times.getCurrentWatermarkInMs(), 0))
        if timer != again:
            if timer is not None and timer != expired:
                self.handle.deleteTimer(timer)
            if again is not None:
                self.handle.registerTimer(again)
        self.state.update((pickle.dumps((kept, again)),))
        found.insert(0, "k", key[0])
        return found

    def close(self) -> None:
        pass


def transform_with_state(grouped: Any, step: Step, output: str) -> DataFrame:
    df: DataFrame = grouped.transformWithStateInPandas(
        statefulProcessor=Processor(step), outputStructType=output, outputMode="Append", timeMode="EventTime"
    )
    return df


def query(spark: Any, task: Task) -> DataFrame:
    step, output = step_of(task.workload)
    if task.workload == "over_changelog":
        # pandas frames of transformWithState know no column whose name begins with an underscore.
        named = ("id", "k", "v", "_change_type AS kind", "current_timestamp() AS ts")
        changes = rows(spark, task, CHANGES).selectExpr(*named)
        grouped = changes.withWatermark("ts", "0 seconds").groupBy("k")
    else:
        grouped = rows(spark, task, EVENTS).withWatermark("ts", "0 seconds").groupBy("k")
    write = apply_in_pandas if task.peer == "applyInPandas" else transform_with_state
    return write(grouped, step, output)


def main() -> None:
    task = told()
    if task.workload in CANNOT:
        return cannot(CANNOT[task.workload])
    spark = session(ROCKSDB)

    def once(folder: Path) -> None:
        run(query(spark, task), task, folder)

    measure(task, once)


if __name__ == "__main__":
    main()
