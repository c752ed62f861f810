"""Functions that say what has changed: changed_col and had_changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panes.kernels.duck import query
from panes.kernels.stateful.arrangement import Arrangement, Flags, flat
from panes.kernels.stateful.call import Computed, Kept, StatefulCall
from panes.kernels.stateful.memory import Memory


def changed_col(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The value where it differs from the last one."""
    values = flat(rows[call.args[0]])
    changed, last = _changes(call, values, arrangement, arrangement.flags(rows, call.condition, True), kept)
    row_numbers = pa.array(np.arange(len(values)), mask=~arrangement.by_row(changed))
    return values.take(row_numbers), [last]


def had_changed(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """Whether any argument differs from its last value."""
    condition = arrangement.flags(rows, call.condition, True)
    any_changed: Flags = np.zeros(len(condition), bool)
    after = []
    for number, name in enumerate(call.args):
        changed, last = _changes(call, flat(rows[name]), arrangement, condition, kept[number : number + 1])
        any_changed |= changed
        after.append(last)
    return pa.array(arrangement.by_row(any_changed)), after


def _changes(
    call: StatefulCall, values: pa.Array, arrangement: Arrangement, condition: Flags, kept: Sequence[pa.Array]
) -> tuple[Flags, pa.ListArray]:
    """The places whose value differs from the last; and each partition's last value."""
    accepted = condition & arrangement.given(values) if call.ignore_nulls else condition
    memory = Memory.of(arrangement, values, accepted, kept)
    places = memory.accepted[:-1]
    last = memory.nth(1, memory.before)[places]
    changed: Flags = np.zeros(len(accepted), bool)
    changed[places] = (last < 0) | _differ(
        values.take(pa.array(arrangement.order[places])), memory.pool.take(pa.array(last, mask=last < 0))
    )
    return changed, memory.last(1)


def _differ(left: pa.Array, right: pa.Array) -> Flags:
    """Where two arrays differ; NULL equals NULL, NaN equals NaN, 0.0 equals -0.0."""
    if pa.types.is_nested(left.type):
        sql = "SELECT l IS DISTINCT FROM r AS differ FROM parts ORDER BY place"
        found = query(sql, parts=pa.table({"l": left, "r": right, "place": np.arange(len(left))}))
        return _numpy(found["differ"].combine_chunks())
    if pa.types.is_null(left.type):
        return np.zeros(len(left), bool)
    nulls = _numpy(left.is_null()) != _numpy(right.is_null())
    different: Flags = nulls | _numpy(pc.fill_null(pc.not_equal(left, right), False))
    if pa.types.is_floating(left.type):
        different &= ~_numpy(pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    return different


def _numpy(flags: pa.Array) -> Flags:
    found: Flags = flags.to_numpy(zero_copy_only=False)
    return found
