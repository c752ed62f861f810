"""Ranks and running aggregates go on from the row before: its values are kept beside it, with its accumulators.

    rank  1  2  2 | .  .  .        the row before is the third, of rank 2:
                    4  5  5        the run goes on from there

Nothing in front of that row is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Template
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query, quoted
from panes.kernels.over.evaluate import PLACE, Edge, OverCall, Sorted, evaluated, folded, over_values
from panes.kernels.over.merged import Merged
from panes.kernels.sorted_blocks.ranges import Mask, Places

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

POSITION = "row_position"
RANKS = ("row_number", "rank", "dense_rank")


def is_carried(call: OverCall) -> bool:
    """Whether a row's value follows from the row before it: ranks, and frames from the first row to this one.

    Accumulators that hold all their values are not kept for each row.
    """
    if call.function in RANKS:
        return True
    frame = call.frame
    if frame is None or frame.start.edge is not Edge.UNBOUNDED_PRECEDING or frame.end.edge is not Edge.CURRENT_ROW:
        return False
    if call.accumulator is not None:
        return "list(" not in call.accumulator.fold
    return call.function in ("first_value", "last_value")


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
        found: dict[str, Column] = {}
        for call in calls:
            if call.function in RANKS:
                found[call.output] = pa.array(self._rank(call))
            elif call.accumulator is None:
                found[call.output] = self._picked(call)
        aggregates = [call for call in calls if call.accumulator is not None]
        return found | (self._aggregated(aggregates) if aggregates else {})

    def _number(self, name: str) -> Places:
        """A number of the row before each row's run; 0 where there is none."""
        if name not in self.last.column_names:
            return np.zeros(len(self.table.part), np.int64)
        numbers: Places = self.last[name].fill_null(0).to_numpy()
        return numbers[self.table.part]

    def _rank(self, call: OverCall) -> Places:
        table = self.table
        tied = self.tied[table.part]
        match call.function:
            case "row_number":
                return self._number(call.output) + table.place - table.first + 1
            case "dense_rank":
                return self._number(call.output) + table.peer - table.peer[table.first] + 1 - tied
        inherits = tied & (table.peer == table.peer[table.first])
        ranks = self._number(POSITION) + table.peers_first - table.first + 1
        return np.where(inherits, self._number(call.output), ranks)

    def _picked(self, call: OverCall) -> Column:
        """first_value is that of the row before; last_value too, where all NULLs since are ignored."""
        own = over_values(self.table, [call])[call.output]
        if call.output not in self.last.column_names or (call.function == "last_value" and not call.ignore_nulls):
            return own
        before = self.last[call.output].take(pa.array(self.table.part))
        if call.function == "last_value":
            return pc.coalesce(own, before)
        return pc.coalesce(before, own) if call.ignore_nulls else self._chosen(before, own)

    def _chosen(self, before: Column, own: Column) -> Column:
        size = len(self.table.part)
        both = pa.chunked_array([*chunks_of(before), *chunks_of(own)])
        return both.take(pa.array(np.arange(size) + np.where(self.has_last[self.table.part], 0, size)))

    def _aggregated(self, calls: Sequence[OverCall]) -> dict[str, Column]:
        table = self.table
        frames = [(table.first, table.place + 1)] * len(calls)
        order = self._number(POSITION) + table.place - table.first
        states = self._joined(folded(table, calls, frames, order), calls)
        shown = {PLACE: states[PLACE]}
        for call in calls:
            assert call.frame is not None
            whole = call.frame.unit == "RANGE"
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


def chunks_of(column: Column) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]
