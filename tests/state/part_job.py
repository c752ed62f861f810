"""One part of scenarios' input, in a process of its own: `python -m state.part_job RELEASE FOLDER PART NAME …`.

RELEASE is that of the DuckDB that PYTHONPATH is to bring.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from panes.spark.session import embedded

from .golden import run_part
from .scenarios import SCENARIOS


def workers_release(spark: SparkSession) -> str:
    from pyspark.sql.functions import udf

    @udf("string")
    def release(_: int) -> str:
        import duckdb

        return duckdb.__version__

    return str(spark.range(1).select(release("id")).collect()[0][0])


def main(release: str, folder: str, part: str, *names: str) -> None:
    spark = embedded(2)
    assert (duckdb.__version__, workers_release(spark)) == (release, release)
    for name in names:
        run_part(SCENARIOS[name], int(part), Path(folder) / name, spark)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
