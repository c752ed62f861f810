"""Roll-ups of a chunk: what they find for an interval is its slices, in few groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.kernel import Chunk, numbered_chunks
from panes.kernels.windows.rollups import KIND, SPAN, Intervals, Rollups

SUM = Fold(present(accumulator("sum", ["double"])), ("v",), None, "total")
LIST = Fold(present(accumulator("collect_list", ["bigint"])), ("v",), None, "list")
BY = ("slice", "k")
GROUPS = st.dictionaries(st.tuples(st.integers(-60, 60), st.sampled_from(["a", None])), st.integers(-9, 9), min_size=1)
INTERVALS = st.lists(st.tuples(st.integers(-70, 70), st.integers(1, 70)), min_size=1, max_size=5)


def rollups(size: int, hop: int = 1, fan_out: int = 2) -> Rollups:
    return Rollups(size, hop, Grouping(BY, (SUM,)), fan_out)


def table(groups: Iterable[tuple[int, str | None, int]]) -> pa.Table:
    slices, keys, values = zip(*groups, strict=True)
    return pa.table({"slice": slices, "k": pa.array(keys, pa.string()), "total": pa.array(values, pa.float64())})


def chunk(one: Rollups, groups: pa.Table) -> Chunk:
    with numbered_chunks():
        return one.chunk(groups)


def found(one: Rollups, rows: pa.Table, intervals: list[tuple[int, int]]) -> Counter[Any]:
    """The sum of each interval and key; the intervals by their numbers."""
    low, length = np.array(intervals).T
    of, places = one.find(rows, Intervals(np.arange(len(low)), low, low + length)).rows()
    assert len(set(zip(of.tolist(), places.tolist(), strict=True))) == len(of)
    total: Counter[Any] = Counter()
    for number, row in zip(of.tolist(), rows.take(pa.array(places)).to_pylist(), strict=True):
        total[number, row["k"]] += row["total"]
    return total


@settings(max_examples=60)
@given(GROUPS, INTERVALS, st.integers(1, 60), st.integers(1, 3), st.integers(2, 4))
def test_intervals_are_made_of_their_slices(
    groups: dict[tuple[int, str | None], int],
    intervals: list[tuple[int, int]],
    size: int,
    hop: int,
    fan_out: int,
) -> None:
    """Slices in any order; with hops of three there may be several slices in each, which no span cuts."""
    one = rollups(size, hop, fan_out)
    made = chunk(one, table((slice_, key, value) for (slice_, key), value in groups.items()))
    expected: Counter[Any] = Counter()
    for number, (low, length) in enumerate(intervals):
        for (slice_, key), value in groups.items():
            expected[number, key] += value if low <= slice_ < low + length else 0
    sums = found(one, one.load(made), intervals)
    assert {key: value for key, value in sums.items() if value} == {key: v for key, v in expected.items() if v}


@settings(max_examples=30)
@given(GROUPS)
def test_slices_are_as_they_came(groups: dict[tuple[int, str | None], int]) -> None:
    one = rollups(60)
    made = chunk(one, table((slice_, key, value) for (slice_, key), value in groups.items()))
    slices = one.slices(one.load(made))
    rows = {(row["slice"], row["k"]): row["total"] for row in slices.to_pylist()}
    assert rows == groups
    assert slices.column_names == ["slice", "k", "total"]
    starts = [slice_ for slice_, _ in groups]
    assert (made.low, made.high, made.kind) == (min(starts), max(starts), KIND)


@pytest.mark.parametrize(("fan_out", "most"), [(2, 30), (16, 130)])
def test_a_long_interval_is_made_of_few_groups(fan_out: int, most: int) -> None:
    """At most as many at its ends as the fan-out, twice for each length; and roll-ups are few beside the slices."""
    one = rollups(10_000, fan_out=fan_out)
    made = chunk(one, table((slice_, "a", 1) for slice_ in range(20_000)))
    rows = one.load(made)
    assert made.rows <= 20_000 * fan_out / (fan_out - 1) + len(one.lengths)
    for low in (0, 1, 777, 9_999):
        ranges = one.find(rows, Intervals(np.array([0]), np.array([low]), np.array([low + 10_000])))
        assert ranges.counts.sum() <= most
    assert found(one, rows, [(777, 10_000)]) == {(0, "a"): 10_000}


def test_few_slices_are_not_rolled_up() -> None:
    made = chunk(rollups(1_000), table((slice_, "a", 1) for slice_ in range(3)))
    assert (made.rows, SPAN in made.load().column_names) == (3, False)


def test_groups_that_would_not_become_fewer_are_not_rolled_up() -> None:
    """A key of its own in each slice."""
    made = chunk(rollups(1_000), table((slice_, f"{slice_}", 1) for slice_ in range(1_000)))
    assert (made.rows, SPAN in made.load().column_names) == (1_000, False)


def test_groups_that_hold_values_are_not_rolled_up() -> None:
    one = Rollups(1_000, 1, Grouping(BY, (LIST,)), 2)
    groups = pa.table({"slice": range(1_000), "k": ["a"] * 1_000, "list": [[{"o": {"0": 1}, "v": 1}]] * 1_000})
    assert chunk(one, groups).rows == 1_000


def test_a_chunk_of_an_old_checkpoint_is_sorted_when_it_is_read() -> None:
    one = rollups(10)
    groups = table([(5, "a", 1), (2, "a", 10), (9, "a", 100)])
    with numbered_chunks():
        old = replace(one.chunk(groups), kind="", load=lambda: groups)
    assert found(one, one.load(old), [(2, 4)]) == {(0, "a"): 11}


def test_a_chunk_with_another_fan_out_is_read_by_its_own() -> None:
    made = chunk(rollups(1_000, fan_out=3), table((slice_, "a", 1) for slice_ in range(1_000)))
    assert SPAN in made.load().column_names
    assert found(rollups(1_000, fan_out=16), made.load(), [(5, 900)]) == {(0, "a"): 900}
