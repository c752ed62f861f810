"""The process that Spark forks its Python workers from, with all that an operator needs already imported.

Spark's own imports nothing of it, so that each new worker takes a second before its first task. An embedded Spark has
this one; for another say `spark.python.daemon.module=panes.spark.daemon` before it starts.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from pyspark.daemon import manager

import panes.kernels
from panes.spark.worker import freeze_imports

NEEDED = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
    "panes.spark.pack",
    "panes.spark.shard",
    "panes.spark.unpack",
)


def import_all() -> None:
    """No connection is made here: its threads would not be there after a fork."""
    for name in NEEDED:
        import_module(name)
    for module in walk_packages(panes.kernels.__path__, "panes.kernels."):
        import_module(module.name)
    freeze_imports()


if __name__ == "__main__":
    import_all()
    manager()
