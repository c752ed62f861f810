"""Where an operator stands in a chain of stateful ones, and in which order and when it sees its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, assert_never

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructField, StructType, TimestampNTZType, TimestampType

from panes.kernels.idle import Idle
from panes.kernels.kernel import Kernel
from panes.kernels.late_rows import CLOCK, LATE, ROW, WHOLE
from panes.kernels.state.release import Release
from panes.physical import plan as physical
from panes.physical.chain import Stateful, is_clocked, operator_name, operators_below, sessions_below, watermarks
from panes.physical.lineage import definitions, source_of, written_out
from panes.physical.plan import By
from panes.spark.expressions import LATEST, epoch_micros, quoted, type_of
from panes.spark.failing_rows import Names
from panes.spark.operator import Operator, identity, run
from panes.spark.pack import BATCH, CONTROL, IDENTITY, PLACE, TIME, TOLD
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder


def operate(
    plan: Stateful,
    kernel: Kernel,
    projection: Projection,
    by: tuple[str, ...],
    outputs: list[tuple[str, str]],
    builder: Builder,
    feeds_another: bool,
    takes_rejected: bool = False,
) -> DataFrame:
    """The kernel's rows: `by` are the columns that shards are made by, `feeds_another` if one more operator follows.

    `takes_rejected` if the kernel is to see rows that WHERE rejects, too.
    """
    below = operators_below(plan.input)
    shards = 1 if plan.placement.one_shard else builder.shards
    operator = Operator(
        kernel,
        shards,
        tuple(outputs),
        {**_depends_on(plan), **({"result": builder.changelog} if builder.changelog is not None else {})},
        builder.metrics(below, feeds_another),
        feeds_another,
        passes_flush=feeds_another and CONTROL in projection.below.columns,
        idle=_idle(plan),
        passes_clock=feeds_another and (_idle(plan) is not None or TOLD in projection.below.columns),
        behind=sessions_below(plan.input),
        takes_rejected=takes_rejected,
        names=Names(operator_name(plan), projection.functions, projection.texts(by)),
        legend=projection.legend,
        late=_late_type(projection),
        drops_late=plan.placement.late_into is not None,
    )
    rows = projection.rows(sorted(by), shards, clocked=is_clocked(plan.input), idle=operator.idle is not None)
    whose = identity(operator, rows, builder.spark) if rows.isStreaming else None
    builder.identities.extend([whose] if whose is not None else [])
    return run(operator, rows, builder.spark, whose, last_watermark(plan, builder))


def _idle(plan: Stateful) -> Idle | None:
    """How long the stream may be without rows that this operator reads, if it is the first and has a clock."""
    if operators_below(plan.input) or plan.placement.mode != physical.Mode.EVENT_TIME:
        return None
    timeouts = [(one.idle_timeout, one.delay) for one in watermarks(plan.input)]
    return next((Idle(timeout, delay) for timeout, delay in timeouts if timeout is not None), None)


def _late_type(projection: Projection) -> DataType | None:
    """The type of late rows: those of this operator, or of one below."""
    types = {field.name: field.dataType for field in projection.below.schema.fields}
    if projection.placement.late_into is None:
        return types.get(LATE)
    clock = TimestampNTZType() if projection.time_type == "timestamp_ntz" else TimestampType()
    return StructType([StructField(ROW, types[WHOLE]), StructField(CLOCK, clock)])


def _depends_on(plan: Stateful) -> dict[str, Any]:
    """What the state of an operator depends on besides its kernel and its columns."""
    placement = plan.placement
    time = written_out(quoted(placement.time), definitions(plan.input)) if placement.time is not None else None
    return {
        "operator": operator_name(plan),
        "mode": placement.mode.value,
        "emit": placement.emit.value,
        "time": time,
        "source": source_of(plan.input),
    }


def last_watermark(plan: Stateful, builder: Builder) -> int | None:
    """Where a stream of a batch's rows would have its watermark in the end, in microseconds, if state expires by it."""
    clocks = [] if plan.placement.state_ttl is None else list(watermarks(plan))
    ends = [_last_time(clock, builder) for clock in clocks if plan.placement.mode == physical.Mode.BATCH]
    return min((end for end in ends if end is not None), default=None)


def _last_time(clock: physical.Watermark, builder: Builder) -> int | None:
    rows = builder.build(clock.input)
    micros = epoch_micros(quoted(clock.time), type_of(quoted(clock.time), rows) != "timestamp_ntz")
    last: int | None = rows.selectExpr(f"max({micros}) AS last").collect()[0]["last"]
    return None if last is None else min((last - clock.delay) // 1000 * 1000, LATEST)


def columns_of(projection: Projection, order: Iterable[By]) -> tuple[str, ...]:
    """The columns by which rows are ordered."""
    found: list[str] = []
    for by in order:
        match by:
            case By.TIME:
                found.append(TIME)
            case By.KEY:
                found += projection.order(projection.placement.key)
            case By.ARRIVAL:
                found += projection.arrival
            case _:
                assert_never(by)
    return tuple(found)


def stream_order(projection: Projection) -> tuple[str, ...]:
    return columns_of(projection, projection.placement.order)


def release(projection: Projection) -> Release:
    """When and in which order rows come to an order-sensitive operator."""
    placement = projection.placement
    order = stream_order(projection)
    in_order = order == (BATCH, PLACE) and placement.state_ttl is None
    return Release(TIME, order, placement.waits, placement.late, in_order=in_order)


def passed_arrival(projection: Projection, feeds_another: bool) -> dict[str, str]:
    """When a row came, under the names by which the next operator finds it, if there is one."""
    return dict(zip(IDENTITY, projection.arrival, strict=True)) if feeds_another else {}
