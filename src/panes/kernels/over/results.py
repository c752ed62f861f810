"""Results that stand beside their rows: where a change reaches they are computed again, the others stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.frames import Edge, Unit
from panes.kernels.duck import query
from panes.kernels.over.calls import Bound, Frame, OrderKey, OverCall
from panes.kernels.over.functions import Column, over_values
from panes.kernels.over.merged import Merged
from panes.kernels.over.resume import (
    POSITION,
    Resumed,
    chunks_of,
    helpers,
    is_carried,
    is_shifted,
    needs_position,
    so_far,
    state_of,
)
from panes.kernels.over.sorted_rows import Sorted
from panes.kernels.sorted_blocks.ranges import Mask, Places, covered, runs

NOTHING = Frame(Unit.ROWS, Bound(Edge.PRECEDING, 1), Bound(Edge.PRECEDING, 1))  # of a row that is alone


@dataclass(frozen=True)
class Recomputed:
    """The rows that are left with their new results: which were computed again, and which have others than before."""

    rows: pa.Table
    again: Mask
    changed: Mask


@dataclass(frozen=True)
class Results:
    """The results of these calls, and what is kept beside them so that the next row can go on from there."""

    calls: tuple[OverCall, ...]
    order_by: tuple[OrderKey, ...]

    @cached_property
    def all_calls(self) -> tuple[OverCall, ...]:
        """With those that others are taken from; and a row's number in its partition, where a call goes on from it."""
        calls = (*self.calls, *(one for call in self.calls for one in helpers(call)))
        position = [OverCall("row_number", (), POSITION) for call in calls if is_carried(call) and needs_position(call)]
        return tuple({call.output: call for call in (*calls, *position)}.values())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are kept beside a row: results, and accumulators that the next row goes on from."""
        states = [state_of(call) for call in self.all_calls if call.accumulator is not None and is_carried(call)]
        return (*(call.output for call in self.all_calls), *states)

    @cached_property
    def resumed_since(self) -> bool:
        """Whether what is kept beside a row is more than in the first checkpoints of format 1."""
        return any(helpers(call) for call in self.calls)

    def recomputed(self, merged: Merged, everything: bool = False) -> Recomputed:
        """New results wherever a change reaches, for each call; or of all rows, which then all count as changed."""
        rows = merged.left
        masks: dict[str, Mask] = {}
        context = np.zeros(merged.size, np.bool_)
        for call in self.all_calls:
            masks[call.output], needs = merged.reached(call)
            if everything:
                masks[call.output] = np.ones(merged.size, np.bool_)
            elif self._looks_around(call):
                context |= covered(needs, merged.size)
        again = np.logical_or.reduce(list(masks.values())) if masks else merged.fresh[~merged.gone]
        masks |= {state_of(call): masks[call.output] for call in self.all_calls}
        values = self._values_in_context(merged, context | again, again) | self._values_carried(merged, again)
        old = rows
        for name in values:
            rows = with_column(rows, name, _spliced(rows, name, masks[name], values[name], again))
        for call in self.calls:
            if is_shifted(call):
                value = self._shifted(merged, call, rows[so_far(call).output], again)
                rows = with_column(rows, call.output, _spliced(rows, call.output, masks[call.output], value, again))
        changed = merged.fresh[~merged.gone] | everything
        changed[self._other(old, rows, again & ~changed)] = True
        return Recomputed(rows, again, changed)

    def _looks_around(self, call: OverCall) -> bool:
        return not is_carried(call) and not is_shifted(call)

    def _shifted(self, merged: Merged, call: OverCall, values: Column, wanted: Mask) -> Column:
        """What the last row of a frame has so far; where there is none, nothing."""
        if not wanted.any():
            return values.slice(0, 0)
        assert call.frame is not None
        left = Sorted(merged.left, merged.sorted.part[~merged.gone], self.order_by)
        first, stop = (ends[wanted] for ends in left.bounds(call.frame))
        one = Sorted(merged.left.slice(0, 1), np.zeros(1, np.int64), self.order_by)
        nothing = over_values(one, [replace(call, frame=NOTHING)])[call.output].cast(values.type)
        both = pa.chunked_array([*chunks_of(values), *chunks_of(nothing)])
        return both.take(pa.array(np.where(first < stop, stop - 1, len(values))))

    def _values_in_context(self, merged: Merged, context: Mask, wanted: Mask) -> dict[str, Column]:
        """Values of calls that look at the rows around, for the rows that are wanted."""
        calls = [call for call in self.all_calls if self._looks_around(call)]
        if not calls:
            return {}
        table = self._sorted(merged, context)
        pick = pa.array(wanted[context])
        return {name: column.filter(pick) for name, column in over_values(table, calls).items()}

    def _sorted(self, merged: Merged, mask: Mask) -> Sorted:
        """Some of the rows that are left; where some are missing between, a partition is broken in two."""
        part = runs(mask, merged.sorted.part[~merged.gone])
        return Sorted(merged.left.filter(pa.array(mask)), part, self.order_by)

    def _values_carried(self, merged: Merged, wanted: Mask) -> dict[str, Column]:
        calls = [call for call in self.all_calls if is_carried(call)]
        if not calls or not wanted.any():
            return {name: pa.nulls(0) for call in calls for name in _kept(call)}
        return Resumed.on(self._sorted(merged, wanted), merged, wanted).values(calls)

    def _other(self, old: pa.Table, new: pa.Table, mask: Mask) -> Places:
        """The places among these where a result is not what it was."""
        places = np.flatnonzero(mask)
        if not len(places):
            return places
        columns = {"place": pa.array(places)}
        for number, name in enumerate(self.columns):
            columns |= {f"o{number}": old[name].filter(mask), f"n{number}": new[name].filter(mask)}
        differs = " OR ".join(f"o{number} IS DISTINCT FROM n{number}" for number, _ in enumerate(self.columns))
        found: Places = query(f"SELECT place FROM parts WHERE {differs}", parts=pa.table(columns))["place"].to_numpy()
        return found


def _kept(call: OverCall) -> tuple[str, ...]:
    """The columns of a call that the next row goes on from."""
    return (call.output,) if call.accumulator is None else (call.output, state_of(call))


def _spliced(rows: pa.Table, name: str, mask: Mask, values: Column, again: Mask) -> Column:
    """A column with new values where the mask says; `values` are those of all rows that were computed again."""
    values = values.filter(pa.array(mask[again]))
    if name not in rows.column_names:
        return values
    old = rows[name]
    index = np.arange(len(old))
    index[mask] = len(old) + np.arange(len(values))
    return pa.chunked_array([*old.chunks, *(one.cast(old.type) for one in chunks_of(values))], old.type).take(
        pa.array(index)
    )


def with_column(rows: pa.Table, name: str, column: Column) -> pa.Table:
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, column)
    return rows.append_column(name, column)
