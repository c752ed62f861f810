"""Functions that give a running value."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.stateful.call import StatefulCall

from .definitions import TYPES, X, at_once, outputs, typed


@pytest.mark.parametrize(
    ("type_", "spark", "values"),
    [
        (pa.float64(), "double", [0.5, None, -0.25]),
        (pa.decimal128(12, 2), "decimal(12,2)", [Decimal("0.50"), None, Decimal("-0.25")]),
        (pa.decimal128(35, 2), "decimal(35,2)", [Decimal(10**27), None, Decimal("1.01")]),
        (pa.int64(), "bigint", [2**63 - 1, None, 2**63 - 1]),
    ],
)
def test_sums_and_averages_of_numbers(type_: Any, spark: Any, values: Any) -> None:
    """The values are those before `finish`: decimals of many digits are text, without their point."""
    names = ("sum", "avg")
    calls = [StatefulCall(f"acc_{one}", (X,), one, accumulator=accumulator(one, [spark])) for one in names]
    whole = outputs(at_once(calls), [typed([None, *values], type_)]).select(names).to_pydict()
    parts = [typed([value], type_, at) for at, value in enumerate([None, *values])]
    assert outputs(at_once(calls), parts).select(names).to_pydict() == whole
    scale = type_.scale if pa.types.is_decimal(type_) else 0
    first, total = Fraction(values[0]), sum(Fraction(value) for value in values if value is not None)
    assert [_number(one, scale) for one in whole["sum"]] == [0, first, first, total]
    exact = Fraction if scale else float
    assert [_number(one, scale + 4) for one in whole["avg"]] == [None, exact(first), exact(first), exact(total / 2)]


def _number(value: Any, scale: int) -> Any:
    return Fraction(int(value), 10**scale) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("name", "spark"),
    [
        ("string", "string"),
        ("date", "date"),
        ("timestamp", "timestamp"),
        ("interval", "interval"),
        ("double", "double"),
    ],
)
def test_extremes_of_values(name: Any, spark: Any) -> None:
    """NaN is greater than every number."""
    type_, values = TYPES[name]
    calls = [StatefulCall(f"acc_{one}", (X,), one, accumulator=accumulator(one, [spark])) for one in ("min", "max")]
    rows = outputs(at_once(calls), [typed([None], type_), typed(values, type_, 1)])
    low, high = sorted(values, key=lambda value: (value != value, value))
    assert rows.schema.field("min").type == rows.schema.field("max").type == type_
    assert str(rows["min"].to_pylist()[::2]) == str(pa.array([None, low], type_).to_pylist())
    assert str(rows["max"].to_pylist()[::2]) == str(pa.array([None, high], type_).to_pylist())
