"""Stages: a frame from UNBOUNDED PRECEDING is a running value and a pick of it, and each call has its stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.over import calls as over_calls
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values
from panes.kernels.over.functions import over_values
from panes.kernels.over.running import DENSE, NUMBER, RANK
from panes.kernels.over.sorted_rows import Sorted, arranged
from panes.kernels.over.stages import staged

from . import test_functions as naive
from .test_functions import HIGH, KINDS, LOW, TIE, K, Row, X, Y

BY_Y = (OrderKey(Y),)
EDGES = [Edge.PRECEDING, Edge.CURRENT_ROW, Edge.FOLLOWING]
PICKS = ["row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value", "nth_value"]
RUNNING = [name for name in naive.RUNNING if name != "count"]  # a count of nothing is 0, which no row says


@st.composite
def some_calls(draw: st.DrawFn) -> OverCall:
    """Calls that are ever final, most of them with a frame that begins with the partition."""
    unit, end, far = draw(st.sampled_from(Unit)), draw(st.sampled_from(EDGES)), draw(st.integers(0, 3))
    offset = None if not end.has_offset else far if unit is Unit.ROWS else Values(HIGH, far)
    frame = Frame(unit, Bound(Edge.UNBOUNDED_PRECEDING), Bound(end, offset))
    if draw(st.booleans()):
        return naive.aggregate(draw(st.sampled_from(RUNNING)), frame, draw(st.sampled_from([None, naive.KEEP])))
    function = draw(st.sampled_from(PICKS))
    return OverCall(function, (X,), function, frame, draw(st.booleans()), offset=draw(st.integers(1, 3)))


@settings(max_examples=150)
@given(st.lists(naive.ROW, max_size=10), some_calls())
def test_stages_give_what_the_call_gives(drawn: list[Row], call: OverCall) -> None:
    """Running values up to each row first; then a pick among rows that have them."""
    rows = [{**naive.bounded(row, BY_Y[0], call.frame), TIE: at} for at, row in enumerate(drawn)]
    kinds = KINDS | {LOW: pa.int64(), HIGH: pa.int64()}
    table = arranged(pa.Table.from_pylist(rows, pa.schema(list(kinds.items()))), (K,), BY_Y)
    stages = staged([call])
    table = ranked(table)
    for one in stages.running:
        table = table.having(over_values(table, [replace(one, frame=over_calls.RUNNING)]))
    table = table.having(over_values(table, [*stages.recent, *stages.tail]))
    found = dict(
        zip(
            table.rows[TIE].to_pylist(), table.rows[stages.named.get(call.output, call.output)].to_pylist(), strict=True
        )
    )
    expected: dict[int, Any] = {}
    for part in {row[K] for row in rows}:
        mine = sorted((row for row in rows if row[K] == part), key=lambda row: (naive.order_of(row, BY_Y), row[TIE]))
        expected |= {row[TIE]: naive.definition(mine, i, call, BY_Y) for i, row in enumerate(mine)}
    assert found == {
        tie: pytest.approx(value) if isinstance(value, float) else value for tie, value in expected.items()
    }


def ranked(table: Sorted) -> Sorted:
    ranks = {"row_number": NUMBER, "rank": RANK, "dense_rank": DENSE}
    return table.having(over_values(table, [OverCall(function, (), name) for function, name in ranks.items()]))


START, NOW = Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW)
BACK, NEAR = Bound(Edge.PRECEDING, 2), Bound(Edge.PRECEDING, Values(LOW))
STAGES = {
    "row_number": (OverCall("row_number", (), "row_number"), "named"),
    "lag": (OverCall("lag", (X,), "lag"), "tail"),
    "lead": (OverCall("lead", (X,), "lead"), "tail"),
    "sum of the last rows": (naive.aggregate("sum", Frame(Unit.ROWS, BACK, NOW)), "tail"),
    "sum of near values": (naive.aggregate("sum", Frame(Unit.RANGE, NEAR, NOW)), "recent"),
    "sum so far": (naive.aggregate("sum", Frame(Unit.ROWS, START, NOW)), "running named"),
    "sum so far, with peers": (naive.aggregate("sum", Frame(Unit.RANGE, START, NOW)), "running recent"),
    "sum up to two rows ago": (naive.aggregate("sum", Frame(Unit.ROWS, START, BACK)), "running tail"),
    "last_value": (OverCall("last_value", (X,), "last_value", Frame(Unit.ROWS, START, BACK)), "tail"),
    "second value": (OverCall("nth_value", (X,), "nth", Frame(Unit.ROWS, START, NOW), offset=2), "running named"),
}


@pytest.mark.parametrize("name", STAGES)
def test_a_call_is_in_the_stages_that_it_needs(name: str) -> None:
    call, expected = STAGES[name]
    found = staged([call])
    assert [stage for stage in ("running", "recent", "tail", "named") if getattr(found, stage)] == expected.split()


def test_a_call_that_needs_the_whole_partition_has_no_stage() -> None:
    with pytest.raises(AssertionError):
        staged([OverCall("ntile", (), "ntile", offset=2)])
