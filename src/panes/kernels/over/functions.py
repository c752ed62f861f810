"""Values of OVER calls: in a sorted table most functions only pick a row by its place. To add one, add it to VALUES."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.over.calls import OverCall
from panes.kernels.over.frame_folds import aggregated
from panes.kernels.over.sorted_rows import Mask, Places, Sorted

Column: TypeAlias = pa.Array | pa.ChunkedArray


def over_values(table: Sorted, calls: Sequence[OverCall]) -> dict[str, Column]:
    """The value of each call for each row. Those of aggregates are Spark's to finish."""
    aggregates = [call for call in calls if call.accumulator is not None]
    found: dict[str, Column] = dict.fromkeys(call.output for call in calls)
    found |= aggregated(table, aggregates) if aggregates else {}
    return found | {call.output: VALUES[call.function](table, call) for call in calls if call.accumulator is None}


def _row_number(table: Sorted, call: OverCall) -> Column:
    return pa.array(table.place - table.first + 1)


def _rank(table: Sorted, call: OverCall) -> Column:
    return pa.array(table.peers_first - table.first + 1)


def _dense_rank(table: Sorted, call: OverCall) -> Column:
    return pa.array(table.peer - table.peer[table.first] + 1)


def _percent_rank(table: Sorted, call: OverCall) -> Column:
    return pa.array((table.peers_first - table.first) / np.maximum(table.stop - table.first - 1, 1))


def _cume_dist(table: Sorted, call: OverCall) -> Column:
    return pa.array((table.peers_stop - table.first) / (table.stop - table.first))


def _ntile(table: Sorted, call: OverCall) -> Column:
    return pa.array(_tiles(table.place - table.first, table.stop - table.first, call.offset))


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


def _lag(table: Sorted, call: OverCall) -> Column:
    seen, before = qualified(table, call)
    wanted = before[table.place] - call.offset
    return _shifted(table, call, seen, wanted, wanted >= before[table.first])


def _lead(table: Sorted, call: OverCall) -> Column:
    seen, before = qualified(table, call)
    wanted = before[table.place + 1] + call.offset - 1
    return _shifted(table, call, seen, wanted, wanted < before[table.stop])


def _shifted(table: Sorted, call: OverCall, seen: Places, wanted: Places, there: Mask) -> Column:
    """The value of the wanted one of the rows that are seen, if it is there."""
    if call.offset == 0:
        return table.rows[call.args[0]]
    values = taken(table.rows[call.args[0]], seen, wanted, there)
    return values if call.default is None else pc.if_else(pa.array(there), values, table.rows[call.default])


def _first_value(table: Sorted, call: OverCall) -> Column:
    return _in_frame(table, call, lambda first, stop: first)


def _last_value(table: Sorted, call: OverCall) -> Column:
    return _in_frame(table, call, lambda first, stop: stop - 1)


def _nth_value(table: Sorted, call: OverCall) -> Column:
    return _in_frame(table, call, lambda first, stop: first + call.offset - 1)


def _in_frame(table: Sorted, call: OverCall, pick: Callable[[Places, Places], Places]) -> Column:
    """The value of one of the rows that are seen between the ends of the frame."""
    assert call.frame is not None
    seen, before = qualified(table, call)
    first, stop = (before[ends] for ends in table.bounds(call.frame))
    wanted = pick(first, stop)
    return taken(table.rows[call.args[0]], seen, wanted, (wanted >= first) & (wanted < stop))


def taken(column: pa.ChunkedArray, seen: Places, wanted: Places, there: Mask) -> pa.ChunkedArray:
    places = seen[np.where(there, wanted, 0)] if len(seen) else np.zeros(len(wanted), np.int64)
    return column.take(pa.array(places, mask=~there))


VALUES: dict[str, Callable[[Sorted, OverCall], Column]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
    "lag": _lag,
    "lead": _lead,
    "first_value": _first_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
}
