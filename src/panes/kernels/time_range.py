"""Times that kernels can reckon with: distances between them, and sums with the longest lengths, fit into 64 bits."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

FARTHEST = 3 * 10**18  # microseconds, which are some 95,000 years: a third of what Spark's times reach


def check_times(times: pa.ChunkedArray) -> None:
    """Raise an error if there is a time that no kernel can reckon with.

    >>> check_times(pa.chunked_array([[0, 3 * 10**18 + 1]]))
    Traceback (most recent call last):
    OverflowError: a time is more than 95,000 years from 1970
    """
    bounds = pc.min_max(times.cast(pa.int64()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < -FARTHEST or high > FARTHEST):
        raise OverflowError("a time is more than 95,000 years from 1970")
