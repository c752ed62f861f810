"""OVER windows on Spark: every row goes through the kernel and comes back with a column for each call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.kernels.aggregates.accumulators import INTEGRAL, decimal
from panes.kernels.changelog.changes import CHANGE, INSERT
from panes.kernels.kernel import Kernel
from panes.kernels.over.evaluate import Bound, Edge, Frame, OrderKey, OverCall
from panes.kernels.over.incremental import OverChanges
from panes.kernels.over.on_close import OverOnClose
from panes.kernels.over.on_complete import OverOnComplete
from panes.kernels.state.release import Release
from panes.physical import plan as physical
from panes.physical.lineage import definitions, over_call_text
from panes.spark.aggregates import accumulated, prepared
from panes.spark.chain import operate, operators_below, passed_arrival, release, ties
from panes.spark.expressions import known_type, quoted, type_of
from panes.spark.finish import finished
from panes.spark.pack import BATCH, CONTROL, IDENTITY, PLACE, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder

PICKS = {"first": "first_value", "any_value": "first_value", "last": "last_value", "last_row": "last_value"}
INTEGERS = ("row_number", "rank", "dense_rank", "ntile")
DAY = 86_400_000_000


@dataclass(frozen=True)
class Prepared:
    """A call for the kernel, the Spark type of its value, and what Spark makes of that (`$v`)."""

    call: OverCall
    type: str
    finish: str = "$v"


def over(plan: physical.OverWindow, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The rows below with the values of the calls; for changes, a changelog of them."""
    if plan.placement.mode == physical.Mode.BATCH and not _reads_changelog(plan.input):
        plan = replace(plan, reads_changes=False)  # over an append-only batch, a result below has inserts alone
    projection = Projection(below, plan.placement, definitions(plan.input))
    partition = projection.keys(plan.placement.partition_by)
    own = {name: projection.row_column(name) for name in projection.own()}
    order_by = tuple(OrderKey(projection.sort_key(one.sql), one.descending, one.nulls_first) for one in plan.order_by)
    names = [projection.new_name(over_call_text(one, projection.definitions)) for one in plan.calls]
    calls = [_prepared(*one, plan, projection) for one in zip(plan.calls, names, strict=True)]
    kernel = _kernel(plan, projection, partition, order_by, calls, tuple(own.values()))
    outputs = [(name, projection.type(name)) for name in own.values()]
    outputs += [(one.call.output, one.type) for one in calls]
    from_kernel = isinstance(kernel, OverChanges)
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
    return done.selectExpr(*dict.fromkeys(post), *([CONTROL] if CONTROL in done.columns else []))


def _reads_changelog(plan: physical.Plan) -> bool:
    if isinstance(plan, physical.DataSource):
        return plan.changelog
    return any(_reads_changelog(child) for child in physical.children(plan))


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
    batch = placement.mode == physical.Mode.BATCH
    in_any_order = batch and _expires(plan) and not _could_stream(plan, projection, order_by, own_calls)
    if plan.reads_changes or in_any_order or (placement.emit == physical.EmitMode.CHANGES and not batch):
        return _changes(plan, projection, partition, order_by, own_calls, values, top_n)
    if plan.closes_with_window and not batch:
        assert placement.time is not None
        closes = Release(projection.sort_key(quoted(placement.time)), ties(projection), True, late=False)
        return OverOnComplete(partition, order_by, own_calls, closes, top_n)
    if batch and not _expires(plan):
        everything = Release(TIME, ties(projection), True, late=False)
        return OverOnComplete(partition, order_by, own_calls, everything, top_n)
    return OverOnClose(partition, order_by, own_calls, release(projection), top_n, placement.state_ttl)


def _expires(plan: physical.OverWindow) -> bool:
    """Whether partitions expire by the times of rows."""
    placement = plan.placement
    return placement.state_ttl is not None and placement.time is not None and not plan.closes_with_window


def _could_stream(
    plan: physical.OverWindow, projection: Projection, order_by: tuple[OrderKey, ...], calls: tuple[OverCall, ...]
) -> bool:
    """Whether a stream could run it too: then partitions that were quiet for long are forgotten as there."""
    time = plan.placement.time
    if (
        time is None
        or not order_by
        or order_by[0].descending
        or order_by[0].column != projection.sort_key(quoted(time))
    ):
        return False
    whole = any(one.frame is not None and one.frame.end.edge is Edge.UNBOUNDED_FOLLOWING for one in calls)
    return not whole and not any(one.function in ("percent_rank", "cume_dist", "ntile") for one in calls)


def _changes(
    plan: physical.OverWindow,
    projection: Projection,
    partition: tuple[str, ...],
    order_by: tuple[OrderKey, ...],
    calls: tuple[OverCall, ...],
    values: tuple[str, ...],
    top_n: tuple[str, int] | None,
) -> OverChanges:
    placement = plan.placement
    own_key = projection.identity(placement.key)
    identity = _identity(plan, projection)
    time = (TIME,) if identity and placement.time is not None else ()
    sequence = projection.column(quoted(placement.sequence)) if placement.sequence is not None else None
    return OverChanges(
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


def _prepared(one: physical.OverCall, output: str, plan: physical.OverWindow, projection: Projection) -> Prepared:
    argument = one.argument
    function = argument.function
    condition = projection.condition(argument.condition)
    if function in INTEGERS:
        offset = int(argument.args[0]) if function == "ntile" else 1
        return Prepared(OverCall(function, (), output, offset=offset), "int")
    if function in ("percent_rank", "cume_dist"):
        return Prepared(OverCall(function, (), output), "double")
    frame = _frame(one.frame, plan, projection)
    if function in ("lag", "lead", "nth_value") or (function in PICKS and condition is None and not argument.distinct):
        return _picked(argument, output, frame, projection)
    given = prepared(argument, projection.below)
    found = accumulated(argument, given)
    args = tuple(projection.column(sql) for sql in given.args)
    call = OverCall("aggregate", args, output, frame, condition=condition, accumulator=found)
    return Prepared(call, found.value_type, found.finish)


def _picked(argument: physical.Argument, output: str, frame: Frame, projection: Projection) -> Prepared:
    """A call that gives the value of one row."""
    type_ = known_type(argument.args[0], projection.below)
    call = OverCall(
        PICKS.get(argument.function, argument.function),
        (projection.column(f"({argument.args[0]})"),),
        output,
        None if argument.function in ("lag", "lead") else frame,
        ignore_nulls=argument.ignore_nulls,
        offset=int(argument.args[1]) if len(argument.args) > 1 and argument.function not in PICKS else 1,
        default=projection.column(f"CAST({argument.args[2]} AS {type_})") if len(argument.args) > 2 else None,
    )
    return Prepared(call, type_)


def _frame(frame: physical.Frame | None, plan: physical.OverWindow, projection: Projection) -> Frame:
    """The frame of a call; left out, it is Spark's: up to the row's peers, without ORDER BY the whole partition."""
    if frame is None:
        if not plan.order_by:
            return Frame("ROWS", Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.UNBOUNDED_FOLLOWING))
        return Frame("RANGE", Bound(Edge.UNBOUNDED_PRECEDING), Bound(Edge.CURRENT_ROW))
    if frame.unit == "ROWS":
        start, end = (Bound(Edge[one.kind], int(one.offset or 0)) for one in (frame.start, frame.end))
        return Frame(frame.unit, start, end)
    spans = _spans(frame, plan.order_by[0].sql, projection.below) if plan.order_by else [0, 0]
    start, end = (_bound(*one, plan, projection) for one in zip((frame.start, frame.end), spans, strict=True))
    return Frame(frame.unit, start, end)


def _bound(bound: physical.Bound, distance: float, plan: physical.OverWindow, projection: Projection) -> Bound:
    edge = Edge[bound.kind]
    if bound.offset is None:
        return Bound(edge)
    key = plan.order_by[0]
    type_ = type_of(key.sql, projection.below)
    minus = (edge is Edge.PRECEDING) != key.descending
    span = _longest(int(distance)) if type_.startswith("timestamp") else 0
    if type_.startswith("timestamp") and span < DAY:
        own = projection.sort_key(key.sql)
        shift = -span if minus else span
        return Bound(edge, column=f"{own} {shift:+}", span=span, shift=shift)
    offset = f"CAST({bound.offset} AS {type_})" if _is_number(type_) else f"({bound.offset})"  # as Spark casts it
    value = f"CAST(({key.sql}) {'-' if minus else '+'} {offset} AS {type_})"
    return Bound(edge, column=projection.column(value), span=span)


def _is_number(type_: str) -> bool:
    return type_ in (*INTEGRAL, "float", "double") or decimal(type_) is not None


def _spans(frame: physical.Frame, key: str, below: DataFrame) -> list[float]:
    """How far the bounds of a RANGE frame are away, in microseconds where ORDER BY is a time or a date."""
    offsets = [bound.offset for bound in (frame.start, frame.end)]
    if offsets == [None, None]:
        return [0, 0]
    type_ = type_of(key, below)
    texts = [_span(offset, type_) if offset is not None else "0" for offset in offsets]
    bounds = [" ".join(filter(None, (bound.offset, bound.kind))) for bound in (frame.start, frame.end)]
    written = f"RANGE BETWEEN {bounds[0]} AND {bounds[1]}"
    mismatch = PanesError(
        "over-arguments",
        f"{written} does not go with ORDER BY {key}, a {type_}",
        hint="An interval goes with times and dates, a number with numbers and dates.",
    )
    if not (_is_number(type_) or type_ == "date" or type_.startswith("timestamp")):
        raise mismatch
    try:
        row = below.sparkSession.sql(f"SELECT {texts[0]} AS first, {texts[1]} AS last").collect()[0]
    except AnalysisException as error:
        raise mismatch from error
    start, end = row["first"], row["last"]
    if any(span is None or not span >= 0 for span in (start, end)):
        raise PanesError("over-arguments", f"an offset in {written} is NULL or negative")
    near, far = (end, start) if frame.start.kind == "PRECEDING" else (start, end)
    if frame.start.kind == frame.end.kind and far < near:
        raise PanesError("over-arguments", f"{written} ends before it starts")
    return [start, end]


def _span(offset: str, type_: str) -> str:
    if not type_.startswith("timestamp") and type_ != "date":
        return f"CAST({offset} AS DOUBLE)"
    start = "TIMESTAMP'2000-07-01 00:00:00'" if type_ != "date" else "DATE'2000-07-01'"
    return f"unix_micros(CAST({start} + ({offset}) AS TIMESTAMP)) - unix_micros(CAST({start} AS TIMESTAMP))"


def _longest(span: int) -> int:
    """The most microseconds that an interval can be: months differ in length, and days where clocks are changed."""
    return span if span < DAY else span * 9 // 8 + DAY
