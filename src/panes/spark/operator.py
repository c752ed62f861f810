"""A stateful operator on Spark: pack → shuffle → kernel → unpack, in every micro-batch or once over a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import DataType

from panes.kernels.idle import Idle
from panes.kernels.kernel import Clock, Kernel, State
from panes.kernels.late_rows import LATE, LateRows, judge_of
from panes.kernels.parts import run_in_parts
from panes.physical.identity import Identity
from panes.spark.batch_state import BatchState
from panes.spark.counters import CALLED, CLOCK, COUNTERS, DUE, NEVER_LATE, OLDEST, OUTPUT, SUMS
from panes.spark.failing_rows import Named, Names
from panes.spark.inbox import Inbox
from panes.spark.memory import Memory, memory_of
from panes.spark.pack import CONTROL, PACKED, TOLD, WATERMARK, Pack
from panes.spark.processor import ShardProcessor
from panes.spark.results import write_result
from panes.spark.session import settings
from panes.spark.shard import Shard
from panes.spark.shards import shard_ids
from panes.spark.unpack import Unpack
from panes.spark.worker import set_up
from panes.spark.worker_python import check_workers


@dataclass(frozen=True)
class Operator:
    """A kernel and what surrounds it; `outputs` are names and Spark types.

    `depends_on` is what its state depends on besides the kernel; `legend` says what columns of state are.
    """

    kernel: Kernel
    shards: int
    outputs: tuple[tuple[str, str], ...]
    depends_on: Mapping[str, Any]
    metrics: str  # the name of its counters in a progress report
    feeds_another: bool = False  # another stateful operator reads the result
    passes_flush: bool = False  # the end of the input is passed on to it, as a row
    idle: Idle | None = None  # of a stream that is read here and may be idle
    passes_clock: bool = False  # the clock is passed on, which may be ahead of the watermark
    behind: int = 0  # microseconds by which its clock is behind the watermark
    takes_rejected: bool = False  # rows that WHERE rejects come to the kernel, too
    names: Names = field(default_factory=Names)  # for errors
    legend: Mapping[str, str] = field(default_factory=dict)
    late: DataType | None = None  # of late rows, where somebody asks for them
    drops_late: bool = False  # it is this operator that they are late for


def run(
    operator: Operator, rows: DataFrame, spark: SparkSession, whose: Identity | None, last_watermark: int | None
) -> DataFrame:
    """The operator over pre-projected rows.

    `whose` is the identity of a stream's state; `last_watermark` is where a batch ends, if state expires by it.
    """
    check_workers(spark)
    shards = shard_ids(operator.shards)
    outputs = [*operator.outputs, *([(CONTROL, "boolean")] if operator.passes_flush else [])]
    outputs += [(TOLD, "bigint")] if operator.passes_clock else []
    nothing = spark.sql("SELECT " + ", ".join(f"CAST(NULL AS {t}) AS {name}" for name, t in outputs)).limit(0)
    names = tuple(name for name, _ in operator.outputs)
    if operator.late is not None:
        nothing = spark.createDataFrame([], nothing.schema.add(LATE, operator.late))
    schema, unpack = nothing.schema, Unpack(nothing.toArrow().schema)
    kernel: Kernel = Named(operator.kernel, operator.names)
    if operator.drops_late:
        kernel = LateRows(kernel, judge_of(operator.kernel))
    memory = memory_of(spark)
    pack = Pack(kernel, shards, operator.takes_rejected, memory)
    if whose is None:
        all_rows = whole(kernel, names, last_watermark, memory)
        done = rows.mapInArrow(pack, PACKED).groupBy("shard").applyInArrow(all_rows, OUTPUT)
        return done.mapInArrow(unpack, schema)
    clocked = rows.withWatermark(WATERMARK, "0 seconds") if WATERMARK in rows.columns else rows
    packed = clocked.drop(WATERMARK).mapInArrow(pack, PACKED)
    processor = ShardProcessor(Shard(kernel, names, whose, operator.behind, memory, operator.idle))
    event_time = "at" if operator.feeds_another else ""
    done = packed.groupBy("shard").transformWithState(
        processor, OUTPUT, "Append", "EventTime", eventTimeColumnName=event_time
    )
    sums = [functions.sum(name).alias(name) for name in (*SUMS, *CALLED)]
    times = [*(functions.min(name).alias(name) for name in (OLDEST, DUE)), functions.max(CLOCK).alias(CLOCK)]
    observed = done.observe(operator.metrics, *sums, *times)
    return observed.mapInArrow(unpack, schema)


def whole(
    kernel: Kernel, outputs: tuple[str, ...], final: int | None, memory: Memory
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The operator over a batch: all rows of a shard, then the flush; `final` is the watermark in the end."""

    def run_shard(packed: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        set_up(memory)
        inbox, between = Inbox(), BatchState()
        for batch in packed:
            for place, blob in zip(batch["place"].to_pylist(), batch["blob"], strict=True):
                if blob.is_valid:
                    inbox.add(place, blob.as_py())
        steps = run_in_parts(kernel, State(), inbox.tables(), Clock(final, flush=True), between.put_away)
        result = write_result((table for step in steps for table in step.tables()), outputs)
        between.close()
        blob, file = pa.array([result.blob], pa.binary()), pa.array([result.file], pa.string())
        zeros = [pa.array([0], pa.int64()) for _ in COUNTERS]
        flush, at = pa.array([True]), pa.array([NEVER_LATE], pa.timestamp("us", "UTC"))
        yield pa.record_batch([blob, file, flush, at, *zeros], names=["blob", "file", "flush", "at", *COUNTERS])

    return run_shard


def identity(operator: Operator, rows: DataFrame, spark: SparkSession) -> Identity:
    """What a checkpoint must agree on with the query that restarts on it: a function may have another type, too."""
    types = {**{one.name: one.dataType.simpleString() for one in rows.schema.fields}, **dict(operator.outputs)}
    columns = {name: (text, types[name]) for name, text in operator.legend.items()}
    kernel = _in_words(operator.kernel.depends_on(), operator.legend)
    return Identity({**operator.depends_on, **kernel, "shards": operator.shards, **settings(spark)}, columns)


def _in_words(value: Any, legend: Mapping[str, str]) -> Any:
    """Columns by what they are, not by their names."""
    if isinstance(value, Mapping):
        return {name: _in_words(one, legend) for name, one in value.items()}
    if isinstance(value, list):
        return [_in_words(one, legend) for one in value]
    return legend.get(value, value) if isinstance(value, str) else value
