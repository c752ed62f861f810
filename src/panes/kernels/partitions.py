"""Partitions as numbers: rows of one partition get one code, so that the rest is index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted

Codes = npt.NDArray[np.int64]


def by_partition(rows: pa.Table, by: Sequence[str]) -> tuple[Codes, Codes]:
    """The order that sorts rows by partition, stably, and the places in it where partitions begin.

    >>> by_partition(pa.table({"k": [7, 5, 7, 5, 5]}), ["k"])
    (array([1, 3, 4, 0, 2]), array([0, 3]))
    """
    return in_runs(partition_numbers(rows, by))


def in_runs(numbers: Codes) -> tuple[Codes, Codes]:
    """The order that sorts numbers from 0, stably, and the places in it where runs of equal ones begin."""
    order = _stable_order(numbers)
    return order, run_starts(numbers[order])


def distinct(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The first row of each partition, and of it the columns `by`; NULL equals NULL.

    >>> distinct(pa.table({"k": [7, 5, 7], "v": [1, 2, 3]}), ["k"])["k"].to_pylist()
    [5, 7]
    """
    if not by or not rows.num_rows:
        return rows.select(list(by)) if by else rows.slice(0, 1)
    order, starts = by_partition(rows, by)
    return rows.select(list(by)).take(pa.array(order[starts]))


def partition_numbers(rows: pa.Table, by: Sequence[str]) -> Codes:
    """A number from 0 for each row, equal where the partition is; an integer key is nearly one, without any hashing."""
    if len(by) == 1 and pa.types.is_integer(rows[by[0]].type) and not rows[by[0]].null_count:
        keys: Codes = rows[by[0]].to_numpy().astype(np.int64)
        low, high = int(keys.min()), int(keys.max())
        if high - low < 1 << 48:
            return keys - low
    return codes(rows, by)


def _stable_order(numbers: Codes) -> Codes:
    """Sixteen bits at a time, which NumPy sorts without comparing."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    most, shift = int(numbers.max(initial=0)), 16
    while most >> shift:
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
        shift += 16
    return order


def run_starts(ordered: Codes) -> Codes:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


def codes(rows: pa.Table, by: Sequence[str]) -> Codes:
    """A number from 0 for each row, equal where all columns `by` are equal; NULL equals NULL.

    >>> codes(pa.table({"a": ["x", "y", None, "x", None]}), ["a"])
    array([0, 1, 2, 0, 2])
    """
    found: Codes = np.zeros(rows.num_rows, np.int64)
    for number, name in enumerate(dict.fromkeys(by)):
        one = _column_codes(rows, name)
        size = int(one.max(initial=0)) + 1
        if number == 0:
            found = one
        elif int(found.max(initial=0)) < (1 << 62) // size:
            found = found * size + one
        else:
            found = _dense(found) * size + one
    return _dense(found) if len(by) > 1 else found


def _dense(numbers: Codes) -> Codes:
    """The same distinctions with small numbers."""
    dense: Codes = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return dense


def _column_codes(rows: pa.Table, name: str) -> Codes:
    column = rows[name]
    if pa.types.is_nested(column.type):
        column = query(
            f"SELECT code FROM (SELECT place, dense_rank() OVER (ORDER BY {quoted(name)}) AS code FROM parts) "
            "ORDER BY place",
            parts=pa.table({name: column, "place": np.arange(rows.num_rows)}),
        )["code"]
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0, column.type))  # -0.0 becomes 0.0
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    numbers: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
