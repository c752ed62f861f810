"""Spark's types: decimals are known by their text, and nested values are compared as Spark compares them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.duck import query
from panes.kernels.spark_types import Decimal, decimal, sortable

SMALL = st.none() | st.integers(-2, 2)
LISTS = st.none() | st.lists(SMALL, max_size=3)
PAIR = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int32()))])
PAIRS = st.none() | st.fixed_dictionaries({"a": SMALL, "b": LISTS})
NESTED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (pa.int32(), SMALL),
    "array<int>": (pa.list_(pa.int32()), LISTS),
    "array<array<int>>": (pa.list_(pa.list_(pa.int32())), st.none() | st.lists(LISTS, max_size=3)),
    "struct<a:int,b:array<int>>": (PAIR, PAIRS),
    "array<struct<a:int,b:array<int>>>": (pa.list_(PAIR), st.none() | st.lists(PAIRS, max_size=3)),
    "struct<a:decimal(10,2),b:struct<c:int,d:int>>": (
        pa.struct([("a", pa.decimal128(10, 2)), ("b", pa.struct([("c", pa.int32()), ("d", pa.int32())]))]),
        st.fixed_dictionaries({"a": SMALL, "b": st.none() | st.fixed_dictionaries({"c": SMALL, "d": SMALL})}),
    ),
}


def in_spark(value: Any) -> Any:
    """What Python compares as Spark compares the value: NULL first, and field by field, here in the order of names."""
    match value:
        case None:
            return (0,)
        case list():
            return (1, [in_spark(one) for one in value])
        case dict():
            return (1, [in_spark(value[name]) for name in sorted(value)])
        case _:
            return (1, value)


@pytest.mark.parametrize("type_", NESTED)
@settings(max_examples=30)
@given(st.data())
def test_values_are_sorted_as_in_spark(type_: str, data: st.DataObject) -> None:
    arrow, values = NESTED[type_]
    drawn = data.draw(st.lists(values, max_size=8))
    order = f"{sortable('v', type_)} NULLS FIRST, i"
    rows = pa.table({"v": pa.array(drawn, arrow), "i": pa.array(range(len(drawn)), pa.int64())})
    found = query(f"SELECT i FROM parts ORDER BY {order}", parts=rows)["i"].to_pylist()
    assert found == sorted(range(len(drawn)), key=lambda at: (in_spark(drawn[at]), at))


def test_a_decimal_is_known_by_its_text() -> None:
    assert decimal("decimal(10,2)") == Decimal(precision=10, scale=2)
    assert [decimal(text) for text in ("double", "array<decimal(10,2)>", "decimal(10,2)>")] == [None] * 3
