"""A call of a stateful function, as the kernel sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TypeAlias

import pyarrow as pa

from panes.kernels.aggregates.accumulator import Accumulator
from panes.kernels.stateful.arrangement import Arrangement, flat
from panes.kernels.stateful.user_functions import UserFunction


@dataclass(frozen=True)
class StatefulCall:
    """One call: `args`, `condition`, `default`, `begin` and `reset` are columns, also outputs of earlier calls.

    `ignore_nulls` is IGNORE NULLS, or the argument `ignore_null`. A function that accumulates has the accumulator of
    its aggregate; a user's function is in `user`.
    """

    function: str
    args: tuple[str, ...]
    output: str
    condition: str | None = None
    ignore_nulls: bool = False
    offset: int = 1
    default: str | None = None
    begin: str | None = None
    reset: str | None = None
    accumulator: Accumulator | None = None
    user: UserFunction | None = None

    def kept(self, carry: pa.Table | None) -> Kept:
        """What was kept for this call: a row for each row of the carry; nothing before the first."""
        if carry is None:
            return []
        known = set(carry.column_names)
        names = takewhile(known.__contains__, (self.column(number) for number in count()))
        return [flat(carry[name]) for name in names]

    def column(self, number: int) -> str:
        return f"{self.output} {number}"


Kept: TypeAlias = list[pa.Array]  # what is kept for a call: arrays with a row for each partition
Computed: TypeAlias = tuple[
    pa.Array, Kept
]  # the values of a call in the order of the rows, and what is kept after them
KernelFunction: TypeAlias = Callable[[StatefulCall, pa.Table, Arrangement, Kept], Computed]
