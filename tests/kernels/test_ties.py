"""Rows that ORDER BY leaves equal: key (NULL first), time, arrival, in every kernel of OVER and however it is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Edge, Unit
from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.changelog.changes import AFTER, CHANGE, INSERT
from panes.kernels.kernel import Clock, Kernel, State
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.state.release import Release

from .harness import (
    BATCH,
    CUTS,
    HAS_TIE,
    KEY,
    MS,
    ORDER,
    PLACE,
    TIE,
    TIME,
    VALUE,
    Arrived,
    Row,
    cut,
    packed,
    rows_of,
    script,
    step_twice,
)

NEAR = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 1), Bound(Edge.CURRENT_ROW))
CALLS = (
    OverCall("row_number", (), "number"),
    OverCall("lag", (VALUE,), "before"),
    OverCall("aggregate", (VALUE,), "near", NEAR, accumulator=accumulator("collect_list", ["bigint"])),
)
TIES = (HAS_TIE, TIE, TIME, BATCH, PLACE)
FEW_TIMES = st.integers(0, 2).map(lambda at: at * MS)
ROW = st.builds(Row, FEW_TIMES, st.sampled_from(["a", None]), st.none() | st.integers(0, 1))
ROWS = st.lists(ROW, max_size=14).map(lambda rows: [replace(row, value=at) for at, row in enumerate(rows)])
BY_TIME = (OrderKey(TIME),)
ORDERS = st.sampled_from(
    [BY_TIME, (OrderKey(TIME), OrderKey(KEY, True)), (OrderKey(KEY),), (OrderKey(KEY, True, True),)]
)


def definition(
    rows: Sequence[Row], order: Sequence[OrderKey], partition: tuple[str, ...]
) -> dict[int, tuple[Any, ...]]:
    """For each row, known by its value: its number, the row before it, and those two together."""

    def place(row: Row) -> tuple[Any, ...]:
        found: list[Any] = []
        for key in order:
            own = {TIME: row.time, KEY: None if row.key is None else ord(row.key)}[key.column]
            outside = -1 if key.nulls_first else 1
            found.append((outside, 0) if own is None else (0, -own if key.descending else own))
        return *found, (row.tie is not None, row.tie or 0), row.time, row.value

    found: dict[int, tuple[Any, ...]] = {}
    for part in {row.key for row in rows} if partition else {"all"}:
        mine = [row.value for row in sorted((r for r in rows if not partition or r.key == part), key=place)]
        for at, value in enumerate(mine):
            assert value is not None
            found[value] = (at + 1, mine[at - 1] if at else None, mine[max(at - 1, 0) : at + 1])
    return found


def outputs(rows: pa.Table | None) -> dict[int, tuple[Any, ...]]:
    names = [call.output for call in CALLS]
    return {row[VALUE]: tuple(row[name] for name in names) for row in (rows.to_pylist() if rows is not None else [])}


def streamed(kernel: Kernel, rows: Sequence[Row], cuts: set[int], delay: int) -> dict[int, tuple[Any, ...]]:
    """What a table is in the end that every output row is written to."""
    state, found = State(), dict[int, tuple[Any, ...]]()
    for tick in script(cut(rows, cuts), delay):
        step = step_twice(kernel, state, packed(kernel, tick.rows or []), Clock(tick.watermark, tick.flush))
        out = rows_of(step)
        if out is not None and CHANGE in out.column_names:
            out = out.filter(pa.array([one in (INSERT, AFTER) for one in out[CHANGE].to_pylist()]))
        found |= outputs(out)
        state = step.state
    return found


@settings(max_examples=150)
@given(ROWS, ORDERS, st.sampled_from([(), (KEY,)]), CUTS)
def test_ties_are_broken_alike_in_every_mode(
    rows: list[Row], order: tuple[OrderKey, ...], partition: tuple[str, ...], cuts: set[int]
) -> None:
    expected = definition(rows, order, partition)
    batch = OverOnComplete(partition, order, CALLS, Release(TIME, TIES, True, late=False))
    done = step_twice(
        batch, State(), packed(batch, [Arrived(row, 0, at) for at, row in enumerate(rows)]), Clock(None, True)
    )
    assert outputs(done.rows) == expected
    changes = OverIncremental(
        partition, order, (BATCH, PLACE), (TIE, TIME, BATCH, PLACE), CALLS, (VALUE,), None, (BATCH, PLACE), size=4
    )
    assert streamed(changes, rows, cuts, 0) == expected
    if order[0].column == TIME:
        close = OverOnClose(partition, order, CALLS, Release(TIME, ORDER, True, True))
        assert streamed(close, rows, cuts, 10 * MS) == expected
