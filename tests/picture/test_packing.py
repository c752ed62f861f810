"""Tracks hold intervals without overlaps, in as few as there are intervals in one place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from panes.picture.packing import overlap, tracks

INTERVALS = st.lists(st.tuples(st.integers(0, 100), st.integers(1, 30)).map(lambda one: (one[0], one[0] + one[1])))


@given(INTERVALS)
def test_no_two_in_a_track_overlap_and_no_track_is_too_many(intervals: list[tuple[float, float]]) -> None:
    found = tracks(intervals)
    for at, one in enumerate(intervals):
        others = [other for number, other in enumerate(intervals) if number != at and found[number] == found[at]]
        assert all(other[1] <= one[0] or one[1] <= other[0] for other in others)
    deepest = max((sum(start <= at < end for start, end in intervals) for at in range(131)), default=0)
    assert len(set(found)) == deepest


def test_a_touch_is_no_overlap() -> None:
    assert not overlap([(0, 10), (10, 20)])
    assert overlap([(0, 10), (8, 20)])
    assert overlap([(0, 30), (5, 6), (8, 20)])
