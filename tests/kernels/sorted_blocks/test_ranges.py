"""Frame arithmetic: every bound, both directions, both edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.sorted_blocks.ranges import Ranges, covered, extents, holding, rows_frames, rows_reach, runs


def whole(size: int, count: int) -> Ranges:
    """One partition of `size` rows, said of `count` of them."""
    return Ranges(np.zeros(count, np.int64), np.full(count, size))


def pairs(ranges: Ranges) -> list[tuple[int, int]]:
    return list(zip(ranges.start.tolist(), ranges.stop.tolist(), strict=True))


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, [(0, 4)] * 4),
        (None, 0, [(0, 1), (0, 2), (0, 3), (0, 4)]),
        (None, -1, [(0, 0), (0, 1), (0, 2), (0, 3)]),
        (None, 1, [(0, 2), (0, 3), (0, 4), (0, 4)]),
        (0, None, [(0, 4), (1, 4), (2, 4), (3, 4)]),
        (-1, None, [(0, 4), (0, 4), (1, 4), (2, 4)]),
        (1, None, [(1, 4), (2, 4), (3, 4), (4, 4)]),
        (0, 0, [(0, 1), (1, 2), (2, 3), (3, 4)]),
        (-1, 0, [(0, 1), (0, 2), (1, 3), (2, 4)]),
        (-1, 1, [(0, 2), (0, 3), (1, 4), (2, 4)]),
    ],
)
def test_rows_frames(first: int | None, last: int | None, expected: list[tuple[int, int]]) -> None:
    assert pairs(rows_frames(np.arange(4), whole(4, 4), first, last)) == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (-2, -1, [set(), {0}, {0, 1}, {1, 2}]),
        (1, 2, [{1, 2}, {2, 3}, {3}, set()]),
    ],
)
def test_frames_apart_from_their_row(first: int, last: int, expected: list[set[int]]) -> None:
    frames = rows_frames(np.arange(4), whole(4, 4), first, last)
    assert [set(range(start, stop)) for start, stop in pairs(frames)] == expected


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, (0, 9)),
        (None, 0, (4, 9)),
        (None, -3, (4, 9)),
        (None, 2, (2, 9)),
        (0, None, (0, 5)),
        (-2, None, (0, 7)),
        (3, None, (0, 5)),
        (0, 0, (4, 5)),
        (-2, 0, (4, 7)),
        (0, 2, (2, 5)),
        (-1, 2, (2, 6)),
        (-3, -2, (4, 8)),
        (2, 3, (1, 5)),
    ],
)
def test_rows_reach(first: int | None, last: int | None, expected: tuple[int, int]) -> None:
    """A change at 4 of 9 rows."""
    assert pairs(rows_reach(np.array([4]), np.array([False]), whole(9, 1), first, last)) == [expected]


@pytest.mark.parametrize(
    ("first", "last", "expected"), [(0, 2, (2, 4)), (-2, 0, (4, 6)), (None, 0, (4, 9)), (0, None, (0, 4))]
)
def test_reach_of_a_gap(first: int | None, last: int | None, expected: tuple[int, int]) -> None:
    """The row that is now at 4 of 9 was behind the one that went."""
    assert pairs(rows_reach(np.array([4]), np.array([True]), whole(9, 1), first, last)) == [expected]


@pytest.mark.parametrize(("place", "gap", "expected"), [(0, False, (0, 3)), (8, False, (6, 9)), (9, True, (7, 9))])
def test_reach_stays_in_the_partition(place: int, gap: bool, expected: tuple[int, int]) -> None:
    assert pairs(rows_reach(np.array([place]), np.array([gap]), whole(9, 1), -2, 2)) == [expected]


OFFSETS = st.none() | st.integers(-3, 3)


@settings(max_examples=200)
@given(st.lists(st.sampled_from("skcg"), max_size=14), OFFSETS, OFFSETS)
def test_rows_that_are_not_reached_have_the_frame_they_had(
    flags: list[str], first: int | None, last: int | None
) -> None:
    """Rows stay (s, k), come (c) and go (g); whoever is not reached sees the same rows before and after."""
    if first is not None and last is not None and first > last:
        first, last = last, first
    old = [at for at, flag in enumerate(flags) if flag != "c"]
    new = [at for at, flag in enumerate(flags) if flag != "g"]
    before = np.concatenate([[0], np.cumsum([flag != "g" for flag in flags])]).astype(np.int64)
    changed = np.array([at for at, flag in enumerate(flags) if flag in "cg"], np.int64)
    gaps = np.array([flags[at] == "g" for at in changed], np.bool_)
    reach = rows_reach(before[changed], gaps, whole(len(new), len(changed)), first, last)
    reached = covered(reach, len(new))

    def frame(rows: list[int], at: int) -> list[int]:
        place = rows.index(at)
        start = 0 if first is None else max(place + first, 0)
        stop = len(rows) if last is None else max(place + last + 1, 0)
        return rows[start:stop]

    for place, at in enumerate(new):
        if not reached[place]:
            assert frame(old, at) == frame(new, at)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=6),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_covered_and_holding(ends: list[tuple[int, int]], marked: list[bool]) -> None:
    ranges = Ranges(*(np.array([pair[side] for pair in ends], np.int64) for side in (0, 1)))
    inside = {at for start, stop in ends for at in range(start, stop)}
    assert covered(ranges, 8).tolist() == [at in inside for at in range(8)]
    assert holding(ranges, np.array(marked)).tolist() == [any(marked[start:stop]) for start, stop in ends]


def test_runs_break_at_holes_and_groups() -> None:
    mask = np.array([False, True, True, True, False, True])
    assert runs(mask, np.array([0, 0, 1, 1, 1, 1])).tolist() == [0, 1, 1, 2]
    assert runs(np.zeros(3, np.bool_), np.arange(3)).tolist() == []


def test_extents_of_a_group_without_places() -> None:
    counted = np.array([False, True, True, False])
    assert pairs(extents(np.array([0, 1, 1, 2]), counted)) == [(0, 0), (0, 2), (0, 2), (2, 2)]
    assert pairs(extents(np.array([], np.int64), np.array([], np.bool_))) == []
