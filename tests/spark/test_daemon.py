"""Workers are forked with what operators need already imported, and it works in them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

# A daemon in small: it imports, a fork computes, and says what it had to import for it.
FORKED = """
import os, sys
from panes.spark.daemon import import_all
import_all()
before = set(sys.modules)
if os.fork() == 0:
    from panes.kernels.duck import query
    from panes.kernels.windows.session import SessionWindows
    import pandas, pyarrow as pa, pyarrow.compute as pc
    found = query("SELECT k, sum(v) AS s FROM rows GROUP BY k", rows=pa.table({"k": [1, 1], "v": [2, 3]}))
    heavy = {name for name in set(sys.modules) - before if name.split(".")[0] in ("duckdb", "numpy", "pandas", "panes")}
    print(pc.sum(found["s"]).as_py(), sorted(heavy))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def test_a_fork_imports_nothing_large() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "5 []"


@pytest.mark.spark
def test_an_embedded_spark_forks_its_workers_from_it(spark: SparkSession) -> None:
    assert spark.conf.get("spark.python.daemon.module") == "panes.spark.daemon"
    imported = spark.sparkContext.parallelize([0], 1).map(lambda _: "panes.kernels.windows.session" in sys.modules)
    assert imported.collect() == [True]
