"""Rows in blocks, and their summaries."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa

from panes.kernels.kernel import Chunk, numbered_chunks
from panes.kernels.windows import block_store
from panes.kernels.windows.block_store import appended, is_full, runs


def test_runs_are_few() -> None:
    numbers = list(range(5, 200))
    found = list(runs(numbers))
    assert [number for low, high in found for number in range(low, high + 1)] == numbers
    assert len(found) <= 2 * 8
    assert list(runs([1, 2, 3, 6, 7, 9])) == [(1, 1), (2, 3), (6, 7), (9, 9)]


def test_blocks_fill_up_and_stay() -> None:
    blocks: tuple[Chunk, ...] = ()
    with patch.object(block_store, "BLOCK", 4), numbered_chunks():
        for first in range(0, 30, 3):
            before = blocks
            blocks = appended(blocks, pa.table({"t": range(first, first + 3)}), "t", "rows")
            full = [block for block in before if is_full(block)]
            assert list(blocks[: len(full)]) == full
        assert sum(not is_full(block) for block in blocks) <= 2
        assert appended(blocks, pa.table({"t": pa.array([], pa.int64())}), "t", "rows") == blocks
    assert [time for block in blocks for time in block.load()["t"].to_pylist()] == list(range(30))
    assert (blocks[0].low, blocks[0].high) == (0, blocks[0].rows - 1)
