"""Only needed columns leave the source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from panes.logical.plan import (
    Aggregation,
    Computed,
    DataSink,
    DataSource,
    Filter,
    OverWindow,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Window,
)
from panes.logical.traits import traits
from panes.sql.expr import Expr
from panes.sql.window_kinds import mapped

Names = frozenset[str]


def prune_columns(plan: Plan) -> Plan:
    """Each node asks its input for what it reads and what is asked of it; None asks for all that `*` sees."""
    return _prune(plan, None)


def _prune(plan: Plan, needed: Names | None) -> Plan:
    match plan:
        case DataSink(input=input_):
            return replace(plan, input=_prune(input_, None))
        case SparkQuery(inputs=inputs):
            return replace(plan, inputs=tuple((name, _prune(child, None)) for name, child in inputs))
        case DataSource():
            return _source(plan, needed)
        case Project(input=input_, fields=fields):
            kept = tuple(f for f in fields if (f.name.lower() in needed if needed is not None else not f.hidden))
            kept = kept or fields[:1]
            return Project(_prune(input_, _columns(field.expr for field in kept)), kept)
        case Filter(input=input_, predicates=predicates):
            return replace(plan, input=_prune(input_, _plus(needed, _columns(predicates))))
        case StatefulFunction(input=input_, calls=calls) | OverWindow(input=input_, calls=calls):
            asked = _plus(needed, _columns(_exprs(plan)), _order(input_))
            return replace(plan, input=_prune(input_, _minus(asked, [one.name for one in calls])))
        case Window(input=input_, bounds=bounds):
            asked = _plus(needed, _columns(_window_exprs(plan)), _order(input_))
            return replace(plan, input=_prune(input_, _minus(asked, [one.name for one in bounds])))
        case Aggregation(input=input_, keys=keys, aggregates=aggregates):
            read = _columns([*(key.expr for key in keys), *_call_exprs(aggregates)])
            bounds_ = [one.name for one in input_.bounds] if isinstance(input_, Window) else []
            return replace(plan, input=_prune(input_, _plus(read, frozenset(bounds_))))
        case _:
            assert_never(plan)


def _source(plan: DataSource, needed: Names | None) -> Plan:
    if needed is None:
        return plan
    stream = plan.stream
    asked = set(needed)
    if stream.changelog:
        asked |= {name.lower() for name in (*stream.key, *([stream.sequence] if stream.sequence else []))}
    columns = tuple(name for name in plan.columns if name.lower() in asked)
    return DataSource(stream, columns or plan.columns[:1])


def _order(input_: Plan) -> Names:
    """What operators with state read besides their expressions: the time, the key, the sequence of a changelog."""
    known = traits(input_)
    return frozenset([*known.key, *(name for name in (known.time, known.sequence) if name is not None)])


def _plus(needed: Names | None, *more: Names) -> Names | None:
    return None if needed is None else needed.union(*more)


def _minus(needed: Names | None, made: Iterable[str]) -> Names | None:
    return None if needed is None else needed - set(made)


def _columns(exprs: Iterable[Expr]) -> Names:
    return frozenset(name for expr in exprs for name in expr.column_names)


def _call_exprs(calls: Iterable[Computed]) -> Iterable[Expr]:
    for one in calls:
        yield from one.call.args
        if one.call.filter is not None:
            yield one.call.filter
        if one.call.over is not None:
            yield from one.call.over.partition_by


def _exprs(plan: StatefulFunction | OverWindow) -> Iterable[Expr]:
    yield from _call_exprs(plan.calls)
    if isinstance(plan, OverWindow):
        yield from (*plan.partition_by, *(key.expr for key in plan.order_by))


def _window_exprs(plan: Window) -> Iterable[Expr]:
    own: list[Expr] = []
    mapped(plan.kind, own.append)
    return (*own, *(key.expr for key in plan.keys))
