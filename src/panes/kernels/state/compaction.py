"""Compaction: a new chunk takes in the last ones before it, as long as they are not much bigger.

    chunks   [ 9,000 ] [ 500 ] [ 90 ]    and 60 rows come: 90 and 60 are one chunk, of 150; 500 stays

So few chunks remain, and each row is written O(log n) times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from panes.kernels.kernel import Chunk

MUCH = 2  # a chunk that is more than so many times as big stays


def compacted(
    chunks: Sequence[Chunk],
    new: pa.Table,
    load: Callable[[Chunk], pa.Table] = lambda chunk: chunk.load(),
    size_of: Callable[[Chunk], int] = lambda chunk: chunk.rows,
    size: Callable[[pa.Table], int] = lambda table: table.num_rows,
) -> tuple[tuple[Chunk, ...], list[pa.Table]]:
    """The chunks that stay, and the tables that are to be one, the newest first.

    `load` may leave out what nobody needs any more. Sizes are rows, unless `size_of` and `size` say otherwise.
    """
    kept, tables, total = list(chunks), [new], size(new)
    while kept and size_of(kept[-1]) <= MUCH * total:
        tables.append(load(kept.pop()))
        total += size(tables[-1])
    return tuple(kept), tables
