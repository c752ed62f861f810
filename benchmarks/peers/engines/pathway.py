"""Pathway, fed row by row through its Python connector, which is how it takes rows of Parquet files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.task import Task, cannot, measure, ready, told

NEIGHBOURS = "`sort` gives a row its neighbours, and there is no rank and no frame of rows"
CANNOT = {
    "row_number": NEIGHBOURS,
    "statewindow": "no window that is opened and closed by conditions; a stateful reducer has one result for a key",
    "over_changelog": NEIGHBOURS,
}


def main() -> None:
    task = told()
    if task.workload in CANNOT:
        return cannot(CANNOT[task.workload])
    measure(task, lambda folder: run(task, folder))


def run(task: Task, folder: Path) -> None:
    import pathway as pw

    pw.internals.parse_graph.G.clear()  # of the run before
    found: list[dict[str, Any]] = []

    class Files(pw.io.python.ConnectorSubject):
        def run(self) -> None:
            if task.stop:
                ready()
            for file in task.files():
                rows = pq.read_table(file)
                times = rows["ts"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
                for ts, k, v in zip(times, rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True):
                    self.next(ts=ts, k=k, v=v)
                self.commit()

    schema = pw.schema_from_types(ts=int, k=int, v=float)
    events = pw.io.python.read(Files(), schema=schema, autocommit_duration_ms=None)

    def note(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        found.append({**row, "_change_type": "insert" if is_addition else "delete", "stamped": stamp()})

    pw.io.subscribe(query(pw, task.workload, events), on_change=note)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(found), folder / "results.parquet")


def stamp() -> int:
    return time.time_ns()


def query(pw: Any, workload: str, events: Any) -> Any:
    this, temporal, reducers = pw.this, pw.temporal, pw.reducers
    sums = {"s": reducers.sum(this.v), "n": reducers.count()}
    match workload:
        case "tumbling" | "hopping":
            window = (
                temporal.tumbling(duration=10_000)
                if workload == "tumbling"
                else temporal.sliding(hop=2_000, duration=10_000)
            )
            grouped = events.windowby(
                events.ts, window=window, instance=events.k, behavior=temporal.exactly_once_behavior()
            )
            return grouped.reduce(k=this._pw_instance, opens=this._pw_window_start, **sums)
        case "session":
            # Rows are in one session if they are less than the gap apart.
            grouped = events.windowby(events.ts, window=temporal.session(max_gap=1_001), instance=events.k)
            bounds = {"opens": reducers.min(this.ts), "closes": reducers.max(this.ts)}
            return grouped.reduce(k=this._pw_instance, **bounds, **sums)
        case "lag":
            placed = events + events.sort(key=events.ts, instance=events.k)
            return placed.select(this.k, this.ts, this.v, r=placed.ix(placed.prev, optional=True).v)
        case "range_10s" | "sliding":
            window = temporal.intervals_over(at=events.ts, lower_bound=-10_000, upper_bound=0, is_outer=False)
            grouped = events.windowby(events.ts, window=window, instance=events.k)
            if workload == "sliding":
                return grouped.reduce(k=this._pw_instance, ts=this._pw_window_location, **sums)
            ends = grouped.reduce(k=this._pw_instance, r=reducers.sum(this.v), last=reducers.argmax(this.ts))
            return ends.select(this.k, this.r, ts=events.ix(ends.last).ts, v=events.ix(ends.last).v)
        case "keep_latest":
            return events.deduplicate(value=this.ts, instance=this.k, acceptor=lambda new, old: new > old)
        case unknown:
            raise ValueError(f"Pathway has no query for {unknown}")


if __name__ == "__main__":
    main()
