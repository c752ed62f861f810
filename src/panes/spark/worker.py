"""What a Python worker of Spark does before a task."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panes.spark.memory import Memory

STARTING = "pyspark.sql.streaming.transform_with_state_driver_worker"


def be_quiet() -> None:
    """Spark's helper that starts a query prints thousands of characters for each operator: none, once ours is there.

    What goes wrong in it is not printed, but sent.
    """
    spec = sys.modules["__main__"].__spec__
    if spec is not None and spec.name == STARTING:
        sys.stdout = StringIO()


def set_up(memory: Memory) -> None:
    """Before a task that computes: it takes no more than its share of the memory."""
    from panes.kernels.duck import limit_memory

    limit_memory(memory.duckdb, spill_folder())
    freeze_imports()


def local_folder() -> Path:
    """For files that go with the executor; of several disks, the first."""
    return Path(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir())


def spill_folder() -> Path:
    """Where DuckDB may write in this process."""
    return local_folder() / f"panes-spill-{os.getpid()}"


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
