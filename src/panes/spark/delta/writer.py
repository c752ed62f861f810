"""What writes the micro-batches of a Delta sink, with the engine that the sink names or the session has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panes.connectors.delta import DELTA_RS, SPARK, DeltaSink
from panes.spark.delta.columns import Result, check_result
from panes.spark.delta.engine import engine_of, found_in
from panes.spark.delta.sink import DeltaWriter
from panes.spark.delta.spark_sink import SparkWriter
from panes.spark.delta.table import check_installed
from panes.spark.folders import folder

Put = Callable[[DataFrame, int], None]


def checked_writer(df: DataFrame, sink: DeltaSink, applied: bool, sink_id: Callable[[], str]) -> Put:
    """A writer of micro-batches of rows like `df`; its table is looked at before anything starts."""
    sink = replace(sink, path=folder(sink.path))
    engine = _engine(sink, df.sparkSession)
    check_result(Result(df.schema, sink, applied), _find(engine, sink, applied, df.sparkSession))
    return lambda rows, batch: _writer(engine, sink_id(), sink, applied)(rows, batch)


def delta_writer(id: str, sink: DeltaSink, changelog: bool) -> Put:
    """A writer for a query that is not Panes' to start: which session has it is known when its rows come."""
    session = SparkSession.getActiveSession()
    if session is not None:
        _engine(sink, session)
    return lambda rows, batch: _writer(_engine(sink, rows.sparkSession), id, sink, changelog)(rows, batch)


def _engine(sink: DeltaSink, spark: SparkSession) -> str:
    """The engine that writes a sink, if it is there."""
    engine = engine_of(sink, found_in(spark))
    if engine == DELTA_RS:
        check_installed()
    return engine


def _writer(engine: str, id: str, sink: DeltaSink, changelog: bool) -> DeltaWriter | SparkWriter:
    return SparkWriter(id, sink, changelog) if engine == SPARK else DeltaWriter(id, sink, changelog)


def _find(engine: str, sink: DeltaSink, changelog: bool, spark: SparkSession) -> StructType | None:
    """The schema of the table; None if it is yet to be made."""
    if engine == SPARK:
        return SparkWriter("", sink, changelog).find(spark)
    return DeltaWriter("", sink, changelog).find()
