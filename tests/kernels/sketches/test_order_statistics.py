"""The k-th least of some numbers, and how many are below one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.sketches.order_statistics import Asked, OrderStatistics

NUMBERS = st.lists(st.integers(0, 10), max_size=20)
WEIGHTS = st.lists(st.integers(0, 3), min_size=11, max_size=11)


@settings(max_examples=200)
@given(NUMBERS, WEIGHTS, st.integers(0, 20), st.integers(0, 20), st.integers(0, 11), st.integers(0, 11))
def test_ranks_among_numbers_and_weights(
    numbers: list[int], weights: list[int], start: int, stop: int, low: int, high: int
) -> None:
    start, stop = sorted((min(start, len(numbers)), min(stop, len(numbers))))
    low, high = sorted((low, high))
    there = sorted(numbers[start:stop] + [number for number in range(low, high) for _ in range(weights[number])])
    made = OrderStatistics.of(np.array(numbers, np.int64), np.array(weights))
    ends = [np.full(len(there), end) for end in (start, stop, low, high)]
    assert made.least(Asked(*ends), np.arange(1, len(there) + 1)).tolist() == there
    asked = Asked(*(np.full(12, end) for end in (start, stop, low, high)))
    assert made.below(asked, np.arange(12)).tolist() == [sum(one < number for one in there) for number in range(12)]


def test_one_number_alone() -> None:
    made = OrderStatistics.of(np.array([0, 0]), np.array([3]))
    asked = Asked(*(np.array([end]) for end in (0, 2, 0, 1)))
    assert made.least(asked, np.array([5])).tolist() == [0]
    assert made.below(asked, np.array([1])).tolist() == [5]
