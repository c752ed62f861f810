"""The first and the last time that Spark has, and the longest lengths that the language takes: no sum overflows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from panes.frames import Edge, Unit
from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, Kernel, State, Step
from panes.kernels.over.calls import Bound, Frame, OrderKey, Values
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.state.release import Release
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.kernels.windows.state_machine import StateWindows
from panes.sql.duration import LONGEST

from .harness import FOLDS, HAS_TIE, MS, ORDER, TIME, Row, cut, run, script
from .over.test_functions import aggregate
from .over.test_on_close import Move, Prepared

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_000
ROWS = [Row(time, value=number) for number, time in enumerate((FIRST, FIRST + MS, 0, LAST - MS, LAST))]
RELEASE = Release(TIME, ORDER, True, True)
NEAR = Bound(Edge.PRECEDING, Values("low0", 2**63))
LONG_AGO = Frame(Unit.RANGE, Bound(Edge.UNBOUNDED_PRECEDING), NEAR)
ALL = [0, 1, 2, 3, 4]
KERNELS: dict[str, tuple[Kernel, list[list[int]]]] = {
    "tumbling": (SliceWindows(LONGEST, LONGEST, TIME, (), Grouping((SLICE,), FOLDS, ORDER)), [[0, 1], [2, 3, 4]]),
    "hopping": (
        SliceWindows(LONGEST, LONGEST - MS, TIME, (), Grouping((SLICE,), FOLDS, ORDER)),
        [[0, 1, 2], [2, 3, 4]],
    ),
    "session": (SessionWindows(LONGEST, TIME, (), Grouping((NUMBER,), FOLDS, ORDER)), [ALL]),
    "count": (CountWindows(LONGEST, None, (), (), FOLDS, RELEASE, LONGEST), [ALL]),
    "count, every": (CountWindows(LONGEST, LONGEST, (), (), FOLDS, RELEASE, LONGEST), [ALL]),
    "sliding": (SlidingWindows(LONGEST, LONGEST, None, (), (), FOLDS, RELEASE, LONGEST), [ALL] * 5),
    "state": (StateWindows(HAS_TIE, "never", (), (), FOLDS, RELEASE, LONGEST), [ALL]),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4]])
def test_windows_at_the_ends_of_time(name: str, cuts: list[int]) -> None:
    kernel, expected = KERNELS[name]
    if isinstance(kernel, StateWindows):
        kernel = Flagged(kernel)
    done = run(kernel, script(cut(ROWS, cuts), 0))
    assert sorted(list(row[2]) for row in done.rows.elements()) == sorted(expected)


@dataclass(frozen=True)
class Flagged:
    """A state window that never emits."""

    kernel: StateWindows

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        return self.kernel.pack(rows.append_column("never", pa.array([False] * rows.num_rows)))

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        return self.kernel.step(state, batch, clock)


@dataclass(frozen=True)
class ValuesOnly:
    """Only what calls give: Python has no times so far away as bounds can be."""

    kernel: Kernel

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        return self.kernel.pack(rows)

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        step = self.kernel.step(state, batch, clock)
        return step if step.rows is None else replace(step, rows=step.rows.select(["back", "none"]))


@pytest.mark.parametrize("ttl", [None, LONGEST])
@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4]])
@pytest.mark.parametrize("far", [10**18, 9 * 10**18])
def test_range_frames_at_the_ends_of_time(ttl: int | None, cuts: list[int], far: int) -> None:
    """A frame that reaches back beyond all time, and one that ends there."""
    back = replace(aggregate("collect_list", Frame(Unit.RANGE, NEAR, Bound(Edge.CURRENT_ROW))), output="back")
    none = replace(aggregate("sum", LONG_AGO), output="none")
    over = OverOnClose((), (OrderKey(TIME),), (back, none), RELEASE, None, ttl)
    done = run(ValuesOnly(Prepared(over, (Move("low0", -far, 0),))), script(cut(ROWS, cuts), 0))
    assert sorted(list(row[0]) for row in done.rows.elements()) == [ALL[: n + 1] for n in range(5)]
    assert {row[1] for row in done.rows.elements()} == {None}
