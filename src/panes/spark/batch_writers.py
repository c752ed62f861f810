"""What writes a micro-batch: for sinks that Panes writes itself, and for all where late rows are written, too.

Then files of a micro-batch are in a folder of their own, `panes_batch=7`, which a retry writes anew: so each row is
there once. What reads the folder above finds all of them, and `panes_batch` as one more column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Sink
from panes.compile import Compiled
from panes.connectors import delta, jdbc, kafka, postgres
from panes.errors import PanesError
from panes.spark.applied_key import applied_key
from panes.spark.delta import writer as delta_writers
from panes.spark.folders import FILES
from panes.spark.jdbc import sink as jdbc_sinks
from panes.spark.kafka.sink import put_kafka
from panes.spark.postgres import sink as postgres_sinks
from panes.spark.sink_log import BY_BATCH, LOG
from panes.spark.store import is_reachable, store_path
from panes.spark.worker_python import check_workers

Put = Callable[[DataFrame, int], None]


def own_writer(sink: Sink, df: DataFrame, compiled: Compiled | None, sink_id: Callable[[], str]) -> Put | None:
    """What writes a micro-batch of rows like `df` to a sink of Panes' own; None for those that Spark writes.

    `compiled` is the query whose result they are; without one they are rows to append. `sink_id` tells what a sink has
    from this query.
    """
    changelog = compiled is not None and compiled.physical.changelog
    match sink.options["connector"]:
        case kafka.CONNECTOR:
            topic = kafka.kafka_sink(sink)
            return lambda rows, batch: put_kafka(rows, batch, topic, changelog, sink_id)
        case postgres.CONNECTOR:
            table = postgres.postgres_sink(sink)
            key = _key(table.key, table.as_rows, sink.name, compiled)
            writer = postgres_sinks.checked_writer(df.schema, table, key, sink_id)
            check_workers(df.sparkSession)
            return writer
        case jdbc.CONNECTOR:
            other = jdbc.jdbc_sink(sink)
            key = _key(other.key, other.as_rows, sink.name, compiled)
            return jdbc_sinks.checked_writer(df, other, key, sink_id)
        case delta.CONNECTOR:
            lake = delta.delta_sink(sink)
            key = _key(lake.key, not lake.upserts, sink.name, compiled)
            put = delta_writers.checked_writer(df, replace(lake, key=key or lake.key), bool(key), sink_id)
            check_workers(df.sparkSession)
            return put
        case _:
            return None


def _key(named: tuple[str, ...], as_rows: bool, name: str, compiled: Compiled | None) -> tuple[str, ...]:
    """The key by which changes are applied; none where rows are appended."""
    applied = compiled is not None and compiled.physical.changelog and not as_rows
    return applied_key(named, name, compiled) if compiled is not None and applied else ()


def batch_writer(sink: Sink, df: DataFrame, compiled: Compiled | None, sink_id: Callable[[], str]) -> Put:
    """What writes a micro-batch of rows like `df` to any sink."""
    own = own_writer(sink, df, compiled, sink_id)
    if own is not None:
        return own
    options = {name: value for name, value in sink.options.items() if name not in ("connector", "changelog")}
    connector = sink.options["connector"]
    if connector == "memory":
        return Memory(sink.name, df.sparkSession)
    if connector in FILES:
        path = options.pop("path")
        return lambda rows, batch: (
            rows.write.format(connector).options(**options).mode("overwrite").save(f"{path}/{BY_BATCH}{batch}")
        )
    if connector == "console":
        options.setdefault("truncate", "false")
    return lambda rows, batch: rows.write.format(connector).options(**options).mode("append").save()


class Memory:
    """A view by the sink's name, of all rows since the query started."""

    def __init__(self, name: str, spark: SparkSession) -> None:
        self._name, self._spark = name, spark  # a micro-batch has a session of its own
        self._batches: dict[int, pa.Table] = {}

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self._batches[batch] = rows.toArrow()
        whole = pa.concat_tables(self._batches.values())
        self._spark.createDataFrame(whole, rows.schema).createOrReplaceTempView(self._name)


def check_layout(sink: Sink, by_batch: bool, spark: SparkSession) -> None:
    """Refuse a folder of files that was written the other way: what reads it would see only one of the two."""
    path = sink.options.get("path") if sink.options["connector"] in FILES else None
    if path is None or not is_reachable(path, spark):
        return
    names = store_path(path, spark).names()
    if by_batch and LOG in names:
        told = f"{path} was written without LATE ROWS INTO: Spark's log in it would hide what is written now"
    elif not by_batch and any(name.startswith(BY_BATCH) for name in names):
        told = f"{path} was written with LATE ROWS INTO: Spark's log would hide what is there"
    else:
        return
    raise PanesError("state-mismatch", told, None, "Give the sink another path, or leave the query as it was.")
