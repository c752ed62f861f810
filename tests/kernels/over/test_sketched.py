"""Sketches over open frames: what their folds over the rows of each frame give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.frames import Edge, Unit
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.over.calls import AGGREGATE, Bound, Frame, OrderKey, OverCall
from panes.kernels.over.sketched import is_open, is_sketched, over_open_frames, running_sketch
from panes.kernels.over.sorted_rows import Sorted

FIRST, LAST, HERE = Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.UNBOUNDED_FOLLOWING), Bound(Edge.CURRENT_ROW)
FRAMES = {
    "running": Frame(Unit.ROWS, FIRST, HERE),
    "peers": Frame(Unit.RANGE, FIRST, HERE),
    "before": Frame(Unit.ROWS, FIRST, Bound(Edge.PRECEDING, 2)),
    "behind": Frame(Unit.ROWS, Bound(Edge.FOLLOWING, 1), LAST),
    "all": Frame(Unit.ROWS, FIRST, LAST),
}
COUNTED = present(accumulator("approx_count_distinct", ["bigint"], constant=0.3))  # 16 registers, 2 hashes
MIDDLE = present(accumulator("percentile_approx", ["int"], constant=(0.0, 0.5), accuracy=1))  # 16 buckets
CALLS = [
    OverCall(AGGREGATE, ("h",), "about", accumulator=COUNTED),
    OverCall(AGGREGATE, ("x",), "middle", condition="keep", accumulator=MIDDLE),
]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 9), st.none() | st.integers(-90, 90), st.none() | st.booleans()),
    max_size=15,
)


def sorted_rows(rows: list[tuple[int, int, int | None, bool | None]]) -> Sorted:
    rows = sorted(rows, key=lambda row: row[:2])
    part = np.unique([row[0] for row in rows], return_inverse=True)[1].astype(np.int64)
    x = [row[2] for row in rows]
    columns = {
        "t": pa.array([row[1] for row in rows], pa.int64()),
        "x": pa.array(x, pa.int32()),
        "h": pa.array([None if one is None else one * 0xE3779B97F4A7C1 for one in x], pa.int64()),
        "keep": pa.array([row[3] for row in rows], pa.bool_()),
    }
    return Sorted(pa.table(columns), part, (OrderKey("t"),))


def folded(table: Sorted, call: OverCall, first: int, stop: int) -> object:
    """The rows of a frame folded in two parts."""
    grouping = Grouping((), (Fold(present(call.accumulator), call.args, call.condition, "s"),))
    rows = table.rows.slice(first, stop - first)
    half = rows.num_rows // 2
    merged = grouping.merge([grouping.fold(rows.slice(0, half)), grouping.fold(rows.slice(half))])
    return grouping.evaluate(merged)["s"].to_pylist()[0]


@pytest.mark.parametrize("name", FRAMES)
@settings(max_examples=5, deadline=None)
@given(ROWS)
def test_values_are_those_of_the_frames(name: str, rows: list[tuple[int, int, int | None, bool | None]]) -> None:
    table = sorted_rows(rows)
    for call in CALLS:
        framed = OverCall(**{**call.__dict__, "frame": FRAMES[name]})
        assert is_open(framed)
        first, stop = table.bounds(FRAMES[name])
        expected = [folded(table, call, *ends) for ends in zip(first.tolist(), stop.tolist(), strict=True)]
        assert over_open_frames(table, framed).to_pylist() == expected


@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(0, 15))
def test_a_running_sketch_goes_on(rows: list[tuple[int, int, int | None, bool | None]], cut: int) -> None:
    """One partition, cut in two: values and state are those of the whole."""
    rows = [(0, *row[1:]) for row in rows]
    whole = sorted_rows(rows)
    parts = [Sorted(part, np.zeros(part.num_rows, np.int64), whole.order_by)
             for part in (whole.rows.slice(0, cut), whole.rows.slice(cut))]  # fmt: skip
    for call in CALLS:
        values: list[object] = []
        state: pa.Array | None = None
        for part in parts:
            if part.rows.num_rows:
                heads = part.place == 0
                found, state = running_sketch(part, call, heads, state, np.array([-1 if state is None else 0]))
                values += found.to_pylist()
        heads = whole.place == 0
        if len(heads):
            found, end = running_sketch(whole, call, heads, None, np.array([-1]))
            assert values == found.to_pylist()
            assert state is not None and state.to_pylist() == end.to_pylist()


def test_bounded_frames_are_not_open() -> None:
    bounded = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 2), HERE)
    total = accumulator("sum", ["double"])
    assert not is_open(OverCall(AGGREGATE, ("x",), "s", bounded, accumulator=MIDDLE))
    assert not is_sketched(OverCall(AGGREGATE, ("x",), "s", FRAMES["all"], accumulator=total))
