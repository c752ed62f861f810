"""OVER windows on Spark: every row goes through the kernel and comes back with a column for each call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, assert_never, cast

from pyspark.sql import DataFrame

from panes.functions import Functions
from panes.functions.aggregates import aggregate
from panes.functions.over import OverFunction
from panes.kernels.aggregates.accumulator import AS_IS, Finish
from panes.kernels.changelog.changes import CHANGE, INSERT
from panes.kernels.kernel import Kernel
from panes.kernels.over.calls import AGGREGATE, Frame, OrderKey, OverCall
from panes.kernels.over.incremental import OverIncremental
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.state.release import Release
from panes.physical import plan as physical
from panes.physical.chain import operators_below
from panes.physical.lineage import definitions, over_call_text
from panes.spark.aggregates import accumulated, prepared
from panes.spark.chain import columns_of, operate, passed_arrival, release
from panes.spark.expressions import known_type, quoted
from panes.spark.finish import finished
from panes.spark.frames import over_frame
from panes.spark.pack import BATCH, BESIDE, IDENTITY, PLACE, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder


@dataclass(frozen=True)
class Prepared:
    """A call for the kernel, the Spark type of its value, and what Spark makes of that (`$v`)."""

    call: OverCall
    type: str
    finish: Finish = AS_IS


def over(plan: physical.OverWindow, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The rows below with the values of the calls; for changes, a changelog of them."""
    projection = Projection(below, plan.placement, definitions(plan.input))
    partition = projection.keys(plan.placement.partition_by)
    own = {name: projection.row_column(name) for name in projection.own()}
    order_by = tuple(OrderKey(projection.sort_key(one.sql), one.descending, one.nulls_first) for one in plan.order_by)
    names = [projection.new_name(over_call_text(one, projection.definitions)) for one in plan.calls]
    calls = [_prepared(*one, plan, projection, builder.functions) for one in zip(plan.calls, names, strict=True)]
    kernel = _kernel(plan, projection, partition, order_by, calls, tuple(own.values()))
    outputs = [(name, projection.type(name)) for name in own.values()]
    outputs += [(one.call.output, one.type) for one in calls]
    from_kernel = isinstance(kernel, OverIncremental)
    identity = _identity(plan, projection) if from_kernel else ()
    outputs += [(CHANGE, "string"), *((name, "bigint") for name in identity)] if from_kernel else []
    projection.functions = {one.call.output: call.argument.text for one, call in zip(calls, plan.calls, strict=True)}
    passed = passed_arrival(projection, feeds_another and not from_kernel)
    outputs += [(column, "bigint") for column in passed.values()]
    done = operate(plan, kernel, projection, partition, outputs, builder, feeds_another)
    post = [f"{column} AS {quoted(name)}" for name, column in own.items()]
    for call, one in zip(plan.calls, calls, strict=True):
        value = finished(one.finish, one.call.output, call.argument.text, own, builder.spark)
        post.append(f"{value} AS {quoted(call.argument.output)}")
    post += [f"{name} AS {hidden}" for name, hidden in zip(identity, IDENTITY, strict=False)]
    post += [f"{column} AS {name}" for name, column in passed.items()]
    if plan.placement.emit == physical.EmitMode.CHANGES:
        post.append(CHANGE if from_kernel else f"'{INSERT}' AS {CHANGE}")
    return done.selectExpr(*dict.fromkeys(post), *(name for name in BESIDE if name in done.columns))


def _identity(plan: physical.OverWindow, projection: Projection) -> tuple[str, ...]:
    """Rows of a stream that is not a changelog are known by when they came, also above another OVER."""
    if IDENTITY[0] in projection.below.columns:
        return tuple(projection.column(name) for name in IDENTITY)
    return () if plan.reads_changes else (BATCH, PLACE)


def _kernel(
    plan: physical.OverWindow,
    projection: Projection,
    partition: tuple[str, ...],
    order_by: tuple[OrderKey, ...],
    calls: list[Prepared],
    values: tuple[str, ...],
) -> Kernel:
    placement = plan.placement
    names = {call.argument.output: one.call.output for call, one in zip(plan.calls, calls, strict=True)}
    top_n = (names[plan.top_n[0]], plan.top_n[1]) if plan.top_n is not None else None
    own_calls = tuple(one.call for one in calls)
    match plan.strategy:
        case physical.Strategy.INCREMENTAL:
            return _changes(plan, projection, partition, order_by, own_calls, values, top_n)
        case physical.Strategy.ON_COMPLETE:
            time = placement.time if placement.mode != physical.Mode.BATCH else None
            complete = projection.sort_key(quoted(time)) if time is not None else TIME
            completes = Release(
                complete, columns_of(projection, placement.tie_break), True, late=False, together=time is None
            )
            return OverOnComplete(partition, order_by, own_calls, completes, top_n)
        case physical.Strategy.ON_CLOSE:
            return OverOnClose(partition, order_by, own_calls, release(projection), top_n, placement.state_ttl)
        case _:
            assert_never(plan.strategy)


def _changes(
    plan: physical.OverWindow,
    projection: Projection,
    partition: tuple[str, ...],
    order_by: tuple[OrderKey, ...],
    calls: tuple[OverCall, ...],
    values: tuple[str, ...],
    top_n: tuple[str, int] | None,
) -> OverIncremental:
    placement = plan.placement
    own_key = projection.identity(placement.key)
    identity = _identity(plan, projection)
    time = (TIME,) if identity and placement.time is not None else ()
    sequence = projection.column(quoted(placement.sequence)) if placement.sequence is not None else None
    return OverIncremental(
        partition,
        order_by,
        identity or own_key,
        tie_break=tuple(dict.fromkeys((*own_key, *time, *identity))),
        calls=calls,
        values=tuple(dict.fromkeys((*values, *identity))),
        change_type=projection.column(CHANGE) if plan.reads_changes else None,
        arrival=(BATCH, PLACE),
        sequence=sequence,
        time=TIME,
        state_ttl=placement.state_ttl,
        on_inconsistency=cast(Literal["fail", "skip"], placement.on_inconsistency),
        is_net=operators_below(plan.input) > 0,
        key_names=() if identity else placement.key,
        top_n=top_n,
    )


def _prepared(
    one: physical.OverCall, output: str, plan: physical.OverWindow, projection: Projection, functions: Functions
) -> Prepared:
    """A call of an OVER function, or of an aggregate: that picks a row of its frame, or folds them all."""
    argument = one.argument
    function = functions.over.get(argument.function)
    has_frame = function is None or function.takes_frame
    frame = over_frame(one.frame, plan.order_by, projection) if has_frame else None
    if function is not None:
        return _function(function, argument, output, frame, projection)
    condition = projection.condition(argument.condition)
    picks = aggregate(argument.function).picks
    if picks is not None and condition is None and not argument.distinct:
        return _picked(picks.value, argument, output, frame, projection)
    given = prepared(argument, projection.below)
    found = accumulated(argument.function, argument, given)
    args = tuple(projection.column(sql) for sql in given.args)
    call = OverCall(AGGREGATE, args, output, frame, condition=condition, accumulator=found)
    return Prepared(call, found.value_type, found.finish)


def _function(
    function: OverFunction, argument: physical.Argument, output: str, frame: Frame | None, projection: Projection
) -> Prepared:
    given = function.signature.named(argument.args)
    number = int(given.get("n", 1))
    if function.result is not None:
        return Prepared(OverCall(function.name, (), output, offset=number), function.result)
    done = _picked(function.name, argument, output, frame, projection)
    default = projection.column(f"CAST({given['default']} AS {done.type})") if "default" in given else None
    return replace(done, call=replace(done.call, offset=number, default=default))


def _picked(
    name: str, argument: physical.Argument, output: str, frame: Frame | None, projection: Projection
) -> Prepared:
    """A call that gives the value of one row."""
    type_ = known_type(argument.args[0], projection.below)
    column = projection.column(f"({argument.args[0]})")
    return Prepared(OverCall(name, (column,), output, frame, ignore_nulls=argument.ignore_nulls), type_)
