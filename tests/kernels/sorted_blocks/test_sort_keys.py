"""Sort keys of a changelog's rows sort as Spark does, and as the other kernels do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.over.calls import OrderKey
from panes.kernels.over.sorted_rows import arranged
from panes.kernels.sorted_blocks.sort_keys import Sorting, encoding

from ..over.test_sorted_rows import EXTREMES


@pytest.mark.parametrize("type_", [*EXTREMES])
@settings(max_examples=30)
@given(st.data(), st.booleans(), st.booleans())
def test_rows_and_their_keys_sort_as_in_spark(
    type_: str, data: st.DataObject, descending: bool, nulls_first: bool
) -> None:
    """By one column of a type, ties broken by a key, NULLs first."""
    arrow, values = EXTREMES[type_]
    places = st.none() | st.integers(0, len(values) - 1)
    drawn = data.draw(st.lists(st.tuples(places, st.none() | st.integers(0, 2)), max_size=10))
    found = [None if at is None else values[at][number % len(values[at])] for number, (at, _) in enumerate(drawn)]
    rows = pa.table({"o": pa.array(found, arrow), "k": pa.array([key for _, key in drawn], pa.int64())})

    def order(number: int) -> tuple[tuple[int, int], int, int]:
        at, key = drawn[number]
        outside = -1 if nulls_first else 1
        own = (outside, 0) if at is None else (0, -at if descending else at)
        return own, -1 if key is None else key, number

    expected = sorted(range(len(drawn)), key=order)
    direction = f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
    sorting = Sorting((), (("o", direction),), ("k",))
    assert sorting.permutation(rows).tolist() == expected
    keys = sorting.keys(rows).row.to_pylist()
    assert sorted(range(len(drawn)), key=lambda number: (keys[number], number)) == expected
    numbered = rows.append_column("at", pa.array(np.arange(len(drawn))))
    by = (OrderKey("o", descending, nulls_first),)
    assert arranged(numbered, (), by, (OrderKey("k"),)).rows["at"].to_pylist() == expected


def test_sort_keys_are_those_of_all_releases_so_far() -> None:
    """If a new DuckDB makes others, this test is to be changed: state of old ones is read, and its fences made anew."""
    assert encoding() == "1e748b7dc3ea480d"
