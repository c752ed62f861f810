"""Fences in pages: what is found does not depend on which are open, and only pages that change are written."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk, State, numbered_chunks
from panes.kernels.sorted_blocks import pages
from panes.kernels.sorted_blocks.blocks import Directory
from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.pages import FENCE, FENCES, PAGES, Fences
from panes.kernels.sorted_blocks.ranges import Mask, Ranges
from panes.kernels.sorted_blocks.sort_keys import Keys, Sorting

from ..harness import restarted
from .format_1 import former_chunks

SORTING = Sorting(("p",), (("o", "ASC NULLS FIRST"),), ("id",))
CUTTER = Cutter(2, SORTING, ("low", "high"))
Row = tuple[str, int, int]


def table(rows: list[Row]) -> pa.Table:
    """Sorted rows. The RANGE frame of a row reaches as far as its id says, on either side."""
    rows = sorted(rows)
    columns = {"o": [o for _, o, _ in rows], "id": [id_ for _, _, id_ in rows]}
    columns |= {"low": [o - id_ for _, o, id_ in rows], "high": [o + id_ for _, o, id_ in rows]}
    numbers = {name: pa.array(column, pa.int64()) for name, column in columns.items()}
    return pa.table({"p": pa.array([p for p, _, _ in rows], pa.string()), **numbers})


def replaced(directory: Directory, dirty: Mask, rows: list[Row]) -> Directory:
    """Other rows in place of these blocks, which stand side by side."""
    new = table(rows)
    blocks, _ = CUTTER.cut(Ranges(np.array([0]), np.array([len(rows)])))
    place = int(np.flatnonzero(dirty)[0]) if dirty.any() else 0
    return directory.replaced(dirty, CUTTER.fenced(new, blocks), np.full(len(blocks.start), place), new, 16)


def open_(directory: Directory) -> Directory:
    return directory.opened(directory.closed)


def rows_of(directory: Directory, some: Mask) -> list[Row]:
    found = directory.load(some).select(["p", "o", "id"]).to_pylist() if some.any() else []
    return [(row["p"], row["o"], row["id"]) for row in found]


def everything(directory: Directory) -> list[Row]:
    whole = open_(directory)
    return rows_of(whole, np.ones(len(whole), np.bool_))


def any_rows(random: Random, most: int) -> list[Row]:
    some = {(random.choice("abc"), random.randint(0, 30), random.randint(0, 5)) for _ in range(random.randint(0, most))}
    return sorted(some)


def kept(directory: Directory) -> Directory:
    """As another process reads it."""
    return Directory.read(restarted(State(directory.write())).chunks)


FINDS = [
    lambda directory, keys: directory.with_any(keys),
    lambda directory, keys: directory.of_partitions(keys),
    lambda directory, keys: directory.after_rows(keys),
    lambda directory, keys: directory.after_peers(keys),
    lambda directory, keys: directory.framing(keys),
    lambda directory, keys: directory.framed(directory.with_any(keys)),
    lambda directory, keys: directory.around(directory.with_any(keys), 3, 4, directory.sizes),
]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(FINDS))
def test_what_is_found_does_not_depend_on_what_is_open(seed: int, find: object) -> None:
    assert callable(find)
    random = Random(seed)
    directory = kept(replaced(Directory.read(()), np.zeros(0, np.bool_), any_rows(random, 90)))
    wanted = table(any_rows(random, 2) or [("b", 3, 3)])
    keys: Keys = SORTING.keys(wanted)
    if not len(directory):
        return
    some = np.array([random.random() < 0.3 for _ in range(len(directory))])
    whole = open_(directory)
    expected = rows_of(whole, find(whole, keys))
    for one in (directory, directory.opened(some)):
        opened, found = one.opened_where(lambda each: find(each, keys))
        assert rows_of(opened, found) == expected


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_changes_of_some_pages_are_those_of_all(seed: int, changes: int) -> None:
    """The rows are as they should be, the summaries are those of the fences, and pages are neither big nor tiny."""
    random = Random(seed)
    rows = any_rows(random, 80)
    directory = replaced(Directory.read(()), np.zeros(0, np.bool_), rows)
    for change in range(changes):
        directory = kept(directory)
        assert everything(directory) == rows
        if not len(directory):
            break
        wanted = np.arange(len(directory)) == random.randrange(len(directory))
        directory = directory.opened(wanted)
        at = random.choice(np.flatnonzero(~directory.closed).tolist())
        dirty = np.arange(len(directory)) == at
        old = rows_of(directory, dirty)
        new = [row for row in old if random.random() < 0.5]
        new += [(p, o, 10 + change) for p, o, _ in old if random.random() < 0.5]
        new = sorted(set(new) if random.random() < 0.7 else {(p, o, 100 + n) for p, o, _ in old for n in range(20)})
        start = int(directory.sizes[:at].sum())
        rows[start : start + len(old)] = new
        directory = replaced(directory, dirty, new)
        check_pages(directory.write())
    assert everything(kept(directory)) == rows


def check_pages(chunks: tuple[Chunk, ...]) -> None:
    sizes = [chunk.rows for chunk in chunks if chunk.kind == FENCES]
    assert all(0 < size <= pages.MOST for size in sizes)
    tops = [chunk.load() for chunk in chunks if chunk.kind == PAGES]
    assert len(tops) == (len(sizes) > 1)
    if tops:
        closed = Fences.read(chunks)[0]
        again = Fences.of(closed.opened(closed.closed).entries.select(FENCE.names))
        assert closed.in_use() == again.in_use()
        loaded = [closed.pages[id_].load() for id_ in tops[0]["page"].to_pylist()]
        assert tops[0]["rows"].to_pylist() == [sum(page["rows"].to_pylist()) for page in loaded]
        for end, place in (("first", 0), ("last", -1)):
            for name in (f"{end}_row", f"{end}_order", f"{end}_partition"):
                assert tops[0][name].to_pylist() == [page[name].to_pylist()[place] for page in loaded]


def test_only_pages_that_change_are_written() -> None:
    rows = [("a", at, 0) for at in range(100)]
    directory = kept(replaced(Directory.read(()), np.zeros(0, np.bool_), rows))
    assert directory.closed.all() and len(directory) == 7
    keys = SORTING.keys(table([("a", 50, 0)]))
    directory, found = directory.opened_where(lambda one: one.with_any(keys))
    assert directory.closed.sum() == 6 and rows_of(directory, found) == [("a", 50, 0), ("a", 51, 0)]
    known = set(directory.fences.pages)
    chunks = replaced(directory, found, [("a", 50, 1)]).write()
    written = [chunk for chunk in chunks if chunk.kind == FENCES and chunk.id not in known]
    assert len(written) == 1 and written[0].rows <= 8
    assert sum(chunk.kind == FENCES for chunk in chunks) == 7
    assert directory.write() == (*directory.segments.values(), *directory.own)


def test_a_page_with_few_fences_is_joined_to_its_neighbour() -> None:
    rows = [("a", at, 0) for at in range(32)]
    directory = kept(replaced(Directory.read(()), np.zeros(0, np.bool_), rows))
    assert len(directory) == 2
    directory = directory.opened(np.array([False, True]))
    after = replaced(directory, np.arange(len(directory)) > 0, [("a", 99, 0)])
    assert [chunk.rows for chunk in after.write() if chunk.kind in (FENCES, PAGES)] == [4, 5, 2]
    assert everything(kept(after)) == [*rows[:16], ("a", 99, 0)]


def test_the_one_page_of_format_1_is_cut_when_it_changes() -> None:
    rows = [("a", at, 0) for at in range(100)]
    chunks = former_chunks(table(rows).select(["p", "o", "id"]), SORTING, 2)
    directory = Cutter(2, SORTING).read(chunks)
    assert len(directory) == 50 and not directory.closed.any()
    assert set(directory.write()) == set(chunks)
    with numbered_chunks(10):
        after = replaced(directory, np.arange(50) == 7, [("a", 14, 5)]).write()
    assert sum(chunk.kind == FENCES for chunk in after) == 7 and sum(chunk.kind == PAGES for chunk in after) == 1
    assert everything(Directory.read(after)) == [*rows[:14], ("a", 14, 5), *rows[16:]]


def test_pages_of_another_duckdb_are_made_anew() -> None:
    rows = [("a", at, 0) for at in range(100)]
    directory = replaced(Directory.read(()), np.zeros(0, np.bool_), rows)
    chunks = directory.write()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("panes.kernels.sorted_blocks.cutting.encoding", lambda: "another")
        again = CUTTER.read(chunks)
    assert not again.closed.any() and again.own == ()
    assert again.fences.entries.select(FENCE.names).equals(directory.fences.entries.select(FENCE.names))
    assert everything(again) == rows
