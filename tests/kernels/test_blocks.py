"""Sorted blocks: their fences tell which of them matter, and what changes is cut anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.blocks import HOME, Cutter, Directory, Keys, Sorting
from panes.kernels.kernel import State

from .harness import restarted

SORTING = Sorting(("p",), (("o", "ASC NULLS FIRST"),), ("id",))
Row = tuple[Any, Any, Any]


def table(rows: list[Row]) -> pa.Table:
    names, kinds = ("p", "o", "id"), (pa.string(), pa.int64(), pa.int64())
    return pa.table({name: pa.array([row[at] for row in rows], kinds[at]) for at, name in enumerate(names)})


def arranged(rows: list[Row], sorting: Sorting = SORTING) -> pa.Table:
    return table(rows).take(pa.array(sorting.permutation(table(rows))))


def keys(*rows: Row) -> Keys:
    return SORTING.keys(arranged(list(rows)))


def directory(rows: list[Row], size: int) -> Directory:
    return replaced(Directory((), {}), [range(0, 1)], rows, size)


def replaced(blocks: Directory, dirty: list[range], rows: list[Row], size: int, most: int = 8) -> Directory:
    sorted_ = arranged(rows)
    return blocks.replaced(dirty, Cutter(size, SORTING).fences(sorted_, [(0, len(rows))]), sorted_, most)


def rows_of(blocks: Directory, numbers: Any = None) -> list[Row]:
    wanted = range(len(blocks.fences)) if numbers is None else sorted(numbers)
    rows = blocks.load(wanted).drop_columns([HOME]).to_pylist() if wanted else []
    return [tuple(row.values()) for row in rows]


def sort_key(row: Row) -> Any:
    return tuple((value is not None, value if value is not None else 0) for value in row)


VALUES = st.none() | st.integers(-3, 3)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), VALUES, VALUES), unique=True, max_size=20)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 5))
def test_blocks_hold_the_rows_in_order(rows, size):
    blocks = directory(rows, size)
    key = {None: -1, "": 0, "a": 1, "b": 2}
    assert rows_of(blocks) == sorted(rows, key=lambda row: (key[row[0]], sort_key(row[1:])))
    assert all(0 < fence.rows <= size for fence in blocks.fences)
    assert blocks.rows == len(rows)


@settings(max_examples=60)
@given(ROWS.filter(bool), ROWS.filter(bool), st.integers(1, 5))
def test_fences_tell_what_matters(rows, changed, size):
    blocks, touched = directory(rows, size), keys(*changed)
    wanted = {row[0] for row in changed}
    assert {row for row in rows if row[0] in wanted} <= set(rows_of(blocks, blocks.of_partitions(touched)))
    later = {row for row in rows if any(one[0] == row[0] and sort_key(one[1:]) <= sort_key(row[1:]) for one in changed)}
    assert later <= set(rows_of(blocks, blocks.after_rows(touched)))
    peers = {
        row for row in rows if any(one[0] == row[0] and sort_key(one[1:2]) <= sort_key(row[1:2]) for one in changed)
    }
    assert peers <= set(rows_of(blocks, blocks.after_peers(touched)))
    assert set(rows) & set(changed) <= set(rows_of(blocks, blocks.with_any(touched)))
    equal = {row for row in rows if row[:2] in {one[:2] for one in changed}}
    assert equal <= set(rows_of(blocks, blocks.framing(touched)))


LONG: list[Row] = [("a", at, 0) for at in range(12)] + [("b", at, 0) for at in range(12)]


def test_a_row_belongs_into_the_last_block_that_begins_before_it():
    blocks = directory(LONG, 4)
    assert blocks.with_any(keys(("a", 5, 1))) == {1}
    assert blocks.with_any(keys(("", 5, 1))) == {0}
    assert blocks.with_any(keys(("a", 100, 1))) == {2}
    assert blocks.with_any(keys(("b", -1, 1))) == {2, 3}  # after the last of a, and b goes on in the next block


def test_neighbours_end_with_the_partition():
    blocks, none = directory(LONG, 4), keys()
    assert blocks.around({1}, 1, 0, none) == {0, 1}
    assert blocks.around({1}, 0, 5, none) == {1, 2}
    assert blocks.around({3}, 9, 5, none) == {3, 4, 5}
    assert blocks.around({4}, 0, 0, none) == {4}


def test_neighbours_are_not_needed_where_the_margins_have_enough_rows():
    blocks, none = directory(LONG, 4), keys()
    assert blocks.around({1}, 2, 3, none, {1: (2, 2)}) == {1, 2}
    assert blocks.around({1}, 3, 2, none, {1: (2, 2)}) == {0, 1}


def test_neighbours_do_not_count_rows_that_go():
    blocks = directory(LONG, 4)
    assert blocks.around({5}, 4, 0, keys()) == {4, 5}
    assert blocks.around({5}, 4, 0, keys(("b", 6, 0))) == {3, 4, 5}


def test_after_rows_is_only_their_partition():
    blocks = directory(LONG, 4)
    assert blocks.after_rows(keys(("a", 9, 0))) == {2}
    assert blocks.after_rows(keys(("b", 4, 0))) == {4, 5}
    assert blocks.of_partitions(keys(("b", 4, 0))) == {3, 4, 5}


def test_a_directory_is_read_as_it_was_written():
    blocks = directory(LONG, 4)
    state = restarted(State(blocks.write()))
    again = Directory.read(state.chunks)
    assert again.fences == blocks.fences
    assert rows_of(again) == LONG
    assert again.write()[-1] is state.chunks[-1]


def test_blocks_that_do_not_change_stay_where_they_are():
    blocks = directory(LONG, 4)
    assert [fence.segment for fence in blocks.fences] == [id_ for id_ in blocks.segments for _ in range(2)]
    after = replaced(blocks, [range(1, 2)], [("a", 4, 0)], 4)
    assert [f == g for f, g in zip(after.fences, blocks.fences, strict=True)] == [True, False, True, True, True, True]
    assert set(blocks.segments) < set(after.segments)
    assert rows_of(after) == [row for row in LONG if row[0] == "b" or row[1] not in (5, 6, 7)]


def test_segments_that_are_mostly_unused_are_written_anew():
    blocks = directory(LONG, 4)
    first, *others = blocks.segments
    after = replaced(replaced(blocks, [range(1, 2)], [("a", 4, 0)], 4), [range(0, 1)], [("a", 1, 0)], 4)
    assert first not in after.segments
    assert set(others) < set(after.segments)
    assert rows_of(after) == [("a", 1, 0), ("a", 4, 0), *LONG[8:]]


def test_a_segment_stays_while_half_of_it_is_in_use():
    rows: list[Row] = [("a", at, 0) for at in range(64)]
    blocks = replaced(Directory((), {}), [range(0, 1)], rows, 4, most=64)
    (first,) = blocks.segments
    for number in range(9):
        assert first in blocks.segments
        blocks = replaced(blocks, [range(number, number + 1)], [rows[4 * number]], 4, most=64)
    assert first not in blocks.segments
    assert rows_of(blocks) == [*rows[:36:4], *rows[36:]]


def test_small_segments_are_joined():
    blocks = directory(LONG, 4)
    for row in LONG[::4]:
        blocks = replaced(blocks, [range(LONG.index(row) // 4, LONG.index(row) // 4 + 1)], [row], 4)
    assert rows_of(blocks) == LONG[::4]
    assert len(blocks.segments) <= 2


def test_small_runs_take_in_a_neighbour():
    cutter = Cutter(16, SORTING)
    assert cutter.dirty_runs({3}, {2, 3}, {3: 9}) == [range(3, 4)]
    assert cutter.dirty_runs({3}, {2, 3}, {3: 2}) == [range(2, 4)]
    assert cutter.dirty_runs({3}, {3}, {3: 2}) == [range(3, 4)]


@pytest.mark.parametrize("direction", ["DESC NULLS LAST", "DESC NULLS FIRST", "ASC NULLS LAST"])
def test_directions(direction):
    sorting = replace(SORTING, order=(("o", direction),))
    numbers = arranged([("a", at, 0) for at in (1, None, 2)], sorting)["o"].to_pylist()
    values = [2, 1] if direction.startswith("DESC") else [1, 2]
    assert numbers == ([*values, None] if direction.endswith("LAST") else [None, *values])
