"""Calls of users' own functions: an instance for each generation of a partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.kernels.partitions import Codes, run_starts
from panes.kernels.stateful.arrangement import Arrangement, flat
from panes.kernels.stateful.call import Computed, Kept, StatefulCall


def user_function(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """A user's function over the accepted rows of each generation; elsewhere its last value stands."""
    assert call.user is not None
    accepted = np.flatnonzero(arrangement.flags(rows, call.condition, True))
    args = [flat(rows[name]).take(pa.array(arrangement.order[accepted])) for name in call.args]
    starts = run_starts(arrangement.start[accepted]) if len(accepted) else accepted
    stops = np.append(starts[1:], len(accepted)) if len(accepted) else accepted
    saved_before = kept[0] if kept else pa.nulls(0, pa.binary())
    parts, saved = [], []
    for start, stop, carried in zip(starts, stops, arrangement.carried[accepted[starts]], strict=True):
        before = saved_before[int(carried)].as_py() if carried >= 0 else None
        values, after = call.user.run(before, [arg.slice(start, stop - start) for arg in args], int(stop - start))
        parts.append(values)
        saved.append(after)
    values = pa.concat_arrays(parts) if parts else pa.nulls(0, call.user.type)
    return _standing(arrangement, accepted, values, pa.array(saved, pa.binary()), kept)


def _standing(arrangement: Arrangement, accepted: Codes, values: pa.Array, saved: pa.Array, kept: Kept) -> Computed:
    """Each place's last value, and of each partition what its last generation has left, out of what all have saved."""
    calls = np.searchsorted(accepted, arrangement.places, side="right")
    new = calls > np.searchsorted(accepted, arrangement.start, side="left")
    begun = np.append(0, np.cumsum(np.diff(arrangement.start[accepted], prepend=-1) > 0))[calls]
    value = np.where(new, calls - 1, np.where(arrangement.carried >= 0, len(values) + arrangement.carried, -1))
    state = np.where(new, begun - 1, np.where(arrangement.carried >= 0, len(saved) + arrangement.carried, -1))
    state = state[arrangement.ends]
    last = pa.concat_arrays([values, *kept[1:]]).take(pa.array(value, mask=value < 0))
    states = pa.concat_arrays([saved, *kept[:1]]).take(pa.array(state, mask=state < 0))
    return last.take(pa.array(arrangement.place_of)), [states, last.take(pa.array(arrangement.ends))]
