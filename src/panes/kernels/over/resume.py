"""Ranks and running aggregates go on from the row before: its values are kept beside it, with its accumulators.

    rank  1  2  2 | .  .  .        the row before is the third, of rank 2:
                    4  5  5        the run goes on from there

Nothing in front of that row is read. A frame that begins with the first row and ends some rows before or after its own
has the value that a running frame has there: that one is kept, too, as `so_far`.

    values                           1  2  3  4
    so far                           1  3  6 10
    UNBOUNDED PRECEDING .. 1 PREC.   .  1  3  6
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import Template

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Edge, Unit
from panes.functions.over import Reach
from panes.kernels.duck import query, quoted
from panes.kernels.over.calls import RUNNING, OverCall, offsets
from panes.kernels.over.frame_folds import PLACE, evaluated, folded
from panes.kernels.over.functions import Column, over_values
from panes.kernels.over.merged import Merged
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.sorted_blocks.ranges import Mask, Places

POSITION = "row_position"


def is_carried(call: OverCall) -> bool:
    """Whether a row's value follows from the row before it: ranks, and frames from the first row to this one.

    Accumulators that hold many values are not kept for each row.
    """
    if call.reach is Reach.BACK:  # with a default, the value of the row before may be one
        return call.ignore_nulls and call.offset == 1 and call.default is None and call.function in RESUMED
    if call.reach is not Reach.RANK and (call.frame is None or not call.frame.is_running):
        return False
    if call.accumulator is not None:
        return not call.accumulator.holds_values
    return call.function in RESUMED and not (call.ignore_nulls and RESUMED[call.function] is _nth_value)


def is_carried_since(call: OverCall) -> bool:
    """Whether a call is carried that the first checkpoints of format 1 keep too little for."""
    return RESUMED.get(call.function) is _nth_value and is_carried(call)


def shift_of(call: OverCall) -> int | None:
    """By how many rows the end of a frame is away that begins with the first row, if its value is kept `so_far`."""
    frame = call.frame
    if frame is None or frame.unit is not Unit.ROWS or frame.start.edge is not Edge.UNBOUNDED_PRECEDING:
        return None
    return offsets(frame)[1] if frame.end.edge.has_offset and is_carried(so_far(call)) else None


def so_far(call: OverCall) -> OverCall:
    """The same call over all rows up to its own."""
    return replace(call, output=f"so far {call.output}", frame=RUNNING)


def needs_position(call: OverCall) -> bool:
    """Whether a call goes on from the number of the row before, too."""
    return call.accumulator.ordered if call.accumulator is not None else RESUMED[call.function] in (_rank, _nth_value)


def state_of(call: OverCall) -> str:
    return f"{call.output} accumulator"


@dataclass(frozen=True)
class Resumed:
    """Rows that are computed again, in runs that go on from the row before each: `last`, NULL where there is none."""

    table: Sorted
    last: pa.Table
    has_last: Mask
    tied: Mask  # whether the first row of a run is a peer of the one before

    @staticmethod
    def on(table: Sorted, merged: Merged, mask: Mask) -> Resumed:
        left = ~merged.gone
        part, peer = merged.sorted.part[left], merged.sorted.peer[left]
        first = np.flatnonzero(mask)[np.unique(table.first)]
        before = np.maximum(first - 1, 0)
        has_last = (first > 0) & (part[before] == part[first])
        last = merged.left.take(pa.array(before, mask=~has_last))
        return Resumed(table, last, has_last, has_last & (peer[before] == peer[first]))

    def values(self, calls: Sequence[OverCall]) -> dict[str, Column]:
        """Results, and the accumulators with which the next run goes on."""
        found = {call.output: RESUMED[call.function](self, call) for call in calls if call.accumulator is None}
        aggregates = [call for call in calls if call.accumulator is not None]
        return found | (self._aggregated(aggregates) if aggregates else {})

    def number(self, name: str) -> Places:
        """A number of the row before each row's run; 0 where there is none."""
        if name not in self.last.column_names:
            return np.zeros(len(self.table.part), np.int64)
        numbers: Places = self.last[name].fill_null(0).to_numpy()
        return numbers[self.table.part]

    def value_before(self, call: OverCall) -> Column | None:
        """A call's value in the row before each row's run; None where there is no such row at all."""
        return self.last[call.output].take(pa.array(self.table.part)) if call.output in self.last.column_names else None

    def _aggregated(self, calls: Sequence[OverCall]) -> dict[str, Column]:
        table = self.table
        frames = [(table.first, table.place + 1)] * len(calls)
        order = self.number(POSITION) + table.place - table.first
        states = self._joined(folded(table, calls, frames, order), calls)
        shown = {PLACE: states[PLACE]}
        for call in calls:
            assert call.frame is not None
            whole = call.frame.unit is Unit.RANGE
            shown[call.output] = (
                states[call.output].take(pa.array(table.peers_stop - 1)) if whole else states[call.output]
            )
        values = evaluated(pa.table(shown), calls)
        found: dict[str, Column] = {call.output: values[call.output] for call in calls}
        return found | {state_of(call): states[call.output] for call in calls}

    def _joined(self, states: pa.Table, calls: Sequence[OverCall]) -> pa.Table:
        """The accumulators of each row joined to those of the row before its run."""
        some = self.has_last[self.table.part]
        if not some.any():
            return states
        part = pa.array(self.table.part[some])
        before = {call.output: self.last[state_of(call)].take(part) for call in calls}
        parts = [
            f"{Template(call.accumulator.merge).substitute(s=quoted(call.output))} AS {quoted(call.output)}"
            for call in calls
            if call.accumulator is not None
        ]
        return query(
            f"SELECT {', '.join([PLACE, *parts])} FROM (FROM before UNION ALL BY NAME FROM states) "
            f"GROUP BY {PLACE} ORDER BY {PLACE}",
            before=pa.table({PLACE: pa.array(self.table.place[some]), **before}),
            states=states,
        )


def _row_number(run: Resumed, call: OverCall) -> Column:
    return pa.array(run.number(call.output) + run.table.place - run.table.first + 1)


def _rank(run: Resumed, call: OverCall) -> Column:
    table = run.table
    inherits = run.tied[table.part] & (table.peer == table.peer[table.first])
    ranks = run.number(POSITION) + table.peers_first - table.first + 1
    return pa.array(np.where(inherits, run.number(call.output), ranks))


def _dense_rank(run: Resumed, call: OverCall) -> Column:
    table = run.table
    return pa.array(run.number(call.output) + table.peer - table.peer[table.first] + 1 - run.tied[table.part])


def _first_value(run: Resumed, call: OverCall) -> Column:
    """That of the row before, if there is one."""
    own, before = over_values(run.table, [call])[call.output], run.value_before(call)
    if before is None:
        return own
    if call.ignore_nulls:
        return pc.coalesce(before, own)
    return _chosen(run.has_last[run.table.part], before, own)


def _chosen(which: Mask, one: Column, other: Column) -> Column:
    """The values of one column where it says so, and else of the other."""
    both = pa.chunked_array([*chunks_of(one), *chunks_of(other)])
    return both.take(pa.array(np.arange(len(which)) + np.where(which, 0, len(which))))


def _last_value(run: Resumed, call: OverCall) -> Column:
    """That of the row before only where all values since are NULL, and these are ignored."""
    own, before = over_values(run.table, [call])[call.output], run.value_before(call)
    return pc.coalesce(own, before) if before is not None and call.ignore_nulls else own


def _nth_value(run: Resumed, call: OverCall) -> Column:
    """That of the row before from the nth row on; before it, none."""
    table = run.table
    wanted = table.first + call.offset - 1 - run.number(POSITION)
    stop = table.peers_stop if call.frame is not None and call.frame.unit is Unit.RANGE else table.place + 1
    there = (wanted >= table.first) & (wanted < stop)
    own = table.rows[call.args[0]].take(pa.array(np.where(there, wanted, 0), mask=~there))
    before = run.value_before(call)
    return own if before is None else _chosen(wanted < table.first, before, own)


def _lag(run: Resumed, call: OverCall) -> Column:
    """Without NULLs: where no value is among the rows of the run, that of the row before it, or what that one has."""
    own, before = over_values(run.table, [call])[call.output], run.value_before(call)
    if before is None:
        return own
    value = run.last[call.args[0]].take(pa.array(run.table.part))
    return pc.coalesce(own, value, before)


RESUMED: dict[str, Callable[[Resumed, OverCall], Column]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "first_value": _first_value,
    "last_value": _last_value,
    "nth_value": _nth_value,
    "lag": _lag,
}


def chunks_of(column: Column) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]
