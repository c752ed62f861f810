"""Windows merged from chunks with roll-ups are the windows merged slice by slice, however many close at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from present import present

from panes.kernels.aggregates.accumulators import accumulator
from panes.kernels.aggregates.grouping import COUNT, Fold, Grouping
from panes.kernels.kernel import numbered_chunks
from panes.kernels.windows.overlapping import merged_windows, stages
from panes.kernels.windows.rollups import Rollups

NAMES = ("sum", "min", "max", "avg", "first", "last")
FOLDS = tuple(Fold(present(accumulator(name, ["bigint"])), ("v",), None, name) for name in NAMES)
LIST = Fold(present(accumulator("collect_list", ["bigint"])), ("v",), None, "collect_list")
ROW = st.tuples(st.integers(-50, 50), st.sampled_from(["a", "b", None]), st.integers(-9, 9))
CHUNKS = st.lists(st.lists(ROW, min_size=1, max_size=40), min_size=1, max_size=3)

Row = tuple[int, str | None, int]


def grouping(*folds: Fold) -> Grouping:
    return Grouping(("slice", "k"), folds, ("slice", "place"))


def merged(one: Rollups, chunks: list[list[Row]], starts: list[int], most: int) -> dict[Any, tuple[Any, ...]]:
    """The values of all windows that have some."""
    place, tables = 0, []
    for rows in chunks:
        slices, keys, values = zip(*rows, strict=True)
        places = range(place, place := place + len(rows))
        raw = pa.table({"slice": slices, "k": pa.array(keys, pa.string()), "v": values, "place": places})
        with numbered_chunks():
            tables.append(one.chunk(one.grouping.fold(raw).drop_columns([COUNT])).load())
    found = one.grouping.evaluate(merged_windows(one, tables, np.array(starts), most))
    assert found["slice"].to_pylist() == sorted(found["slice"].to_pylist())
    return {(start, key): tuple(values) for start, key, *values in zip(*found.to_pydict().values(), strict=True)}


def definition(chunks: list[list[Row]], starts: list[int], size: int) -> dict[Any, list[int]]:
    """The values of each window and key in the stream's order: by time, then as they came."""
    windows: dict[Any, list[int]] = {}
    for time, key, value in sorted((row for rows in chunks for row in rows), key=lambda row: row[0]):
        for start in starts:
            if start <= time < start + size:
                windows.setdefault((start, key), []).append(value)
    return windows


@settings(max_examples=60)
@given(CHUNKS, st.sets(st.integers(-60, 60), min_size=1), st.integers(1, 60), st.integers(2, 3), st.booleans())
def test_windows_are_merged_from_their_slices(
    chunks: list[list[Row]], starts: set[int], size: int, fan_out: int, at_once: bool
) -> None:
    one = Rollups(size, 1, grouping(*FOLDS), fan_out)
    found = merged(one, chunks, sorted(starts), 1 << 20 if at_once else 200)
    expected = definition(chunks, sorted(starts), size)
    assert found == {window: (sum(v), min(v), max(v), sum(v) / len(v), v[0], v[-1]) for window, v in expected.items()}


@settings(max_examples=20)
@given(CHUNKS, st.integers(-60, 60), st.integers(1, 60))
def test_groups_that_hold_values(chunks: list[list[Row]], first: int, size: int) -> None:
    starts = list(range(first, first + 40))
    found = merged(Rollups(size, 1, grouping(LIST), 2), chunks, starts, 1 << 20)
    expected = definition(chunks, starts, size)
    assert {window: values for window, (values,) in found.items()} == expected


@pytest.mark.parametrize("most", [1 << 30, 1 << 14])
def test_thousands_of_windows_that_close_at_once(most: int) -> None:
    """Two keys, one with a row in each slice; windows of 1,000 hops."""
    rows: list[Row] = [*((time, "a", time) for time in range(3_000)), (1_500, "b", 1)]
    starts = list(range(-1_000, 3_000))
    found = merged(Rollups(1_000, 1, grouping(FOLDS[0]), 4), [rows[:2_000], rows[2_000:]], starts, most)
    times = {start: range(max(0, start), min(3_000, start + 1_000)) for start in starts}
    expected = {(start, "a"): (sum(inside),) for start, inside in times.items() if inside}
    expected |= {(start, "b"): (1,) for start in range(501, 1_501)}
    assert found == expected


def test_a_window_alone_has_one_stage() -> None:
    assert len(stages(np.array([5]), 86_400, (16, 256, 4096))) == 1


@given(st.sets(st.integers(-300, 300), min_size=1), st.integers(8, 100))
def test_a_stage_lies_in_the_one_above(starts: set[int], size: int) -> None:
    found = stages(np.array(sorted(starts)), size, [length for length in (2, 4) if 2 * length <= size])
    for above, below in pairwise(found):
        inner = above.inner
        assert (above.low <= below.low[inner]).all()
        assert (below.low[inner] < below.high[inner]).all()
        assert (below.high[inner] <= above.high).all()
        assert 4 * len(below.low) <= len(above.low)
        sides = above.around(below)
        covered = [set(range(*one)) for one in zip(below.low[inner].tolist(), below.high[inner].tolist(), strict=True)]
        for of, low, high in zip(sides.of.tolist(), sides.low.tolist(), sides.high.tolist(), strict=True):
            assert not covered[of] & set(range(low, high))
            covered[of] |= set(range(low, high))
        assert covered == [set(range(*one)) for one in zip(above.low.tolist(), above.high.tolist(), strict=True)]
