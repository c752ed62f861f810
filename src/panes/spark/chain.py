"""Where an operator stands in a chain of stateful ones, and in which order and when it sees its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from panes.kernels.kernel import Kernel
from panes.kernels.release import Release
from panes.physical import plan as physical
from panes.spark.operator import Operator, run
from panes.spark.pack import BATCH, CONTROL, PLACE, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder

Stateful = physical.StatefulFunction | physical.Window | physical.OverWindow


def operate(
    plan: Stateful,
    kernel: Kernel,
    projection: Projection,
    by: tuple[str, ...],
    outputs: list[tuple[str, str]],
    builder: Builder,
    feeds_another: bool,
) -> DataFrame:
    """The kernel's rows: `by` are the columns that shards are made by, `feeds_another` if one more operator follows."""
    below = operators_below(plan.input)
    shards = 1 if plan.placement.one_shard else builder.shards
    operator = Operator(
        kernel,
        shards,
        tuple(outputs),
        repr(plan),
        f"panes_{below + 1}" if feeds_another else "panes",
        feeds_another,
        passes_flush=feeds_another and CONTROL in projection.below.columns,
        behind=sessions_below(plan.input),
    )
    return run(operator, projection.rows(by, shards, clocked=below > 0), builder.spark)


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


def stream_order(placement: physical.Placement, tie_break: tuple[str, ...]) -> tuple[str, ...]:
    """The stream's order: time, key, arrival; without a time, and where nothing waits, only arrival."""
    arrival = placement.time is None or placement.mode == physical.Mode.ARRIVAL
    by_time = () if arrival or placement.emit == physical.EmitMode.IMMEDIATELY else (TIME, *tie_break)
    return (*by_time, BATCH, PLACE)


def release(placement: physical.Placement, tie_break: tuple[str, ...]) -> Release:
    """When and in which order rows come to an order-sensitive operator."""
    waits = placement.mode != physical.Mode.ARRIVAL and placement.emit != physical.EmitMode.IMMEDIATELY
    return Release(TIME, stream_order(placement, tie_break), waits, placement.late)
