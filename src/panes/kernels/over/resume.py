"""Ranks and running aggregates go on from the row before: its values are kept beside it, with its accumulators.

    rank  1  2  2 | .  .  .        the row before is the third, of rank 2:
                    4  5  5        the run goes on from there

Nothing in front of that row is read. A frame that begins with the first row and ends some rows or a value before or
after its own has the value that a running frame has there: that one is kept, too, as `so_far`.

    values                           1  2  3  4
    so far                           1  3  6 10
    UNBOUNDED PRECEDING .. 1 PREC.   .  1  3  6

Where NULLs are ignored, `nth_value` resumes from how many values there were, and `lag(x, 3)` from the last three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from string import Template

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.frames import Edge, Unit
from panes.functions.over import Reach
from panes.kernels.duck import query, quoted
from panes.kernels.over.calls import AGGREGATE, RUNNING, OverCall
from panes.kernels.over.frame_folds import PLACE, evaluated, folded
from panes.kernels.over.functions import Column, over_values, qualified, taken
from panes.kernels.over.merged import Merged
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.over.stages import SEEN_VALUES
from panes.kernels.sorted_blocks.ranges import Mask, Places

POSITION = "row_position"
FURTHEST = 16  # values that are kept beside a row for a lag that ignores NULLs


def is_carried(call: OverCall) -> bool:
    """Whether a row's value follows from the row before it: ranks, and frames from the first row to this one.

    Accumulators that hold many values are not kept for each row.
    """
    if call.reach is Reach.BACK:
        return call.ignore_nulls and 1 <= call.offset <= FURTHEST and call.function in RESUMED
    if call.reach is not Reach.RANK and (call.frame is None or not call.frame.is_running):
        return False
    if call.accumulator is not None:
        return not call.accumulator.holds_values
    return call.function in RESUMED


def is_shifted(call: OverCall) -> bool:
    """Whether a frame begins with the first row and ends away from its own, and its value is kept `so_far`."""
    frame = call.frame
    if frame is None or frame.start.edge is not Edge.UNBOUNDED_PRECEDING or not frame.end.edge.has_offset:
        return False
    return is_carried(so_far(call))


def so_far(call: OverCall) -> OverCall:
    """The same call over all rows up to its own."""
    return replace(call, output=f"so far {call.output}", frame=RUNNING)


def helpers(call: OverCall) -> tuple[OverCall, ...]:
    """The calls that are kept beside a row for this one."""
    if is_shifted(call):
        return (so_far(call), *helpers(so_far(call)))
    if not is_carried(call):
        return ()
    if call.reach is Reach.BACK:
        return tuple(step for step in _steps(call) if step.output != call.output)
    if RESUMED.get(call.function) is _nth_value:
        return (_seen(call),)
    return ()


def _steps(call: OverCall) -> list[OverCall]:
    """lag by one value, by two, up to the call's own; a default would hide that there is none."""
    last = call.offset - (call.default is None)
    steps = [replace(call, output=f"lag {n + 1} {call.args[0]}", offset=n + 1, default=None) for n in range(last)]
    return steps if call.default is not None else [*steps, call]


def _seen(call: OverCall) -> OverCall:
    """How many rows there are up to each that a call sees."""
    if not call.ignore_nulls:
        return OverCall("row_number", (), POSITION)
    return OverCall(AGGREGATE, call.args, f"seen {call.output}", RUNNING, accumulator=SEEN_VALUES)


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

    def latest(self, call: OverCall) -> pa.ChunkedArray | None:
        """The last value before each run, for all runs; then the one before that; up to as many as a lag goes back."""
        names = [call.args[0], *(step.output for step in _steps(call))]
        if not set(names) <= set(self.last.column_names):
            return None
        values = [self.last[name] for name in names]
        there = values[0].is_valid().to_numpy()
        chosen = [_chosen(there, one, other) for one, other in pairwise(values)]
        return pa.chunked_array([chunk for column in chosen for chunk in column.chunks])

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
    table, (seen, before) = run.table, qualified(run.table, call)
    first = before[table.first]
    wanted = first + call.offset - 1 - run.number(_seen(call).output)
    stop = table.peers_stop if call.frame is not None and call.frame.unit is Unit.RANGE else table.place + 1
    own = taken(table.rows[call.args[0]], seen, wanted, (wanted >= first) & (wanted < before[stop]))
    known = run.value_before(call)
    return own if known is None else _chosen(wanted < first, known, own)


def _lag(run: Resumed, call: OverCall) -> Column:
    """Without NULLs: where too few values are among the rows of the run, one of the last before it."""
    found = over_values(run.table, [replace(call, default=None)])[call.output]
    table, latest = run.table, run.latest(call)
    if latest is not None:
        _, before = qualified(table, call)
        missing = call.offset - (before[table.place] - before[table.first])
        place = np.where(missing < 1, 0, (missing - 1) * len(run.has_last) + table.part)
        found = pc.coalesce(found, latest.take(pa.array(place)))
    return found if call.default is None else pc.coalesce(found, table.rows[call.default])


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
