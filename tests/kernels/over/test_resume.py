"""Resuming: ranks and running aggregates go on from the row before, with what is kept beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.over.calls import Bound, Frame, OverCall
from panes.kernels.over.results import Results
from panes.kernels.over.resume import Resumed, is_carried
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.sorted_blocks.ranges import runs

from . import test_functions as naive
from .test_functions import KEEP, TIE, Row, X
from .test_merged import BY_Y, COMES, STAYS, Table, in_order

START, NOW = Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW)


@st.composite
def carried_calls(draw: st.DrawFn) -> OverCall:
    frame = Frame(draw(st.sampled_from(Unit)), START, NOW)
    if draw(st.booleans()):
        return naive.aggregate(draw(st.sampled_from(naive.RUNNING)), frame, draw(st.sampled_from([None, KEEP])))
    function = draw(
        st.sampled_from(["row_number", "rank", "dense_rank", "first_value", "last_value", "nth_value", "lag"])
    )
    if function == "lag":
        default = draw(st.sampled_from([None, TIE]))
        return OverCall(function, (X,), function, None, True, offset=draw(st.integers(1, 4)), default=default)
    if function == "nth_value":
        return OverCall(function, (X,), function, frame, draw(st.booleans()), offset=draw(st.integers(1, 4)))
    if function.endswith("value"):
        return OverCall(function, (X,), function, frame, draw(st.booleans()))
    return OverCall(function, (), function)


@settings(max_examples=120)
@given(st.lists(naive.ROW, min_size=1, max_size=10), st.lists(carried_calls(), min_size=1, max_size=2), st.data())
def test_what_goes_on_from_any_row_is_what_was_computed_from_the_first(
    drawn: list[Row], some: list[OverCall], data: st.DataObject
) -> None:
    """Peers may be cut apart; what is kept for the next run is the same, too."""
    calls = tuple(replace(call, output=f"{number} {call.output}") for number, call in enumerate(some))
    rows = in_order(drawn, calls[0])
    results = Results(calls, BY_Y)
    whole = results.recomputed(Table([(row, COMES) for row in rows]).merged()).rows
    merged = Table([(row, STAYS) for row in rows]).merged(whole)
    part = merged.sorted.part
    cuts = np.array([data.draw(st.integers(0, 4)) for _ in range(int(part[-1]) + 1)])
    mask = merged.sorted.place - merged.sorted.first >= cuts[part]
    if not mask.any():
        return
    table = Sorted(whole.filter(pa.array(mask)), runs(mask, part), BY_Y)
    found = Resumed.on(table, merged, mask).values(results.all_calls)
    assert set(found) == set(results.columns)
    for name in results.columns:
        assert found[name].to_pylist() == table.rows[name].to_pylist()


@settings(max_examples=60)
@given(st.lists(naive.ROW, min_size=1, max_size=10), carried_calls())
def test_what_begins_with_the_first_row_is_the_definition(drawn: list[Row], call: OverCall) -> None:
    rows = in_order(drawn, call)
    merged = Table([(row, COMES) for row in rows]).merged()
    results = Results((call,), BY_Y)
    every = np.ones(len(rows), np.bool_)
    found = Resumed.on(merged.sorted, merged, every).values(results.all_calls)[call.output].to_pylist()
    for row, value in zip(rows, found, strict=True):
        mine = [one for one in rows if one["k"] == row["k"]]
        expected = naive.definition(mine, mine.index(row), call, BY_Y)
        assert value == (pytest.approx(expected) if isinstance(expected, float) else expected)


CARRIED = {
    "rank": (OverCall("rank", (), ""), True),
    "ntile": (OverCall("ntile", (), ""), False),
    "lag": (OverCall("lag", (X,), ""), False),
    "sum so far": (naive.aggregate("sum", Frame(Unit.ROWS, START, NOW)), True),
    "sum so far, with peers": (naive.aggregate("sum", Frame(Unit.RANGE, START, NOW)), True),
    "sum up to the row before": (naive.aggregate("sum", Frame(Unit.ROWS, START, Bound(Edge.PRECEDING, 1))), False),
    "a list that grows": (naive.aggregate("collect_list", Frame(Unit.ROWS, START, NOW)), False),
    "nth_value": (OverCall("nth_value", (X,), "", Frame(Unit.ROWS, START, NOW)), True),
    "nth_value, ignoring NULLs": (OverCall("nth_value", (X,), "", Frame(Unit.ROWS, START, NOW), True), True),
    "lag, ignoring NULLs": (OverCall("lag", (X,), "", ignore_nulls=True), True),
    "lag by two, ignoring NULLs": (OverCall("lag", (X,), "", ignore_nulls=True, offset=2), True),
    "lag by many, ignoring NULLs": (OverCall("lag", (X,), "", ignore_nulls=True, offset=100), False),
    "lag with a default": (OverCall("lag", (X,), "", ignore_nulls=True, default=X), True),
}


@pytest.mark.parametrize("name", CARRIED)
def test_a_value_is_carried_where_it_follows_from_the_row_before(name: str) -> None:
    call, expected = CARRIED[name]
    assert is_carried(call) == expected
