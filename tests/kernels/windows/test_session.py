"""Session windows against their definition, however the input is cut, split and restarted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.kernel import Clock, State
from panes.kernels.windows.session import NUMBER, SessionWindows

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
    plain,
    punctual,
    run,
    script,
    step_twice,
)


def kernel(gap: int, keys: tuple[str, ...] = (KEY,), late: bool = True) -> SessionWindows:
    return SessionWindows(gap, TIME, keys, Grouping((*keys, NUMBER), FOLDS, ORDER), late)


SMALL = (0, 1)  # of what FOLDS say: what is kept with the sessions, since it holds no values


def sessions(rows: list[Arrived], gap: int) -> list[list[Arrived]]:
    """Rows of one key, apart where the next is further away than the gap."""
    found: list[list[Arrived]] = []
    for one in sorted(rows, key=lambda one: one.row.time):
        if found and one.row.time - found[-1][-1].row.time <= gap:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def definition(ticks: list[Tick], gap: int, keyed: bool = True) -> tuple[list[Counter[Any]], int]:
    """After merging the micro-batch and the open sessions: what has last + gap < W comes out, its new rows are late."""
    open_: dict[Any, list[Arrived]] = {}
    steps, late = [], 0
    for tick in ticks:
        mark = tick.watermark if tick.watermark is not None else -(10**15)
        out: Counter[Any] = Counter()
        for key in {*open_, *((one.row.key if keyed else None) for one in tick.rows or [])}:
            fresh = [one for one in tick.rows or [] if not keyed or one.row.key == key]
            kept: list[Arrived] = []
            for session in sessions([*open_.get(key, []), *fresh], gap):
                if session[-1].row.time + gap >= mark:
                    kept += session
                else:
                    old = [one for one in session if one not in fresh]
                    late += len(session) - len(old)
                    out.update(_output(key, one, gap, keyed) for one in sessions(old, gap))
            if tick.flush:
                out.update(_output(key, one, gap, keyed) for one in sessions(kept, gap))
            open_[key] = [] if tick.flush else kept
        steps.append(out)
    return steps, late


def _output(key: str | None, rows: list[Arrived], gap: int, keyed: bool) -> tuple[Any, ...]:
    times = [one.row.time for one in rows]
    return (*aggregated(rows), *([key] if keyed else []), max(times) + gap, min(times))


@settings(max_examples=100)
@given(batches(), DELAYS, LENGTHS, RESTARTS, IDLE, st.booleans())
def test_session_is_its_definition(
    batches: list[Batch], delay: int, gap: int, restarts: set[int], idle: list[bool], keyed: bool
) -> None:
    ticks = script(batches, delay, idle)
    steps, late = definition(ticks, gap, keyed)
    done = run(kernel(gap, (KEY,) if keyed else ()), ticks, restarts)
    assert done.steps == steps
    assert done.late == late
    assert not done.state.chunks


@settings(max_examples=40)
@given(batches(), DELAYS, LENGTHS, RESTARTS, IDLE)
def test_aggregates_that_hold_no_values(
    batches: list[Batch], delay: int, gap: int, restarts: set[int], idle: list[bool]
) -> None:
    ticks = script(batches, delay, idle)
    small = SessionWindows(gap, TIME, (KEY,), Grouping((KEY, NUMBER), tuple(FOLDS[at] for at in SMALL), ORDER))
    steps, late = definition(ticks, gap)
    done = run(small, ticks, restarts)
    assert done.late == late
    assert done.steps == [without_lists(step) for step in steps]


def without_lists(step: Counter[Any]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row, times in step.items():
        found[(*(row[at] for at in SMALL), *row[len(FOLDS) :])] += times
    return found


@settings(max_examples=30)
@given(punctual(), LENGTHS, CUTS, st.integers(0, 4))
def test_state_in_which_sessions_have_their_values(
    stream: tuple[list[Row], int], gap: int, cuts: set[int], until: int
) -> None:
    """As the first checkpoints of format 1 have it; and still where changes come out."""
    rows, delay = stream
    ticks = [replace(tick, watermark=None) for tick in script(cut(rows, cuts), delay)]
    former, now = replace(kernel(gap), changes=True), kernel(gap)
    state, found = State(), Counter[Any]()
    for number, tick in enumerate(ticks):
        one = former if number < until and not tick.flush else now
        step = step_twice(one, state, packed(one, tick.rows or []), Clock(tick.watermark, tick.flush))
        state = step.state
        found.update(plain(step.rows) if one is now else ())
    assert found == run(now, ticks).rows


def test_a_row_adds_to_the_values_of_its_session() -> None:
    """A list of 20,000 values is not written anew for each that comes."""
    one, state, written = kernel(5 * MS, ()), State(), []
    for number, count in enumerate([20_000, 1, 1, 1, 1]):
        rows = [Arrived(Row(number * MS, value=at), number, at) for at in range(count)]
        step = step_twice(one, state, packed(one, rows), Clock())
        known = {chunk.id for chunk in state.chunks}
        written.append(sum(chunk.load().nbytes for chunk in step.state.chunks if chunk.id not in known))
        state = step.state
    assert all(100 * some < written[0] for some in written[1:])


@settings(max_examples=20)
@given(batches(), DELAYS, LENGTHS, st.integers(0, 2))
def test_wake_is_never_too_late(batches: list[Batch], delay: int, gap: int, quiet: int) -> None:
    check_lazy(kernel(gap), batches, delay, quiet)


@settings(max_examples=50)
@given(punctual(), LENGTHS, CUTS, RESTARTS, IDLE, st.booleans())
def test_cuts_do_not_show(
    stream: tuple[list[Row], int], gap: int, cuts: set[int], restarts: set[int], idle: list[bool], late: bool
) -> None:
    """Also in a later operator of a query, which drops nothing (`late` is False)."""
    rows, delay = stream
    done = run(kernel(gap, late=late), script(cut(rows, cuts), delay, idle), restarts)
    assert done.rows == run(kernel(gap), script(cut(rows, []), delay)).rows
    assert done.late == 0


@pytest.mark.parametrize(("mark", "comes"), [(14 * MS, 0), (15 * MS, 1)])
def test_a_session_closes_when_the_watermark_is_past_its_end(mark: int, comes: int) -> None:
    """Gap 5, rows at 1, 4 and 9: [1, 14) may still grow while W is 14."""
    ticks = [Tick([Arrived(Row(at * MS), 0, at) for at in (1, 4, 9)], None), Tick(None, mark)]
    assert sum(run(kernel(5 * MS, ()), ticks).steps[1].values()) == comes


def test_an_exact_gap_touches() -> None:
    ticks = [Tick([Arrived(Row(at), 0, at) for at in (0, 5 * MS, 10 * MS + 1)], None), Tick(None, None, flush=True)]
    outputs = sorted(run(kernel(5 * MS, ()), ticks).rows)
    assert [(end, start) for *_, end, start in outputs] == [(15 * MS + 1, 10 * MS + 1), (10 * MS, 0)]


def test_a_row_that_bridges_makes_one_session_of_two() -> None:
    ticks = [
        Tick([Arrived(Row(0, value=1), 0, 0), Arrived(Row(8 * MS, value=3), 0, 1)], None),
        Tick([Arrived(Row(4 * MS, value=2), 1, 0)], None),
        Tick(None, None, flush=True),
    ]
    assert list(run(kernel(5 * MS, ()), ticks).rows) == [(3, 6, (1, 2, 3), 13 * MS, 0)]


def test_a_late_row_beside_an_open_session_keeps_it_as_it_is() -> None:
    """A row whose session is over even with it is dropped; the session comes out without it."""
    ticks = [
        Tick([Arrived(Row(0), 0, 0)], None),
        Tick([Arrived(Row(2 * MS), 1, 0)], 20 * MS),
        Tick(None, 20 * MS, flush=True),
    ]
    done = run(kernel(5 * MS, ()), ticks)
    assert (list(done.rows), done.late) == ([(1, 1, (1,), 5 * MS, 0)], 1)
