"""The rows of a SELECT without INSERT, for whoever wants to see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from panes.errors import PanesError


@dataclass(frozen=True)
class Rows:
    """What a SELECT gave in one micro-batch: `count` rows in `df`; `batch` is None for a query over tables alone."""

    query: str
    batch: int | None
    df: DataFrame
    count: int


ShowRows: TypeAlias = Callable[[Rows], None]


def show_rows(df: DataFrame, query: str, show: ShowRows, checkpoint: str) -> DataStreamWriter:
    """A writer that hands the rows of each micro-batch that has some to `show`."""
    if getattr(df.sparkSession, "_jsparkSession", None) is None:
        hint = "Use INSERT INTO a sink that the server can write."
        raise PanesError("not-executable", "the rows of a SELECT cannot be shown over Spark Connect", None, hint)

    def take(rows: DataFrame, batch: int) -> None:
        show_frame(rows, query, batch, show)

    return df.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint)


def show_frame(df: DataFrame, query: str, batch: int | None, show: ShowRows) -> None:
    """Kept while it is shown: operators run once, and in every partition, though few rows are looked at."""
    df.persist()
    try:
        count = df.count()
        if count or batch is None:
            show(Rows(query, batch, df, count))
    finally:
        df.unpersist()
