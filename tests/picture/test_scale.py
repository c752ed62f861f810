"""Times keep their order on the axis, and its ticks are few and round."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from panes.picture.scale import SECOND, Scale, scale_of, tick_texts

TIMES = st.lists(st.integers(-(10**16), 10**16), min_size=1)


@given(TIMES)
def test_times_keep_their_order_between_the_ends(times: list[int]) -> None:
    scale = scale_of(times, 100, 800)
    places = [scale(time) for time in sorted(times)]
    assert places == sorted(places)
    assert all(100 <= place <= 800 for place in places)


@given(TIMES, st.integers(2, 12))
def test_ticks_are_few_and_inside(times: list[int], most: int) -> None:
    scale = scale_of(times, 100, 800)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert all(scale.first <= tick <= scale.last for tick in ticks)


def test_what_lies_outside_stands_at_the_edge() -> None:
    scale = Scale(0, 10, 100, 200)
    assert [scale(time) for time in (-5, 5, 50)] == [100, 150, 200]


def test_texts_are_as_short_as_they_can_be() -> None:
    assert tick_texts([0, 60 * SECOND]) == ["00:00", "00:01"]
    assert tick_texts([0, SECOND // 2]) == ["00:00:00.000", "00:00:00.500"]
    assert tick_texts([0, 86_400 * SECOND]) == ["1970-01-01", "1970-01-02"]
    assert tick_texts([43_200 * SECOND, 86_400 * SECOND]) == ["01-01 12:00", "01-02 00:00"]
