"""Sorted blocks: their fences tell which of them matter, and what changes is cut anew."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import State
from panes.kernels.sorted_blocks.blocks import HOME, Directory, Margins
from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.pages import ENCODING, FENCE
from panes.kernels.sorted_blocks.ranges import Mask, Ranges
from panes.kernels.sorted_blocks.sort_keys import Keys, Sorting, encoding

from ..harness import restarted

SORTING = Sorting(("p",), (("o", "ASC NULLS FIRST"),), ("id",))
Row = tuple[Any, Any, Any]


def table(rows: list[Row]) -> pa.Table:
    names, kinds = ("p", "o", "id"), (pa.string(), pa.int64(), pa.int64())
    return pa.table({name: pa.array([row[at] for row in rows], kinds[at]) for at, name in enumerate(names)})


def arranged(rows: list[Row], sorting: Sorting = SORTING) -> pa.Table:
    return table(rows).take(pa.array(sorting.permutation(table(rows))))


def keys(*rows: Row) -> Keys:
    return SORTING.keys(arranged(list(rows)))


def directory(rows: list[Row], size: int, most: int = 8) -> Directory:
    return replaced(Directory.read(()), 0, rows, size, most)


def replaced(blocks: Directory, number: int, rows: list[Row], size: int, most: int = 8) -> Directory:
    """Other rows in one block's place."""
    cutter, sorted_ = Cutter(size, SORTING), arranged(rows)
    parts, _ = cutter.cut(Ranges(np.array([0]), np.array([len(rows)])))
    homes = np.full(len(parts.start), number)
    return blocks.replaced(some(blocks, {number}), cutter.fenced(sorted_, parts), homes, sorted_, most)


def some(blocks: Directory, numbers: set[int]) -> Mask:
    return np.isin(np.arange(len(blocks)), list(numbers))


def numbers(mask: Mask) -> set[int]:
    return set(np.flatnonzero(mask).tolist())


def rows_of(blocks: Directory, mask: Mask | None = None) -> list[Row]:
    wanted = np.ones(len(blocks), np.bool_) if mask is None else mask
    rows = blocks.load(wanted).drop_columns([HOME]).to_pylist() if wanted.any() else []
    return [tuple(row.values()) for row in rows]


def fences(blocks: Directory) -> pa.Table:
    return blocks.fences.entries.select(FENCE.names)


def sort_key(row: tuple[Any, ...]) -> Any:
    return tuple((value is not None, value if value is not None else 0) for value in row)


VALUES = st.none() | st.integers(-3, 3)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), VALUES, VALUES), unique=True, max_size=20)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 5))
def test_blocks_hold_the_rows_in_order(rows: list[Row], size: int) -> None:
    blocks = directory(rows, size)
    key = {None: -1, "": 0, "a": 1, "b": 2}
    assert rows_of(blocks) == sorted(rows, key=lambda row: (key[row[0]], sort_key(row[1:])))
    assert all(0 < held <= size for held in blocks.sizes)
    assert blocks.sizes.sum() == len(rows)


@settings(max_examples=60)
@given(ROWS.filter(bool), ROWS.filter(bool), st.integers(1, 5))
def test_fences_tell_what_matters(
    rows: list[Row],
    changed: list[Row],
    size: int,
) -> None:
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


def test_a_row_belongs_into_the_last_block_that_begins_before_it() -> None:
    blocks = directory(LONG, 4)
    assert numbers(blocks.with_any(keys(("a", 5, 1)))) == {1}
    assert numbers(blocks.with_any(keys(("", 5, 1)))) == {0}
    assert numbers(blocks.with_any(keys(("a", 100, 1)))) == {2}
    after_the_last_of_a = keys(("b", -1, 1))  # and b goes on in the next block
    assert numbers(blocks.with_any(after_the_last_of_a)) == {2, 3}


def around(blocks: Directory, at: int, before: int, after: int, gone: Keys | None = None, **margins: int) -> set[int]:
    counted = blocks.sizes - (np.diff(blocks.cuts(gone.row)) if gone else 0)
    first, last = (some(blocks, {at}) * margins.get(end, 0) for end in ("first", "last"))
    return numbers(blocks.around(some(blocks, {at}), before, after, counted, Margins(first, last)))


def test_neighbours_end_with_the_partition() -> None:
    blocks = directory(LONG, 4)
    assert around(blocks, 1, 1, 0) == {0, 1}
    assert around(blocks, 1, 0, 5) == {1, 2}
    assert around(blocks, 3, 9, 5) == {3, 4, 5}
    assert around(blocks, 4, 0, 0) == {4}


def test_neighbours_hold_as_many_rows_as_are_asked_for() -> None:
    blocks = directory(LONG, 4)
    assert around(blocks, 2, 4, 0) == {1, 2}
    assert around(blocks, 2, 5, 0) == {0, 1, 2}
    assert around(blocks, 3, 0, 4) == {3, 4}
    assert around(blocks, 3, 0, 5) == {3, 4, 5}


def test_neighbours_are_not_needed_where_the_margins_have_enough_rows() -> None:
    blocks = directory(LONG, 4)
    assert around(blocks, 1, 2, 3, first=2, last=2) == {1, 2}
    assert around(blocks, 1, 3, 2, first=2, last=2) == {0, 1}


def test_neighbours_do_not_count_rows_that_go() -> None:
    blocks = directory(LONG, 4)
    assert around(blocks, 5, 4, 0) == {4, 5}
    assert around(blocks, 5, 4, 0, keys(("b", 6, 0))) == {3, 4, 5}


def test_each_block_has_a_neighbour() -> None:
    blocks = directory(LONG, 4)
    assert numbers(blocks.neighbours(some(blocks, {0, 3}))) == {1, 4}
    assert numbers(blocks.neighbours(some(blocks, {5}))) == {4}
    alone = directory(LONG[:3], 4)
    assert numbers(alone.neighbours(some(alone, {0}))) == set()


def test_after_rows_is_only_their_partition() -> None:
    blocks = directory(LONG, 4)
    assert numbers(blocks.after_rows(keys(("a", 9, 0)))) == {2}
    assert numbers(blocks.after_rows(keys(("b", 4, 0)))) == {4, 5}
    assert numbers(blocks.of_partitions(keys(("b", 4, 0)))) == {3, 4, 5}


def test_a_directory_is_read_as_it_was_written() -> None:
    blocks = directory(LONG, 4)
    state = restarted(State(blocks.write()))
    again = Directory.read(state.chunks)
    assert fences(again).equals(fences(blocks))
    assert rows_of(again) == LONG
    assert again.write()[-1] is state.chunks[-1]


def test_fences_of_another_duckdb_are_made_anew() -> None:
    """As if it had put a byte before each key: the blocks stay, and what matters is found as before."""
    blocks = directory(LONG, 4)
    *segments, own = blocks.write()
    page = own.load()
    for name in ("first_row", "last_row"):
        other = pa.array([b"\xff" + key[::-1] for key in page[name].to_pylist()])
        page = page.set_column(page.column_names.index(name), name, other)
    page = page.replace_schema_metadata({ENCODING: b"another"})
    again = Cutter(4, SORTING).read((*segments, replace(own, load=lambda: page)))
    assert fences(again).equals(fences(blocks))
    assert dict(again.segments) == {one.id: one for one in segments}
    assert again.write()[-1].load().schema.metadata == {ENCODING: encoding().encode()}


def test_blocks_that_do_not_change_stay_where_they_are() -> None:
    blocks = directory(LONG, 4)
    assert fences(blocks)["segment"].to_pylist() == [id_ for id_ in blocks.segments for _ in range(2)]
    after = replaced(blocks, 1, [("a", 4, 0)], 4)
    same = [one == other for one, other in zip(fences(after).to_pylist(), fences(blocks).to_pylist(), strict=True)]
    assert same == [True, False, True, True, True, True]
    assert set(blocks.segments) < set(after.segments)
    assert rows_of(after) == [row for row in LONG if row[0] == "b" or row[1] not in (5, 6, 7)]


def test_segments_that_are_mostly_unused_are_written_anew() -> None:
    blocks = directory(LONG, 4)
    first, *others = blocks.segments
    after = replaced(replaced(blocks, 1, [("a", 4, 0)], 4), 0, [("a", 1, 0)], 4)
    assert first not in after.segments
    assert set(others) < set(after.segments)
    assert rows_of(after) == [("a", 1, 0), ("a", 4, 0), *LONG[8:]]


def test_a_segment_stays_while_half_of_it_is_in_use() -> None:
    rows: list[Row] = [("a", at, 0) for at in range(64)]
    blocks = directory(rows, 4, most=64)
    (first,) = blocks.segments
    for number in range(9):
        assert first in blocks.segments
        blocks = replaced(blocks, number, [rows[4 * number]], 4, most=64)
    assert first not in blocks.segments
    assert rows_of(blocks) == [*rows[:36:4], *rows[36:]]


def test_small_segments_are_joined() -> None:
    blocks = directory(LONG, 4)
    for row in LONG[::4]:
        blocks = replaced(blocks, LONG.index(row) // 4, [row], 4)
    assert rows_of(blocks) == LONG[::4]
    assert len(blocks.segments) <= 2


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 12), st.integers(1, 20))
def test_segments_hold_what_the_fences_say(seed: int, size: int, most: int, changes: int) -> None:
    random, rows = Random(seed), list(LONG)
    blocks = directory(rows, size, most)
    for change in range(1, changes):
        if not len(blocks):
            break
        number = random.randrange(len(blocks))
        there = rows_of(blocks, some(blocks, {number}))
        left = [row for row in there if random.random() < 0.5]
        left += [(partition, at, change) for partition, at, _ in there if random.random() < 0.7]
        at = int(blocks.sizes[:number].sum())
        rows[at : at + len(there)] = sorted(left)
        blocks = replaced(blocks, number, left, size, most)
        assert rows_of(blocks) == rows
        held = dict.fromkeys(blocks.segments, 0)
        for fence in fences(blocks).to_pylist():
            held[fence["segment"]] += fence["rows"]
        assert all(chunk.rows <= 2 * held[id_] for id_, chunk in blocks.segments.items())
        assert all(chunk.rows < most + size for chunk in blocks.segments.values())


def test_a_segment_does_not_keep_its_neighbours_in_memory() -> None:
    rows = [("a", at, 0) for at in range(1000)]
    for chunk in directory(rows, 10, most=100).segments.values():
        table = chunk.load()
        assert table.num_rows == 100
        assert table.get_total_buffer_size() < 2 * table.nbytes


def test_small_runs_take_in_a_neighbour() -> None:
    def grown(loaded: list[int], rows: int) -> list[int]:
        dirty, known = (np.isin(np.arange(5), numbers) for numbers in ([3], loaded))
        return np.flatnonzero(Cutter(16, SORTING).grown(dirty, known, np.array([9, 9, 9, rows, 9]))).tolist()

    assert grown([2, 3], 9) == [3]
    assert grown([2, 3], 2) == [2, 3]
    assert grown([3], 2) == [3]


@pytest.mark.parametrize("direction", ["DESC NULLS LAST", "DESC NULLS FIRST", "ASC NULLS LAST"])
def test_directions(direction: str) -> None:
    sorting = replace(SORTING, order=(("o", direction),))
    numbers = arranged([("a", at, 0) for at in (1, None, 2)], sorting)["o"].to_pylist()
    values = [2, 1] if direction.startswith("DESC") else [1, 2]
    assert numbers == ([*values, None] if direction.endswith("LAST") else [None, *values])
