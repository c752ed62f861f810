"""Late rows, whole: each comes out once, with the clock that it missed, and no row is lost.

The kernel by itself counts its late rows; `LateRows` must find the same ones, and leave everything else as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, Kernel, State, Step
from panes.kernels.late_rows import CLOCK, LATE, ROW, WHOLE, LateApart, LateRows, is_late, judge_of, left_out
from panes.kernels.over.calls import OrderKey, OverCall
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.parts import release_of
from panes.kernels.state.release import Release
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.kernels.windows.state_machine import StateWindows

from .harness import (
    BATCH,
    DELAYS,
    FOLDS,
    IDLE,
    KEY,
    MS,
    ORDER,
    PLACE,
    RESTARTS,
    TIME,
    VALUE,
    Batch,
    Tick,
    batches,
    packed,
    plain,
    restarted,
    script,
    step_twice,
)

OPEN, EMIT = "open", "emit"
RELEASE = Release(TIME, ORDER, waits=True, late=True)


def slices(size: int, hop: int, keys: tuple[str, ...] = (KEY,), changes: bool = False) -> SliceWindows:
    return SliceWindows(size * MS, hop * MS, TIME, keys, Grouping((SLICE, *keys), FOLDS, ORDER), changes=changes)


def sessions(gap: int, keys: tuple[str, ...] = (KEY,), folds: Any = FOLDS, changes: bool = False) -> SessionWindows:
    return SessionWindows(gap * MS, TIME, keys, Grouping((*keys, NUMBER), folds, ORDER), changes=changes)


KERNELS: Mapping[str, Kernel] = {
    "tumbling": slices(5, 5),
    "tumbling without keys": slices(5, 5, ()),
    "tumbling, changes": slices(5, 5, changes=True),
    "hopping": slices(7, 3),
    "hopping with gaps": slices(3, 7),
    "session": sessions(2),
    "session without keys": sessions(4, ()),
    "session of small values": sessions(3, folds=FOLDS[:2]),
    "session, changes": sessions(2, changes=True),
    "count": CountWindows(3, None, (KEY,), (), FOLDS, RELEASE),
    "sliding": SlidingWindows(4 * MS, None, None, (KEY,), (), FOLDS, RELEASE),
    "state": StateWindows(OPEN, EMIT, (KEY,), (), FOLDS, RELEASE),
    "stateful": StatefulFunctions((KEY,), (StatefulCall("lag", (VALUE,), "before"),), RELEASE, None),
    "over": OverOnClose((KEY,), (OrderKey(TIME),), (OverCall("lag", (VALUE,), "before"),), RELEASE, None, None),
}
# How many input rows the results of a kernel stand for, after the flush.
IN_GROUPS = (
    "tumbling",
    "tumbling without keys",
    "hopping with gaps",
    "session",
    "session without keys",
    "count",
    "state",
)
ONE_BY_ONE = ("sliding", "stateful", "over")


@dataclass(frozen=True)
class Prepared:
    """A kernel whose rows have the conditions of a state window, and their identity as the whole row."""

    kernel: Kernel
    whole: bool = False

    @property
    def release(self) -> Release | None:
        return release_of(self.kernel)

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        value = rows[VALUE].cast(pa.int64()).fill_null(0)
        rows = rows.append_column(OPEN, pc.greater(value, 5)).append_column(EMIT, pc.less(value, -2))
        if self.whole:
            identity = [rows[name].combine_chunks() for name in (BATCH, PLACE, TIME)]
            rows = rows.append_column(WHOLE, pa.StructArray.from_arrays(identity, names=[BATCH, PLACE, TIME]))
        return self.kernel.pack(rows)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        return self.kernel.step(state, batch, clock)


@dataclass(frozen=True)
class Outcome:
    steps: list[Counter[Any]]
    late: list[list[tuple[int, int, int]]]  # of each step: micro-batch, place and the clock in microseconds
    late_counts: list[int]  # of each step
    counted: Counter[str]
    facts: Mapping[str, Any]


def run(kernel: Kernel, ticks: Sequence[Tick], restarts: set[int]) -> Outcome:
    state, counted = State(), Counter[str]()
    steps: list[Counter[Any]] = []
    late: list[list[tuple[int, int, int]]] = []
    late_counts: list[int] = []
    for number, tick in enumerate(ticks):
        batch = packed(kernel, tick.rows or [])
        step = step_twice(kernel, state, batch, Clock(tick.watermark, tick.flush))
        steps.append(Counter(row for table in step.tables() for row in plain(table)))
        rows = [] if step.late is None else step.late[LATE].to_pylist()
        late.append([(one[ROW][BATCH], one[ROW][PLACE], _micros(one[CLOCK])) for one in rows])
        late_counts.append(step.counters.get("late_rows", 0))
        counted.update({name: step.counters.get(name, 0) for name in ("late_rows", "no_window_rows")})
        state = restarted(step.state) if number in restarts else step.state
    return Outcome(steps, late, late_counts, counted, state.facts)


def _micros(moment: Any) -> int:
    return int(pa.scalar(moment, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())


def late_rows(name: str) -> Kernel:
    return Prepared(LateRows(KERNELS[name], judge_of(KERNELS[name])), whole=True)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=8)
@given(batches(), DELAYS, RESTARTS, IDLE)
def test_late_rows_come_out_and_nothing_else_changes(
    name: str, batches: list[Batch], delay: int, restarts: set[int], idle: list[bool]
) -> None:
    ticks = script(batches, delay, idle)
    without, found = run(Prepared(KERNELS[name]), ticks, restarts), run(late_rows(name), ticks, restarts)
    assert found.steps == without.steps
    assert found.facts == without.facts
    assert found.counted["late_rows"] == without.counted["late_rows"]
    assert [len(rows) for rows in found.late] == without.late_counts
    arrived = [{(one.batch, one.place) for one in tick.rows or []} for tick in ticks]
    for tick, rows, there in zip(ticks, found.late, arrived, strict=True):
        assert len({row[:2] for row in rows}) == len(rows)
        assert {row[:2] for row in rows} <= there
        assert all(clock == tick.watermark for _, _, clock in rows)


@pytest.mark.parametrize("name", [*IN_GROUPS, *ONE_BY_ONE])
@settings(max_examples=8)
@given(batches(), DELAYS, RESTARTS, IDLE)
def test_every_row_is_accounted_for(
    name: str, batches: list[Batch], delay: int, restarts: set[int], idle: list[bool]
) -> None:
    """Rows in windows, or results, and late rows, and those of no window, are all rows."""
    ticks = script(batches, delay, idle)
    total = sum(len(tick.rows or []) for tick in ticks)
    found = run(late_rows(name), ticks, restarts)
    results = sum(found.steps, Counter[Any]())
    taken = results.total() if name in ONE_BY_ONE else sum(row[0] * n for row, n in results.items())
    assert taken + found.counted["late_rows"] + found.counted["no_window_rows"] == total


@pytest.mark.parametrize("name", [*IN_GROUPS, *ONE_BY_ONE])
@settings(max_examples=5)
@given(batches(), DELAYS)
def test_rows_that_pack_leaves_out_are_counted(name: str, batches: list[Batch], delay: int) -> None:
    """The same where rows are folded before the shuffle."""
    kernel = Prepared(KERNELS[name])
    ticks = script(batches, delay)
    found = run(kernel, ticks, set())
    results = sum(found.steps, Counter[Any]())
    taken = results.total() if name in ONE_BY_ONE else sum(row[0] * n for row, n in results.items())
    out = sum(_left_out(kernel, tick) for tick in ticks)
    total = sum(len(tick.rows or []) for tick in ticks)
    assert taken + out + found.counted["late_rows"] + found.counted["no_window_rows"] == total


def _left_out(kernel: Kernel, tick: Tick) -> int:
    rows = tick.rows or []
    batch = packed(kernel, rows)
    return left_out(pa.table({"n": [0] * len(rows)}), batch) if batch is not None else 0


def test_late_rows_that_pass_through_are_put_aside() -> None:
    late, rows = pa.table({LATE: [{ROW: {"a": 1}, CLOCK: 5}]}), pa.table({"a": [1]})
    assert is_late(late) and not is_late(rows)
    apart = LateApart(iter([rows, late, rows]))
    assert list(apart) == [rows, rows]
    assert apart.late == [late]
