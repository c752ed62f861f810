"""Stateful functions, state windows and sliding windows: beside what people write by hand, and beside no kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState
from rich.console import Console
from rich.table import Table

from benchmarks.identity import identity
from benchmarks.streams import Bench, Shape, bench

LAG = "SELECT k, ts, v, lag(v) OVER (PARTITION BY k) AS before FROM s"
STATE = "SELECT k, sum(v) AS s, count(*) AS n FROM s GROUP BY statewindow(v > 0.9, v < 0.1) OVER (PARTITION BY k), k"
SLIDING = (
    "SELECT k, sum(v) AS s, window_trigger() AS at FROM s GROUP BY slidingwindow('ss', {}) OVER (PARTITION BY k), k"
)

SHAPE = Shape(10_000, 60, batches=6)
FEW = Shape(10_000, 60, batches=3)  # the first rows of the same, for what takes half a minute each
HAND, SHARE, LONGER, WIDER = 15, 0.6, 1.3, 2


def lag_by_hand(key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """The previous value of each key, its rows sorted by time."""
    rows = pd.concat(list(frames)).sort_values("ts")
    before = state.get[0] if state.exists else None
    state.update((float(rows["v"].iloc[-1]),))
    yield pd.DataFrame(
        {"k": rows["k"], "ts": rows["ts"], "v": rows["v"], "before": rows["v"].shift(1, fill_value=before)}
    )


def state_window_by_hand(
    key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Sum and count from a value above 0.9 to the next below 0.1."""
    total, count = state.get if state.exists else (0.0, 0)
    out = []
    for v in pd.concat(list(frames)).sort_values("ts")["v"]:
        if count:
            total, count = total + v, count + 1
            if v < 0.1:
                out.append((key[0], total, count))
                total, count = 0.0, 0
        elif v > 0.9:
            total, count = v, 1
    state.update((total, count))
    yield pd.DataFrame(out, columns=["k", "s", "n"])


CASES = {
    "lag": (LAG, lag_by_hand, "k long, ts timestamp, v double, before double", "v double"),
    "statewindow": (STATE, state_window_by_hand, "k long, s double, n long", "s double, n long"),
}


def run(console: Console) -> dict[str, object]:
    figures: dict[str, object] = {}
    table = Table("case", "", "target", title="Stateful functions, state and sliding windows", title_justify="left")

    def note(name: str, ratio: float, target: str) -> None:
        table.add_row(name, f"{ratio:.2f}", target)
        figures[name] = {"ratio": ratio, "target": target}
        console.print(f"{name}: {ratio:.2f} ({target})")

    with bench() as on:
        for name, (sql, function, output, state) in CASES.items():
            ours, nothing = on.ratio(on.panes(SHAPE, sql), identity(on, SHAPE))
            note(f"{name}, against the identity pipeline", ours / nothing, f"≥ {SHARE}")
            hand = on.rate(by_hand(on, FEW, function, output, state))
            note(f"{name}, against applyInPandasWithState", ours / hand, f"≥ {HAND}")
        long = Shape(10_000, 600)
        short, longer = on.ratio(*(on.panes(long, SLIDING.format(back)) for back in (10, 1_000)))
        note("cost of a row, lookback 1,000 s against 10 s", short / longer, f"≤ {LONGER}")
        wide = Shape(1_000_000, 60, batches=4)
        for name, (sql, *_) in CASES.items():
            few, many = on.ratio(*(on.panes(shape, sql) for shape in (SHAPE, wide)))
            note(f"cost of a row, {name}, 1,000,000 keys against 10,000", few / many, f"≤ {WIDER}")
    console.print(table)
    return figures


def by_hand(on: Bench, shape: Shape, function: Any, output: str, state: str) -> DataFrame:
    """A function over the rows of each key, in the state API that most people use."""
    rows = on.source(shape).withWatermark("ts", "0 seconds")
    return rows.groupBy("k").applyInPandasWithState(function, output, state, "append", "NoTimeout")
