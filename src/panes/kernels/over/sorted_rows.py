"""Rows by partition and order: a frame is a pair of places, and what sorts and what is equal is decided once.

row               0  1  2 | 3  4        two partitions
ROWS 1 PRECEDING  0  0  1 | 3  3        where each frame begins,
.. CURRENT ROW    1  2  3 | 4  5        and where it stops
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Edge, Unit
from panes.kernels.duck import query, sortable_column
from panes.kernels.over.calls import Bound, Frame, OrderKey, rows_of, values_of
from panes.kernels.partitions import codes

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
LEAST, GREATEST = -(2**63), 2**63 - 1  # of 64 bits
LARGEST = 1 << 62


@dataclass(frozen=True)
class Sorted:
    """Rows by partition and order. `part` numbers the partitions from 0."""

    rows: pa.Table
    part: Places
    order_by: tuple[OrderKey, ...]

    def having(self, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Sorted:
        """The same rows with more columns."""
        rows = self.rows
        for name, column in columns.items():
            rows = rows.append_column(name, column)
        return replace(self, rows=rows)

    @cached_property
    def peer(self) -> Places:
        """A number for each set of rows that ORDER BY leaves equal."""
        return numbered([self.part, *(comparable([self.rows[key.column]], key)[0] for key in self.order_by)])

    @cached_property
    def place(self) -> Places:
        return np.arange(len(self.part))

    @cached_property
    def first(self) -> Places:
        """Where each row's partition begins."""
        return first_of(self.part)

    @cached_property
    def stop(self) -> Places:
        """Where it stops."""
        return stop_of(self.part)

    @cached_property
    def peers_first(self) -> Places:
        return first_of(self.peer)

    @cached_property
    def peers_stop(self) -> Places:
        return stop_of(self.peer)

    def bounds(self, frame: Frame) -> tuple[Places, Places]:
        """Where each row's frame begins and stops; equal where it is empty."""
        first, stop = self._edge(frame, frame.start, False), self._edge(frame, frame.end, True)
        return first, np.maximum(first, stop)

    def _edge(self, frame: Frame, bound: Bound, is_end: bool) -> Places:
        match bound.edge:
            case Edge.UNBOUNDED_PRECEDING:
                return self.first
            case Edge.UNBOUNDED_FOLLOWING:
                return self.stop
            case Edge.CURRENT_ROW if frame.unit is Unit.ROWS:
                return self.place + is_end
            case Edge.CURRENT_ROW:
                return self.peers_stop if is_end else self.peers_first
            case Edge.PRECEDING | Edge.FOLLOWING:
                values = values_of(bound)
                if values is not None:
                    return self._found(values.column, "right" if is_end else "left")
                offset = -rows_of(bound) if bound.edge is Edge.PRECEDING else rows_of(bound)
                return np.clip(self.place + (offset + is_end), self.first, self.stop)
            case _:
                assert_never(bound.edge)

    def _found(self, column: str, side: str) -> Places:
        """Where in its partition each value of `column` has its place among the values of ORDER BY."""
        key = self.order_by[0]
        values, wanted = comparable([self.rows[key.column], self.rows[column]], key)
        if not len(values):
            return values
        low, high = int(values.min()), int(values.max())
        widest = LARGEST // (int(self.part[-1]) + 1)
        if high - low + 3 > widest or low == LEAST or high == GREATEST:
            values, wanted = np.split(np.unique(np.concatenate([values, wanted]), return_inverse=True)[1], 2)
            low, high = 0, 2 * len(self.part)
        width = high - low + 3  # with one below and one above all values: none is found outside its partition
        inside = np.clip(wanted, low - 1, high + 1) - low + 1
        found: Places = np.searchsorted(self.part * width + (values - low + 1), self.part * width + inside, side)  # type: ignore[call-overload]
        return found


def arranged(
    rows: pa.Table, partition: Sequence[str], order_by: tuple[OrderKey, ...], tie_break: Sequence[OrderKey] = ()
) -> Sorted:
    """Rows sorted. What neither ORDER BY nor `tie_break` tells apart stays in the order in which it came."""
    part = codes(rows, partition)
    keys = [comparable([rows[key.column]], key)[0] for key in (*order_by, *tie_break)]
    order = np.lexsort([*reversed(keys), part])
    return Sorted(rows.take(pa.array(order)), numbered([part[order]]), order_by)


def gathered(rows: pa.Table, part: Places, order_by: tuple[OrderKey, ...]) -> tuple[Sorted, Places]:
    """Rows that come in order, brought together by the partitions' codes; and where each of them was."""
    small = part.max(initial=0) < 1 << 16  # sorted by radix
    order: Places = np.argsort(part.astype(np.uint16) if small else part, kind="stable")
    return Sorted(rows.combine_chunks().take(pa.array(order)), numbered([part[order]]), order_by), order


def inverse(order: Places) -> Places:
    """Where each row has gone."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found


def comparable(columns: Sequence[pa.ChunkedArray], key: OrderKey) -> list[Places]:
    """Numbers that sort as the values of these columns do under ORDER BY, the same over all columns.

    NULL needs a number of its own, below or above the others; where there is none left, values are numbered anew.
    """
    column = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    valid = column.is_valid().to_numpy()
    found = _numbers(column)
    found = ~found if key.descending else found  # unlike -x, ~x is there for every x
    if not valid.all():
        known = found[valid]
        if len(known) and (known.min() == LEAST or known.max() == GREATEST):
            known = np.unique(known, return_inverse=True)[1].astype(np.int64)
        found = np.full(len(valid), known.min(initial=0) - 1 if key.nulls_first else known.max(initial=0) + 1)
        found[valid] = known
    ends = np.cumsum([len(column) for column in columns])
    return np.split(found, ends[:-1])


def _numbers(column: pa.ChunkedArray) -> Places:
    """Numbers that sort as values do in Spark, NaN the greatest and -0.0 equal to 0.0; for NULL any number."""
    type_ = column.type
    if pa.types.is_nested(type_):
        parts = pa.table({"v": column, "i": np.arange(len(column))})
        rank = f"dense_rank() OVER (ORDER BY {sortable_column('v', type_)})"
        column = query(f"SELECT i, {rank} AS c FROM parts ORDER BY i", parts=parts)["c"]
    elif not (pa.types.is_integer(type_) or pa.types.is_temporal(type_) or type_ == pa.null()):
        column = pc.rank(column, tiebreaker="dense").cast(pa.int64())
    column = column.cast(pa.int32()) if pa.types.is_date32(type_) else column
    numbers: Places = column.cast(pa.int64()).fill_null(0).to_numpy()
    return numbers


def numbered(keys: Sequence[Places]) -> Places:
    """0, 1, 2 …, one more wherever any key differs from the row before."""
    differs = np.zeros(len(keys[0]), np.bool_)
    for key in keys:
        differs[1:] |= key[1:] != key[:-1]
    return np.cumsum(differs)


def first_of(numbers: Places) -> Places:
    """Where the run of equal numbers begins that each place is in."""
    starts, lengths = _runs(numbers)
    return np.repeat(starts, lengths)


def stop_of(numbers: Places) -> Places:
    """Where it stops."""
    starts, lengths = _runs(numbers)
    return np.repeat(starts + lengths, lengths)


def _runs(numbers: Places) -> tuple[Places, Places]:
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    starts = np.concatenate([np.zeros(min(len(numbers), 1), np.int64), changes])
    return starts, np.diff(starts, append=len(numbers))
