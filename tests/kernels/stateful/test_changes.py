"""Functions that say what has changed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from .definitions import NAN, X, at_once, call, outputs, typed


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value], lambda value: {"a": [value, None]}])
def test_nan_is_nan_and_zero_has_no_sign(wrap: Any) -> None:
    values = [0.0, -0.0, NAN, -NAN, float("inf"), None, None, 0.0]
    type_ = pa.array([wrap(1.0)]).type
    rows = outputs(at_once([call("had_changed", X)]), [typed([wrap(value) for value in values], type_)])
    assert rows["had_changed_x"].to_pylist() == [True, False, True, False, True, True, False, True]
