"""Blocks are about equal, none is too big, and their fences say what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.pages import FENCE, NEW
from panes.kernels.sorted_blocks.ranges import Ranges
from panes.kernels.sorted_blocks.sort_keys import Sorting

SORTING = Sorting(("p",), (("o", "ASC NULLS FIRST"),), ("id",))
SIZES = st.integers(1, 6)
LENGTHS = st.lists(st.integers(0, 20), max_size=6)
Row = tuple[str | None, int | None, int]


def spans(lengths: list[int]) -> Ranges:
    """One after the other, from 0."""
    ends = np.cumsum([0, *lengths])
    return Ranges(ends[:-1], ends[1:])


@given(LENGTHS, SIZES)
def test_parts_tile_their_spans(lengths: list[int], size: int) -> None:
    """In as few parts as can be, whose sizes differ by one row at most."""
    parts, of = Cutter(size, SORTING).cut(spans(lengths))
    pairs = list(zip(parts.start.tolist(), parts.stop.tolist(), strict=True))
    assert [place for start, stop in pairs for place in range(start, stop)] == list(range(sum(lengths)))
    for span, length in enumerate(lengths):
        own = [stop - start for (start, stop), number in zip(pairs, of.tolist(), strict=True) if number == span]
        assert sum(own) == length and len(own) == -(-length // size)
        assert all(rows <= size for rows in own) and max(own, default=0) - min(own, default=0) <= 1


@settings(max_examples=60)
@given(st.data(), st.integers(1, 10), st.integers(4, 20))
def test_few_rows_take_in_their_neighbours(data: st.DataObject, blocks: int, size: int) -> None:
    """A run of dirty blocks with less than a quarter of a block takes in a loaded block on either side."""
    flags = st.lists(st.booleans(), min_size=blocks, max_size=blocks)
    dirty, loaded = (np.array(data.draw(flags)) for _ in range(2))
    rows = np.array(data.draw(st.lists(st.integers(0, 8), min_size=blocks, max_size=blocks)))
    expected = set(np.flatnonzero(dirty).tolist())
    for start in expected.copy():
        if start - 1 in expected and dirty[start - 1]:
            continue
        stop = next((at for at in range(start, blocks) if not dirty[at]), blocks)
        if rows[start:stop].sum() < size // 4:
            expected |= {at for at in (start - 1, stop) if 0 <= at < blocks and loaded[at]}
    found = Cutter(size, SORTING).grown(dirty, loaded, rows)
    assert set(np.flatnonzero(found).tolist()) == expected


def sorted_rows(rows: list[Row]) -> pa.Table:
    kinds = {"p": pa.string(), "o": pa.int64(), "id": pa.int64()}
    table = pa.table({name: pa.array([row[at] for row in rows], kind) for at, (name, kind) in enumerate(kinds.items())})
    return table.take(pa.array(SORTING.permutation(table)))


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "", None]), st.none() | st.integers(-3, 3), st.integers(0, 9)),
    min_size=1,
    max_size=20,
    unique=True,
)


@settings(max_examples=60)
@given(ROWS, SIZES)
def test_fences_are_the_keys_of_first_and_last_rows(rows: list[Row], size: int) -> None:
    """A key is the partition's, then the order's, then the row's: the fence tells where one ends."""
    table, cutter = sorted_rows(rows), Cutter(size, SORTING)
    blocks, _ = cutter.cut(spans([len(rows)]))
    fences = cutter.fenced(table, blocks)
    keys = SORTING.keys(table)
    assert fences.schema == FENCE
    assert fences["segment"].to_pylist() == [NEW] * fences.num_rows
    assert fences["rows"].to_pylist() == (blocks.stop - blocks.start).tolist()
    for side, places in (("first", blocks.start), ("last", blocks.stop - 1)):
        wanted = pa.array(places)
        assert fences[f"{side}_row"].to_pylist() == keys.row.take(wanted).to_pylist()
        for part, own in (("order", keys.order), ("partition", keys.partition)):
            assert fences[f"{side}_{part}"].to_pylist() == pc.binary_length(own.take(wanted)).to_pylist()
    ends: list[Any] = [end for block in fences.to_pylist() for end in (block["first_row"], block["last_row"])]
    assert ends == sorted(ends)
