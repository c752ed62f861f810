"""Data sources of Panes' own, known to a session by their names."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

TAKEN = "DATA_SOURCE_ALREADY_EXISTS"


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Let a session read a data source, which may be known to it already.

    Spark asks the active session whether the name is free. If that is another session which has the source, it takes
    the name for one of Java's: so this session is made the active one, as any DataFrame does that is made of rows.
    """
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != TAKEN:
            raise
        spark.createDataFrame([], "panes_nothing int")
        spark.dataSource.register(source)
