"""What a Python worker of Spark does before a task."""

from __future__ import annotations

import gc
import sys
from functools import cache
from io import StringIO

STARTING = "pyspark.sql.streaming.transform_with_state_driver_worker"


def be_quiet() -> None:
    """Spark's helper that starts a query prints thousands of characters for each operator: none, once ours is there.

    What goes wrong in it is not printed, but sent.
    """
    spec = sys.modules["__main__"].__spec__
    if spec is not None and spec.name == STARTING:
        sys.stdout = StringIO()


def freeze_imports() -> None:
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
