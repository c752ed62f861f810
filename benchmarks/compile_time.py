"""How long it takes to compile: queries of 100 and 1,000 calls, importing Panes, and `panes --help`.

Compiling is measured in processor time, which is the time it takes where nothing else runs; processes by the clock.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.large_queries import HIGH, HIGH_KINDS, KINDS, declared, explained
from panes.catalog import Catalog
from panes.errors import PanesError

EXPLAIN_TARGET = 100.0  # ms, for a query of 100 calls

COMMANDS = {
    "python, nothing imported": [sys.executable, "-c", "pass"],
    "import panes": [sys.executable, "-c", "import panes"],
    "import panes.compile": [sys.executable, "-c", "import panes.compile"],
    "panes --help": [str(Path(sys.executable).parent / "panes"), "--help"],
}


def run(console: Console) -> dict[str, object]:
    catalog = declared()
    explain = explain_hundred(catalog)
    large = {name: measure_large(make, catalog) for name, make in track(KINDS.items(), "large queries", transient=True)}
    high = {name: measure_high(make, catalog) for name, make in track(HIGH_KINDS.items(), "high plans", transient=True)}
    started = {name: milliseconds(partial(start, command), 5, perf_counter) for name, command in COMMANDS.items()}
    show(console, explain, large, high, started)
    return {"explain_100_calls_ms": explain, "large_queries": large, "high_plans": high, "processes_ms": started}


def milliseconds(work: Callable[[], object], times: int, clock: Callable[[], float] = process_time) -> float:
    """The median over some runs, after one that does not count."""
    work()
    gc.collect()
    taken = []
    for _ in range(times):
        begin = clock()
        work()
        taken.append(1_000 * (clock() - begin))
    return round(median(taken), 2)


def explain_hundred(catalog: Catalog) -> dict[str, float]:
    kinds = ("stateful calls", "aggregates", "OVER, one window")
    return {name: milliseconds(partial(explained, KINDS[name](100), catalog), 20) for name in kinds}


def measure_large(make: Callable[[int], str], catalog: Catalog) -> dict[str, float]:
    """Milliseconds for 500 and 1,000 items, and how many times longer the second takes."""
    half, whole = (milliseconds(partial(explained, make(size), catalog), 5) for size in (500, 1_000))
    return {"500_ms": half, "1000_ms": whole, "ratio": round(whole / half, 2)}


def measure_high(make: Callable[[int], str], catalog: Catalog) -> dict[str, float]:
    """Milliseconds for a plan nearly as high as it may be, and until one of 1,000 is refused."""
    return {
        f"{HIGH}_ms": milliseconds(partial(explained, make(HIGH), catalog), 5),
        "1000_refused_ms": milliseconds(partial(refused, make(1_000), catalog), 5),
    }


def refused(sql: str, catalog: Catalog) -> None:
    try:
        explained(sql, catalog)
    except PanesError:
        return
    raise AssertionError("this was to be refused")


def start(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def show(
    console: Console,
    explain: dict[str, float],
    large: dict[str, dict[str, float]],
    high: dict[str, dict[str, float]],
    started: dict[str, float],
) -> None:
    table = _table("EXPLAIN of 100 calls", "ms", f"below {EXPLAIN_TARGET:.0f} ms")
    for name, time in explain.items():
        table.add_row(name, f"{time:,.1f}", "yes" if time < EXPLAIN_TARGET else "[red]no[/red]")
    console.print(table)
    table = _table("EXPLAIN of many", "500, ms", "1,000, ms", "ratio")
    for name, figures in large.items():
        table.add_row(name, f"{figures['500_ms']:,.1f}", f"{figures['1000_ms']:,.1f}", f"{figures['ratio']:.2f}")
    console.print(table)
    table = _table("High plans", f"{HIGH}, ms", "1,000 refused, ms")
    for name, figures in high.items():
        table.add_row(name, *(f"{time:,.1f}" for time in figures.values()))
    console.print(table)
    table = _table("A fresh process", "ms")
    for name, time in started.items():
        table.add_row(name, f"{time:,.0f}")
    console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title, title_justify="left", min_width=60)
    for column in columns:
        table.add_column(column, justify="right")
    return table
