"""Stateful functions on Spark: every row goes through the kernel and comes back with a column for each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import DataFrame

from panes.functions.stateful.built_ins import BuiltIn, Role
from panes.kernels.aggregates.accumulator import AS_IS, Finish
from panes.kernels.aggregates.accumulators import argument_cast
from panes.kernels.stateful.call import StatefulCall
from panes.kernels.stateful.functions import StatefulFunctions
from panes.kernels.stateful.user_functions import UserFunction
from panes.physical import plan as physical
from panes.physical.lineage import call_text, definitions
from panes.spark.aggregates import Prepared as Arguments
from panes.spark.aggregates import accumulated, as_type
from panes.spark.chain import operate, passed_arrival, release
from panes.spark.expressions import arrow_type, compared_type, known_type, quoted
from panes.spark.finish import finished
from panes.spark.pack import BESIDE, NOW, TIME
from panes.spark.projection import Projection
from panes.spark.returned_type import returned_type

if TYPE_CHECKING:
    from panes.spark.build import Builder


@dataclass(frozen=True)
class Prepared:
    """A call for the kernel, the Spark type of its value, and what Spark makes of that (`$v`)."""

    call: StatefulCall
    type: str
    finish: Finish = AS_IS


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
    return done.selectExpr(*post, *(name for name in BESIDE if name in done.columns))


def _prepared(argument: physical.Argument, output: str, projection: Projection, builder: Builder) -> Prepared:
    types = [known_type(arg, projection.below) for arg in argument.args]
    function = builder.functions.stateful.get(argument.function)
    assert function is not None
    if isinstance(function, BuiltIn):
        return _built_in(function, argument, types, output, projection)
    condition = projection.condition(argument.condition)
    args = tuple(projection.column(f"({arg})") for arg in argument.args)
    type_ = returned_type(function, types, builder.spark)
    user = UserFunction(function, arrow_type(type_, builder.spark))
    return Prepared(StatefulCall(argument.function, args, output, condition, user=user), type_)


def _built_in(
    function: BuiltIn, argument: physical.Argument, types: Sequence[str], output: str, projection: Projection
) -> Prepared:
    """A call of a built-in function: each argument goes where its role says."""
    if function.compares:
        for index, arg in enumerate(argument.args):
            if function.role(index) is Role.VALUE:
                compared_type(arg, projection.below)
    result = function.return_type(types)
    condition = projection.condition(argument.condition)
    call = StatefulCall(function.name, (), output, condition, ignore_nulls=argument.ignore_nulls)
    for index, (arg, type_) in enumerate(zip(argument.args, types, strict=True)):
        match function.role(index):
            case Role.VALUE:
                value = as_type(arg, type_, _folded_type(function, type_))
                call = replace(call, args=(*call.args, projection.column(value)))
            case Role.OFFSET:
                call = replace(call, offset=int(arg))
            case Role.DEFAULT:
                call = replace(call, default=projection.column(f"CAST({arg} AS {result})"))
            case Role.IGNORE_NULL:
                call = replace(call, ignore_nulls=arg.strip().lower() == "true")
            case Role.BEGIN:
                call = replace(call, begin=projection.column(f"({arg})"))
            case Role.RESET:
                call = replace(call, reset=projection.column(f"({arg})"))
            case role:
                assert_never(role)
    if function.accumulates is None:
        return Prepared(call, result)
    found = accumulated(function.accumulates, argument, Arguments((), (_folded_type(function, types[0]),)))
    return Prepared(replace(call, accumulator=found), found.value_type, found.finish)


def _folded_type(function: BuiltIn, type_: str) -> str:
    """The Spark type in which a value comes to the kernel."""
    cast = argument_cast(function.accumulates, type_) if function.accumulates is not None else None
    return cast or type_
