"""A table that Spark knows by its name, read as a stream."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from panes.errors import PanesError
from panes.spark.refusals import panes_error, quiet_errors

MISSING = "TABLE_OR_VIEW_NOT_FOUND"


def table_stream(name: str, table: str, spark: SparkSession) -> DataFrame:
    """The rows of a table as they come, for the stream `name`."""
    with quiet_errors():
        try:
            df = spark.readStream.table(table)
            _ = df.schema  # Spark Connect looks for it only now
            return df
        except AnalysisException as error:
            if error.getCondition() == MISSING:
                raise PanesError("unknown-stream", f"Spark has no table {table}") from None
            hint = f"For its rows as a batch: engine.stream('{name}', spark.table('{table}'))."
            message = panes_error(error, []).message
            raise PanesError("stream-options", f"{table} cannot be read as a stream: {message}", None, hint) from None
