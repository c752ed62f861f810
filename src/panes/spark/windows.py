"""Windows on Spark: a pre-projection makes the kernel's columns, a post-projection the query's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import DataFrame

from panes.kernels.aggregates.accumulator import AS_IS, Accumulator
from panes.kernels.aggregates.grouping import Fold, Grouping
from panes.kernels.changelog.changes import CHANGE, INSERT
from panes.kernels.kernel import Kernel
from panes.kernels.late_rows import LATE
from panes.kernels.windows.count import CountWindows
from panes.kernels.windows.on_axis import on_axis
from panes.kernels.windows.session import NUMBER, SessionWindows
from panes.kernels.windows.slices import END, SLICE, START, SliceWindows
from panes.kernels.windows.sliding import SlidingWindows
from panes.kernels.windows.state_machine import StateWindows
from panes.physical import plan as physical
from panes.physical.lineage import definitions
from panes.spark.aggregates import Aggregates
from panes.spark.chain import operate, release, stream_order
from panes.spark.expressions import quoted
from panes.spark.finish import finished
from panes.spark.pack import BESIDE, CONTROL, TIME
from panes.spark.projection import Projection
from panes.sql.window_kinds import Window as Kinds
from panes.sql.window_kinds import partition_of, size_and_hop

if TYPE_CHECKING:
    from panes.spark.build import Builder

ROWS = "panes_rows"


@dataclass(frozen=True)
class Columns:
    """What a window is partitioned by and grouped by: names in the pre-projection."""

    partition: tuple[str, ...]
    keys: tuple[str, ...]


def window(plan: physical.Window, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The DataFrame of a window; `feeds_another` if a stateful operator reads it."""
    projection = Projection(below, plan.placement, definitions(plan.input))
    aggregates = Aggregates(projection)
    collected = aggregates.add_rows() if plan.raw else ""
    for argument in plan.aggregates:
        aggregates.add(argument)
    columns = _columns(plan, projection)
    kernel = _kernel(plan, columns, aggregates)
    by = columns.partition if partition_of(plan.kind) is not None else columns.keys
    zone = projection.time_type
    outputs = [(name, projection.type(name)) for name in (*columns.partition, *columns.keys)]
    outputs += [*aggregates.outputs(), *((bound, zone) for bound in dict.fromkeys(call for _, call in plan.bounds))]
    changes = plan.placement.emit == physical.EmitMode.CHANGES
    outputs += [(CHANGE, "string")] if changes and below.isStreaming else []
    unpacked = operate(plan, kernel, projection, by, outputs, builder, feeds_another)
    if changes and not below.isStreaming:
        unpacked = unpacked.selectExpr("*", f"'{INSERT}' AS {CHANGE}")
    return _raw_rows(plan, unpacked, projection, collected) if plan.raw else _values(plan, aggregates, unpacked)


def _columns(plan: physical.Window, projection: Projection) -> Columns:
    own = partition_of(plan.kind) is not None
    partition = projection.keys(plan.placement.partition_by) if own else ()
    grouped = [] if plan.raw and own else [key.sql for key in plan.keys]
    keys = [name for name in projection.keys(grouped) if name not in partition]
    return Columns(partition, tuple(dict.fromkeys(keys)))


def _values(plan: physical.Window, aggregates: Aggregates, unpacked: DataFrame) -> DataFrame:
    """The post-projection: keys under their names, aggregates finished by Spark."""
    projection = aggregates.projection
    keys = {key.name: projection.key(key.sql) for key in plan.keys}
    post = [f"{projection.key(key.sql)} AS {quoted(key.name)}" for key in plan.keys]
    for one in aggregates.finished:
        value = finished(one.finish, one.value, one.call, keys, unpacked.sparkSession)
        post.append(f"{value} AS {quoted(one.output)}")
    return unpacked.selectExpr(*post, *_bounds(plan), *_carried(unpacked))


def _raw_rows(plan: physical.Window, unpacked: DataFrame, projection: Projection, collected: str) -> DataFrame:
    """The post-projection of a window whose rows come out, `collected` in lists: one output per row and window."""
    explode = "explode_outer" if {CONTROL, LATE} & set(unpacked.columns) else "explode"
    exploded = unpacked.selectExpr(f"{explode}({collected}) AS {ROWS}", *_bounds(plan), *_carried(unpacked))
    fields = [f"{ROWS}.c{i} AS {quoted(name)}" for i, name in enumerate(projection.own())]
    rest = [name for name in exploded.columns if name != ROWS]
    return exploded.selectExpr(*fields, *(quoted(name) for name in rest))


def _bounds(plan: physical.Window) -> list[str]:
    return [f"{bound} AS {quoted(name)}" for name, bound in plan.bounds]


def _carried(unpacked: DataFrame) -> list[str]:
    """What goes along with every row: its change type, or that it is the end of the input, or late."""
    return [name for name in (CHANGE, *BESIDE) if name in unpacked.columns]


FIRST_TIME = Accumulator("min($x) $w", "min($s)", "$s", "timestamp", AS_IS)
LAST_TIME = Accumulator("max($x) $w", "max($s)", "$s", "timestamp", AS_IS)
ENDS = (Fold(FIRST_TIME, (TIME,), None, START), Fold(LAST_TIME, (TIME,), None, END))


def _kernel(plan: physical.Window, columns: Columns, aggregates: Aggregates) -> Kernel:
    keys, folds, projection = columns.keys, aggregates.folds, aggregates.projection
    order = stream_order(projection) if aggregates.ordered else ()
    ttl = plan.placement.state_ttl
    late = plan.placement.late or plan.placement.mode == physical.Mode.ARRIVAL
    changes = plan.placement.emit == physical.EmitMode.CHANGES and plan.placement.mode != physical.Mode.BATCH
    match plan.kind:
        case Kinds.Tumbling() | Kinds.Hopping() as kind:
            grouping = Grouping((SLICE, *keys), folds, order)
            slices = SliceWindows(*size_and_hop(kind), TIME, keys, grouping, late, changes)
            return on_axis(slices, kind.offset, kind.zone) if kind.is_moved else slices
        case Kinds.Session(gap=gap) as kind:
            grouping = Grouping((*keys, NUMBER), folds, order)
            return SessionWindows(kind.microseconds(gap), TIME, keys, grouping, late, changes)
        case Kinds.Count(count=count, every=every):
            ends = (*folds, *ENDS)
            return CountWindows(count, every, columns.partition, keys, ends, release(projection), ttl)
        case Kinds.Sliding(lookback=lookback, lookahead=lookahead, when=when) as kind:
            back = kind.microseconds(lookback)
            ahead = kind.microseconds(lookahead) if lookahead is not None else None
            trigger, released = projection.condition(when), release(projection)
            return SlidingWindows(back, ahead, trigger, columns.partition, keys, folds, released, ttl)
        case Kinds.State(open=opened, emit=emit):
            on = [projection.column(f"({sql})") for sql in (opened, emit)]
            return StateWindows(on[0], on[1], columns.partition, keys, (*folds, *ENDS), release(projection), ttl)
        case _:
            assert_never(plan.kind)
