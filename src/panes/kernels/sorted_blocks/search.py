"""Binary search in sorted keys, for many values at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.sorted_blocks.ranges import Mask, Places


def less(keys: pa.Array, ends: pa.Array) -> Places:
    """How many of the sorted keys are less than each end."""
    return _searched(keys, ends, pc.less)


def not_more(keys: pa.Array, ends: pa.Array) -> Places:
    """How many of them are not more."""
    return _searched(keys, ends, pc.less_equal)


def _searched(keys: pa.Array, ends: pa.Array, below: Callable[[pa.Array, pa.Array], pa.Array]) -> Places:
    """Halve what is left for each end until nothing is; PyArrow before 26 has no search of its own."""
    low, high = np.zeros(len(ends), np.int64), np.full(len(ends), len(keys), np.int64)
    for _ in range(len(keys).bit_length()):
        left = low < high
        middle = np.where(left, (low + high) // 2, 0)
        found: Mask = below(keys.take(pa.array(middle)), ends).to_numpy(zero_copy_only=False)
        low = np.where(left & found, middle + 1, low)
        high = np.where(left & ~found, middle, high)
    return low
