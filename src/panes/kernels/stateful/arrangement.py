"""Rows sorted by partition: once that is done, a stateful function is index arithmetic over places in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.partitions import Codes, codes

Flags = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Arrangement:
    """Rows sorted by partition. A generation is a run of rows of one partition in which it did not expire.

    order    each place's row: rows[order] is sorted
    start    each place's first place of its generation
    carried  each place's carry row that its generation continues, -1 if it began here
    ends     each partition's last place
    """

    order: Codes
    start: Codes
    carried: Codes
    ends: Codes

    @cached_property
    def places(self) -> Codes:
        return np.arange(len(self.order))

    @cached_property
    def place_of(self) -> Codes:
        """Each row's place."""
        return self.by_row(self.places)

    def flags(self, rows: pa.Table, column: str | None, otherwise: bool) -> Flags:
        """A condition at each place; NULL is false."""
        if column is None:
            return np.full(len(self.order), otherwise)
        flags: Flags = pc.fill_null(flat(rows[column]), False).to_numpy(zero_copy_only=False)[self.order]
        return flags

    def given(self, values: pa.Array) -> Flags:
        """At each place, whether there is a value."""
        if not values.null_count:
            return np.ones(len(self.order), bool)
        given: Flags = values.is_valid().to_numpy(zero_copy_only=False)[self.order]
        return given

    def by_row(self, at_places: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """What stands at places, in the order of the rows."""
        found = np.empty_like(at_places)
        found[self.order] = at_places
        return found


def by_partition(rows: pa.Table, by: Sequence[str]) -> tuple[Codes, Codes]:
    """The order that sorts rows by partition, stably, and the places in it where partitions begin.

    >>> by_partition(pa.table({"k": [7, 5, 7, 5, 5]}), ["k"])
    (array([1, 3, 4, 0, 2]), array([0, 3]))
    """
    numbers = _numbers(rows, by)
    order = _stable_order(numbers)
    return order, run_starts(numbers[order])


def _numbers(rows: pa.Table, by: Sequence[str]) -> Codes:
    """A number from 0 for each row, equal where the partition is; an integer key is nearly one, without any hashing."""
    if len(by) == 1 and pa.types.is_integer(rows[by[0]].type) and not rows[by[0]].null_count:
        keys: Codes = rows[by[0]].to_numpy().astype(np.int64)
        low, high = int(keys.min()), int(keys.max())
        if high - low < 1 << 48:
            return keys - low
    return codes(rows, by)


def _stable_order(numbers: Codes) -> Codes:
    """The order that sorts numbers from 0, stably: sixteen bits at a time, which NumPy sorts without comparing."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    most, shift = int(numbers.max(initial=0)), 16
    while most >> shift:
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
        shift += 16
    return order


def run_starts(ordered: Codes) -> Codes:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column
