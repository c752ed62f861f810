"""Rows in order, against Python's own comparison of values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.ordering import in_order

NUMBERS = st.none() | st.integers(-2, 2)
ARRAYS = st.none() | st.lists(NUMBERS, max_size=3)
STRUCTS = st.none() | st.fixed_dictionaries({"a,b": NUMBERS, "c:d": st.sampled_from(["", "x"])})
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("array", pa.list_(pa.int64())),
        ("struct", pa.struct([("a,b", pa.int64()), ("c:d", pa.string())])),
        ("place", pa.int64()),
    ]
)
ROWS = st.lists(st.fixed_dictionaries({"n": NUMBERS, "array": ARRAYS, "struct": STRUCTS}), max_size=12)


def comparable(value: Any) -> Any:
    """A NULL is last among rows, and first inside arrays and structs, as in Spark."""
    return (value is None, inside(value))


def inside(value: Any) -> Any:
    match value:
        case list():
            return [inside(one) for one in value]
        case dict():
            return [inside(value[name]) for name in ("a,b", "c:d")]
        case None:
            return (0,)
        case _:
            return (1, value)


@given(ROWS, st.permutations(["n", "array", "struct"]), st.integers(1, 3))
def test_rows_come_in_order(rows: list[dict[str, Any]], names: list[str], columns: int) -> None:
    numbered = [{**row, "place": place} for place, row in enumerate(rows)]
    by = names[:columns]
    expected = sorted(numbered, key=lambda row: [comparable(row[name]) for name in by])
    assert in_order(pa.Table.from_pylist(numbered, SCHEMA), by).to_pylist() == expected
