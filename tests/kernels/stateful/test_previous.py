"""Functions that give an earlier value."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from .definitions import TYPES, X, at_once, call, outputs, typed


@pytest.mark.parametrize("name", TYPES)
def test_values_of_every_type(name: Any) -> None:
    type_, (a, b) = TYPES[name]
    values = [a, a, None, b, a]
    calls = [
        call("lag", X, default=X),
        call("lag", X, offset=2),
        call("latest", X),
        call("changed_col", X),
        call("changed_col", X, ignore_nulls=True),
        call("had_changed", X, X),
    ]
    for cuts in ([0, 5], [0, 1, 2, 3, 4, 5]):
        parts = pairwise(cuts)
        rows = outputs(at_once(calls), [typed(values[low:high], type_, low) for low, high in parts])
        assert [rows.schema.field(one.output).type for one in calls[:5]] == [type_] * 5
        shown = [str(rows[one.output].to_pylist()) for one in calls]
        if name != "void":
            assert shown[3:] == [
                str(pa.array([a, None, None, b, a], type_).to_pylist()),
                str(pa.array([a, None, None, b, a], type_).to_pylist()),
                str([True, False, True, True, True]),
            ]
        assert shown[:3] == [
            str(pa.array([a, a, a, None, b], type_).to_pylist()),
            str(pa.array([None, None, a, a, None], type_).to_pylist()),
            str(pa.array([a, a, a, b, a], type_).to_pylist()),
        ]


def test_lag_of_zero_is_the_row_s_own_value() -> None:
    rows = outputs(at_once([call("lag", X, offset=0)]), [typed([1, None], pa.int64()), typed([3], pa.int64(), 2)])
    assert rows["lag_x_offset_0"].to_pylist() == [1, None, 3]
