"""Tumbling and hopping windows against their definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping
from panes.kernels.kernel import Clock, State, new_chunk, numbered_chunks
from panes.kernels.state.compaction import LAYERS
from panes.kernels.windows.rollups import KIND, SPAN
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
    VALUE,
    Arrived,
    Batch,
    Row,
    Tick,
    aggregated,
    batches,
    check_lazy,
    cut,
    packed,
    plain,
    punctual,
    run,
    script,
    step_twice,
)

# Folds of a fixed size, which are rolled up.
NAMES = ("sum", "min", "max", "avg", "first", "last")
SMALL = tuple(Fold(present(accumulator(name, ["bigint"])), (VALUE,), None, f"a_{name}") for name in sorted(NAMES))


def kernel(size: int, hop: int, keys: tuple[str, ...] = (KEY,), late: bool = True) -> SliceWindows:
    return SliceWindows(size, hop, TIME, keys, Grouping((SLICE, *keys), FOLDS, ORDER), late)


def rolled(size: int, hop: int, fan_out: int = 2) -> SliceWindows:
    return SliceWindows(size, hop, TIME, (KEY,), Grouping((SLICE, KEY), SMALL, ORDER), fan_out=fan_out)


def definition(
    ticks: list[Tick], size: int, hop: int, keyed: bool = True, values: Callable[[list[Arrived]], Any] = aggregated
) -> tuple[list[Counter[Any]], int]:
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
        groups = [(start, key, values(open_.pop((start, key)))) for start, key in closed]
        steps.append(Counter((*group, *([key] if keyed else []), start + size, start) for start, key, group in groups))
    return steps, late


def small(rows: list[Arrived]) -> tuple[Any, ...]:
    """What SMALL say of a group of rows."""
    values = [one.row.value for one in sorted(rows, key=lambda one: one.order)]
    some = [value for value in values if value is not None]
    if not some:
        return None, None, None, None, None, None
    return sum(some) / len(some), values[0], values[-1], max(some), min(some), sum(some)


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


@settings(max_examples=60)
@given(batches(), DELAYS, st.integers(1, 60), st.integers(1, 3), st.integers(2, 3), RESTARTS, IDLE)
def test_many_hops_are_their_definition(
    batches: list[Batch], delay: int, size: int, hop: int, fan_out: int, restarts: set[int], idle: list[bool]
) -> None:
    """Up to 120 hops in a window, of half a millisecond; sizes that are no multiples of the hop; late rows."""
    one = rolled(size * MS, hop * MS // 2, fan_out)
    ticks = script(batches, delay, idle)
    steps, late = definition(ticks, one.size, one.hop, values=small)
    done = run(one, ticks, restarts)
    assert done.steps == steps
    assert done.late == late
    assert not done.state.chunks


@settings(max_examples=10)
@given(
    st.integers(8, 20),
    st.integers(900, 1_100),
    st.integers(1, 2),
    st.sets(st.integers(1, 300), max_size=8),
    RESTARTS,
)
def test_a_thousand_hops_are_their_definition(
    step: int, size: int, hop: int, cuts: set[int], restarts: set[int]
) -> None:
    """With rows late for some of their windows now and then, and windows that close by the hundred."""
    times = sorted(range(0, 3_000, step), key=lambda time: time + time % 7 * 50)
    rows = [Row(time * MS, "ab"[time % 2], 0, time) for time in times]
    one = rolled(size * MS, hop * MS, 3)
    ticks = script(cut(rows, cuts), 100 * MS)
    steps, late = definition(ticks, one.size, one.hop, values=small)
    done = run(one, ticks, restarts)
    assert done.steps == steps
    assert done.late == late


@settings(max_examples=10)
@given(batches(), DELAYS, st.integers(1, 30), st.integers(0, 2))
def test_wake_of_many_hops_is_never_too_late(batches: list[Batch], delay: int, size: int, quiet: int) -> None:
    check_lazy(rolled(size * MS, MS // 2), batches, delay, quiet)


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


def every_slice(count: int) -> list[Arrived]:
    return [Arrived(Row(time * MS, "a"), 0, time) for time in range(count)]


def test_slices_are_rolled_up_and_a_late_row_counts() -> None:
    """Size 100, hop 1, W = 150: of the windows that hold 60, those from [51, 151) on are open."""
    one = rolled(100 * MS, MS)
    first = step_twice(one, State(), packed(one, every_slice(140)), Clock())
    assert SPAN in first.state.chunks[0].load().column_names
    late = [Arrived(Row(60 * MS, "a", 0, 1_000), 1, 0)]
    second = step_twice(one, first.state, packed(one, late), Clock(150 * MS))
    third = step_twice(one, second.state, None, Clock(160 * MS))
    sums = dict(zip(*(present(third.rows)[name].to_pylist() for name in ("window_start", "a_sum")), strict=True))
    assert sums == {start * MS: 140 - start + 1_000 for start in range(51, 61)}


def test_windows_after_a_long_gap_are_found() -> None:
    """More windows lie between two rows than there are groups."""
    one = rolled(10 * MS, MS)
    rows = [Arrived(Row(time * MS, "a"), 0, time) for time in (0, 1_000_000)]
    done = run(one, [Tick(rows, None), Tick(None, 2_000_000 * MS)])
    starts = sorted(row[-1] // MS for row in done.rows)
    assert starts == [*range(-9, 1), *range(999_991, 1_000_001)]


def test_chunks_of_an_old_checkpoint_are_read_and_written_anew() -> None:
    """They have no roll-ups, and their groups are in no order."""
    one = rolled(100 * MS, MS)
    groups = present(packed(one, every_slice(140)[::-1])).drop_columns([COUNT])
    with numbered_chunks():
        old = State((new_chunk(groups, SLICE),), {"closed": None}, 1)
    new = step_twice(one, State(), packed(one, every_slice(140)), Clock()).state
    more = packed(one, [Arrived(Row(time * MS, "a"), 1, time) for time in (25, 26, 27)])
    for state in (old, new):
        after = step_twice(one, state, more, Clock(60 * MS))
        assert {chunk.kind for chunk in after.state.chunks} == {KIND}
    clock = Clock(120 * MS)
    results = [run_steps(one, state, [None, more, None], clock) for state in (old, new)]
    assert results[0] == results[1]
    assert results[0].total() == 120 + 119


def run_steps(one: SliceWindows, state: State, batches: list[Any], clock: Clock) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for number, batch in enumerate(batches):
        step = step_twice(one, state, batch, clock if number < 2 else Clock(clock.watermark, flush=True))
        found.update(plain(step.rows))
        state = step.state
    return found


def test_a_jump_closes_thousands_of_windows() -> None:
    """Ten keys in each of 3,000 slices; windows of 1,000 hops."""
    one = SliceWindows(1_000 * MS, MS, TIME, (KEY,), Grouping((SLICE, KEY), SMALL[-1:], ORDER))
    rows = [Arrived(Row(at // 10 * MS, f"{at % 10}"), 0, at) for at in range(30_000)]
    state = step_twice(one, State(), packed(one, rows), Clock()).state
    found = present(step_twice(one, state, None, Clock(3_600 * MS)).rows)
    counts = [min(3_000, start + 1_000) - max(0, start) for start in range(-999, 2_601)]
    assert found["a_sum"].to_pylist() == [count for count in counts for _ in range(10)]
