"""OVER over complete partitions: all rows of a window are there before any comes out, so that any order is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.frames import Unit
from panes.kernels.kernel import Clock, State, Step
from panes.kernels.over.calls import OrderKey, OverCall
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.state.release import Release

from ..harness import (
    BATCH,
    DELAYS,
    HAS_TIE,
    IDLE,
    KEY,
    MS,
    PLACE,
    RESTARTS,
    TIE,
    TIME,
    VALUE,
    Arrived,
    Batch,
    Row,
    Tick,
    batches,
    run,
    script,
)
from .test_functions import calls, frames
from .test_on_close import Move, Prepared, came_out, definition, same

WINDOW = "window_end"


@dataclass(frozen=True)
class Windowed:
    """A kernel whose rows come with the end of their tumbling window."""

    kernel: Prepared

    def depends_on(self) -> Mapping[str, Any]:
        return self.kernel.depends_on()

    def pack(self, rows: pa.Table) -> pa.Table:
        ends = [window_end(time) for time in rows[TIME].cast(pa.int64()).to_pylist()]
        return self.kernel.pack(rows.append_column(WINDOW, pa.array(ends, rows[TIME].type)))

    def step(self, state: State, batch: pa.Table | None, clock: Clock) -> Step:
        return self.kernel.step(state, batch, clock)


def window_end(time: int) -> int:
    return (time // (4 * MS) + 1) * 4 * MS


@st.composite
def whole_calls(draw: st.DrawFn) -> tuple[OverCall, ...]:
    found = [draw(calls()) for _ in range(draw(st.integers(1, 2)))]
    rows = [replace(call, frame=draw(frames(Unit.ROWS))) for call in found]
    return tuple(replace(call, output=f"out {number} {call.output}") for number, call in enumerate(rows))


FREE = st.lists(
    st.builds(OrderKey, st.sampled_from([VALUE, TIE, TIME]), st.booleans(), st.booleans()), min_size=1, max_size=2
)
TOPS = st.none() | st.tuples(st.sampled_from(["row_number", "rank", "dense_rank"]), st.integers(1, 2))


@settings(max_examples=80)
@given(batches(), DELAYS, whole_calls(), FREE, TOPS, st.booleans(), RESTARTS, IDLE)
def test_a_partition_of_a_window_is_computed_when_it_is_complete(
    batches: list[Batch], delay: int, calls: tuple[OverCall, ...], order: list[OrderKey], top: tuple[str, int] | None,
    alone: bool, restarts: set[int], idle: list[bool],
) -> None:  # fmt: skip
    """Any order, frame and function; and of the best n, only those come out."""
    if top is not None:
        rank = OverCall(top[0], (), f"out 9 {top[0]}")
        calls = (rank,) if alone else (*calls, rank)
    top_n = (f"out 9 {top[0]}", top[1]) if top is not None else None
    release = Release(WINDOW, (HAS_TIE, TIE, TIME, BATCH, PLACE), True, True)
    over = OverOnComplete((WINDOW, KEY), tuple(order), calls, release, top_n)
    ticks = script(batches, delay, idle)
    done = run(Windowed(Prepared(over, ())), ticks, restarts)
    marks = [(one, tick.watermark) for tick in ticks for one in tick.rows or []]
    rows = [one for one, mark in marks if mark is None or window_end(one.row.time) > mark]
    expected: dict[Any, list[dict[str, Any]]] = {}
    for end in {window_end(one.row.time) for one in rows}:
        inside = [one for one in rows if window_end(one.row.time) == end]
        for key, found in definition(inside, calls, (), order, (KEY,), None).items():
            kept = [row | {WINDOW: end} for row in found if top_n is None or row[top_n[0]] <= top_n[1]]
            expected |= {(end, *key): kept} if kept else {}
    names = (Move(WINDOW, 0, 0),)
    same(came_out(done.steps, calls, names, (WINDOW, KEY)), expected)
    assert done.late == len(marks) - len(rows)
    assert not done.state.chunks


def test_of_the_best_n_no_others_wait() -> None:
    """Ten rows of a window come one by one, the better ones later: never more than the best two are kept."""
    release = Release(WINDOW, (HAS_TIE, TIE, TIME, BATCH, PLACE), True, True)
    rank = OverCall("row_number", (), "rank")
    over = Windowed(Prepared(OverOnComplete((WINDOW,), (OrderKey(VALUE, True),), (rank,), release, ("rank", 2)), ()))
    ticks = [Tick([Arrived(Row(at, value=at), at, 0)], None) for at in range(10)]
    assert sum(chunk.rows for chunk in run(over, ticks).state.chunks) <= 4
    done = run(over, [*ticks, Tick(None, 4 * MS - 1), Tick(None, 4 * MS)])
    assert [len(step) for step in done.steps] == [0] * 11 + [2]
