"""What a Python worker of Spark does before a task."""

from __future__ import annotations

import gc
import sys
from functools import cache


def settle_in() -> None:
    """Tell the collector of cycles that what has been imported stays.

    PySpark collects after every task. Looking through all modules takes 40 ms, as much as the task of a small
    micro-batch; of what a task leaves, it takes none.
    """
    _keep(len(sys.modules))


@cache
def _keep(modules: int) -> None:
    """Once for each number of modules: the first task imports what only kernels need."""
    gc.collect()
    gc.freeze()
