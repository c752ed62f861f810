"""Sketches over frames that begin or end with the partition: found at every row in one go, without a state for each.

v                        3  1  3  7
distinct so far          1  2  2  3       a frame UNBOUNDED PRECEDING .. e has the value at its last row,
distinct from here on    3  3  2  1       one e .. UNBOUNDED FOLLOWING that at its first
"""

from __future__ import annotations

from string import Template

import numpy as np
import pyarrow as pa

from panes.frames import Edge
from panes.kernels.aggregates.accumulator import ARGUMENTS, Sketched
from panes.kernels.duck import query, quoted
from panes.kernels.over.calls import OverCall
from panes.kernels.over.sorted_rows import Mask, Places, Sorted
from panes.kernels.sketches.lists import Column, combined, list_array


def is_sketched(call: OverCall) -> bool:
    return call.accumulator is not None and call.accumulator.sketched is not None


def is_open(call: OverCall) -> bool:
    """Whether it is a sketch over a frame that begins or ends with the partition."""
    if call.frame is None or not is_sketched(call):
        return False
    return Edge.UNBOUNDED_PRECEDING is call.frame.start.edge or Edge.UNBOUNDED_FOLLOWING is call.frame.end.edge


def over_open_frames(table: Sorted, call: OverCall) -> Column:
    """The value of a sketch over such a frame, at each row."""
    assert call.frame is not None
    one, values = _sketched(call), _given(table, call)
    first, stop = table.bounds(call.frame)
    nothing = pa.nulls(int(table.part[-1]) + 1 if len(table.part) else 0, one.sketch.state_type)
    if call.frame.start.edge is Edge.UNBOUNDED_PRECEDING:
        found, at = one.sketch.running(values, table.part, nothing), stop - 1
    else:
        backwards = pa.array(table.place[::-1])
        found = one.sketch.running(values.take(backwards), table.part.max(initial=0) - table.part[::-1], nothing)
        found, at = found.take(backwards), first
    empty = one.sketch.evaluate(pa.nulls(1, one.sketch.state_type))
    all_ = pa.concat_arrays([found, empty.cast(found.type)])
    return _finished(one, all_.take(pa.array(np.where(first < stop, at, len(found)))))


def running_sketch(
    table: Sorted, call: OverCall, heads: Mask, known: Column | None, carried: Places
) -> tuple[Column, pa.Array]:
    """The value at each row of all rows since the last head, and the state behind the last row of each head.

    `carried` says for each head which of the `known` states it goes on from, -1 if from none.
    """
    one, values = _sketched(call), _given(table, call)
    segment = np.cumsum(heads) - 1
    before = pa.nulls(len(carried), one.sketch.state_type)
    if known is not None and len(known):
        before = combined(known.take(pa.array(carried, mask=carried < 0)))
    found = one.sketch.running(values, segment, before)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    counts = np.bincount(segment[valid], minlength=len(carried))
    fresh = one.sketch.fold(list_array(values.drop_null(), counts))
    pairs = np.arange(2 * len(carried)).reshape(2, -1).T.reshape(-1)
    both = pa.concat_arrays([before.cast(fresh.type), fresh]).take(pa.array(pairs))
    return _finished(one, found), one.sketch.merge(list_array(both, np.full(len(carried), 2)))


def _sketched(call: OverCall) -> Sketched:
    assert call.accumulator is not None and call.accumulator.sketched is not None
    return call.accumulator.sketched


def _given(table: Sorted, call: OverCall) -> pa.Array:
    """What goes into the sketch, at each row; NULL where it does not count."""
    assert call.accumulator is not None
    names = dict(zip(ARGUMENTS, (quoted(arg) for arg in call.args), strict=False))
    conditions = [Template(call.accumulator.counts or "true").substitute(names)]
    conditions += [f"coalesce({quoted(call.condition)}, false)"] if call.condition else []
    given = Template(_sketched(call).given).substitute(names)
    rows = table.rows.select([*dict.fromkeys([*call.args, *([call.condition] if call.condition else [])])])
    return combined(
        query(f"SELECT CASE WHEN {' AND '.join(conditions)} THEN {given} END AS given FROM parts", parts=rows)["given"]
    )


def _finished(one: Sketched, found: pa.Array) -> Column:
    """The value that is made of what a sketch found."""
    if one.value == "$v":
        return found
    text = Template(one.value).substitute(v="found")
    return query(f"SELECT {text} AS value FROM parts", parts=pa.table({"found": found}))["value"]
