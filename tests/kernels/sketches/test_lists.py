"""Lists as flat values, and sums within segments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.sketches.lists import Lists, changes, list_array, so_far, sorted_places, starts

SOME_LISTS = st.lists(st.none() | st.lists(st.integers(0, 9), min_size=1, max_size=4), max_size=6)


@given(SOME_LISTS, st.integers(0, 6))
def test_lists_are_their_values(lists: list[list[int] | None], cut: int) -> None:
    """In several chunks, and beginning in the middle of an array."""
    array = pa.array([[7], *lists], pa.list_(pa.int64())).slice(1)
    got = Lists.of(pa.chunked_array([array.slice(0, cut), array.slice(cut)]))
    assert got.values.to_pylist() == [one for each in lists for one in each or ()]
    assert got.number.tolist() == [at for at, each in enumerate(lists) for _ in each or ()]
    assert list_array(got.values, got.counts).to_pylist() == lists
    assert starts(got.counts)[-1] == len(got.values)


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=20)


@given(ROWS)
def test_places_are_sorted_by_group_and_value(rows: list[tuple[int, int]]) -> None:
    group, value = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    assert sorted_places(group, value).tolist() == sorted(range(len(rows)), key=lambda at: (rows[at], at))
    assert changes(group, value).tolist() == [at == 0 or rows[at] != rows[at - 1] for at in range(len(rows))]


@given(ROWS)
def test_sums_go_on_from_what_was_before(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    segment, amount = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    expected = [10 * own + sum(n for s, n in rows[: at + 1] if s == own) for at, (own, _) in enumerate(rows)]
    assert so_far(amount, segment, np.array([0, 10, 20])).tolist() == expected
