"""Every aggregate against a line of Python, its rows folded in any parts that are merged in any order."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.functions.aggregates import AGGREGATES
from panes.functions.within import Direction
from panes.kernels.aggregates.accumulator import Accumulator
from panes.kernels.aggregates.accumulators import accumulator, argument_cast
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.spark.blob import from_bytes, to_bytes

Rows = list[tuple[Any, Any]]  # x and y, in the stream's order


def given_x(rows: Rows) -> list[Any]:
    return [x for x, _ in rows if x is not None]


def variance(values: list[float], by: int) -> float | None:
    if len(values) <= by:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - by)


def percentile(values: list[float], at: float) -> float | None:
    """Between neighbours in proportion, as Spark does; NaN is greater than all."""
    ordered = sorted(values, key=lambda value: (math.isnan(value), value))
    if not ordered:
        return None
    position = (len(ordered) - 1) * at
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    if low == high or math.floor(position) == math.ceil(position):
        return low
    return low + (high - low) * (position - math.floor(position))


def at_rank(values: list[float], at: float) -> float | None:
    """The value at a rank, as `percentile_approx` has it of few values."""
    ordered = sorted(values, key=lambda value: (math.isnan(value), value))
    return ordered[max(1, math.ceil(at * len(ordered))) - 1] if ordered else None


def greatest(rows: Rows, sign: int) -> Any:
    """The x beside the greatest y (or least), the last of equals; NaN is greater than all."""
    found = [((math.isnan(y), sign * y if not math.isnan(y) else 0), x) for x, y in rows if y is not None]
    if sign < 0:
        found = [((not nan, key), x) for (nan, key), x in found]
    best = max((key for key, _ in found), default=None)
    return next((x for key, x in reversed(found) if key == best), None)


def unique(values: list[Any]) -> list[Any]:
    """Values in the order in which they first came."""
    found: dict[Any, Any] = {}
    for one in values:
        found.setdefault("nan" if one != one else one, one)
    return list(found.values())


def least(values: list[float]) -> float:
    return min(values, key=lambda value: (math.isnan(value), value))


def most(values: list[float]) -> float:
    return max(values, key=lambda value: (math.isnan(value), value))


def root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def pairs(rows: Rows) -> Rows:
    """Pairs (y, x) of corr(y, x): both are there."""
    return [(y, x) for y, x in rows if y is not None and x is not None]


def product(rows: Rows, of: str) -> float | None:
    """The sum of products of distances from the means; NaN where a value is not finite."""
    columns = {"y": [y for y, _ in pairs(rows)], "x": [x for _, x in pairs(rows)]}
    left, right = columns[of[0]], columns[of[1]]
    if not left or not all(map(math.isfinite, left + right)):
        return math.nan if left else None
    away = [math.fsum(values) / len(values) for values in (left, right)]
    return math.fsum((a - away[0]) * (b - away[1]) for a, b in zip(left, right, strict=True))


def over(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by


def correlation(rows: Rows) -> float | None:
    xx, yy = product(rows, "xx"), product(rows, "yy")
    if not xx or not yy or len(pairs(rows)) < 2:
        return None
    return over(product(rows, "yx"), math.sqrt(xx * yy))


def intercept(rows: Rows) -> float | None:
    slope = over(product(rows, "yx"), product(rows, "xx"))
    return None if slope is None else mean([y for y, _ in pairs(rows)]) - slope * mean([x for _, x in pairs(rows)])


def r2(rows: Rows) -> float | None:
    xx, yy, yx = (product(rows, of) for of in ("xx", "yy", "yx"))
    if not xx or yy is None or yx is None:
        return None
    return 1.0 if yy == 0 else yx * yx / xx / yy


def bits(value: float) -> int:
    """A whole number for each double."""
    return {0.0: 0, 1.0: 5, 2.0: 6, -3.5: -7, 1e9: 12}.get(value, 1)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def moment(values: list[float], power: int) -> float | None:
    """The mean of powers of distances from the mean, over the standard deviation to that power."""
    spread = variance(values, 0)
    if not spread or spread != spread:
        return spread or None
    middle = math.fsum(values) / len(values)
    return float(math.fsum((value - middle) ** power for value in values) / len(values) / spread ** (power / 2))


def excess(value: float | None) -> float | None:
    return None if value is None else value - 3


def most_frequent(values: list[float]) -> float | None:
    """Of several the least; NaN is one value, and greater than all."""
    counts: dict[tuple[bool, float], int] = {}
    for one in values:
        key = (True, 0.0) if one != one else (False, one)
        counts[key] = counts.get(key, 0) + 1
    nan, least_ = min((key for key, count in counts.items() if count == max(counts.values())), default=(False, None))
    return math.nan if nan else least_


# The value of each aggregate over a group of rows, x a double.
DEFINITIONS: dict[str, Callable[[Rows], Any]] = {
    "count": lambda rows: len(given_x(rows)),
    "sum": lambda rows: sum(given_x(rows)) if given_x(rows) else None,
    "avg": lambda rows: sum(given_x(rows)) / len(given_x(rows)) if given_x(rows) else None,
    "min": lambda rows: least(given_x(rows)) if given_x(rows) else None,
    "max": lambda rows: most(given_x(rows)) if given_x(rows) else None,
    "stddev_samp": lambda rows: root(variance(given_x(rows), 1)),
    "stddev_pop": lambda rows: root(variance(given_x(rows), 0)),
    "var_samp": lambda rows: variance(given_x(rows), 1),
    "var_pop": lambda rows: variance(given_x(rows), 0),
    "first": lambda rows: rows[0][0] if rows else None,
    "any_value": lambda rows: rows[0][0] if rows else None,
    "last": lambda rows: rows[-1][0] if rows else None,
    "last_row": lambda rows: rows[-1][0] if rows else None,
    "min_by": lambda rows: greatest(rows, -1),
    "max_by": lambda rows: greatest(rows, 1),
    "collect_list": given_x,
    "collect_set": lambda rows: unique(given_x(rows)),
    "bool_and": lambda rows: all(x > 0 for x in given_x(rows)) if given_x(rows) else None,
    "bool_or": lambda rows: any(x > 0 for x in given_x(rows)) if given_x(rows) else None,
    "approx_count_distinct": lambda rows: len(unique(given_x(rows))),
    "median": lambda rows: percentile(given_x(rows), 0.5),
    "percentile": lambda rows: percentile(given_x(rows), 0.3),
    "percentile_approx": lambda rows: at_rank(given_x(rows), 0.3),
    "percentile_cont": lambda rows: percentile(given_x(rows), 0.3),
    "percentile_disc": lambda rows: at_rank(given_x(rows), 0.3),
    "mode": lambda rows: most_frequent(given_x(rows)),
    "listagg": lambda rows: "".join(map(str, given_x(rows))) if given_x(rows) else None,
    "count_if": lambda rows: sum(x > 0 for x in given_x(rows)),
    "try_sum": lambda rows: sum(given_x(rows)) if given_x(rows) else None,
    "try_avg": lambda rows: sum(given_x(rows)) / len(given_x(rows)) if given_x(rows) else None,
    "bit_and": lambda rows: reduce(and_, map(bits, given_x(rows))) if given_x(rows) else None,
    "bit_or": lambda rows: reduce(or_, map(bits, given_x(rows))) if given_x(rows) else None,
    "bit_xor": lambda rows: reduce(xor, map(bits, given_x(rows))) if given_x(rows) else None,
    "skewness": lambda rows: moment(given_x(rows), 3),
    "kurtosis": lambda rows: excess(moment(given_x(rows), 4)),
    "corr": correlation,
    "covar_pop": lambda rows: over(product(rows, "yx"), len(pairs(rows))),
    "covar_samp": lambda rows: over(product(rows, "yx"), len(pairs(rows)) - 1),
    "regr_count": lambda rows: len(pairs(rows)),
    "regr_avgx": lambda rows: mean([x for _, x in pairs(rows)]) if pairs(rows) else None,
    "regr_avgy": lambda rows: mean([y for y, _ in pairs(rows)]) if pairs(rows) else None,
    "regr_sxx": lambda rows: product(rows, "xx"),
    "regr_syy": lambda rows: product(rows, "yy"),
    "regr_sxy": lambda rows: product(rows, "yx"),
    "regr_slope": lambda rows: over(product(rows, "yx"), product(rows, "xx")),
    "regr_intercept": intercept,
    "regr_r2": r2,
}
DISTINCT: dict[str, Callable[[Rows], Any]] = {
    "count": lambda rows: len(unique(given_x(rows))),
    "sum": lambda rows: sum(unique(given_x(rows))) if given_x(rows) else None,
    "avg": lambda rows: sum(unique(given_x(rows))) / len(unique(given_x(rows))) if given_x(rows) else None,
    "try_sum": lambda rows: sum(unique(given_x(rows))) if given_x(rows) else None,
    "try_avg": lambda rows: sum(unique(given_x(rows))) / len(unique(given_x(rows))) if given_x(rows) else None,
    "listagg": lambda rows: "".join(dict.fromkeys(map(str, given_x(rows)))) if given_x(rows) else None,
}
IGNORING: dict[str, Callable[[Rows], Any]] = {
    "first": lambda rows: next(iter(given_x(rows)), None),
    "any_value": lambda rows: next(iter(given_x(rows)), None),
    "last": lambda rows: next(reversed(given_x(rows)), None),
}

# As the pre-projection hands them over: conditions are Booleans, approx_count_distinct sees hashes.
COLUMN = {"approx_count_distinct": "hash", "listagg": "text"}
COLUMN |= dict.fromkeys(("bool_and", "bool_or", "count_if"), "positive")
COLUMN |= dict.fromkeys(("bit_and", "bit_or", "bit_xor"), "bits")
PAIRED = ("corr", "covar_", "regr_")
Numbered = tuple[int, Any, Any, bool]  # place in the stream's order, x, y, whether the condition keeps it


def found(function: str, **options: Any) -> Accumulator:
    types = ["double", "double"] if function.endswith("_by") or function.startswith(PAIRED) else ["double"]
    types = {"text": ["string"], "bits": ["int"]}.get(COLUMN.get(function, ""), types)
    if function in ("percentile_cont", "percentile_disc"):
        options = {**options, "constant": 0.3, "within": (Direction(),)}
    if function == "percentile":
        types, options = ["double", "decimal(1,1)"], {**options, "constant": "0.3"}
    if function == "percentile_approx":
        options = {"constant": 0.3, **options}
    one = accumulator(function, types, **options)
    assert one is not None, f"{function} has no accumulator"
    return one


def folded(grouping: Grouping, type_: pa.DataType, rows: list[Numbered]) -> pa.Table:
    x = [row[1] for row in rows]
    columns = {
        "o": pa.array([row[0] for row in rows], pa.int64()),
        "x": pa.array(x, type_),
        "y": pa.array([row[2] for row in rows], pa.float64()),
        "keep": pa.array([row[3] for row in rows], pa.bool_()),
        "text": pa.array([None if one is None else str(one) for one in x], pa.string()),
        "bits": pa.array([None if one is None else bits(one) for one in x], pa.int32()),
        "positive": pa.array([None if one is None else one > 0 for one in x], pa.bool_()),
        "hash": pa.array([None if one is None else hash("nan" if one != one else one) for one in x], pa.int64()),
    }
    return from_bytes(to_bytes(grouping.fold(pa.table(columns))))


def values(folds: list[Fold], type_: pa.DataType, parts: list[list[Numbered]]) -> dict[str, Any]:
    """Aggregates over rows that were folded in parts, and merged one after the other from the back."""
    grouping = Grouping((), tuple(folds), ("o",))
    tables = [folded(grouping, type_, part) for part in parts]
    while len(tables) > 1:
        tables = [*tables[:-2], grouping.merge(tables[-2:])]
    rows: list[dict[str, Any]] = grouping.evaluate(tables[0]).to_pylist()
    (row,) = rows
    return row


def value(one: Accumulator, type_: pa.DataType, parts: list[list[Numbered]]) -> Any:
    return values([Fold(one, ("x", "y"), "keep", "s")], type_, parts)["s"]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return (left != left and right != right) or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return bool(left == right)


DOUBLES = st.none() | st.sampled_from([0.0, -0.0, 1.0, 2.0, -3.5, 1e9, math.inf, -math.inf, math.nan])
SOME_ROWS = st.lists(st.tuples(DOUBLES, DOUBLES, st.booleans()), max_size=12)
PARTS = st.lists(st.integers(0, 3), min_size=12, max_size=12)
CASES = {
    **{one.name: (one.name, DEFINITIONS[one.name], {}) for one in AGGREGATES},
    **{f"{name} distinct": (name, DISTINCT[name], {"distinct": True}) for name in DISTINCT},
    **{f"{name} ignoring": (name, IGNORING[name], {"ignore_nulls": True}) for name in IGNORING},
}
FOLDS = [
    Fold(found(function, **options), (COLUMN.get(function, "x"), "y"), "keep", case)
    for case, (function, _, options) in CASES.items()
]


def test_no_aggregate_is_forgotten() -> None:
    assert set(DISTINCT) == {one.name for one in AGGREGATES if one.distinct}
    assert set(IGNORING) == {one.name for one in AGGREGATES if one.ignores_nulls_on_request}


@settings(max_examples=60)
@given(SOME_ROWS, PARTS)
def test_aggregates_are_their_definitions(
    rows: list[tuple[float | None, float | None, bool]], parts: list[int]
) -> None:
    """Rows that the condition keeps, in four parts of which some are empty."""
    numbered = [(at, x, y, keep) for at, (x, y, keep) in enumerate(rows)]
    split = [[row for row, place in zip(numbered, parts, strict=False) if place == part] for part in range(4)]
    got = values(FOLDS, pa.float64(), split)
    kept = [(x, y) for x, y, keep in rows if keep]
    expected = {case: definition(kept) for case, (_, definition, _) in CASES.items()}
    wrong = {case: (got[case], expected[case]) for case in CASES if not same(got[case], expected[case])}
    assert not wrong


def whole(function: str, type_: str, arrow: pa.DataType, values: list[Any], **options: Any) -> Any:
    """An aggregate over values, one part each."""
    one = accumulator(function, [type_], **options)
    assert one is not None
    return value(one, arrow, [[(at, x, None, True)] for at, x in enumerate(values)])


@pytest.mark.parametrize("distinct", [False, True])
def test_a_sum_of_bigints_may_leave_64_bits(distinct: bool) -> None:
    """Spark's cast judges the final value; on its way a sum may be outside."""
    most_ = 2**63 - 1
    assert whole("sum", "bigint", pa.int64(), [most_, most_ - 1, -most_], distinct=distinct) == most_ - 1
    assert whole("sum", "bigint", pa.int64(), [most_, most_ - 1], distinct=distinct) == 2 * most_ - 1


@pytest.mark.parametrize("distinct", [False, True])
def test_a_sum_of_decimals_may_leave_38_digits_on_its_way(distinct: bool) -> None:
    """The total is text without its point; Spark makes the decimal of it, and judges that."""
    nines = "9" * 36
    values = [Decimal(f"{nines}.99"), Decimal(f"{nines}.98"), Decimal(f"-{nines}.98")]
    assert whole("sum", "decimal(38,2)", pa.decimal128(38, 2), values, distinct=distinct) == "9" * 38


@pytest.mark.parametrize("function", ["stddev_samp", "var_pop"])
def test_variance_far_from_zero_keeps_its_digits(function: str) -> None:
    """A sum of squares would have none left."""
    values = [1e9 + small for small in (4.0, 7.0, 13.0, 16.0)]
    expected = statistics.stdev(values) if function == "stddev_samp" else statistics.pvariance(values)
    assert math.isclose(whole(function, "double", pa.float64(), values), expected, rel_tol=1e-9)


def test_approx_count_distinct_is_within_its_error() -> None:
    """More values than a sketch has room for; hashes are spread over 64 bits."""
    number = 20_000
    random = Random(1)
    hashes = [random.randrange(-(2**63), 2**63) for _ in range(number)]
    one = found("approx_count_distinct")
    parts = [
        [(at, x, None, True) for at, x in enumerate(hashes[start : start + 10_000])]
        for start in range(0, number, 5_000)
    ]
    assert abs(value(one, pa.int64(), parts) / number - 1) < 0.1


def test_approx_count_distinct_keeps_to_the_error_that_was_asked_for() -> None:
    """The root of the mean square of relative errors; with 0.01 all 2,000 hashes are kept."""
    number = 2_000
    errors: dict[float, list[float]] = {0.3: [], 0.1: [], 0.01: []}
    for seed in range(20):
        random = Random(seed)
        rows = [(at, random.randrange(-(2**63), 2**63), None, True) for at in range(number)]
        for asked, got in errors.items():
            one = found("approx_count_distinct", constant=asked)
            got.append(value(one, pa.int64(), [rows[:1_300], rows[700:]]) / number - 1)
    for asked, got in errors.items():
        assert math.sqrt(sum(error**2 for error in got) / len(got)) < 1.2 * asked
    assert max(map(abs, errors[0.3])) > 0.05, "a coarse count has few registers"
    assert set(errors[0.01]) == {0}


def test_counts_of_different_errors_are_different_accumulators() -> None:
    assert found("approx_count_distinct", constant=0.05) != found("approx_count_distinct", constant=0.01)
    assert found("approx_count_distinct") == found("approx_count_distinct")


def test_percentiles_of_several_points() -> None:
    one = accumulator("percentile", ["double"], constant=(0.0, 0.25, 1.0))
    assert value(present(one), pa.float64(), [[(0, 1.0, None, True)], [(1, 3.0, None, True)]]) == [1.0, 1.5, 3.0]


SOME: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [3, 1, 2]),
    "bigint": (pa.int64(), [2**63 - 1, -(2**63), 5]),
    "float": (pa.float32(), [1.5, -2.5, 0.25]),
    "decimal(10,2)": (pa.decimal128(10, 2), [Decimal("1.10"), Decimal("-2.20"), Decimal("3.30")]),
    "date": (pa.date32(), [date(2024, 1, 1), date(1950, 2, 3), date(2024, 3, 1)]),
    "timestamp": (pa.timestamp("us", "UTC"), [datetime(1950, 1, 1, 0, 0, 0, 7, UTC), datetime(2024, 1, 1, tzinfo=UTC)]),
    "timestamp_ntz": (pa.timestamp("us"), [datetime(1950, 1, 1, 0, 0, 0, 7), datetime(2024, 1, 1)]),
}


@pytest.mark.parametrize("type_", SOME)
@pytest.mark.parametrize("points", [0.5, (0.0, 0.5, 1.0)])
def test_approximate_percentiles_are_values_of_their_type(type_: str, points: float | tuple[float, ...]) -> None:
    """Spark makes decimals of doubles in the end."""
    arrow, values_ = SOME[type_]
    one = present(accumulator("percentile_approx", [type_], constant=points))
    grouping = Grouping((), (Fold(one, ("x",), None, "s"),))
    parts = [grouping.fold(pa.table({"x": pa.array([each], arrow)})) for each in values_]
    (got,) = grouping.evaluate(grouping.merge(parts))["s"].to_pylist()
    ordered = sorted(values_)
    ranks = [max(1, math.ceil(point * len(ordered))) for point in (points if isinstance(points, tuple) else [points])]
    expected = [float(ordered[rank - 1]) if type_.startswith("dec") else ordered[rank - 1] for rank in ranks]
    assert got == (expected if isinstance(points, tuple) else expected[0])
    cast = "array<decimal(10,2)>" if isinstance(points, tuple) else "decimal(10,2)"
    assert one.finish.cast == (cast if type_ == "decimal(10,2)" else None)


def test_accuracy_is_honoured() -> None:
    """Off in rank by no more than 1 / accuracy of the rows, where a sketch has less room than there are values."""
    random = Random(5)
    values_ = [random.gauss(0, 1) for _ in range(5_000)]
    one = present(accumulator("percentile_approx", ["double"], constant=(0.1, 0.5, 0.99), accuracy=50))
    rows = [(at, x, None, True) for at, x in enumerate(values_)]
    got = value(one, pa.float64(), [rows[:2_000], rows[2_000:]])
    ranks = [sum(x <= found_ for x in values_) / len(values_) for found_ in got]
    assert [abs(rank - point) <= 1 / 50 for rank, point in zip(ranks, (0.1, 0.5, 0.99), strict=True)] == [True] * 3
    assert got != [sorted(values_)[math.ceil(point * len(values_)) - 1] for point in (0.1, 0.5, 0.99)]


def test_what_has_no_rank_has_no_approximate_percentile() -> None:
    assert accumulator("percentile_approx", ["boolean"], constant=0.5) is None


NESTED = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])


@pytest.mark.parametrize(("function", "expected"), [("min", {"a": None, "b": ["x"]}), ("max", {"a": 2, "b": ["x"]})])
def test_null_is_least_inside_a_struct_or_an_array(function: str, expected: dict[str, int | list[str] | None]) -> None:
    values = [{"a": 2, "b": [None]}, {"a": 2, "b": ["x"]}, {"a": None, "b": ["x"]}, {"a": 2, "b": None}, None]
    one = accumulator(function, ["struct<a:int,b:array<string>>"])
    grouping = Grouping((), (Fold(present(one), ("x",), None, "s"),))
    parts = [grouping.fold(pa.table({"x": pa.array([each], NESTED)})) for each in values]
    assert grouping.evaluate(grouping.merge(parts))["s"].to_pylist() == [expected]


AVERAGES = st.lists(st.decimals(-9999999, 9999999, places=2), min_size=1, max_size=9)


@settings(max_examples=60)
@given(AVERAGES, st.booleans())
def test_an_average_of_decimals_has_four_more_digits_rounded_half_up(values: list[Decimal], distinct: bool) -> None:
    text = whole("avg", "decimal(10,2)", pa.decimal128(10, 2), values, distinct=distinct)
    taken = list(dict.fromkeys(values)) if distinct else values
    exact = sum((Fraction(one) for one in taken), Fraction(0)) / len(taken) * 10**6
    assert int(text) == (1 if exact >= 0 else -1) * math.floor(abs(exact) + Fraction(1, 2))


def test_count_of_several_arguments_counts_where_all_are_given() -> None:
    for number in range(1, 10):
        one = accumulator("count", ["int"] * number)
        names = [f"c{i}" for i in range(number)]
        for hole in names:
            rows = pa.table({name: [1, None if name == hole else 2, 3] for name in names})
            assert Grouping((), (Fold(present(one), tuple(names), None, "s"),)).fold(rows)["s"].to_pylist() == [2]


def test_count_distinct_of_several_arguments() -> None:
    one = accumulator("count", ["int", "string"], distinct=True)
    rows = pa.table({"a": [1, 1, 1, None, 2], "b": ["x", "x", "y", "x", None]})
    groups = Grouping((), (Fold(present(one), ("a", "b"), None, "s"),))
    assert groups.evaluate(groups.merge([groups.fold(rows), groups.fold(rows)]))["s"].to_pylist() == [2]


def test_what_has_no_accumulator_says_so() -> None:
    assert accumulator("histogram_numeric", ["double"]) is None
    assert accumulator("bit_and", ["double"]) is None
    assert accumulator("min", ["double"], distinct=True) is None


@pytest.mark.parametrize(
    ("function", "type_", "cast"),
    [
        ("sum", "int", "bigint"),
        ("sum", "decimal(10,2)", None),
        ("avg", "float", "double"),
        ("median", "decimal(10,2)", "double"),
        ("percentile_approx", "string", "double"),
        ("percentile_approx", "date", None),
        ("max", "float", None),
    ],
)
def test_arguments_are_cast_to_few_types(function: str, type_: str, cast: str | None) -> None:
    assert argument_cast(function, type_) == cast
