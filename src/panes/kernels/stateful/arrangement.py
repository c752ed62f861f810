"""Rows sorted by partition: once that is done, a stateful function is index arithmetic over places in this order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.partitions import Codes

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


def flat(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column
