"""EMIT CHANGES of time windows: after every micro-batch the changes so far add up to the windows recomputed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.aggregates.grouping import Grouping
from panes.kernels.changelog.changes import AFTER, BEFORE, DELETE
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import SLICE, SliceWindows

from ..harness import (
    CUTS,
    FOLDS,
    IDLE,
    KEY,
    MS,
    NEVER,
    ORDER,
    RESTARTS,
    TIME,
    Tick,
    arrivals,
    cut,
    punctual,
    run,
    script,
)

SLICED = Grouping((SLICE, KEY), FOLDS, ORDER)
KERNELS: dict[str, SliceWindows | SessionWindows] = {
    "tumbling": SliceWindows(5 * MS, 5 * MS, TIME, (KEY,), SLICED),
    "hopping": SliceWindows(7 * MS, 3 * MS, TIME, (KEY,), SLICED),
    "session": SessionWindows(2 * MS, TIME, (KEY,), Grouping((KEY, NUMBER), FOLDS, ORDER)),
}


def added_up(steps: list[Counter[Any]]) -> Counter[Any]:
    """The table that changes leave; the change type is the first value of each."""
    table: Counter[Any] = Counter()
    for step in steps:
        for change, count in step.items():
            table[change[1:]] += -count if change[0] in (DELETE, BEFORE) else count
    assert all(count >= 0 for count in table.values())
    return +table


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=60)
@given(data=st.data())
def test_changes_add_up(name: str, data: st.DataObject) -> None:
    rows, delay = data.draw(punctual())
    batches = cut(rows, data.draw(CUTS))
    ticks = script(batches, delay, data.draw(IDLE))
    done = run(replace(KERNELS[name], changes=True), ticks, data.draw(RESTARTS))
    seen = 0
    for number, tick in enumerate(ticks):
        seen += len(tick.rows or [])
        whole = run(KERNELS[name], script(cut(rows[:seen], []), delay)) if seen else None
        assert added_up(done.steps[: number + 1]) == (whole.rows if whole is not None else Counter())
    assert done.late == 0


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=30)
@given(data=st.data())
def test_changes_add_up_above_another_operator(name: str, data: st.DataObject) -> None:
    """Rows come with the watermark that released them, which may close their windows: they count all the same."""
    rows, delay = data.draw(punctual())
    times = sorted({(row.time // MS + 1) * MS for row in rows})
    watermarks = sorted(data.draw(st.sets(st.sampled_from(times)))) if times else []
    edges = [-NEVER, *watermarks, NEVER]
    ticks = []
    for number, (low, high) in enumerate(pairwise(edges)):
        released = [[row for row in rows if low <= row.time < high]]
        ticks.append(Tick(arrivals(released, number), high if high < NEVER else low, flush=high == NEVER))
    done = run(replace(KERNELS[name], changes=True, late=False), ticks, data.draw(RESTARTS))
    whole = run(KERNELS[name], script(cut(rows, []), delay))
    assert added_up(done.steps) == whole.rows
    assert done.late == 0


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=30)
@given(data=st.data())
def test_no_pair_has_equal_sides(name: str, data: st.DataObject) -> None:
    rows, delay = data.draw(punctual())
    done = run(replace(KERNELS[name], changes=True), script(cut(rows, data.draw(CUTS)), delay))
    for step in done.steps:
        before = {change[1:] for change in step if change[0] == BEFORE}
        assert not before & {change[1:] for change in step if change[0] == AFTER}
