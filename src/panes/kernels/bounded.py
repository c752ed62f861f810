"""Tables of bounded size: what is written or handed on as one, and what is taken in at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

MOST_BYTES = 32 << 20  # of a blob, before it is compressed; Arrow's own limit is 2 GB
MOST_ROWS = 1 << 19  # that are taken in at once


def bounded(table: pa.Table, most: int = MOST_BYTES, rows: int | None = None) -> Iterator[pa.Table]:
    """The rows of a table in slices of so many bytes and rows at most, but for a single row that has more.

    >>> [part.num_rows for part in bounded(pa.table({"v": range(5)}), most=16)]
    [2, 1, 2]
    """
    if (table.nbytes <= most and (rows is None or table.num_rows <= rows)) or table.num_rows <= 1:
        if table.num_rows:
            yield table
        return
    half = table.num_rows // 2
    yield from bounded(table.slice(0, half), most, rows)
    yield from bounded(table.slice(half), most, rows)


def gathered_parts(tables: Iterable[pa.Table], rows: int, most: int) -> Iterator[pa.Table]:
    """Tables put together, in order, until they have so many rows or bytes."""
    gathered: list[pa.Table] = []
    count = size = 0
    for table in tables:
        gathered.append(table)
        count, size = count + table.num_rows, size + table.nbytes
        if count >= rows or size >= most:
            yield pa.concat_tables(gathered, promote_options="permissive")
            gathered, count, size = [], 0, 0
    if gathered:
        yield pa.concat_tables(gathered, promote_options="permissive")
