"""OVER calls: the frame of rows on which a value depends, and the columns that evaluation reads."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values, bounded, columns_of, frame_of, offsets

from . import test_functions as naive
from .test_functions import DEFAULT, HIGH, KEEP, LOW, TIE, K, Row, X, Y

BY_Y = (OrderKey(Y),)
SHIFTS = st.builds(
    OverCall,
    st.sampled_from(["lag", "lead"]),
    st.just((X,)),
    st.just("shifted"),
    ignore_nulls=st.booleans(),
    offset=st.integers(1, 3),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(naive.ROW, naive.ROW), max_size=8), naive.calls() | SHIFTS)
def test_rows_outside_its_frame_do_not_change_a_value(drawn: list[tuple[Row, Row]], call: OverCall) -> None:
    """There, all but the order of the rows is replaced by what other rows have."""
    pairs = sorted(drawn, key=lambda pair: naive.order_of(pair[0], BY_Y))
    rows = [naive.bounded({**row, TIE: at}, BY_Y[0], call.frame) for at, (row, _) in enumerate(pairs)]
    others = [{**row, **{name: pairs[row[TIE]][1][name] for name in (X, DEFAULT, KEEP)}} for row in rows]
    for own in range(len(rows)):
        inside = {row[TIE] for row in naive.in_frame(rows, own, frame_of(call), BY_Y)} | {own}
        mixed = [row if row[TIE] in inside else other for row, other in zip(rows, others, strict=True)]
        assert naive.definition(mixed, own, call, BY_Y) == naive.definition(rows, own, call, BY_Y)


FRAME = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 3), Bound(Edge.FOLLOWING, 1))
DISTANCES = {
    "row_number": (OverCall("row_number", (), ""), (None, 0)),
    "rank": (OverCall("rank", (), "", FRAME), (None, 0)),
    "ntile": (OverCall("ntile", (), ""), (None, None)),
    "lag": (OverCall("lag", (X,), "", offset=2), (-2, 0)),
    "lag IGNORE NULLS": (OverCall("lag", (X,), "", offset=2, ignore_nulls=True), (None, 0)),
    "lead": (OverCall("lead", (X,), "", offset=2), (0, 2)),
    "lead IGNORE NULLS": (OverCall("lead", (X,), "", ignore_nulls=True), (0, None)),
    "nth_value": (OverCall("nth_value", (X,), "", FRAME), (-3, 1)),
    "sum": (naive.aggregate("sum", FRAME), (-3, 1)),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_a_frame_is_no_wider_than_the_call_asks_for(name: str) -> None:
    call, expected = DISTANCES[name]
    assert offsets(frame_of(call)) == expected


NEAR = Frame(Unit.RANGE, Bound(Edge.PRECEDING, Values(LOW, 5, -5)), Bound(Edge.FOLLOWING, Values(HIGH, 3)))


def test_bounds_at_a_fixed_distance_are_made_and_others_left_to_spark() -> None:
    times = pa.array([0, 7, None], pa.timestamp("us", "UTC"))
    found = bounded(pa.table({"ts": times}), [naive.aggregate("sum", NEAR)], [OrderKey("ts")])
    assert found.column_names == ["ts", LOW]
    assert found[LOW].type == times.type
    assert found[LOW].cast(pa.int64()).to_pylist() == [-5, 2, None]
    assert bounded(found, [naive.aggregate("max", NEAR)], [OrderKey("ts")]) is found


def test_the_columns_of_calls_are_read_once() -> None:
    calls = [naive.aggregate("min_by", NEAR, KEEP), OverCall("lag", (X,), "", default=DEFAULT)]
    assert columns_of(calls, [OrderKey(K), OrderKey(Y)]) == [K, Y, X, KEEP, LOW, HIGH, DEFAULT]
    assert columns_of([replace(call, condition=None, default=None, frame=None) for call in calls], []) == [X, Y]
