"""Functions that give a running value: row_number and acc_*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template

import numpy as np
import pyarrow as pa

from panes.kernels.aggregates.accumulator import Accumulator
from panes.kernels.duck import query
from panes.kernels.partitions import Codes
from panes.kernels.stateful.arrangement import Arrangement, Flags, flat
from panes.kernels.stateful.call import Computed, Kept, StatefulCall


def row_number(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """How many rows were accepted, this one included; NULL before the first."""
    accepted = arrangement.flags(rows, call.condition, True)
    numbers = _counted(accepted, arrangement.start)
    numbers = numbers + _at(kept[0], arrangement.carried) if kept else numbers
    by_row = arrangement.by_row(numbers)
    return pa.array(by_row, mask=by_row == 0), [pa.array(numbers[arrangement.ends])]


def acc_count(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """How many values were counted since begin."""
    span = Span.of(call, rows, arrangement, kept)
    numbers = _counted(span.counted, span.start)
    if kept:
        numbers = numbers + np.where(span.inherits, _at(kept[0], arrangement.carried), 0)
    after = np.where(span.cleared, 0, numbers[arrangement.ends])
    return pa.array(arrangement.by_row(numbers)), [pa.array(after), pa.array(span.goes_on)]


def acc_sum(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The sum of what was counted since begin; 0 of nothing."""
    return _accumulated(call, rows, arrangement, kept, of_nothing="'0'")


def acc_avg(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The average of what was counted since begin."""
    return _accumulated(call, rows, arrangement, kept)


def acc_extreme(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The least or the greatest of what was counted since begin, which is of the argument's type."""
    values, after = _accumulated(call, rows, arrangement, kept)
    return values.cast(rows[call.args[0]].type), after


def _accumulated(
    call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept, of_nothing: str = "NULL"
) -> Computed:
    """The running value of an aggregate: the fold of the new rows, merged with what was kept."""
    assert call.accumulator is not None
    values = flat(rows[call.args[0]])
    span = Span.of(call, rows, arrangement, kept)
    table = pa.table(
        {
            "place": arrangement.places,
            "start": span.start,
            "counted": span.counted,
            "x": _for_duck(values).take(pa.array(arrangement.order)),
        }
    )
    if kept:
        carried = np.where(span.inherits, arrangement.carried, -1)
        table = table.append_column("kept", kept[0].take(pa.array(carried, mask=carried < 0)))
    found = query(_running_sql(call.accumulator, of_nothing, bool(kept)), rows=table).combine_chunks()
    states, running = flat(found["state"]), flat(found["value"])
    ends = pa.array(arrangement.ends, mask=span.cleared)
    return running.take(pa.array(arrangement.place_of)), [states.take(ends), pa.array(span.goes_on)]


def _running_sql(accumulator: Accumulator, of_nothing: str, merges: bool) -> str:
    """A state and a value for each row: a window over the rows, and a group of two with what was kept."""
    over = "OVER (PARTITION BY start ORDER BY place ROWS UNBOUNDED PRECEDING)"
    fold = Template(accumulator.fold).substitute(x="x", w=f"FILTER (WHERE counted) {over}", o="place")
    states = f"SELECT place, {fold} AS state FROM rows"
    if merges:
        merge = Template(accumulator.merge).substitute(s="state")
        both = f"{states} UNION ALL SELECT place, kept AS state FROM rows WHERE kept IS NOT NULL"
        states = f"SELECT place, {merge} AS state FROM ({both}) GROUP BY place"
    value = Template(accumulator.evaluate).substitute(s="state")
    return f"SELECT state, coalesce({value}, {of_nothing}) AS value FROM ({states}) ORDER BY place"


@dataclass(frozen=True)
class Span:
    """Between begin and reset: from where a running value runs, and what counts.

    start     each place's first place of its span: its generation's first, or the one after a reset
    inherits  whether the span goes on from the carry
    counted   whether a place counts
    cleared   for each partition, whether its last row cleared the value
    goes_on   for each partition, whether the next row counts without begin
    """

    start: Codes
    inherits: Flags
    counted: Flags
    cleared: Flags
    goes_on: Flags

    @staticmethod
    def of(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Sequence[pa.Array]) -> Span:
        reset = arrangement.flags(rows, call.reset, False)
        begin = arrangement.flags(rows, call.begin, True)
        after_reset = np.append(0, np.maximum.accumulate(np.where(reset, arrangement.places + 1, 0))[:-1])
        start = np.maximum(arrangement.start, after_reset)
        inherits = (start == arrangement.start) & (arrangement.carried >= 0)
        begun = np.maximum.accumulate(np.where(begin, arrangement.places, -1)) >= start
        if kept:
            begun = begun | (inherits & _at(kept[-1].cast(pa.int8()), arrangement.carried).astype(bool))
        counted = begun & arrangement.flags(rows, call.condition, True)
        counted = counted & arrangement.given(flat(rows[call.args[0]])) if call.args else counted
        cleared = reset[arrangement.ends]
        return Span(start, inherits, counted, cleared, begun[arrangement.ends] & ~cleared)


def _counted(flags: Flags, start: Codes) -> Codes:
    """At each place, how many places since `start` have the flag, this one included."""
    total = np.cumsum(flags)
    return total - (total - flags)[start]


def _at(kept: pa.Array, carried: Codes) -> Codes:
    """Kept numbers at each place, 0 where nothing is carried."""
    return np.append(kept.to_numpy(zero_copy_only=False), 0)[carried]


def _for_duck(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()) if pa.types.is_duration(values.type) else values
