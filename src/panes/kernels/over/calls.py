"""OVER calls as the kernels see them, and the frame of rows on which the value of each depends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from panes import frames
from panes.frames import Edge, Unit
from panes.functions.over import Reach, reach_of
from panes.kernels.aggregates.accumulator import Accumulator


@dataclass(frozen=True)
class Values:
    """The offset of a RANGE bound: the values in `column`, with which those of ORDER BY are compared.

    `span` is the most, in microseconds, that the bound can be away from its row's time: it tells how long rows are kept
    for rows still to come. With calendar intervals it is longer than the bound usually is. `shift` is what the bound
    differs by from the value of ORDER BY, where that is always the same: then the kernel makes the column.
    """

    column: str
    span: int = 0
    shift: int | None = None


AGGREGATE = "aggregate"  # the function of calls that have an accumulator

Bound: TypeAlias = frames.Bound[int | Values]
Frame: TypeAlias = frames.Frame[int | Values]


def rows_of(bound: Bound) -> int:
    """By how many rows the bound of a ROWS frame is away."""
    return bound.offset if isinstance(bound.offset, int) else 0


def values_of(bound: Bound) -> Values | None:
    """What the bound of a RANGE frame is compared with, if it has an offset."""
    return bound.offset if isinstance(bound.offset, Values) else None


@dataclass(frozen=True)
class OrderKey:
    column: str
    descending: bool = False
    nulls_first: bool = True


def ordered(keys: Iterable[OrderKey]) -> list[list[Any]]:
    """ORDER BY as JSON."""
    return [[key.column, "desc" if key.descending else "asc", key.nulls_first] for key in keys]


@dataclass(frozen=True)
class OverCall:
    """One call. `offset` is the number in lag, lead, nth_value and ntile; `default` a column, for lag and lead."""

    function: str
    args: tuple[str, ...]
    output: str
    frame: Frame | None = None
    ignore_nulls: bool = False
    condition: str | None = None
    offset: int = 1
    default: str | None = None
    accumulator: Accumulator | None = None

    @property
    def reach(self) -> Reach:
        return reach_of(self.function)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return self.frame.ends if self.frame is not None else ()


def bounded(rows: pa.Table, calls: Sequence[OverCall], order_by: Sequence[OrderKey]) -> pa.Table:
    """Rows with the columns of bounds that differ from the value of ORDER BY by microseconds."""
    for values in (values_of(bound) for call in calls for bound in call.bounds):
        if values is not None and values.shift is not None and values.column not in rows.column_names:
            own = rows[order_by[0].column]
            shifted = pc.add(own.cast(pa.int64()), pa.scalar(values.shift, pa.int64()))
            rows = rows.append_column(values.column, shifted.cast(own.type))
    return rows


def columns_of(calls: Sequence[OverCall], order_by: Sequence[OrderKey]) -> list[str]:
    """The columns that evaluation reads."""
    names = [key.column for key in order_by]
    for call in calls:
        names += [*call.args, *(name for name in (call.condition, call.default) if name is not None)]
        names += [values.column for bound in call.bounds if (values := values_of(bound)) is not None]
    return [*dict.fromkeys(names)]


WHOLE = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.UNBOUNDED_FOLLOWING))
RUNNING = Frame(Unit.ROWS, Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))


def frame_of(call: OverCall) -> Frame:
    """The frame of rows on which the value of a call depends, also of calls that have none in SQL."""
    match call.reach:
        case Reach.FRAME:
            assert call.frame is not None
            return call.frame
        case Reach.RANK:
            return RUNNING
        case Reach.PARTITION:
            return WHOLE
        case Reach.BACK:
            back = Bound(Edge.UNBOUNDED_PRECEDING) if call.ignore_nulls else Bound(Edge.PRECEDING, call.offset)
            return Frame(Unit.ROWS, back, Bound(Edge.CURRENT_ROW))
        case Reach.AHEAD:
            ahead = Bound(Edge.UNBOUNDED_FOLLOWING) if call.ignore_nulls else Bound(Edge.FOLLOWING, call.offset)
            return Frame(Unit.ROWS, Bound(Edge.CURRENT_ROW), ahead)
        case _:
            assert_never(call.reach)


def looks_ahead_for_values(call: OverCall) -> bool:
    """Whether a call takes one of the next values that are not NULL: those after it are not in its frame."""
    return call.reach is Reach.AHEAD and call.ignore_nulls and call.offset > 0


def offsets(frame: Frame) -> tuple[int | None, int | None]:
    """The ends of a ROWS frame as distances from the row; None is the partition's edge.

    >>> offsets(Frame(Unit.ROWS, Bound(Edge.PRECEDING, 2), Bound(Edge.CURRENT_ROW)))
    (-2, 0)
    """
    return _offset(frame.start), _offset(frame.end)


def _offset(bound: Bound) -> int | None:
    match bound.edge:
        case Edge.PRECEDING:
            return -rows_of(bound)
        case Edge.CURRENT_ROW:
            return 0
        case Edge.FOLLOWING:
            return rows_of(bound)
        case Edge.UNBOUNDED_PRECEDING | Edge.UNBOUNDED_FOLLOWING:
            return None
        case _:
            assert_never(bound.edge)
