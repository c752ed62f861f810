"""Tumbling and hopping windows against their definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, State
from panes.kernels.state.compaction import LAYERS
from panes.kernels.windows.slices import SLICE, SliceWindows

from ..harness import (
    CUTS,
    DELAYS,
    FOLDS,
    IDLE,
    KEY,
    LENGTHS,
    MS,
    ORDER,
    RESTARTS,
    TIME,
    Arrived,
    Batch,
    Row,
    Tick,
    aggregated,
    batches,
    check_lazy,
    cut,
    packed,
    punctual,
    run,
    script,
    step_twice,
)


def kernel(size: int, hop: int, keys: tuple[str, ...] = (KEY,), late: bool = True) -> SliceWindows:
    return SliceWindows(size, hop, TIME, keys, Grouping((SLICE, *keys), FOLDS, ORDER), late)


def definition(ticks: list[Tick], size: int, hop: int, keyed: bool = True) -> tuple[list[Counter[Any]], int]:
    """Every start that is a multiple of the hop with start <= t < start + size, open while start + size > W."""
    open_: dict[Any, list[Arrived]] = defaultdict(list)
    steps, late = [], 0
    for tick in ticks:
        mark = tick.watermark if tick.watermark is not None else -(10**15)
        for one in tick.rows or []:
            first = (one.row.time // hop) * hop
            starts = [s for s in range(first, one.row.time - size, -hop) if s <= one.row.time < s + size]
            for start in (s for s in starts if s + size > mark):
                open_[start, one.row.key if keyed else None].append(one)
            late += bool(starts) and all(s + size <= mark for s in starts)
        closed = [window for window in open_ if tick.flush or window[0] + size <= mark]
        steps.append(Counter(_output(start, key, open_.pop((start, key)), size, keyed) for start, key in closed))
    return steps, late


def _output(start: int, key: str | None, rows: list[Arrived], size: int, keyed: bool) -> tuple[Any, ...]:
    return (*aggregated(rows), *([key] if keyed else []), start + size, start)


@settings(max_examples=120)
@given(batches(), DELAYS, LENGTHS, LENGTHS, RESTARTS, IDLE)
def test_hopping_is_its_definition(
    batches: list[Batch], delay: int, size: int, hop: int, restarts: set[int], idle: list[bool]
) -> None:
    ticks = script(batches, delay, idle)
    steps, late = definition(ticks, size, hop)
    done = run(kernel(size, hop), ticks, restarts)
    assert done.steps == steps
    assert done.late == late
    assert not done.state.chunks


@settings(max_examples=50)
@given(batches(), DELAYS, LENGTHS, RESTARTS, IDLE, st.booleans())
def test_tumbling_is_its_definition(
    batches: list[Batch], delay: int, size: int, restarts: set[int], idle: list[bool], keyed: bool
) -> None:
    ticks = script(batches, delay, idle)
    steps, late = definition(ticks, size, size, keyed)
    done = run(kernel(size, size, (KEY,) if keyed else ()), ticks, restarts)
    assert done.steps == steps
    assert done.late == late


@settings(max_examples=20)
@given(batches(), DELAYS, LENGTHS, LENGTHS, st.integers(0, 2))
def test_wake_is_never_too_late(batches: list[Batch], delay: int, size: int, hop: int, quiet: int) -> None:
    check_lazy(kernel(size, hop), batches, delay, quiet)


@settings(max_examples=60)
@given(punctual(), LENGTHS, LENGTHS, CUTS, RESTARTS, st.booleans())
def test_cuts_do_not_show(
    stream: tuple[list[Row], int], size: int, hop: int, cuts: set[int], restarts: set[int], late: bool
) -> None:
    """Also in a later operator of a query, which drops nothing (`late` is False)."""
    rows, delay = stream
    done = run(kernel(size, hop, late=late), script(cut(rows, cuts), delay, [True] * 20), restarts)
    assert done.rows == run(kernel(size, hop), script(cut(rows, []), delay)).rows
    assert done.late == 0


@settings(max_examples=40)
@given(batches(), DELAYS, LENGTHS, LENGTHS)
def test_late_rows_change_nothing_else(batches: list[Batch], delay: int, size: int, hop: int) -> None:
    """Without the rows that came late, the rest is as it was."""
    ticks = script(batches, delay)
    kept = []
    for tick in ticks:
        mark = tick.watermark
        fine = [one for one in tick.rows or [] if mark is None or one.row.time // hop * hop + size > mark]
        kept.append(Tick(fine, mark, tick.flush))
    whole, rest = run(kernel(size, hop), ticks), run(kernel(size, hop), kept)
    assert rest.steps == whole.steps
    assert rest.late == 0


def test_a_row_in_a_gap_between_windows_is_not_late() -> None:
    """Size 2, hop 5: nothing holds a row at 3, whatever the watermark."""
    one = kernel(2 * MS, 5 * MS)
    step = step_twice(one, State(), packed(one, [Arrived(Row(3 * MS), 0, 0)]), Clock(100 * MS))
    assert (step.rows, step.counters["late_rows"], step.state.chunks) == (None, 0, ())


def test_a_row_with_one_open_window_counts_there_only() -> None:
    """Size 10, hop 5, W = 10: a row at 7 misses [0, 10) and is in time for [5, 15)."""
    ticks = [Tick([Arrived(Row(7 * MS), 0, 0)], 10 * MS), Tick(None, 10 * MS, flush=True)]
    done = run(kernel(10 * MS, 5 * MS, ()), ticks)
    assert (list(done.rows), done.late) == ([(1, 1, (1,), 15 * MS, 5 * MS)], 0)


@pytest.mark.parametrize(("mark", "comes"), [(9 * MS, 0), (10 * MS, 1)])
def test_a_window_closes_when_the_watermark_reaches_its_end(mark: int, comes: int) -> None:
    ticks = [Tick([Arrived(Row(0), 0, 0)], None), Tick(None, mark)]
    assert sum(run(kernel(10 * MS, 10 * MS, ()), ticks).steps[1].values()) == comes


def test_state_is_groups_of_slices_not_rows() -> None:
    """A thousand rows of one slice and key are one group; size 10, hop 4 has at most two slices per hop."""
    one = kernel(10 * MS, 4 * MS)
    rows = [Arrived(Row(time * 1000 // 25, "a"), 0, time) for time in range(1000)]  # 40 ms: ten hops
    state = step_twice(one, State(), packed(one, rows), Clock()).state
    assert sum(chunk.rows for chunk in state.chunks) == 20


def test_few_chunks_remain() -> None:
    """Chunks are merged into bigger ones."""
    one, state = kernel(1000 * MS, 1000 * MS), State()
    for number in range(64):
        rows = [Arrived(Row(0, f"{number}-{i}"), number, i) for i in range(4)]
        state = step_twice(one, state, packed(one, rows), Clock()).state
    assert sum(chunk.rows for chunk in state.chunks) == 256
    assert len(state.chunks) <= LAYERS + 1
