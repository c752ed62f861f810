"""Ranges of window starts are those of the windows that hold the slices, found one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.windows.starts import Starts

SIZES = st.tuples(st.integers(1, 12), st.integers(1, 5))
SLICES = st.lists(st.integers(-40, 40), max_size=8)
ENDS = st.none() | st.integers(-50, 50)


def starts(slices: list[int], size: int, hop: int) -> set[int]:
    """All windows, one after the other."""
    every = range(-100 * hop, 101 * hop, hop)
    return {start for start in every if any(start <= slice_ < start + size for slice_ in slices)}


def of(slices: list[int], size: int, hop: int) -> Starts:
    return Starts.of_slices(np.array(slices, np.int64), size, hop)


def check(found: Starts, expected: set[int]) -> None:
    assert found.all().tolist() == sorted(expected)
    assert found.count == len(expected)
    assert found.oldest == min(expected, default=None)
    assert Starts.of_ranges(found.ranges, found.hop).ranges == found.ranges
    gaps = found.first[1:] - found.last[:-1]
    assert (gaps > found.hop).all()


@given(SLICES, SIZES)
def test_starts_of_slices(slices: list[int], sizes: tuple[int, int]) -> None:
    check(of(slices, *sizes), starts(slices, *sizes))


@given(SLICES, SLICES, SIZES)
def test_the_union_is_that_of_all_slices(some: list[int], others: list[int], sizes: tuple[int, int]) -> None:
    check(of(some, *sizes).union(of(others, *sizes)), starts(some + others, *sizes))


@given(SLICES, SIZES, ENDS, ENDS)
def test_between(slices: list[int], sizes: tuple[int, int], after: int | None, until: int | None) -> None:
    wanted = {
        start
        for start in starts(slices, *sizes)
        if (after is None or start > after) and (until is None or start <= until)
    }
    check(of(slices, *sizes).between(after, until), wanted)


def test_many_windows_are_one_range() -> None:
    day = Starts.of_slices(np.array([0, 1, 2]), size=86_400, hop=1)
    assert day.ranges == [[-86_399, 2]]
    assert day.count == 86_402


def test_the_oldest_ranges() -> None:
    assert of([0, 20, 40], 2, 2).oldest_ranges(2).ranges == [[0, 0], [20, 20]]
