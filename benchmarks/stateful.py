"""Stateful functions, state windows and sliding windows: beside what people write by hand, and beside no kernel."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks import by_hand as hand
from benchmarks.identity import identity
from benchmarks.streams import Shape, bench

LAG = "SELECT k, ts, v, lag(v) OVER (PARTITION BY k) AS before FROM s"
STATE = "SELECT k, sum(v) AS s, count(*) AS n FROM s GROUP BY statewindow(v > 0.9, v < 0.1) OVER (PARTITION BY k), k"
SLIDING = (
    "SELECT k, sum(v) AS s, window_trigger() AS at FROM s GROUP BY slidingwindow('ss', {}) OVER (PARTITION BY k), k"
)

SHAPE = Shape(10_000, 60, batches=6)
HAND, SHARE, LONGER, WIDER = 15, 0.6, 1.3, 2


CASES = {
    "lag": (LAG, hand.lag, f"{hand.ROW}, result double", "last double"),
    "statewindow": (STATE, hand.state_window, "k long, s double, n long", "total double, count long"),
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
            for rows, ratio in hand.ratios(on, sql, function, output, state):
                target = f"≥ {HAND}" if rows == hand.ROWS else ""
                note(f"{name}, against applyInPandasWithState, {rows:,} rows a micro-batch", ratio, target)
        long = Shape(10_000, 600, batches=9)
        short, longer = on.ratio(*(on.panes(long, SLIDING.format(back)) for back in (10, 1_000)))
        note("cost of a row, lookback 1,000 s against 10 s", short / longer, f"≤ {LONGER}")
        wide = Shape(1_000_000, 60, batches=4)
        for name, (sql, *_) in CASES.items():
            few, many = on.ratio(*(on.panes(shape, sql) for shape in (SHAPE, wide)))
            note(f"cost of a row, {name}, 1,000,000 keys against 10,000", few / many, f"≤ {WIDER}")
    console.print(table)
    return figures
