"""Hashes of keys: rows that are sorted by them are found without looking at the others.

    hashes   02 13 13 5f a0 …        keys with 13: rows 1 and 2, by binary search

Hashes are DuckDB's, and no release promises those of the next: `encoding` tells by what state was sorted. Two keys may
have one hash, so whoever finds a row by it compares the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted, same
from panes.kernels.partitions import Codes
from panes.kernels.sorted_blocks.sort_keys import SAMPLES

HASH = "key_hash"
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


@cache
def encoding() -> str:
    """Which hashes this DuckDB makes: equal for all releases that make the same."""
    values = [f"hash(({value})::{type_})" for type_, values in SAMPLES.items() for value in (*values, "NULL")]
    values.append("hash(1, 'two', NULL)")
    row = query(f"SELECT {', '.join(f'{value} AS h{at}' for at, value in enumerate(values))}")
    digest = blake2b(digest_size=4)
    for column in row.columns:
        digest.update(f"{column[0].as_py()}|".encode())
    return digest.hexdigest()


def hashes(rows: pa.Table, by: Sequence[str]) -> Hashes:
    """A hash for each row, equal where the columns `by` are; without columns all are equal."""
    if not by:
        return np.zeros(rows.num_rows, np.uint64)
    names = ", ".join(quoted(name) for name in by)
    found: Hashes = query(f"SELECT hash({names}) AS {HASH} FROM parts", parts=rows.select(by))[HASH].to_numpy()
    return found


def sorted_by_hash(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The rows in the order of their hashes, which are their column HASH; rows of a key stay in order."""
    if HASH not in rows.column_names:
        rows = rows.append_column(HASH, pa.array(hashes(rows, by)))
    found = rows[HASH].to_numpy()
    if (found[1:] >= found[:-1]).all():
        return rows.combine_chunks()
    return rows.take(pa.array(np.argsort(found, kind="stable"))).combine_chunks()


def matches(ascending: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> tuple[Codes, Codes]:
    """Where wanted numbers are: pairs of a place among the wanted and one among the ascending.

    Wanted ones that are sorted are found faster: the next is near.

    >>> matches(np.array([2, 13, 13, 95], np.uint64), np.array([13, 7, 2], np.uint64))
    (array([0, 0, 2]), array([1, 2, 0]))
    """
    if not len(ascending):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = np.searchsorted(ascending, wanted)
    there = np.flatnonzero(ascending[np.minimum(first, len(ascending) - 1)] == wanted)
    first = first[there]
    counts = np.searchsorted(ascending, wanted[there], "right") - first
    before = np.cumsum(counts) - counts
    return np.repeat(there, counts), np.arange(counts.sum()) + np.repeat(first - before, counts)


def agree(rows: pa.Table, others: pa.Table, by: Sequence[str]) -> Flags:
    """Which rows agree in columns `by` with the other row at their place; NULL agrees with NULL, and NaN with NaN."""
    found: Flags = np.full(rows.num_rows, True)
    for name in by if rows.num_rows else ():
        found &= _same(rows[name], others[name])
    return found


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Flags:
    if left.type != right.type or pa.types.is_nested(left.type):
        return _same_nested(left, right)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    if left.null_count or right.null_count:
        same = pc.coalesce(same, pc.and_(pc.is_null(left), pc.is_null(right)))
    found: Flags = same.to_numpy()
    return found


def _same_nested(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Flags:
    """By DuckDB, which compares what Arrow does not; a query takes as long as Arrow does for 100,000 numbers."""
    found: Flags = query(
        f"SELECT {same(['v'], 'l', 'r')} AS same FROM left_side l POSITIONAL JOIN right_side r",
        left_side=pa.table({"v": left}),
        right_side=pa.table({"v": right}),
    )["same"].to_numpy()
    return found
