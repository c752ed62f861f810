"""Every kernel holds its definition up to the farthest times that rows may have; beyond them there is an error."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, Kernel, State
from panes.kernels.state.release import Release
from panes.kernels.time_range import FARTHEST, check_times
from panes.kernels.windows.axes import DAY, Days
from panes.kernels.windows.on_axis import on_axis
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.sql.duration import LONGEST

from .harness import FOLDS, ORDER, TIME, Row, cut, run, script

ROWS = [Row(time, value=number) for number, time in enumerate((-FARTHEST, 1 - FARTHEST, 0, FARTHEST - 1, FARTHEST))]
RELEASE = Release(TIME, ORDER, True, True)


def slices(size: int, hop: int) -> SliceWindows:
    return SliceWindows(size, hop, TIME, (), Grouping((SLICE,), FOLDS, ORDER))


APART = [[0, 1], [2], [3, 4]]
KERNELS: dict[str, tuple[Kernel, list[list[int]]]] = {
    "tumbling": (slices(LONGEST, LONGEST), APART),
    "hopping": (slices(LONGEST, LONGEST // 2), sorted(APART * 2)),
    "tumbling, offset": (on_axis(slices(LONGEST, LONGEST), LONGEST // 2, None), APART),
    "tumbling, zone": (on_axis(slices(10 * DAY, 10 * DAY), DAY // 3, "Europe/Berlin"), APART),
    "session": (SessionWindows(LONGEST, TIME, (), Grouping((NUMBER,), FOLDS, ORDER)), APART),
    "sliding": (
        SlidingWindows(LONGEST, LONGEST, None, (), (), FOLDS, RELEASE, LONGEST),
        [[0, 1], [0, 1], [2], [3, 4], [3, 4]],
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4]])
def test_windows_of_the_farthest_times(name: str, cuts: list[int]) -> None:
    kernel, expected = KERNELS[name]
    done = run(kernel, script(cut(ROWS, cuts), 0))
    assert sorted(list(row[2]) for row in done.rows.elements()) == expected


@pytest.mark.parametrize("time", [-FARTHEST, FARTHEST, -FARTHEST - LONGEST, FARTHEST + LONGEST])
def test_days_of_the_farthest_times(time: int) -> None:
    axis = Days("Europe/Berlin")
    (position,) = axis.positions(np.array([time]))
    begin, end = axis.moments(np.array([position, position + DAY]))
    assert begin <= time < end


@pytest.mark.parametrize("type_", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int64()])
@pytest.mark.parametrize("time", [-(2**63), -(2**63) + 5, -FARTHEST - 1, FARTHEST + 1, 2**63 - 1])
def test_what_is_farther_is_an_error(type_: pa.DataType, time: int) -> None:
    with pytest.raises(OverflowError):
        check_times(pa.chunked_array([pa.array([0, None], type_), pa.array([time], type_)]))


def test_what_is_not_farther_is_none() -> None:
    check_times(pa.chunked_array([pa.array([-FARTHEST, None, FARTHEST], pa.int64())]))
    check_times(pa.chunked_array([pa.array([], pa.int64())]))


def test_the_error_says_how_far_it_is() -> None:
    """A year of the calendar has 365.2425 days."""
    years = FARTHEST / (365.2425 * (timedelta(days=1) // timedelta(microseconds=1)))
    assert 95_000 <= years < 96_000


def test_a_clock_is_never_so_far() -> None:
    """Spark's watermark stops in the year 8030."""
    kernel = slices(LONGEST, LONGEST)
    assert kernel.step(State(), None, Clock(253_370_764_800_000_000)).rows is None
