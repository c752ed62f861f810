"""What is remembered of a partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from panes.kernels.kernel import Clock, State
from panes.kernels.stateful.arrangement import Arrangement
from panes.kernels.stateful.memory import Memory

from ..harness import step_twice
from .definitions import X, at_once, call, typed


def test_no_more_is_kept_than_asked_for() -> None:
    one = at_once([call("lag", X, offset=3), call("latest", X)])
    state = State()
    for at in range(5):
        state = step_twice(one, state, typed([at, at + 1], pa.int64(), 2 * at), Clock()).state
    (kept,) = (chunk.load().to_pylist() for chunk in state.chunks)
    assert kept[0]["lag_x_offset_3 0"] == [4, 4, 5]
    assert kept[0]["latest_x 0"] == [5]


def test_values_of_rows_come_after_kept_ones() -> None:
    """Two partitions, of which the second goes on from two kept values; its second row is not accepted."""
    order, start, carried = np.array([0, 2, 1, 3]), np.array([0, 0, 2, 2]), np.array([-1, -1, 0, 0])
    arrangement = Arrangement(order, start, carried, ends=np.array([1, 3]))
    kept = pa.array([[8, 9]])
    memory = Memory.of(arrangement, pa.array([1, 3, 2, 4]), np.array([True, True, True, False]), [kept])
    found = memory.nth(2, memory.before)
    assert memory.pool.take(pa.array(found, mask=found < 0)).to_pylist() == [None, None, 8, 9]
    assert memory.last(2).to_pylist() == [[1, 2], [9, 3]]
