"""Covariance and regression keep their digits far from zero, and are NULL where nothing differs."""

import math
import statistics
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.aggregates.pairs import VALUES, of_pairs

FOLDS = tuple(Fold(of_pairs(name), ("y", "x"), None, name) for name in VALUES)


def values(y: list[float], x: list[float], parts: int) -> dict[str, Any]:
    grouping, size = Grouping((), FOLDS), -(-len(y) // parts)
    tables = [pa.table({"y": y[at : at + size], "x": x[at : at + size]}) for at in range(0, len(y), size)]
    (row,) = grouping.evaluate(grouping.merge([grouping.fold(table) for table in tables])).to_pylist()
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_far_from_zero_they_keep_their_digits(parts: int) -> None:
    """A sum of products would have none left."""
    random = Random(3)
    near = [(random.gauss(0, 1), random.gauss(0, 1)) for _ in range(70)]
    y, x = [1e9 + a + b for a, b in near], [1e9 + a for a, _ in near]
    got, line = values(y, x, parts), statistics.linear_regression(x, y)
    assert math.isclose(got["corr"], statistics.correlation(y, x), rel_tol=1e-6)
    assert math.isclose(got["covar_samp"], statistics.covariance(y, x), rel_tol=1e-6)
    assert math.isclose(got["regr_slope"], line.slope, rel_tol=1e-6)


@pytest.mark.parametrize("parts", [1, 3])
def test_tiny_values_do_not_underflow(parts: int) -> None:
    got = values([1e-100, 2e-100, 5e-100], [1e-90, 2e-90, 7e-90], parts)
    assert math.isclose(got["corr"], statistics.correlation([1, 2, 5], [1, 2, 7]), rel_tol=1e-9)
    assert math.isclose(got["regr_r2"], got["corr"] ** 2, rel_tol=1e-9)


@pytest.mark.parametrize("parts", [1, 2, 3, 10])
def test_where_nothing_differs_is_no_correlation(parts: int) -> None:
    """0.1 added up ten times and divided by ten is not 0.1."""
    y = [0.1 * at for at in range(10)]
    same = [0.1] * 10
    assert [values(y, same, parts)[name] for name in ("corr", "regr_slope", "regr_r2", "regr_sxx")] == [
        None,
        None,
        None,
        0,
    ]
    assert [values(same, y, parts)[name] for name in ("corr", "regr_slope", "regr_r2")] == [None, 0, 1]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_where_squares_leave_the_range_of_a_double_is_no_covariance(parts: int) -> None:
    """Each row its own part, or all in one: products of such distances depend on it."""
    got = values([1e200, -1e200, 1e200], [1e200, -1e200, -1e200], parts)
    assert got["regr_sxx"] == got["regr_syy"] == math.inf
    assert all(math.isnan(got[name]) for name in ("corr", "covar_pop", "covar_samp", "regr_sxy", "regr_slope"))


def test_over_frames_too() -> None:
    """DuckDB puts frames together from parts of its own."""
    table = pa.table({"place": range(3000), "chosen": [True] * 3000, "y": [float(at) for at in range(3000)]})
    table = table.append_column("x", pa.array([0.1] * 3000))
    slid = Grouping(("place",), FOLDS).slide(
        table, "ORDER BY place ROWS BETWEEN 999 PRECEDING AND CURRENT ROW", "chosen"
    )
    got = Grouping(("place",), FOLDS).evaluate(slid)
    assert got["corr"].null_count == got["regr_slope"].null_count == 3000
