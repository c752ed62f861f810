"""Sinks that get their rows one micro-batch at a time, by Spark's batch writers.

Files of a micro-batch are in a folder of their own, `panes_batch=7`, which a retry writes anew: so each row is there
once. What reads the folder above finds all of them, and `panes_batch` as one more column.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panes.catalog import Sink
from panes.connectors.kafka import CONNECTOR, kafka_sink
from panes.errors import PanesError
from panes.spark.folders import FILES, folder
from panes.spark.kafka.sink import put_kafka

BATCH = "panes_batch"
Put = Callable[[DataFrame, int], None]


def batch_writer(sink: Sink, changelog: bool, checkpoint: Path, spark: SparkSession) -> Put:
    """What writes the rows of a micro-batch to a sink, given its number; `spark` is whose tables a sink may be."""
    options = {name: value for name, value in sink.options.items() if name not in ("connector", "changelog")}
    connector = sink.options["connector"]
    if connector == CONNECTOR:
        return lambda rows, batch: put_kafka(rows, batch, kafka_sink(sink), changelog, checkpoint)
    if connector == "memory":
        return Memory(sink.name, spark)
    if connector in FILES:
        path = options.pop("path")
        return lambda rows, batch: (
            rows.write.format(connector).options(**options).mode("overwrite").save(f"{path}/{BATCH}={batch}")
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


def check_layout(sink: Sink, by_batch: bool) -> None:
    """Refuse a folder of files that was written the other way: what reads it would see only one of the two."""
    path = sink.options.get("path") if sink.options["connector"] in FILES else None
    if path is None:
        return
    found = Path(folder(path))
    if by_batch and (found / "_spark_metadata").exists():
        told = f"{path} was written without LATE ROWS INTO: Spark's log in it would hide what is written now"
    elif not by_batch and any(found.glob(f"{BATCH}=*")):
        told = f"{path} was written with LATE ROWS INTO: Spark's log would hide what is there"
    else:
        return
    raise PanesError("state-mismatch", told, None, "Give the sink another path, or leave the query as it was.")
