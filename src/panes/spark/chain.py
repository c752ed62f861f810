"""Where an operator stands in a chain of stateful ones, and in which order and when it sees its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, assert_never

from pyspark.sql import DataFrame

from panes.kernels.kernel import Kernel
from panes.kernels.state.release import Release
from panes.physical import plan as physical
from panes.physical.explain import kind_info
from panes.physical.lineage import definitions, source_of, written_out
from panes.spark.expressions import LATEST, epoch_micros, quoted, type_of
from panes.spark.failing_rows import Names
from panes.spark.operator import Operator, identity, run
from panes.spark.pack import CONTROL, IDENTITY, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder

Stateful = physical.StatefulFunction | physical.Window | physical.OverWindow | physical.Normalize


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
        behind=sessions_below(plan.input),
        takes_rejected=takes_rejected,
        names=Names(operator_name(plan), projection.functions, projection.texts(by)),
        legend=projection.legend,
    )
    rows = projection.rows(sorted(by), shards, clocked=is_clocked(plan.input))
    whose = identity(operator, rows, builder.spark) if rows.isStreaming else None
    builder.identities.extend([whose] if whose is not None else [])
    return run(operator, rows, builder.spark, whose, last_watermark(plan, builder))


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


def operator_name(plan: Stateful) -> str:
    """What an operator is called in an error."""
    match plan:
        case physical.Window(kind=kind):
            return f"{kind_info(kind)['kind']}window"
        case physical.OverWindow():
            return "OVER"
        case physical.StatefulFunction():
            return "stateful functions"
        case physical.Normalize():
            return "the changelog"
        case _:
            assert_never(plan)


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


def is_clocked(plan: physical.Plan) -> bool:
    """Whether the clock is attached below: by another operator, or at the source where Spark runs a part above it."""
    if isinstance(plan, Stateful) or (isinstance(plan, physical.SparkQuery) and any(watermarks(plan))):
        return True
    return any(is_clocked(child) for child in physical.children(plan))


def reads_through_spark(plan: physical.Plan) -> bool:
    """Whether an operator reads a part that Spark runs."""
    if isinstance(plan, Stateful) and _spark_below(plan):
        return True
    return any(reads_through_spark(child) for child in physical.children(plan))


def _spark_below(plan: physical.Plan) -> bool:
    return isinstance(plan, physical.SparkQuery) or any(_spark_below(child) for child in physical.children(plan))


def watermarks(plan: physical.Plan) -> Iterator[physical.Watermark]:
    """The watermarks of a plan."""
    if isinstance(plan, physical.Watermark):
        yield plan
    for child in physical.children(plan):
        yield from watermarks(child)


def streams_before_operators(plan: physical.Plan) -> Iterator[str]:
    """The streams that are read without a stateful operator between: one below has heard their heartbeats already."""
    if isinstance(plan, physical.DataSource):
        yield plan.stream
    if not isinstance(plan, Stateful):
        for child in physical.children(plan):
            yield from streams_before_operators(child)


def operators_below(plan: physical.Plan) -> int:
    """How many stateful operators there are; above the first the clock is there already."""
    return isinstance(plan, Stateful) + sum(operators_below(child) for child in physical.children(plan))


def sessions_below(plan: physical.Plan) -> int:
    """How many session windows there are below.

    A session that ends at the watermark is still open (`end < W`) where another window that ends there is closed
    (`end <= W`): what stands above a session looks at the clock a microsecond later, so that it misses none.
    """
    own = isinstance(plan, physical.Window) and isinstance(plan.kind, physical.Session)
    return own + sum(sessions_below(child) for child in physical.children(plan))


def ties(projection: Projection) -> tuple[str, ...]:
    """What orders rows that ORDER BY leaves equal, in every mode: key, time, arrival."""
    placement = projection.placement
    time = (TIME,) if placement.time is not None else ()
    return (*projection.order(placement.key), *time, *projection.arrival)


def stream_order(projection: Projection) -> tuple[str, ...]:
    """The stream's order: time, key, arrival; without a time, and where nothing waits, only arrival."""
    placement = projection.placement
    if placement.time is None or not _waits(placement):
        return projection.arrival
    return (TIME, *projection.order(placement.key), *projection.arrival)


def release(projection: Projection) -> Release:
    """When and in which order rows come to an order-sensitive operator."""
    placement = projection.placement
    return Release(TIME, stream_order(projection), _waits(placement), placement.late)


def _waits(placement: physical.Placement) -> bool:
    return placement.mode != physical.Mode.ARRIVAL and placement.emit != physical.EmitMode.IMMEDIATELY


def passed_arrival(projection: Projection, feeds_another: bool) -> dict[str, str]:
    """When a row came, under the names by which the next operator finds it, if there is one."""
    return dict(zip(IDENTITY, projection.arrival, strict=True)) if feeds_another else {}
