"""Calls of users' own functions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from panes.functions.stateful import StatefulFunctionInstance
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.user_functions import UserFunction

from ..harness import MS
from .definitions import Streak, at_once, outputs, typed


def test_a_function_without_arguments() -> None:
    one = at_once([StatefulCall("counts", (), "o", user=UserFunction(Counts(), pa.int64()))])
    rows = outputs(one, [typed([1, 1], pa.int64()), typed([1], pa.int64(), 2)])
    assert rows["o"].to_pylist() == [1, 2, 3]


def test_the_last_value_stands_where_the_condition_is_false() -> None:
    """Until the partition expires: the last row comes so late that there is none."""
    one = at_once([StatefulCall("counts", (), "o", "accepted", user=UserFunction(Counts(), pa.int64()))], ttl=10 * MS)
    accepted = [False, True, False, True, False, False]
    rows = typed([0, 1, 2, 3, 4, 30], pa.int64()).append_column("accepted", pa.array(accepted))
    times = pa.array([at * MS for at in (0, 1, 2, 3, 4, 30)], rows["ts"].type)
    rows = rows.set_column(rows.column_names.index("ts"), "ts", times)
    parts = [rows.slice(0, 3), rows.slice(3)]
    assert outputs(one, parts)["o"].to_pylist() == [None, 1, 1, 2, 2, None]


class Counts(Streak):
    name = "counts"

    def create_instance(self) -> Any:
        return CountInstance()


class CountInstance(StatefulFunctionInstance):
    def __init__(self) -> None:
        self.count = 0

    def eval(self, args: Any) -> Any:
        assert args == []
        self.count += 1
        return self.count
