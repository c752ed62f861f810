"""Compaction: nothing is lost, few chunks remain, and a row is written few times."""

from __future__ import annotations

from math import log, log2

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from panes.kernels.kernel import Chunk, new_chunk, numbered_chunks
from panes.kernels.state.compaction import BIG_ROWS, FAN, compacted, tiered


def added(chunks: tuple[Chunk, ...], rows: list[int]) -> tuple[tuple[Chunk, ...], int]:
    """The chunks with new rows, and how many rows were written."""
    kept, tables = compacted(chunks, pa.table({"v": pa.array(rows, pa.int64())}))
    merged = pa.concat_tables(tables[::-1])
    return (*kept, new_chunk(merged)), merged.num_rows


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_few_chunks_and_few_writes(sizes: list[int]) -> None:
    chunks: tuple[Chunk, ...] = ()
    total = written = 0
    with numbered_chunks():
        for size in sizes:
            chunks, wrote = added(chunks, list(range(total, total + size)))
            total += size
            written += wrote
    assert pa.concat_tables([chunk.load() for chunk in chunks])["v"].to_pylist() == list(range(total))
    assert len(chunks) <= log2(total) + 1
    assert written <= total * (log2(total) + 2)


def test_what_is_left_out_does_not_count() -> None:
    """A chunk that is loaded as nothing does not make the next one small enough."""
    with numbered_chunks():
        old = tuple(new_chunk(pa.table({"v": [0] * rows})) for rows in (9, 4))
        kept, tables = compacted(old, pa.table({"v": [1, 1]}), load=lambda chunk: chunk.load().slice(0, 0))
    assert [chunk.rows for chunk in kept] == [9]
    assert [table.num_rows for table in tables] == [2, 0]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200))
def test_tiers_have_few_chunks_and_write_a_row_a_few_times(sizes: list[int]) -> None:
    chunks: tuple[Chunk, ...] = ()
    total = written = 0
    with numbered_chunks():
        for size in sizes:
            kept, tables = tiered(chunks, pa.table({"v": pa.array(range(total, total + size))}))
            merged = pa.concat_tables(tables[::-1])
            chunks, total, written = (*kept, new_chunk(merged)), total + size, written + merged.num_rows
    assert pa.concat_tables([chunk.load() for chunk in chunks])["v"].to_pylist() == list(range(total))
    tiers = log(total, FAN) + 1
    assert len(chunks) <= FAN * tiers + 1
    assert written <= total * (tiers + 1)


def test_a_big_chunk_stays_for_good() -> None:
    with numbered_chunks():
        big = tuple(new_chunk(pa.table({"v": range(BIG_ROWS)})) for _ in range(2 * FAN))
        kept, tables = tiered(big, pa.table({"v": range(BIG_ROWS - 1)}))
    assert (kept, len(tables)) == (big, 1)


def test_a_chunk_of_many_bytes_is_big() -> None:
    with numbered_chunks():
        wide = tuple(new_chunk(pa.table({"v": ["x" * (9 << 20)]})) for _ in range(2 * FAN))
        kept, tables = tiered(wide, pa.table({"v": ["x"]}))
    assert (kept, len(tables)) == (wide, 1)
