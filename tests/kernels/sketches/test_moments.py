"""Moments: what is folded, merged and run along is the same, and its digits do not depend on the cuts."""

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from present import present

from panes.kernels.sketches.moments import Moments

NUMBERS = st.sampled_from([0.0, 1.0, 2.5, -3.0, 1e3, math.nan, math.inf])


def defined(values: list[float], order: int) -> float | None:
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = math.fsum(values) / len(values)
    powers = {power: math.fsum((one - mean) ** power for one in values) / len(values) for power in (2, order)}
    if powers[2] == 0:
        return None
    return float(powers[order] / powers[2] ** (order / 2)) - (3 if order == 4 else 0)


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return (left != left and right != right) or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)


def folded(lists: list[list[float]]) -> pa.Array:
    return pa.array(lists, pa.list_(pa.float64()))


@pytest.mark.parametrize("order", [3, 4])
@given(st.lists(st.lists(NUMBERS, max_size=6), min_size=1, max_size=5))
def test_parts_merge_to_the_whole(order: Any, parts: list[list[float]]) -> None:
    sketch = Moments(order)
    states = sketch.fold(folded(parts))
    merged = sketch.merge(pa.ListArray.from_arrays([0, len(parts)], states))
    whole = [one for part in parts for one in part]
    assert same(sketch.evaluate(merged)[0].as_py(), defined(whole, order))
    assert all(
        same(got.as_py(), defined(part, order)) for got, part in zip(sketch.evaluate(states), parts, strict=True)
    )


@pytest.mark.parametrize("order", [3, 4])
@given(st.lists(st.tuples(st.none() | NUMBERS, st.booleans()), max_size=12), st.lists(NUMBERS, max_size=3))
def test_running_values_are_those_of_the_rows_so_far(
    order: Any, rows: list[tuple[float | None, bool]], carried: list[float]
) -> None:
    sketch = Moments(order)
    heads = np.array([bool(at == 0 or head) for at, (_, head) in enumerate(rows)], np.bool_)
    segment = np.cumsum(heads) - 1
    befores = [carried if at == 0 else [] for at in range(int(heads.sum()))]
    before = sketch.fold(folded(befores)) if befores else pa.nulls(0, sketch.state_type)
    got = sketch.running(pa.array([x for x, _ in rows], pa.float64()), segment, before).to_pylist()
    for at in range(len(rows)):
        start = int(np.searchsorted(segment, segment[at]))
        seen = [x for x, _ in rows[start : at + 1] if x is not None]
        assert same(got[at], defined([*befores[segment[at]], *seen], order))


def test_equal_values_have_no_shape_however_they_are_cut() -> None:
    sketch = Moments(3)
    states = sketch.fold(folded([[0.1] * 3, [0.1] * 7, [0.1]]))
    merged = sketch.merge(pa.ListArray.from_arrays([0, 3], states))
    assert sketch.evaluate(merged).to_pylist() == [None]


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("size", [1e110, 1e200, 1.7e308])
def test_where_powers_leave_the_range_of_a_double_is_no_shape_however_they_are_cut(order: Any, size: float) -> None:
    sketch, values = Moments(order), [size, -size, size, size, 0.0, -size]
    for cut in ([6], [1] * 6, [2, 4], [4, 2], [3, 3]):
        starts = np.cumsum([0, *cut])
        states = sketch.fold(folded([values[low:high] for low, high in itertools.pairwise(starts)]))
        merged = sketch.merge(pa.ListArray.from_arrays([0, len(cut)], states))
        assert math.isnan(sketch.evaluate(merged)[0].as_py())
    assert math.isnan(
        sketch.running(pa.array(values), np.zeros(6, np.int64), pa.nulls(1, sketch.state_type))[-1].as_py()
    )


def test_a_fourth_power_may_be_large() -> None:
    """The number of rows, to the third power, is not in it too early."""
    sketch, values = Moments(4), [1e75, -1e75] * 1000
    states = sketch.fold(folded([values[:999], values[999:]]))
    merged = sketch.merge(pa.ListArray.from_arrays([0, 2], states))
    assert math.isclose(sketch.evaluate(merged)[0].as_py(), -2, rel_tol=1e-9)


def test_far_from_zero_it_keeps_its_digits() -> None:
    """A sum of cubes would have none left."""
    values = [1e9 + small for small in (0.0, 1.0, 2.0, 7.0)]
    got = Moments(3).evaluate(Moments(3).fold(folded([values])))[0].as_py()
    assert math.isclose(got, present(defined([0.0, 1.0, 2.0, 7.0], 3)), rel_tol=1e-6)


@pytest.mark.parametrize("order", [3, 4])
def test_tiny_values_do_not_underflow(order: Any) -> None:
    got = Moments(order).evaluate(Moments(order).fold(folded([[1e-60, 2e-60, 5e-60]])))[0].as_py()
    assert math.isclose(got, present(defined([1.0, 2.0, 5.0], order)), rel_tol=1e-9)


def test_a_state_that_is_null_has_seen_nothing() -> None:
    assert Moments(4).evaluate(pa.nulls(1, Moments(4).state_type)).to_pylist() == [None]
