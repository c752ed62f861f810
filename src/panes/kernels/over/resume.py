"""Ranks and running aggregates go on from the row before: its values are kept beside it, with its accumulators.

    rank  1  2  2 | .  .  .        the row before is the third, of rank 2:
                    4  5  5        the run goes on from there

Nothing in front of that row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import Template

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Unit
from panes.functions.over import Reach
from panes.kernels.duck import query, quoted
from panes.kernels.over.calls import OverCall
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
    if call.reach is not Reach.RANK and (call.frame is None or not call.frame.is_running):
        return False
    return not call.accumulator.holds_values if call.accumulator is not None else call.function in RESUMED


def needs_position(call: OverCall) -> bool:
    """Whether a call goes on from the number of the row before, too."""
    return call.accumulator.ordered if call.accumulator is not None else RESUMED[call.function] is _rank


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
    def on(table: Sorted, merged: Merged, mask: Mask, names: Iterable[str]) -> Resumed:
        left = ~merged.gone
        part, peer = merged.sorted.part[left], merged.sorted.peer[left]
        first = np.flatnonzero(mask)[np.unique(table.first)]
        before = np.maximum(first - 1, 0)
        has_last = (first > 0) & (part[before] == part[first])
        known = merged.left.select([name for name in names if name in merged.left.column_names])
        return Resumed(
            table, known.take(pa.array(before, mask=~has_last)), has_last, has_last & (peer[before] == peer[first])
        )

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
    size = len(run.table.part)
    both = pa.chunked_array([*chunks_of(before), *chunks_of(own)])
    return both.take(pa.array(np.arange(size) + np.where(run.has_last[run.table.part], 0, size)))


def _last_value(run: Resumed, call: OverCall) -> Column:
    """That of the row before only where all values since are NULL, and these are ignored."""
    own, before = over_values(run.table, [call])[call.output], run.value_before(call)
    return pc.coalesce(own, before) if before is not None and call.ignore_nulls else own


RESUMED: dict[str, Callable[[Resumed, OverCall], Column]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "first_value": _first_value,
    "last_value": _last_value,
}


def chunks_of(column: Column) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]
