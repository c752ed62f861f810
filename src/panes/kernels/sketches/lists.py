"""Lists as one array of values, with the number of the list that each value is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Column: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class Lists:
    """`size` lists; `number` says of each value in which list it is, ascending."""

    values: pa.Array
    number: Places
    size: int

    @staticmethod
    def of(lists: Column) -> Lists:
        """A list that is NULL has no values.

        >>> Lists.of(pa.array([[5, 6], None, [7]])).number
        array([0, 0, 2])
        """
        whole = combined(lists)
        return Lists(whole.flatten(), pc.list_parent_indices(whole).to_numpy(), len(whole))

    @property
    def counts(self) -> Places:
        return np.bincount(self.number, minlength=self.size)


def combined(column: Column) -> pa.Array:
    """A column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def starts(counts: Places) -> Places:
    """Where each list begins among the values, and where the last one ends.

    >>> starts(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def list_array(values: pa.Array, counts: Places) -> pa.ListArray:
    """Lists of so many values each; those of none are NULL."""
    offsets = pa.array(starts(counts).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, mask=pa.array(counts == 0))


def changes(*columns: npt.NDArray[np.int64]) -> Mask:
    """Where any of some columns differs from the row before; the first row does."""
    found = np.ones(len(columns[0]), np.bool_)
    if len(found):
        found[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return found


def sorted_places(group: Places, values: Places) -> Places:
    """The places of values by group and value; equal ones stay in order."""
    order = np.argsort(values, kind="stable")
    if len(group) and (group == group[0]).all():
        return order
    return order[np.argsort(group[order], kind="stable")]


def so_far(amounts: Places, segment: Places, before: Places) -> Places:
    """Amounts added up within each segment, on from what was before."""
    total = np.cumsum(amounts)
    head = np.flatnonzero(changes(segment))
    base = np.zeros(len(before), np.int64)
    base[segment[head]] = total[head] - amounts[head]
    so_far: Places = total - base[segment] + before[segment]
    return so_far
