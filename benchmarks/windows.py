"""Throughput of time windows beside Spark's own, on the same files in one run: the ratios count, not the times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from rich.console import Console
from rich.table import Table

from benchmarks.identity import identity
from benchmarks.streams import ROWS, Bench, Shape, bench


@dataclass(frozen=True)
class Case:
    name: str
    shape: Shape
    group_by: str
    native: Callable[[], Any]
    target: float | None  # None: for comparison only


# 10,000 keys over ten minutes of events a micro-batch are 630,000 groups. With 100 keys over four hours there are
# 144,000; with 100 keys over ten minutes 6,300, where Spark has next to nothing to keep and transport is all there is.
# Twice as much a micro-batch shows what is left when the fixed cost of one counts for less.
MANY = Shape(10_000, 1_260, rows=2 * ROWS)
CASES = (
    Case("tumbling 10 s", MANY, "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), 4),
    Case("tumbling 10 s", Shape(10_000, 630), "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), None),
    Case("tumbling 10 s", Shape(100, 14_400), "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), 1),
    Case("tumbling 10 s", Shape(100, 630), "tumblingwindow('ss', 10)", lambda: f.window("ts", "10 seconds"), None),
    Case(
        "hopping 50 s / 10 s",
        Shape(10_000, 630),
        "hoppingwindow('ss', 50, 10)",
        lambda: f.window("ts", "50 seconds", "10 seconds"),
        4,
    ),
    Case("session 1 s", Shape(10_000, 630), "sessionwindow('ss', 1)", lambda: f.session_window("ts", "1 second"), 4),
)
SHARE = 0.6


def run(console: Console) -> dict[str, object]:
    """Rows a second of each case, by Panes and by Spark, and beside a kernel that does nothing."""
    table = Table(
        "case",
        "keys",
        "rows a batch",
        "s a batch",
        "Spark rows/s",
        "Panes rows/s",
        "ratio",
        "target",
        title="Time windows",
    )
    figures: dict[str, object] = {}
    with bench() as on:
        for case in CASES:
            ours, native = on.ratio(_panes(on, case), _spark(on, case))
            target = f"≥ {case.target:g}" if case.target is not None else ""
            rates = [f"{native:,.0f}", f"{ours:,.0f}", f"{ours / native:.2f}"]
            shape = [f"{number:,}" for number in (case.shape.keys, case.shape.rows, case.shape.seconds)]
            table.add_row(case.name, *shape, *rates, target)
            name = f"{case.name}, {shape[0]} keys, {shape[1]} rows and {shape[2]} s a micro-batch"
            figures[name] = {"spark": native, "panes": ours, "ratio": ours / native, "target": case.target}
            console.print(f"{name}: {ours / native:.2f}")
        ours, nothing = on.ratio(_panes(on, CASES[0]), identity(on, CASES[0].shape))
        figures["share of the identity pipeline"] = {"ratio": ours / nothing, "target": SHARE}
    console.print(table)
    console.print(f"tumbling, beside a kernel that passes its rows on: {ours / nothing:.2f} (target ≥ {SHARE})")
    return figures


def _spark(on: Bench, case: Case) -> DataFrame:
    rows = on.source(case.shape).withWatermark("ts", "0 seconds")
    return rows.groupBy(case.native(), "k").agg(f.sum("v"), f.count("v"), f.avg("v"))


def _panes(on: Bench, case: Case) -> DataFrame:
    return on.panes(
        case.shape,
        "SELECT k, window_start() AS opens, sum(v) AS s, count(v) AS n, avg(v) AS mean FROM s "
        f"GROUP BY {case.group_by}, k",
    )
