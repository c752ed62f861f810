"""Rows gathered into sessions: of one key, and none further than the gap from what comes before it.

    gap 5     first  1  3  9  20
    sessions         0  0  1   2

A row may be a session itself, from its first to its last time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from panes.kernels.partitions import Codes, in_runs, partition_numbers
from panes.kernels.state.key_hash import Flags
from panes.kernels.windows.starts import Times


@dataclass(frozen=True)
class Sessions:
    """`number` tells the session of each row; the others have a value for each session, `row` one of its rows."""

    number: Codes
    row: Codes
    first: Times
    last: Times


def gathered(rows: pa.Table, keys: Sequence[str], first: Times, last: Times, gap: int) -> Sessions:
    """The sessions that rows make, each of which lasts from its first to its last time.

    >>> times = np.array([20, 1, 9, 3])
    >>> gathered(pa.table({"k": ["a"] * 4}), ["k"], times, times, 5).number
    array([2, 0, 1, 0])
    """
    if not rows.num_rows:
        nothing = np.zeros(0, np.int64)
        return Sessions(nothing, nothing, nothing, nothing)
    order, keys_begin = _in_order(rows, keys, first)
    firsts, lasts = first[order], last[order]
    reach = _running_maximum(lasts, keys_begin)
    begins = np.zeros(len(order), bool)
    begins[1:] = _apart(reach[:-1], firsts[1:], gap)
    begins[keys_begin] = True
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(begins) - 1
    places = np.flatnonzero(begins)
    return Sessions(number, order[places], firsts[places], reach[np.append(places[1:], len(order)) - 1])


def _in_order(rows: pa.Table, keys: Sequence[str], first: Times) -> tuple[Codes, Codes]:
    """The order that sorts rows by key and first time, and the places in it where keys begin."""
    numbers = partition_numbers(rows, keys)
    order, keys_begin = in_runs(numbers)
    if _ascends(first[order], keys_begin):
        return order, keys_begin
    by_time = np.argsort(first, kind="stable")
    order, keys_begin = in_runs(numbers[by_time])
    return by_time[order], keys_begin


def _apart(before: Times, after: Times, gap: int) -> Flags:
    """Where the second comes later than the first by more than the gap, though their difference may not be a BIGINT."""
    distance = after.astype(np.uint64) - before.astype(np.uint64)  # wraps to what it is where it is not negative
    return (after > before) & (distance > np.uint64(gap))


def _running_maximum(values: Times, starts: Codes) -> Times:
    """The highest value up to each place, from where a run starts.

    >>> _running_maximum(np.array([3, 1, 4, 2]), np.array([0, 2]))
    array([3, 3, 4, 4])
    """
    if _ascends(values, starts):
        return values
    low, high = int(values.min()), int(values.max())
    ranks, count, of_ranks = values - low, high - low + 1, None
    if count * len(starts) >= 1 << 63:
        of_ranks, ranks = np.unique(values, return_inverse=True)
        count = len(of_ranks)
    run = np.repeat(np.arange(len(starts)) * count, np.diff(np.append(starts, len(values))))
    highest = np.maximum.accumulate(run + ranks) - run
    return highest + low if of_ranks is None else of_ranks[highest]


def _ascends(values: Times, starts: Codes) -> bool:
    """Whether no value is below the one before it, but where a run starts."""
    falls = values[1:] < values[:-1]
    falls[starts[1:] - 1] = False
    return not falls.any()
