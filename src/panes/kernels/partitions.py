"""Partitions as numbers: rows of one partition get one code, so that the rest is index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.kernels.duck import query, quoted

Codes = npt.NDArray[np.int64]


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
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    numbers: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
