"""Recent rows: RANGE frames are complete when the watermark has passed their end, and rows are kept while in reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall, Values
from panes.kernels.over.recent import Recent

from ..harness import MS, Arrived, Row, Tick, run
from . import test_functions as naive
from .test_functions import HIGH, KINDS, LOW, TIE, K, X
from .test_on_close import AFTER, ALL, BEFORE, HALF, LOOK_BACK, LOW_HIGH, Move, kernel, told

AT = "at"
BY_TIME = (OrderKey(AT),)
TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([*KINDS.items(), (AT, TIME), (LOW, TIME), (HIGH, TIME)])


@st.composite
def some_calls(draw: st.DrawFn) -> OverCall:
    """Any RANGE frame; of one that begins with the partition, only the last row is ever picked."""
    frame = draw(naive.frames(Unit.RANGE).filter(lambda one: one.end.edge is not Edge.UNBOUNDED_FOLLOWING))
    if frame.start.edge is Edge.UNBOUNDED_PRECEDING:
        return OverCall("last_value", (X,), "last_value", frame)
    if draw(st.booleans()):
        return naive.aggregate(draw(st.sampled_from([*naive.AGGREGATES])), frame)
    function = draw(st.sampled_from(["first_value", "last_value", "nth_value"]))
    return OverCall(function, (X,), function, frame, draw(st.booleans()), offset=draw(st.integers(1, 3)))


ROWS = st.lists(st.tuples(st.integers(0, 8), naive.ROW), max_size=12)
WATERMARKS = st.sets(st.integers(0, 12), max_size=5)


@settings(max_examples=150)
@given(ROWS, WATERMARKS, some_calls())
def test_a_row_comes_out_when_the_watermark_has_passed_its_frame(
    drawn: list[tuple[int, naive.Row]], watermarks: set[int], call: OverCall
) -> None:
    """Rows before the watermark are released to the stage, in the order of their times."""
    timed = sorted(drawn, key=lambda pair: pair[0])
    rows = [naive.bounded({**row, AT: at, TIE: tie}, BY_TIME[0], call.frame) for tie, (at, row) in enumerate(timed)]
    recent = Recent((K,), BY_TIME, (call,), AT, None)
    chunks: tuple[Chunk, ...] = ()
    facts: dict[str, Any] = {}
    found: dict[int, Any] = {}
    passed = -1
    for mark in (*sorted(watermarks), None):
        released = [row for row in rows if passed <= row[AT] and (mark is None or row[AT] < mark)]
        table = pa.Table.from_pylist(released, SCHEMA) if released else None
        clock = Clock(passed, flush=True) if mark is None else Clock(mark)
        out, chunks, facts = recent.take(chunks, facts, table, clock)
        more = {} if out is None else dict(zip(out[TIE].to_pylist(), out[call.output].to_pylist(), strict=True))
        assert not found.keys() & more.keys()
        found |= more
        passed = passed if mark is None else mark
        assert found.keys() == {row[TIE] for row in rows if mark is None or max(row[AT], end_of(row, call)) < mark}
    assert (chunks, facts) == ((), {})
    for part in {row[K] for row in rows}:
        mine = [row for row in rows if row[K] == part]
        for i, row in enumerate(mine):
            value = naive.definition(mine, i, call, BY_TIME)
            assert found.pop(row[TIE]) == (pytest.approx(value) if isinstance(value, float) else value)
    assert not found


def end_of(row: naive.Row, call: OverCall) -> int:
    """The time up to which rows can be in a row's frame."""
    assert call.frame is not None
    return int(row[HIGH]) if call.frame.end.edge is Edge.FOLLOWING else int(row[AT])


def test_rows_that_no_frame_reaches_are_not_kept() -> None:
    """Frames reach 3 back: at W = 20, nothing before 17 is needed."""
    frame = Frame(Unit.RANGE, Bound(Edge.PRECEDING, Values(LOW, 3)), Bound(Edge.CURRENT_ROW))
    recent = Recent((K,), BY_TIME, (naive.aggregate("sum", frame),), AT, None)
    chunks: tuple[Chunk, ...] = ()
    facts: dict[str, Any] = {}
    for at in range(20):
        row = {K: "a", X: at, TIE: at, AT: at, LOW: at - 3}
        _, chunks, facts = recent.take(chunks, facts, pa.Table.from_pylist([row], SCHEMA), Clock(at + 1))
    assert {17, 18, 19} <= {tie for chunk in chunks for tie in chunk.load()[TIE].to_pylist()}
    assert sum(chunk.rows for chunk in chunks) <= 8


def test_range_following_comes_out_by_the_watermark() -> None:
    """The frame of the row at 1 ends at 4: it is complete when W is past that, though no row follows."""
    call = naive.aggregate("sum", Frame(Unit.RANGE, BEFORE, AFTER))
    ticks = [Tick([Arrived(Row(1 * MS), 0, 0)], None), Tick(None, 4 * MS), Tick(None, 5 * MS)]
    assert [len(step) for step in run(kernel((call,), LOW_HIGH), ticks).steps] == [0, 0, 1]


def test_a_frame_that_ended_long_ago_is_remembered() -> None:
    """Of `a` there is one row, then 50 of `b`; the next of `a` still finds the first."""
    others = [Row(at * MS, "b", value=1) for at in range(1, 51)]
    rows = [Row(0, "a", value=3), *others, Row(51 * MS, "a", value=9), Row(52 * MS, "a", value=9)]
    found = told(
        naive.aggregate("sum", Frame(Unit.RANGE, ALL, replace(BEFORE, offset=Values("high0", 5 * MS)))), rows, LOOK_BACK
    )
    assert (found[51, "a"], found[52, "a"], found[50, "b"]) == (3, 3, 45)


def test_rows_keep_their_order_where_the_ends_of_frames_do_not() -> None:
    """The frame of the row at 0.5 ms ends at 3.5, that of the row at 1 ms at 1: both wait for W > 3.5."""
    moves = (Move("high0", 0, 3 * MS),)
    call = replace(naive.aggregate("count", Frame(Unit.RANGE, Bound(Edge.CURRENT_ROW), AFTER)), output="out 0 count")
    rows = [Arrived(Row(HALF), 0, 0), Arrived(Row(2 * HALF), 0, 1)]
    ticks = [Tick(rows, None), Tick(None, 2 * MS), Tick(None, 3 * MS), Tick(None, 4 * MS)]
    assert [len(step) for step in run(kernel((call,), moves), ticks).steps] == [0, 0, 0, 2]
