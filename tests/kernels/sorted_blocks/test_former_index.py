"""An index of format 1 is read whole."""

from __future__ import annotations

import pyarrow as pa

from panes.kernels.sorted_blocks.former_index import FORMER, former_rows, former_size
from panes.kernels.sorted_blocks.sort_keys import Sorting

from .format_1 import former_chunks

SORTING = Sorting((), (), ("id",))


def test_all_rows_are_read() -> None:
    rows = pa.table({"id": [3, None, 1, 2, 5], "v": ["c", None, "a", "b", "e"]})
    chunks = former_chunks(rows, SORTING, 2, FORMER)
    found = former_rows(chunks)
    assert found is not None and found.column_names == ["id", "v"]
    assert sorted(found.to_pylist(), key=str) == sorted(rows.to_pylist(), key=str)
    assert former_size(chunks) == 5


def test_other_chunks_are_none() -> None:
    chunks = former_chunks(pa.table({"id": [1]}), SORTING, 2)
    assert former_rows(chunks) is None and former_size(chunks) == 0
