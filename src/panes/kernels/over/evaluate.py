"""Values of OVER calls: in a sorted table a frame is a pair of places, and most functions only pick a row by its place.

    row               0  1  2 | 3  4        two partitions
    ROWS 1 PRECEDING  0  0  1 | 3  3        where each frame begins,
    .. CURRENT ROW    1  2  3 | 4  5        and where it stops

Only aggregates compute anything, in DuckDB, over these places. What sorts and what is equal is decided once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.aggregates.accumulators import ARGUMENTS, Accumulator
from panes.kernels.duck import query, quoted, sortable_column
from panes.kernels.partitions import codes

Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
PLACE, ORDER = "row_place", "row_order"
LEAST, GREATEST = -(2**63), 2**63 - 1  # of 64 bits
LARGEST = 1 << 62


class Edge(StrEnum):
    UNBOUNDED_PRECEDING = "UNBOUNDED PRECEDING"
    PRECEDING = "PRECEDING"
    CURRENT_ROW = "CURRENT ROW"
    FOLLOWING = "FOLLOWING"
    UNBOUNDED_FOLLOWING = "UNBOUNDED FOLLOWING"


@dataclass(frozen=True)
class Bound:
    """An end of a frame. ROWS counts `offset` rows; RANGE compares with the values in `column`.

    `span` is the most, in microseconds, that a RANGE bound can be away from its row's time: it tells how long rows
    are kept for rows still to come. With calendar intervals it is longer than the bound usually is. `shift` is what
    the bound differs by from the value of ORDER BY, where that is always the same: then the kernel makes the column.
    """

    edge: Edge
    offset: int = 0
    column: str | None = None
    span: int = 0
    shift: int | None = None


@dataclass(frozen=True)
class Frame:
    unit: str  # ROWS or RANGE
    start: Bound
    end: Bound


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
            case Edge.CURRENT_ROW if frame.unit == "ROWS":
                return self.place + is_end
            case Edge.CURRENT_ROW:
                return self.peers_stop if is_end else self.peers_first
        if frame.unit == "ROWS":
            offset = -bound.offset if bound.edge is Edge.PRECEDING else bound.offset
            return np.clip(self.place + (offset + is_end), self.first, self.stop)
        assert bound.column is not None
        return self._found(bound.column, "right" if is_end else "left")

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


def bounded(rows: pa.Table, calls: Sequence[OverCall], order_by: Sequence[OrderKey]) -> pa.Table:
    """Rows with the columns of bounds that differ from the value of ORDER BY by microseconds."""
    frames = [call.frame for call in calls if call.frame is not None]
    for bound in (end for frame in frames for end in (frame.start, frame.end)):
        if bound.shift is not None and bound.column not in rows.column_names:
            own = rows[order_by[0].column]
            shifted = pc.add(own.cast(pa.int64()), pa.scalar(bound.shift, pa.int64()))
            rows = rows.append_column(bound.column, shifted.cast(own.type))
    return rows


def columns_of(calls: Sequence[OverCall], order_by: Sequence[OrderKey]) -> list[str]:
    """The columns that evaluation reads."""
    names = [key.column for key in order_by]
    for call in calls:
        bounds = [call.frame.start, call.frame.end] if call.frame is not None else []
        names += [*call.args, *(name for name in (call.condition, call.default) if name is not None)]
        names += [bound.column for bound in bounds if bound.column is not None]
    return [*dict.fromkeys(names)]


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


def over_values(table: Sorted, calls: Sequence[OverCall]) -> dict[str, pa.Array | pa.ChunkedArray]:
    """The value of each call for each row. Those of aggregates are Spark's to finish."""
    aggregates = [call for call in calls if call.accumulator is not None]
    found = aggregated(table, aggregates) if aggregates else {}
    return {call.output: found[call.output] if call.accumulator else _picked(table, call) for call in calls}


def _picked(table: Sorted, call: OverCall) -> pa.Array | pa.ChunkedArray:
    place, first, stop = table.place, table.first, table.stop
    match call.function:
        case "row_number":
            return pa.array(place - first + 1)
        case "rank":
            return pa.array(table.peers_first - first + 1)
        case "dense_rank":
            return pa.array(table.peer - table.peer[first] + 1)
        case "percent_rank":
            return pa.array((table.peers_first - first) / np.maximum(stop - first - 1, 1))
        case "cume_dist":
            return pa.array((table.peers_stop - first) / (stop - first))
        case "ntile":
            return pa.array(_tiles(place - first, stop - first, call.offset))
        case "lag" | "lead":
            return _shifted(table, call)
        case "first_value" | "last_value" | "nth_value":
            return _in_frame(table, call)
    raise ValueError(f"no window function {call.function}")


def _tiles(index: Places, size: Places, tiles: int) -> Places:
    """Tiles of equal size, the first ones one row longer where it does not divide."""
    small, longer = size // tiles, size % tiles
    edge = longer * (small + 1)
    return np.where(index < edge, index // (small + 1), longer + (index - edge) // np.maximum(small, 1)) + 1


def qualified(table: Sorted, call: OverCall) -> tuple[Places, Places]:
    """The places of the rows that a call sees, and how many of them are before each place (and before the end)."""
    if not call.ignore_nulls:
        return table.place, np.arange(len(table.place) + 1)
    seen = table.rows[call.args[0]].is_valid().to_numpy()
    return np.flatnonzero(seen), np.concatenate([[0], np.cumsum(seen)])


def _shifted(table: Sorted, call: OverCall) -> pa.Array | pa.ChunkedArray:
    seen, before = qualified(table, call)
    if call.offset == 0:
        return table.rows[call.args[0]]
    if call.function == "lag":
        wanted = before[table.place] - call.offset
        there = wanted >= before[table.first]
    else:
        wanted = before[table.place + 1] + call.offset - 1
        there = wanted < before[table.stop]
    values = _taken(table.rows[call.args[0]], seen, wanted, there)
    return values if call.default is None else pc.if_else(pa.array(there), values, table.rows[call.default])


def _in_frame(table: Sorted, call: OverCall) -> pa.Array | pa.ChunkedArray:
    assert call.frame is not None
    first, stop = table.bounds(call.frame)
    seen, before = qualified(table, call)
    if call.function == "last_value":
        wanted = before[stop] - 1
    else:
        wanted = before[first] + (call.offset - 1 if call.function == "nth_value" else 0)
    return _taken(table.rows[call.args[0]], seen, wanted, (wanted >= before[first]) & (wanted < before[stop]))


def _taken(column: pa.ChunkedArray, seen: Places, wanted: Places, there: Mask) -> pa.ChunkedArray:
    places = seen[np.where(there, wanted, 0)] if len(seen) else np.zeros(len(wanted), np.int64)
    return column.take(pa.array(places, mask=~there))


def aggregated(table: Sorted, calls: Sequence[OverCall]) -> dict[str, pa.ChunkedArray]:
    """Aggregates over their frames, evaluated."""
    frames = [table.bounds(call.frame) for call in calls if call.frame is not None]
    sql, parts = _fold_query(table, calls, frames, table.place)
    values = _in_order(query(f"SELECT {', '.join([PLACE, *_evaluations(calls)])} FROM ({sql})", parts=parts))
    return {call.output: values[call.output] for call in calls}


def folded(
    table: Sorted, calls: Sequence[OverCall], frames: Sequence[tuple[Places, Places]], order: Places
) -> pa.Table:
    """The accumulators of these calls over these frames, row by row; `order` is a row's place for those that ask."""
    sql, parts = _fold_query(table, calls, frames, order)
    return _in_order(query(sql, parts=parts))


def _fold_query(
    table: Sorted, calls: Sequence[OverCall], frames: Sequence[tuple[Places, Places]], order: Places
) -> tuple[str, pa.Table]:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {PLACE: pa.array(table.place), ORDER: pa.array(order)}
    texts = []
    for number, (call, (first, stop)) in enumerate(zip(calls, frames, strict=True)):
        windows, offsets = _windows(table.place, first, stop, f"f{number}")
        columns |= {f"c{number}_{name}": table.rows[name] for name in _columns(call)} | offsets
        texts.append(f"{_fold_sql(call, f'c{number}_', windows)} AS {quoted(call.output)}")
    return f"SELECT {', '.join([PLACE, *texts])} FROM parts", pa.table(columns)


def evaluated(states: pa.Table, calls: Sequence[OverCall]) -> pa.Table:
    """The values of accumulators."""
    return _in_order(query(f"SELECT {', '.join([PLACE, *_evaluations(calls)])} FROM parts", parts=states))


def _evaluations(calls: Sequence[OverCall]) -> list[str]:
    return [
        f"{Template(call.accumulator.evaluate).substitute(s=quoted(call.output))} AS {quoted(call.output)}"
        for call in calls
        if call.accumulator is not None
    ]


def _in_order(rows: pa.Table) -> pa.Table:
    """Windows need no ORDER BY: DuckDB takes and gives rows as they come, see `duck`. Here that is made sure."""
    place = rows[PLACE].to_numpy()
    if not (place[1:] > place[:-1]).all():
        raise RuntimeError("DuckDB has not kept the order of the rows")
    return rows


def _columns(call: OverCall) -> list[str]:
    return [*dict.fromkeys([*call.args, *([call.condition] if call.condition else [])])]


def _windows(
    place: Places, first: Places, stop: Places, name: str
) -> tuple[dict[str, str], dict[str, pa.Array | pa.ChunkedArray]]:
    """The window texts that these frames need, by the condition under which each holds; and the columns they read.

    DuckDB takes no negative offsets: a frame that lies wholly before or behind its row needs another text.
    """
    empty = first >= stop
    first, last = np.where(empty, place, first), np.where(empty, place, stop) - 1
    behind, ahead = last < place, first > place
    texts = {
        f"NOT {name}_behind AND NOT {name}_ahead": f"{name}_first PRECEDING AND {name}_last FOLLOWING",
        f"{name}_behind": f"{name}_first PRECEDING AND {name}_last PRECEDING",
        f"{name}_ahead": f"{name}_first FOLLOWING AND {name}_last FOLLOWING",
    }
    needed = (not (behind | ahead).all() or not len(place), behind.any(), ahead.any())
    columns: dict[str, pa.Array | pa.ChunkedArray] = {
        f"{name}_first": pa.array(np.abs(first - place)),
        f"{name}_last": pa.array(np.abs(last - place)),
        f"{name}_behind": pa.array(behind),
        f"{name}_ahead": pa.array(ahead),
    }
    wanted = zip(texts.items(), needed, strict=True)
    return {when: f"OVER (ROWS BETWEEN {text})" for (when, text), need in wanted if need}, columns


def _fold_sql(call: OverCall, prefix: str, windows: dict[str, str]) -> str:
    assert call.accumulator is not None
    names = dict(zip(ARGUMENTS, (quoted(prefix + arg) for arg in call.args), strict=False))
    counts = call.accumulator.counts
    conditions = [Template(counts).substitute(names)] if counts else []
    conditions += [f"coalesce({quoted(prefix + call.condition)}, false)"] if call.condition else []
    where = f"FILTER (WHERE {' AND '.join(conditions)}) " if conditions else ""
    fold = Template(_as_window(call.accumulator.fold))
    texts = {when: fold.substitute(names, o=ORDER, w=where + window) for when, window in windows.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return f"CASE {' '.join(f'WHEN {when} THEN {text}' for when, text in texts.items())} END"


def _as_window(fold: str) -> str:
    """`last(v ORDER BY …)` takes no FILTER in a window; the greatest of (what it sorts by, place, v) is the same.

    >>> _as_window("last({'v': $x} ORDER BY $y ASC, $o) $w")
    "(max({'k': $y, 'o': $o, 's': {'v': $x}}) $w).s"
    """
    found = re.fullmatch(r"last\((\{.*\}) ORDER BY (.*) (ASC|DESC), \$o\) \$w", fold)
    if found is None:
        return fold
    pick, order = ("max", "$o") if found[3] == "ASC" else ("min", "-$o")
    return f"({pick}({{'k': {found[2]}, 'o': {order}, 's': {found[1]}}}) $w).s"


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
