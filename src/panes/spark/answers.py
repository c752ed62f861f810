"""What a statement that is no query answers, as the DataFrame that `spark.sql` would give for its like."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from panes.script import Done, Explanation, Listing


def answer(step: Done | Listing | Explanation, spark: SparkSession) -> DataFrame:
    """Rows of SHOW and DESCRIBE; the plan of EXPLAIN in one row; nothing for a declaration."""
    match step:
        case Done():
            return spark.createDataFrame([], StructType([]))
        case Listing(header=header, rows=rows):
            return spark.createDataFrame(list(rows), _texts(*header))
        case Explanation(text=text):
            return spark.createDataFrame([(str(text),)], _texts("plan"))  # Spark takes no class derived from str
        case _:
            assert_never(step)


def _texts(*names: str) -> StructType:
    return StructType([StructField(name, StringType()) for name in names])
