"""Groups of open windows, against a dictionary: whatever is added and ends, a window has all its values."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping
from panes.kernels.windows.open_groups import PARTS, WINDOW, Numbers, OpenGroups, by_window, of, without

FOLDS = tuple(
    Fold(one, ("v",), None, name)
    for name in ("sum", "collect_list")
    if (one := accumulator(name, ["bigint"])) is not None
)
GROUPING = Grouping((WINDOW,), FOLDS, ("v",))
# In each step: the windows that get a value, and those that end after it.
STEPS = st.lists(
    st.tuples(st.lists(st.integers(0, 8), max_size=6), st.sets(st.integers(0, 8), max_size=4)), max_size=12
)


def folded(windows: list[int], value: int) -> pa.Table:
    rows = pa.table({WINDOW: pa.array(windows, pa.int64()), "v": pa.array([value] * len(windows), pa.int64())})
    return GROUPING.fold(rows)


def numbers(windows: list[int]) -> Numbers:
    return np.array(windows, np.int64)


def asked_in_vain() -> Numbers:
    raise AssertionError("asked in vain which windows are open")


@settings(max_examples=100)
@given(STEPS)
def test_a_window_that_ends_has_all_its_values(steps: list[tuple[list[int], set[int]]]) -> None:
    groups, known = OpenGroups(GROUPING), dict[int, list[int]]()
    done: set[int] = set()
    for value, (windows, ending) in enumerate(steps):
        windows = [window for window in windows if window not in done]
        for window in windows:
            known.setdefault(window, []).append(value)
        groups = groups.add(folded(windows, value), len(known), partial(numbers, sorted(known)))
        ended = numbers(sorted(ending & set(known)))
        expected = {window: known.pop(window) for window in ended.tolist()}
        done |= set(expected)
        found, groups = groups.take(ended, len(known), partial(numbers, sorted(known)))
        merged = GROUPING.merge([folded([], 0), *found])
        values = {row[WINDOW]: sorted(one["v"] for one in row["collect_list"]) for row in merged.to_pylist()}
        assert {window: len(one) for window, one in values.items()} == {k: len(v) for k, v in expected.items()}
        sums = dict(zip(merged[WINDOW].to_pylist(), merged["sum"].to_pylist(), strict=True))
        assert sums == {window: sum(one) for window, one in expected.items()}
        assert all(chunk.kind == PARTS for chunk in groups.chunks)


def test_windows_that_end_beside_many_others_write_nothing() -> None:
    """A chunk stays as it is, and nobody asks which windows are open."""
    groups = OpenGroups(GROUPING).add(folded(list(range(1_000)), 1), 1_000, asked_in_vain)
    (chunk,) = groups.chunks
    found, after = groups.take(np.arange(10), 990, asked_in_vain)
    assert sum(part.num_rows for part in found) == 10
    assert after.chunks == (chunk,)
    assert dict(after.ended) == {chunk.id: 10}


def test_a_chunk_of_which_half_has_ended_is_written_anew() -> None:
    groups = OpenGroups(GROUPING).add(folded(list(range(100)), 1), 100, asked_in_vain)
    _, after = groups.take(np.arange(50), 50, lambda: np.arange(50, 100))
    (chunk,) = after.chunks
    assert (chunk.rows, chunk.low, dict(after.ended)) == (50, 50, {})


def test_values_that_are_held_are_not_written_each_time() -> None:
    """A group is one row however many values it holds: bytes count."""
    groups, written, values = OpenGroups(GROUPING), 0, 100
    for value in range(values):
        before = {chunk.id for chunk in groups.chunks}
        groups = groups.add(folded([1] * 100, value), 1, lambda: np.array([1]))
        new = [chunk.load() for chunk in groups.chunks if chunk.id not in before]
        written += sum(len(held) for table in new for held in table["collect_list"].to_pylist())
    assert written <= 12 * values * 100


def test_groups_of_some_windows() -> None:
    groups = by_window(folded([3, 1, 2], 0))
    assert groups[WINDOW].to_pylist() == [1, 2, 3]
    assert of(groups, np.array([2]))[WINDOW].to_pylist() == [2]
    assert without(groups, np.array([2]))[WINDOW].to_pylist() == [1, 3]
    assert groups[COUNT].to_pylist() == [1, 1, 1]
