"""Stateful functions, state windows and sliding windows: beside what people write by hand, and beside no kernel."""

from __future__ import annotations

from rich.console import Console

from benchmarks import by_hand as hand
from benchmarks.by_hand import Case
from benchmarks.figures import Figures
from benchmarks.streams import Shape, bench

LAG = "SELECT k, ts, v, lag(v) OVER (PARTITION BY k) AS before FROM s"
STATE = "SELECT k, sum(v) AS s, count(*) AS n FROM s GROUP BY statewindow(v > 0.9, v < 0.1) OVER (PARTITION BY k), k"
SLIDING = (
    "SELECT k, sum(v) AS s, window_trigger() AS at FROM s GROUP BY slidingwindow('ss', {}) OVER (PARTITION BY k), k"
)

SHAPE = Shape(10_000, 60, batches=6)
HAND, SHARE, LONGER, WIDER = 15, 0.6, 1.3, 2
CASES = (
    Case("lag", LAG, hand.lag, f"{hand.ROW}, result double", "last double"),
    Case("statewindow", STATE, hand.state_window, "k long, s double, n long", "total double, count long"),
)


def run(console: Console) -> dict[str, object]:
    figures = Figures("Stateful functions, state and sliding windows", console)
    with bench() as on:
        for case in CASES:
            case.measure(on, figures, SHAPE, share=SHARE, hand=HAND)
        long = Shape(10_000, 600, batches=9)
        short, longer = on.ratio(*(on.panes(long, SLIDING.format(back)) for back in (10, 1_000)))
        figures.note("cost of a row, lookback 1,000 s against 10 s", short / longer, f"≤ {LONGER}")
        wide = Shape(1_000_000, 60, batches=4)
        for case in CASES:
            few, many = on.ratio(*(on.panes(shape, case.sql) for shape in (SHAPE, wide)))
            figures.note(f"cost of a row, {case.name}, 1,000,000 keys against 10,000", few / many, f"≤ {WIDER}")
    return figures.show()
