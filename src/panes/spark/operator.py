"""A stateful operator on Spark: pack → shuffle → kernel → unpack, in every micro-batch or once over a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

from panes.kernels.kernel import Clock, Kernel, State, run_step
from panes.kernels.normalize import Normalize
from panes.kernels.over_changes import OverChanges
from panes.spark.blob import gathered
from panes.spark.failing_rows import Named, Names
from panes.spark.pack import CONTROL, PACKED, WATERMARK, Pack
from panes.spark.processor import CLOCK, COUNTERS, NEVER_LATE, OLDEST, OUTPUT, SUMS, ShardProcessor, out_blob
from panes.spark.shards import shard_ids
from panes.spark.unpack import Unpack


@dataclass(frozen=True)
class Operator:
    """A kernel and what surrounds it; `outputs` are names and Spark types, `identity` tells it from other queries."""

    kernel: Kernel
    shards: int
    outputs: tuple[tuple[str, str], ...]
    identity: str
    metrics: str  # the name of its counters in a progress report
    feeds_another: bool = False  # another stateful operator reads the result
    passes_flush: bool = False  # the end of the input is passed on to it, as a row
    behind: int = 0  # microseconds by which its clock is behind the watermark
    takes_rejected: bool = False  # rows that WHERE rejects come to the kernel, too
    names: Names = field(default_factory=Names)  # for errors


def run(operator: Operator, rows: DataFrame, spark: SparkSession, last_watermark: int | None) -> DataFrame:
    """The operator over pre-projected rows; `last_watermark` is where a batch ends, if state expires by it."""
    shards = shard_ids(operator.shards)
    outputs = [*operator.outputs, *([(CONTROL, "boolean")] if operator.passes_flush else [])]
    nothing = spark.sql("SELECT " + ", ".join(f"CAST(NULL AS {t}) AS {name}" for name, t in outputs)).limit(0)
    names = tuple(name for name, _ in operator.outputs)
    schema, unpack = nothing.schema, Unpack(nothing.toArrow().schema)
    kernel = Named(operator.kernel, operator.names)
    pack = Pack(kernel, shards, operator.takes_rejected)
    if not rows.isStreaming:
        done = rows.mapInArrow(pack, PACKED).groupBy("shard").applyInArrow(whole(kernel, names, last_watermark), OUTPUT)
        return done.mapInArrow(unpack, schema)
    clocked = rows.withWatermark(WATERMARK, "0 seconds") if WATERMARK in rows.columns else rows
    packed = clocked.drop(WATERMARK).mapInArrow(pack, PACKED)
    processor = ShardProcessor(kernel, names, fingerprint(operator, rows, spark), operator.behind)
    event_time = "at" if operator.feeds_another else ""
    done = packed.groupBy("shard").transformWithState(
        processor, OUTPUT, "Append", "EventTime", eventTimeColumnName=event_time
    )
    sums = [functions.sum(name).alias(name) for name in SUMS]
    times = [functions.min(OLDEST).alias(OLDEST), functions.max(CLOCK).alias(CLOCK)]
    observed = done.observe(operator.metrics, *sums, *times)
    return observed.mapInArrow(unpack, schema)


def whole(kernel: Kernel, outputs: tuple[str, ...], final: int | None) -> Callable[[pa.Table], pa.Table]:
    """The operator over a batch: all rows of a shard at once, then the flush; `final` is the watermark in the end."""

    def run_shard(packed: pa.Table) -> pa.Table:
        batch = gathered(zip(packed["place"].to_pylist(), packed["blob"].to_pylist(), strict=True))
        rows = run_step(kernel, State(), batch, Clock(final, flush=True)).rows
        blob = out_blob(rows, outputs)
        zeros = [pa.array([0], pa.int64()) for _ in COUNTERS]
        flush, at = pa.array([True]), pa.array([NEVER_LATE], pa.timestamp("us", "UTC"))
        return pa.table([pa.array([blob], pa.binary()), flush, at, *zeros], names=["blob", "flush", "at", *COUNTERS])

    return run_shard


def fingerprint(operator: Operator, rows: DataFrame, spark: SparkSession) -> dict[str, str]:
    """What a checkpoint must agree on with the query that restarts on it.

    State of one type is not read as another, and sorted blocks hold DuckDB's sort keys, which depend on the type. A
    user's function may have another type than before.
    """
    sorts = {"DuckDB": duckdb.__version__} if isinstance(operator.kernel, OverChanges | Normalize) else {}
    texts = operator.names.columns
    types = {f"the type of {texts[one.name]}": one.dataType.simpleString() for one in rows.schema if one.name in texts}
    return {
        "query": hashlib.sha256(operator.identity.encode()).hexdigest()[:16],
        "shards": str(operator.shards),
        "time zone": spark.conf.get("spark.sql.session.timeZone") or "",
        "ANSI mode": spark.conf.get("spark.sql.ansi.enabled") or "",
        **sorts,
        **types,
        "the types of the results": ", ".join(type_ for _, type_ in operator.outputs),
    }
