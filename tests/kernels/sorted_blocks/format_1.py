"""Sorted blocks as the first checkpoints have them: segments, and the fences of all blocks in one chunk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import Chunk
from panes.kernels.sorted_blocks.cutting import Cutter
from panes.kernels.sorted_blocks.pages import ENCODING, FENCE
from panes.kernels.sorted_blocks.ranges import Ranges
from panes.kernels.sorted_blocks.sort_keys import Sorting, encoding


def former_chunks(rows: pa.Table, sorting: Sorting, size: int, name: str = "", first: int = 0) -> tuple[Chunk, ...]:
    """Blocks of these rows in two segments, every other block in the first, and their fences."""
    rows = rows.take(pa.array(sorting.permutation(rows)))
    cutter = Cutter(size, sorting)
    blocks, _ = cutter.cut(Ranges(np.array([0]), np.array([rows.num_rows])))
    fences = cutter.fenced(rows, blocks)
    segments, starts, ids = [], np.zeros(fences.num_rows, np.int64), np.zeros(fences.num_rows, np.int64)
    for at in range(2):
        own = np.arange(at, fences.num_rows, 2)
        parts = [rows.slice(blocks.start[one], blocks.stop[one] - blocks.start[one]) for one in own]
        if parts:
            sizes = (blocks.stop - blocks.start)[own]
            starts[own], ids[own] = np.cumsum(sizes) - sizes, first + at
            segments.append(chunk(first + at, pa.concat_tables(parts), f"{name}segment"))
    fences = fences.set_column(0, FENCE.field("segment"), pa.array([str(id_) for id_ in ids.tolist()]))
    fences = fences.set_column(1, FENCE.field("start"), pa.array(starts))
    fences = fences.set_column(0, "segment", fences["segment"].dictionary_encode())
    return (*segments, chunk(first + 2, fences.replace_schema_metadata({ENCODING: encoding()}), f"{name}fences"))


def chunk(number: int, table: pa.Table, kind: str) -> Chunk:
    return Chunk(str(number), table.num_rows, 0, 0, lambda: table, kind, table.nbytes)
