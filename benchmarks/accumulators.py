"""What incremental accumulators save, in the kernel: closing, state, and the cost of a row in windows of any length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa
from rich.console import Console

from benchmarks.figures import Figures
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.kernel import Clock, State, run_step
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.spark.blob import to_bytes

SECOND = 1_000_000
HOUR = 3_600 * SECOND
TIME, KEY, VALUE = "panes_time", "k", "v"


def folds() -> tuple[Fold, ...]:
    found = [("s", accumulator("sum", ["double"])), ("n", accumulator("count", ["double"]))]
    return tuple(Fold(one, (VALUE,), None, name) for name, one in found if one is not None)


def windows(size: int, hop: int | None = None) -> SliceWindows:
    return SliceWindows(size, hop or size, TIME, (KEY,), Grouping((SLICE, KEY), folds()))


@dataclass
class Feed:
    """Random events of `keys` keys, a micro-batch after the other."""

    keys: int
    seed: int = 1

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def rows(self, count: int, start: int, length: int) -> pa.Table:
        times = start + np.sort(self.random.integers(0, length, count))
        keys = self.random.integers(0, self.keys, count)
        return pa.table({TIME: pa.array(times, pa.timestamp("us")), KEY: keys, VALUE: self.random.random(count)})


def run(console: Console) -> dict[str, object]:
    figures = Figures("Incremental accumulators", console)
    many, few = windows(60 * SECOND, SECOND), windows(6 * SECOND, SECOND)
    longer = ingest(windows(1_000 * SECOND), windows(10 * SECOND))
    figures.note("incremental against raw re-aggregation at close", incremental(), "≥ 10")
    figures.note("closing 10,000 groups, ms", closing(), "< 1")
    figures.note("state after 10 M events against 1 M", state_growth(), "≤ 1.1")
    figures.note("adding a row, size/hop 60 against 6", ingest(many, few), "≤ 1.3")
    figures.note("adding a row, windows 100 times longer", longer, "≤ 1.3")
    figures.note("a row and the windows that close, size/hop 60 against 6", life(many, few))
    return figures.show()


def incremental(events: int = 100_000, batches: int = 100) -> float:
    """How many times faster a window of 100,000 events closes than one that keeps its rows and aggregates them then."""
    kernel, feed, state = windows(HOUR), Feed(100), State()
    raw: list[bytes] = []
    for number in range(batches):
        rows = feed.rows(events // batches, number * SECOND, SECOND)
        state = run_step(kernel, state, kernel.pack(rows), Clock(0)).state
        raw.append(to_bytes(rows))
    close = milliseconds(lambda: run_step(kernel, state, None, Clock(HOUR)))
    tables = [pa.ipc.open_stream(blob).read_all() for blob in raw]
    again = milliseconds(lambda: kernel.grouping.evaluate(kernel.pack(pa.concat_tables(tables))))
    return again / close


def closing(groups: int = 10_000) -> float:
    """Milliseconds that a step takes which closes so many groups."""
    kernel = windows(10 * SECOND)
    rows = pa.table(
        {TIME: pa.array(np.zeros(groups, np.int64), pa.timestamp("us")), KEY: np.arange(groups), VALUE: np.ones(groups)}
    )
    state = run_step(kernel, State(), kernel.pack(rows), Clock(0)).state
    return milliseconds(lambda: run_step(kernel, state, None, Clock(10 * SECOND)), times=50)


def state_growth() -> float:
    """The bytes of state after 10 M events, against those after 1 M: 1,000 groups in an hour."""
    kernel, feed, state = windows(HOUR), Feed(1_000), State()
    sizes = {}
    for number in range(1, 101):
        batch = kernel.pack(feed.rows(100_000, number * 30 * SECOND, 30 * SECOND))
        state = run_step(kernel, state, batch, Clock(0)).state
        sizes[number] = sum(len(to_bytes(chunk.load())) for chunk in state.chunks)
    return sizes[100] / sizes[10]


def ingest(one: SliceWindows, other: SliceWindows) -> float:
    """How many times more it costs to add a row with `one` than with `other`; no window closes."""
    return _cost(one, lambda number: 0) / _cost(other, lambda number: 0)


def life(one: SliceWindows, other: SliceWindows) -> float:
    """The same with windows that close: each is merged from its slices."""
    return _cost(one, lambda number: number - 1) / _cost(other, lambda number: number - 1)


def _cost(kernel: SliceWindows, passed: Callable[[int], int]) -> float:
    feed, state, taken = Feed(1_000), State(), []
    for number in range(24):
        rows = feed.rows(100_000, number * 10 * SECOND, 10 * SECOND)
        begin = perf_counter()
        state = run_step(kernel, state, kernel.pack(rows), Clock(passed(number) * 10 * SECOND)).state
        taken.append(perf_counter() - begin)
    return sum(taken[8:])


def milliseconds(work: Callable[[], object], times: int = 20) -> float:
    work()
    taken = []
    for _ in range(times):
        begin = perf_counter()
        work()
        taken.append(1_000 * (perf_counter() - begin))
    return median(taken)
