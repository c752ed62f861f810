"""Compaction: a new chunk takes in the last ones before it.

`compacted` takes them as long as they are not much bigger, for chunks in which newer rows hide or join older ones:

    chunks   [ 9,000 ] [ 500 ] [ 90 ]    and 60 rows come: 90 and 60 are one chunk, of 150; 500 stays

So few chunks remain, and each row is written O(log n) times, for n rows in all.

`tiered` takes them when eight of about one size have come, and leaves a chunk alone that is big enough. It is for rows
that stand for themselves: each is written a few times, however many there are.

`layered` is for rows that hide older ones with the same key. The first chunk is the base: it is written anew when the
others together are half as big, and these are in tiers. So a row is written a few times, however many keys there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from panes.kernels.kernel import Chunk

MUCH = 2  # a chunk that is more than so many times as big stays
FAN = 8  # so many chunks of a tier are made one of the next
LAYERS = 32  # the same above a base: fewer tiers, since a key is looked for in each chunk
BIG_ROWS, BIG_BYTES = 8192, 8 << 20  # a chunk of so many stays for good


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


def tiered(
    chunks: Sequence[Chunk],
    new: pa.Table,
    load: Callable[[Chunk], pa.Table] = lambda chunk: chunk.load(),
    size_of: Callable[[Chunk], int] = lambda chunk: chunk.rows,
    size: Callable[[pa.Table], int] = lambda table: table.num_rows,
    fan: int = FAN,
    big: int = BIG_ROWS,
) -> tuple[tuple[Chunk, ...], list[pa.Table]]:
    """The chunks that stay, and the tables that are to be one, the newest first; a chunk of size `big` stays."""
    kept, total, bytes_ = len(chunks), size(new), new.nbytes
    while total < big and bytes_ < BIG_BYTES:
        first = kept
        while first and size_of(chunks[first - 1]) < min(big, fan * total / 2) and chunks[first - 1].bytes < BIG_BYTES:
            first -= 1
        taken = chunks[first:kept]
        if len(taken) < fan - 1:
            break
        kept, total, bytes_ = first, total + sum(map(size_of, taken)), bytes_ + sum(chunk.bytes for chunk in taken)
    return tuple(chunks[:kept]), [new, *(load(chunk) for chunk in reversed(chunks[kept:]))]


def layered(
    chunks: Sequence[Chunk],
    new: pa.Table,
    load: Callable[[Chunk], pa.Table] = lambda chunk: chunk.load(),
    size_of: Callable[[Chunk], int] = lambda chunk: chunk.rows,
    size: Callable[[pa.Table], int] = lambda table: table.num_rows,
    fan: int = LAYERS,
) -> tuple[tuple[Chunk, ...], list[pa.Table]]:
    """The chunks that stay, and the tables that are to be one, the newest first."""
    base, layers = chunks[:1], chunks[1:]
    if not base or 2 * (size(new) + sum(map(size_of, layers))) >= size_of(base[0]):
        return (), [new, *(load(chunk) for chunk in reversed(chunks))]
    kept, tables = tiered(layers, new, load, size_of, size, fan, size_of(base[0]))
    return (*base, *kept), tables
