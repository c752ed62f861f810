"""The tail of each partition: rows that count other rows wait for those that follow, and find those before."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.kernel import Chunk, Clock
from panes.kernels.over.calls import OrderKey, OverCall, rows_of
from panes.kernels.over.tail import Tail

from ..harness import MS, Arrived, Row, Tick, run
from . import test_functions as naive
from .test_functions import KINDS, TIE, K, X
from .test_on_close import kernel, told

BY_TIE = (OrderKey(TIE),)


@st.composite
def some_calls(draw: st.DrawFn) -> OverCall:
    """Calls that look a number of rows back or ahead."""
    edges = (Edge.UNBOUNDED_PRECEDING, Edge.UNBOUNDED_FOLLOWING)
    frame = draw(naive.frames(Unit.ROWS).filter(lambda one: not {bound.edge for bound in one.ends} & {*edges}))
    if draw(st.booleans()):
        return naive.aggregate(draw(st.sampled_from([*naive.AGGREGATES])), frame)
    function = draw(st.sampled_from(["lag", "lead", "first_value", "nth_value"]))
    ignored = draw(st.booleans())
    framed = frame if function in ("first_value", "nth_value") else None
    return OverCall(function, (X,), function, framed, ignored, offset=draw(st.integers(1, 3)))


def waits(call: OverCall, after: list[naive.Row]) -> bool:
    """Whether a row with these rows after it may get another value from the next."""
    if call.function == "lead":
        return len([row for row in after if not (call.ignore_nulls and row[X] is None)]) < call.offset
    end = call.frame.end if call.frame is not None else None
    return end is not None and end.edge is Edge.FOLLOWING and len(after) < rows_of(end)


@settings(max_examples=100)
@given(
    st.lists(naive.ROW, max_size=12),
    st.sets(st.integers(0, 12), max_size=4),
    st.lists(some_calls(), min_size=1, max_size=2),
)
def test_a_row_comes_out_when_the_rows_that_it_counts_have_come(
    drawn: list[naive.Row], cuts: set[int], some: list[OverCall]
) -> None:
    rows = [{**row, TIE: at} for at, row in enumerate(drawn)]
    calls = tuple(replace(call, output=f"{number} {call.output}") for number, call in enumerate(some))
    tail = Tail((K,), BY_TIE, calls, TIE, None)
    chunks: tuple[Chunk, ...] = ()
    found: dict[int, Any] = {}
    ends = sorted({0, *(at for at in cuts if at < len(rows)), len(rows)})
    for start, stop in pairwise(ends):
        batch = rows[start:stop]
        table = pa.Table.from_pylist(batch, pa.schema(list(KINDS.items())))
        out, chunks, _ = tail.take(chunks, {}, table, Clock(0))
        found |= given_out(out, calls)
        after = {row[TIE]: [one for one in rows[row[TIE] + 1 : stop] if one[K] == row[K]] for row in rows[:stop]}
        assert found.keys() == {row for row, rest in after.items() if not any(waits(call, rest) for call in calls)}
    out, chunks, _ = tail.take(chunks, {}, None, Clock(0, flush=True))
    assert not chunks and not found.keys() & given_out(out, calls).keys()
    found |= given_out(out, calls)
    for part in {row[K] for row in rows}:
        mine = [row for row in rows if row[K] == part]
        for i, row in enumerate(mine):
            values = [naive.definition(mine, i, call, BY_TIE) for call in some]
            assert found.pop(row[TIE]) == [pytest.approx(one) if isinstance(one, float) else one for one in values]
    assert not found


def given_out(out: pa.Table | None, calls: tuple[OverCall, ...]) -> dict[int, Any]:
    return {} if out is None else {row[TIE]: [row[call.output] for call in calls] for row in out.to_pylist()}


def test_no_more_rows_are_kept_than_calls_look_back() -> None:
    tail = Tail((K,), BY_TIE, (OverCall("lag", (X,), "", offset=3),), TIE, None)
    rows = [{K: "a" if at % 2 else None, X: at, TIE: at} for at in range(20)]
    _, chunks, _ = tail.take(
        (), {}, pa.Table.from_pylist(rows, pa.schema([(name, KINDS[name]) for name in rows[0]])), Clock(0)
    )
    kept = tail.carry.all(chunks)
    assert kept is not None and sorted(kept[TIE].to_pylist()) == [14, 15, 16, 17, 18, 19]


def test_lead_comes_out_when_its_partition_is_forgotten() -> None:
    """ttl 5: the row at 1 waits for a next one until W = 7, and then has none."""
    call = OverCall("lead", (X,), "out 0 lead")
    ticks = [Tick([Arrived(Row(1 * MS), 0, 0)], None), Tick(None, 6 * MS), Tick(None, 7 * MS)]
    assert [len(step) for step in run(kernel((call,), ttl=5 * MS), ticks).steps] == [0, 0, 1]


def test_lag_ignore_nulls_remembers_across_nulls() -> None:
    rows = [Row(0, value=5), Row(1 * MS, value=None), Row(2 * MS, value=None), Row(3 * MS, value=None)]
    found = told(OverCall("lag", (X,), "", ignore_nulls=True), rows)
    assert list(found.values()) == [None, 5, 5, 5]


def test_lead_ignore_nulls_waits_across_nulls() -> None:
    rows = [
        Row(0, value=5),
        Row(1 * MS, value=None),
        Row(2 * MS, value=7),
        Row(3 * MS, value=8),
        Row(4 * MS, value=None),
    ]
    found = told(OverCall("lead", (X,), "", ignore_nulls=True, offset=2), rows)
    assert list(found.values()) == [8, 8, None, None, None]
