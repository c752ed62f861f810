"""Variances keep their digits far from zero, and some values are the same to the last digit, however rows are cut."""

import math
import statistics
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.aggregates.variance import POPULATION, SAMPLE, variance

FOLDS = tuple(
    Fold(variance(of, made), ("x",), None, name)
    for name, of, made in (
        ("var_pop", POPULATION, "{}"),
        ("var_samp", SAMPLE, "{}"),
        ("stddev_pop", POPULATION, "sqrt({})"),
        ("stddev_samp", SAMPLE, "sqrt({})"),
    )
)
GROUPING = Grouping((), FOLDS)


def values(parts: list[list[float]]) -> dict[str, Any]:
    """Merged one after the other from the back."""
    tables = [GROUPING.fold(pa.table({"x": pa.array(part, pa.float64())})) for part in parts]
    while len(tables) > 1:
        tables = [*tables[:-2], GROUPING.merge(tables[-2:])]
    (row,) = GROUPING.evaluate(tables[0]).to_pylist()
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("value", [0.1, 0.7, -1e-9, 1e200, -1.7e308, 5e-324])
@pytest.mark.parametrize("cut", [[4], [3, 1], [10, 3], [1] * 9, [0, 6, 0]])
def test_equal_values_do_not_vary(value: float, cut: list[int]) -> None:
    """0.1 three times is 0.30000000000000004, and a third of that is not 0.1."""
    assert set(values([[value] * size for size in cut]).values()) == {0.0}


def test_equal_values_in_a_frame_do_not_vary() -> None:
    """DuckDB puts frames together from parts of its own."""
    table = pa.table({"place": range(3000), "chosen": [True] * 3000, "x": [0.7] * 3000})
    frame = "ORDER BY place ROWS BETWEEN 999 PRECEDING AND CURRENT ROW"
    grouping = Grouping(("place",), FOLDS)
    assert set(grouping.evaluate(grouping.slide(table, frame, "chosen"))["stddev_pop"].to_pylist()) == {0.0}


LARGE = st.sampled_from([0.0, 1e200, -1e200, 1.7e308, -1.7e308, 3e154, math.inf, -math.inf, math.nan])


@settings(max_examples=60)
@given(st.lists(st.lists(LARGE, max_size=4), min_size=1, max_size=4))
@example([[1e308, 1.5e308, 1e308, -1e308], [-1.5e308]])
@example([[1e308], [1.5e308], [1e308], [-1e308], [-1.5e308]])
def test_what_leaves_the_range_of_a_double_does_so_in_every_cut(parts: list[list[float]]) -> None:
    whole = [one for part in parts for one in part]
    if not whole:
        expected = None
    elif not all(map(math.isfinite, whole)):
        expected = math.nan
    else:
        expected = 0.0 if len(set(whole)) == 1 else math.inf
    assert values(parts)["var_pop"] == pytest.approx(expected, nan_ok=True)
    assert values([whole])["var_pop"] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_far_from_zero_it_keeps_its_digits(parts: int) -> None:
    """A sum of squares would have none left."""
    rows = [1e9 + small for small in (4.0, 7.0, 13.0, 16.0, 17.0, 21.0, 22.0, 40.0)]
    got = values([rows[at::parts] for at in range(parts)])
    assert math.isclose(got["stddev_samp"], statistics.stdev(rows), rel_tol=1e-6)
    assert math.isclose(got["var_pop"], statistics.pvariance(rows), rel_tol=1e-6)
