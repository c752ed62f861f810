"""Bytewax: its windows, and its `stateful_flat_map` for what it has no operator for. One worker; all is Python.

Rows come in the order of time, so that the functions for each key need not wait for a watermark.
"""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.task import Task, measure, ready, told

SPAN = 10_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = tuple[Any, ...]
Keyed = tuple[str, Row]
COLUMNS = {
    "tumbling": ("opens", "s", "n"),
    "hopping": ("opens", "s", "n"),
    "session": ("opens", "closes", "s", "n"),
    "lag": ("ts", "v", "r"),
    "row_number": ("ts", "v", "r"),
    "range_10s": ("ts", "v", "r"),
    "sliding": ("ts", "s", "n"),
    "statewindow": ("opens", "closes", "s", "n"),
    "keep_latest": ("ts", "v", "_order"),
    "over_changelog": ("id", "v", "r", "_change_type"),
}
Step = Callable[[Any, Row], tuple[Any, list[Row]]]


def lag(state: float | None, row: Row) -> tuple[float, list[Row]]:
    return row[1], [(*row, state)]


def row_number(state: int | None, row: Row) -> tuple[int, list[Row]]:
    number = (state or 0) + 1
    return number, [(*row, number)]


def recent(state: deque[Row] | None, row: Row) -> tuple[deque[Row], float, int]:
    """The rows of the last ten seconds, their sum and their number."""
    rows = deque() if state is None else state
    rows.append(row)
    while rows[0][0] < row[0] - SPAN:
        rows.popleft()
    return rows, sum(value for _, value in rows), len(rows)


def range_sum(state: deque[Row] | None, row: Row) -> tuple[deque[Row], list[Row]]:
    rows, total, _ = recent(state, row)
    return rows, [(*row, total)]


def sliding(state: deque[Row] | None, row: Row) -> tuple[deque[Row], list[Row]]:
    rows, total, count = recent(state, row)
    return rows, [(row[0], total, count)]


def state_window(state: Row | None, row: Row) -> tuple[Row | None, list[Row]]:
    at, value = row
    if state is None:
        return ((at, value, 1) if value > 0.9 else None), []
    opens, total, count = state
    if value < 0.1:
        return None, [(opens, at, total + value, count + 1)]
    return (opens, total + value, count + 1), []


def keep_latest(state: int | None, row: Row) -> tuple[int, list[Row]]:
    number = (state or 0) + 1
    return number, [(*row, number)]


def over_changelog(state: tuple[list[int], dict[int, Row]] | None, row: Row) -> tuple[Any, list[Row]]:
    """The rows of the key by id, with the sums that were said; a change reaches ten rows further."""
    id_, value, kind = row
    ids, rows = ([], {}) if state is None else state
    if kind in ("delete", "update_preimage"):
        return (ids, rows), []  # the row after follows at once, or takes its place
    if id_ not in rows:
        insort(ids, id_)
    before = rows.get(id_)
    rows[id_] = (value, before[1] if before else None)
    place, out = bisect_left(ids, id_), []
    for index in range(place, min(place + 11, len(ids))):
        one = ids[index]
        current, said = rows[one]
        total = sum(rows[other][0] for other in ids[max(index - 10, 0) : index + 1])
        old = before[0] if one == id_ and before else current
        if said is not None:
            out.append((one, old, said, "update_preimage"))
        out.append((one, current, total, "update_postimage"))
        rows[one] = (current, total)
    return (ids, rows), out


STEPS: dict[str, Step] = {
    "lag": lag,
    "row_number": row_number,
    "range_10s": range_sum,
    "sliding": sliding,
    "statewindow": state_window,
    "keep_latest": keep_latest,
    "over_changelog": over_changelog,
}


def main() -> None:
    task = told()
    measure(task, lambda folder: run(task, folder))


def read(task: Task) -> Iterator[list[Keyed]]:
    """The rows of each file with their key as text, as Bytewax wants it; nothing while none has come."""
    for file in task.files():
        table = pq.read_table(file)
        if task.workload == "over_changelog":
            rows = zip(*(table[name].to_pylist() for name in ("id", "v", "_change_type")), strict=True)
        else:
            times = table["ts"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
            rows = zip(times, table["v"].to_pylist(), strict=True)
        yield [(str(key), row) for key, row in zip(table["k"].to_pylist(), rows, strict=True)]


def run(task: Task, folder: Path) -> None:
    import bytewax.operators as op
    from bytewax.dataflow import Dataflow
    from bytewax.inputs import DynamicSource, StatelessSourcePartition
    from bytewax.outputs import DynamicSink, StatelessSinkPartition
    from bytewax.testing import run_main

    found: list[Keyed] = []
    stamps: list[int] = []

    class Files(StatelessSourcePartition[Keyed]):
        def __init__(self) -> None:
            self.batches = read(task)

        def next_batch(self) -> list[Keyed]:
            return next(self.batches)  # its end is the end of the stream

    class Source(DynamicSource[Keyed]):
        def build(self, step_id: str, worker_index: int, worker_count: int) -> Files:
            return Files()

    class Results(StatelessSinkPartition[Keyed]):
        def write_batch(self, items: list[Keyed]) -> None:
            found.extend(items)
            stamps.extend([time.time_ns()] * len(items))

    class Sink(DynamicSink[Keyed]):
        def build(self, step_id: str, worker_index: int, worker_count: int) -> Results:
            return Results()

    flow = Dataflow("peer")
    rows = op.input("rows", flow, Source())
    if task.workload in STEPS:
        step = STEPS[task.workload]
        results = op.stateful_flat_map("step", rows, step)
    else:
        results = windows(task.workload, rows)
    op.output("results", results, Sink())
    if task.stop:
        ready()
    run_main(flow)
    write(task, folder, found, stamps)


def windows(workload: str, rows: Any) -> Any:
    """Sums and counts by Bytewax's own windows."""
    import bytewax.operators as op
    from bytewax.operators import windowing as win

    clock = win.EventClock(
        ts_getter=lambda row: EPOCH + timedelta(milliseconds=row[0]),
        wait_for_system_duration=timedelta(0),
        now_getter=lambda: EPOCH,  # else the wall clock moves the watermark past rows that are still to come
    )
    windower: Any = {
        "tumbling": lambda: win.TumblingWindower(length=timedelta(seconds=10), align_to=EPOCH),
        "hopping": lambda: win.SlidingWindower(
            length=timedelta(seconds=10), offset=timedelta(seconds=2), align_to=EPOCH
        ),
        "session": lambda: win.SessionWindower(gap=timedelta(seconds=1)),
    }[workload]()

    def fold(state: Row, row: Row) -> Row:
        return min(state[0], row[0]), max(state[1], row[0]), state[2] + row[1], state[3] + 1

    def merge(one: Row, other: Row) -> Row:
        return min(one[0], other[0]), max(one[1], other[1]), one[2] + other[2], one[3] + other[3]

    out = win.fold_window("fold", rows, clock, windower, lambda: (2**62, -(2**62), 0.0, 0), fold, merge)

    def result(item: tuple[str, tuple[int, Row]]) -> Keyed:
        key, (number, (first, last, total, count)) = item
        opens = {"tumbling": number * 10_000, "hopping": number * 2_000, "session": first}[workload]
        return key, (opens, last, total, count) if workload == "session" else (opens, total, count)

    return op.map("result", out.down, result)


def write(task: Task, folder: Path, found: list[Keyed], stamps: list[int]) -> None:
    folder.mkdir(parents=True)
    columns: dict[str, Any] = {"k": [int(key) for key, _ in found]}
    for place, name in enumerate(COLUMNS[task.workload]):
        columns[name] = [row[place] for _, row in found]
    if task.stop:
        columns["stamped"] = stamps
    pq.write_table(pa.table(columns), folder / "results.parquet")


if __name__ == "__main__":
    main()
