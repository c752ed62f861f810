"""The kernel functions by name: one for each row of `panes.functions.stateful.built_ins`."""

from __future__ import annotations

import pyarrow as pa

from panes.kernels.stateful.arrangement import Arrangement
from panes.kernels.stateful.call import Computed, Kept, KernelFunction, StatefulCall
from panes.kernels.stateful.changes import changed_col, had_changed
from panes.kernels.stateful.previous import lag, latest
from panes.kernels.stateful.running import acc_avg, acc_count, acc_extreme, acc_sum, row_number
from panes.kernels.stateful.user_calls import user_function

KERNEL_FUNCTIONS: dict[str, KernelFunction] = {
    "lag": lag,
    "latest": latest,
    "changed_col": changed_col,
    "had_changed": had_changed,
    "acc_sum": acc_sum,
    "acc_avg": acc_avg,
    "acc_min": acc_extreme,
    "acc_max": acc_extreme,
    "acc_count": acc_count,
    "row_number": row_number,
}


def evaluate(call: StatefulCall, rows: pa.Table, arrangement: Arrangement, kept: Kept) -> Computed:
    """The values of a call, in the order of the rows; and for each partition what is kept of it."""
    function = user_function if call.user is not None else KERNEL_FUNCTIONS.get(call.function)
    if function is None:
        raise ValueError(f"no stateful function {call.function}")
    return function(call, rows, arrangement, kept)
