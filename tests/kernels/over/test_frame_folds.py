"""Aggregates over frames: what DuckDB folds between two places, and in which order it sees the rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.duck import connection
from panes.kernels.over.calls import WHOLE, Bound, Frame, OrderKey
from panes.kernels.over.frame_folds import evaluated, folded
from panes.kernels.over.functions import over_values
from panes.kernels.over.sorted_rows import Sorted, arranged

from .test_functions import AGGREGATES, KEEP, SMALL, TIE, X, Y, aggregate

PLACES = st.integers(0, 8)
FOLDED = st.tuples(SMALL, SMALL, st.sampled_from([True, False, None]), PLACES, PLACES)


@settings(max_examples=150)
@given(st.lists(FOLDED, max_size=8), st.sampled_from([*AGGREGATES]), st.sampled_from([None, KEEP]))
def test_rows_between_two_places_are_folded(
    drawn: list[tuple[int | None, int | None, bool | None, int, int]], name: str, condition: str | None
) -> None:
    """Any two places: before the row, behind it, around it; and where the second is not after the first, none."""
    rows = [dict(zip((X, Y, KEEP), row[:3], strict=True)) for row in drawn]
    frames = [(min(first, len(rows)), min(stop, len(rows))) for *_, first, stop in drawn]
    call = aggregate(name, WHOLE, condition)
    kinds = pa.schema([(X, pa.int64()), (Y, pa.int64()), (KEEP, pa.bool_())])
    table = Sorted(pa.Table.from_pylist(rows, kinds), np.zeros(len(rows), np.int64), ())
    first, stop = (np.array([frame[end] for frame in frames], np.int64) for end in (0, 1))
    found = evaluated(folded(table, [call], [(first, stop)], table.place), [call])[call.output].to_pylist()
    kept = [[row for row in rows[first:stop] if condition is None or row[KEEP]] for first, stop in frames]
    expected = [AGGREGATES[name][1](some) for some in kept]
    assert found == [pytest.approx(value) if isinstance(value, float) else value for value in expected]


def test_of_equals_min_by_and_max_by_take_the_last() -> None:
    rows = pa.table({X: [1, 2, 3, 4], Y: [0, 0, 1, 1], TIE: [0, 1, 2, 3]})
    frame = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
    found = over_values(arranged(rows, (), (OrderKey(TIE),)), [aggregate("min_by", frame), aggregate("max_by", frame)])
    assert found["min_by"].to_pylist() == [1, 2, 2, 2]
    assert found["max_by"].to_pylist() == [1, 2, 3, 4]


VECTOR, ROW_GROUP = 2048, 122_880  # rows that DuckDB handles at once
SIZES = [1, *(size + off for size in (VECTOR, ROW_GROUP) for off in (-1, 0, 1)), 3 * ROW_GROUP + 5, 1_000_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chunks", [1, 7])
def test_windows_without_order_by_see_rows_as_they_come(size: int, chunks: int) -> None:
    """The text for DuckDB has no ORDER BY: frames count rows in the order in which DuckDB reads them."""
    assert connection().sql("SELECT current_setting('preserve_insertion_order')").fetchall() == [(True,)]
    assert connection().sql("SELECT current_setting('threads')").fetchall() == [(1,)]
    values = np.random.default_rng(size).integers(-1000, 1000, size + 3)
    ends = np.linspace(0, size, chunks + 1).astype(int)
    parts = [pa.array(values).slice(3 + start, end - start) for start, end in pairwise(ends)]  # slices of one buffer
    rows = pa.table({X: pa.chunked_array(parts, pa.int64())})
    values = values[3:]
    so_far = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
    near = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 3), Bound(Edge.CURRENT_ROW))
    behind = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 2), Bound(Edge.PRECEDING, 2))
    ahead = Frame(Unit.ROWS, Bound(Edge.FOLLOWING, 1), Bound(Edge.FOLLOWING, 1))
    frames = {"so far": so_far, "near": near, "behind": behind, "ahead": ahead}
    calls = [replace(aggregate("sum", frame), output=name) for name, frame in frames.items()]
    table = Sorted(rows, np.zeros(size, np.int64), ())
    found = {name: column.cast(pa.int64()) for name, column in over_values(table, calls).items()}
    sums = np.concatenate([np.zeros(4, np.int64), np.cumsum(values)])
    assert (found["so far"].to_numpy() == sums[4:]).all()
    assert (found["near"].to_numpy() == sums[4:] - sums[:-4]).all()
    assert found["behind"].to_pylist() == [None, None, *values[:-2].tolist()][:size]
    assert found["ahead"].to_pylist() == [*values[1:].tolist(), None]


def test_values_that_hold_rows_see_them_as_they_come() -> None:
    size = 2 * VECTOR + 1
    frame = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 1), Bound(Edge.FOLLOWING, 1))
    table = Sorted(pa.table({X: np.arange(size)[::-1]}), np.zeros(size, np.int64), ())
    found = over_values(table, [aggregate("collect_list", frame)])["collect_list"].to_pylist()
    assert found[VECTOR] == [VECTOR + 1, VECTOR, VECTOR - 1]
    assert [len(one) for one in found] == [2, *[3] * (size - 2), 2]
