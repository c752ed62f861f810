"""Stateful functions on Spark: every row goes through the kernel and comes back with a column for each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from panes.errors import PanesError
from panes.functions.stateful import BuiltIn
from panes.kernels.aggregates.accumulators import accumulator, argument_cast
from panes.kernels.stateful.functions import StatefulCall, StatefulFunctions
from panes.kernels.stateful.user_functions import UserFunction
from panes.physical import plan as physical
from panes.physical.lineage import call_text, definitions
from panes.spark.aggregates import as_type
from panes.spark.chain import operate, passed_arrival, release
from panes.spark.expressions import arrow_type, compared_type, known_type, quoted
from panes.spark.finish import finished
from panes.spark.pack import CONTROL, NOW, TIME
from panes.spark.projection import Projection

if TYPE_CHECKING:
    from panes.spark.build import Builder


# Which arguments of a function are compared with those of other rows.
COMPARED = {"changed_col": slice(1, 2), "had_changed": slice(1, None), "acc_min": slice(1), "acc_max": slice(1)}


@dataclass(frozen=True)
class Prepared:
    """A call for the kernel, the Spark type of its value, and what Spark makes of that (`$v`)."""

    call: StatefulCall
    type: str
    finish: str = "$v"


def stateful(plan: physical.StatefulFunction, below: DataFrame, builder: Builder, feeds_another: bool) -> DataFrame:
    """The rows below, each with the values of the calls; `feeds_another` if a stateful operator reads them."""
    projection = Projection(below, plan.placement, definitions(plan.input))
    partition = projection.keys(plan.placement.partition_by)
    own = {name: projection.row_column(name) for name in projection.own()}
    names = [projection.new_name(call_text(call, projection.definitions)) for call in plan.calls]
    prepared = [_prepared(*one, projection, builder) for one in zip(plan.calls, names, strict=True)]
    released = release(projection)
    calls = tuple(one.call for one in prepared)
    kernel = StatefulFunctions(partition, calls, released, plan.placement.state_ttl)
    keeps_time = feeds_another and plan.placement.time is None
    outputs = [(name, projection.type(name)) for name in own.values()]
    outputs += [(one.call.output, one.type) for one in prepared]
    outputs += [(TIME, "timestamp")] if keeps_time else []
    projection.functions = {one.call.output: call.text for one, call in zip(prepared, plan.calls, strict=True)}
    passed = passed_arrival(projection, feeds_another)
    outputs += [(column, "bigint") for column in passed.values()]
    done = operate(plan, kernel, projection, partition, outputs, builder, feeds_another)
    post = [f"{column} AS {quoted(name)}" for name, column in own.items()]
    for call, one in zip(plan.calls, prepared, strict=True):
        value = finished(one.finish, one.call.output, call.text, own, builder.spark)
        post.append(f"{value} AS {quoted(call.output)}")
    post += [f"{TIME} AS {NOW}"] if keeps_time else []
    post += [f"{column} AS {name}" for name, column in passed.items()]
    return done.selectExpr(*post, *([CONTROL] if CONTROL in done.columns else []))


def _prepared(argument: physical.Argument, output: str, projection: Projection, builder: Builder) -> Prepared:
    types = [known_type(arg, projection.below) for arg in argument.args]
    for arg in argument.args[COMPARED.get(argument.function, slice(0))]:
        compared_type(arg, projection.below)
    condition = projection.condition(argument.condition)
    function = builder.functions.stateful.get(argument.function)
    assert function is not None
    match argument.function:
        case _ if not isinstance(function, BuiltIn):
            args = tuple(projection.column(f"({arg})") for arg in argument.args)
            type_ = function.return_type(types)
            user = UserFunction(function, arrow_type(type_, builder.spark))
            return Prepared(StatefulCall(argument.function, args, output, condition, user=user), type_)
        case "lag" | "latest":
            return _previous(argument, types[0], output, condition, projection)
        case "changed_col" | "had_changed":
            ignore_null = argument.args[0].strip().lower() == "true"
            args = tuple(projection.column(f"({arg})") for arg in argument.args[1:])
            call = StatefulCall(argument.function, args, output, condition, ignore_nulls=ignore_null)
            return Prepared(call, function.return_type(types))
        case "row_number":
            return Prepared(StatefulCall("row_number", (), output, condition), "bigint")
        case _:
            return _accumulated(argument, types[0], output, condition, projection)


def _previous(
    argument: physical.Argument, type_: str, output: str, condition: str | None, projection: Projection
) -> Prepared:
    """lag(x [, n [, default]]) and latest(x [, default])."""
    is_lag = argument.function == "lag"
    rest: Sequence[str] = argument.args[1:]
    offset = int(rest[0]) if is_lag and rest else 1
    default = next(iter(rest[1:] if is_lag else rest), None)
    call = StatefulCall(
        argument.function,
        (projection.column(f"({argument.args[0]})"),),
        output,
        condition,
        ignore_nulls=argument.ignore_nulls,
        offset=offset,
        default=projection.column(f"CAST({default} AS {type_})") if default is not None else None,
    )
    return Prepared(call, type_)


def _accumulated(
    argument: physical.Argument, type_: str, output: str, condition: str | None, projection: Projection
) -> Prepared:
    """acc_sum, acc_avg, acc_min, acc_max and acc_count (x [, begin, reset])."""
    function = argument.function.removeprefix("acc_")
    wanted = argument_cast(function, type_) or type_
    x = projection.column(as_type(argument.args[0], type_, wanted))
    found = accumulator(function, [wanted])
    if found is None:
        raise PanesError("not-executable", f"{argument.text} has no accumulator yet")
    begin, reset = (*(projection.column(f"({one})") for one in argument.args[1:]), None, None)[:2]
    call = StatefulCall(argument.function, (x,), output, condition, begin=begin, reset=reset, accumulator=found)
    return Prepared(call, found.value_type, found.finish)
