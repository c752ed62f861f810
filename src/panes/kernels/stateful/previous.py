"""Functions that give an earlier value: lag and latest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.kernels.partitions import Codes
from panes.kernels.stateful.arrangement import Arrangement, flat
from panes.kernels.stateful.call import Computed, Kept, StatefulCall
from panes.kernels.stateful.memory import Memory


def lag(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The n-th accepted value before a row, whether the row itself is accepted or not."""
    values = flat(rows[call.args[0]])
    if call.offset == 0:
        return values, []
    accepted = arrangement.flags(rows, call.condition, True)
    accepted = accepted & arrangement.given(values) if call.ignore_nulls else accepted
    memory = Memory.of(arrangement, values, accepted, kept)
    found = arrangement.by_row(memory.nth(call.offset, memory.before))
    return _picked(memory.pool, found, rows, call.default), [memory.last(call.offset)]


def latest(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The last accepted value that is not NULL, this row's included."""
    values = flat(rows[call.args[0]])
    accepted = arrangement.flags(rows, call.condition, True) & arrangement.given(values)
    memory = Memory.of(arrangement, values, accepted, kept)
    found = arrangement.by_row(memory.nth(1, memory.before + accepted))
    return _picked(memory.pool, found, rows, call.default), [memory.last(1)]


def _picked(pool: pa.Array, numbers: Codes, rows: pa.Table, default: str | None) -> pa.Array:
    """Values by number; where there is none, the row's default or NULL."""
    if default is None:
        return pool.take(pa.array(numbers, mask=numbers < 0))
    both = pa.concat_arrays([pool, flat(rows[default]).cast(pool.type)])
    return both.take(pa.array(np.where(numbers < 0, len(pool) + np.arange(len(numbers)), numbers)))
