"""The operators of a query from the stream up, and for each what it reads: in terms of the node that made it.

    Window ← Filter(p > 2) ← Project(price -> p) ← DataSource

The window reads the DataSource where `price > 2`. So what WHERE removes can be shown, too, and sub-queries that only
select do not stand between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from panes.logical.plan import (
    Aggregation,
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
from panes.sql.expr import Expr, conjunction
from panes.sql.window_kinds import TimeWindow, partition_of

Node: TypeAlias = StatefulFunction | Window | Aggregation | tuple[OverWindow, ...]
Base: TypeAlias = DataSource | SparkQuery | StatefulFunction | Window | Aggregation | OverWindow


@dataclass(frozen=True)
class Reading:
    """What something reads: the rows of `base` for which `kept` is true, and in each lane those with equal `lanes`."""

    base: Base
    kept: Expr | None
    lanes: tuple[Expr, ...]


@dataclass(frozen=True)
class Operator:
    """An operator: what stands below it as a plan, and what that reads; OVER calls that share their order are one."""

    node: Node
    input: Plan
    reads: Reading
    keys: tuple[Expr, ...]


def operators(plan: Plan) -> list[Operator]:
    """The operators of a plan that reads one stream, from the stream up."""
    return list(_operators(plan))


def _operators(plan: Plan) -> Iterator[Operator]:
    match plan:
        case DataSource() | SparkQuery():
            return
        case Filter(input=input_) | Project(input=input_) | DataSink(input=input_):
            yield from _operators(input_)
        case StatefulFunction(input=input_, calls=calls):
            over = calls[0].call.over
            yield from _operators(input_)
            yield _operator(plan, input_, over.partition_by if over is not None else ())
        case Aggregation(input=Window() as window):
            yield from _operators(window.input)
            yield _operator(plan, window.input, _keys(window, plan))
        case Window(input=input_):
            yield from _operators(input_)
            yield _operator(plan, input_, _keys(plan, plan))
        case OverWindow():
            stack = _stack(plan)
            yield from _operators(stack[0].input)
            yield _operator(stack, stack[0].input, plan.partition_by)
        case _:
            raise AssertionError(f"{type(plan).__name__} is not expected here")


def _keys(window: Window, grouped: Window | Aggregation) -> tuple[Expr, ...]:
    """What a window is kept for: the keys of GROUP BY, or its own partition."""
    own = partition_of(window.kind)
    return own if own is not None else tuple(field.expr for field in grouped.keys)


def _stack(over: OverWindow) -> tuple[OverWindow, ...]:
    """OVER nodes of one PARTITION BY and ORDER BY that stand on each other, from below."""
    below = over.input
    same = isinstance(below, OverWindow) and (below.partition_by, below.order_by) == (over.partition_by, over.order_by)
    return (*_stack(below), over) if same and isinstance(below, OverWindow) else (over,)


def _operator(node: Node, input_: Plan, keys: Sequence[Expr]) -> Operator:
    return Operator(node, input_, reading(input_, keys), tuple(keys))


def reading(plan: Plan, lanes: Sequence[Expr] = ()) -> Reading:
    """What a plan reads, seen through WHERE and projections."""
    return _reading(plan, tuple(lanes), ())


def _reading(plan: Plan, lanes: tuple[Expr, ...], kept: tuple[Expr, ...]) -> Reading:
    match plan:
        case Filter(input=input_, predicates=predicates):
            return _reading(input_, lanes, (*predicates, *kept))
        case Project(input=input_, fields=fields):
            written = {field.name.lower(): field.expr for field in reversed(fields)}
            through = [tuple(one.substitute(written) for one in exprs) for exprs in (lanes, kept)]
            return _reading(input_, *through)
        case DataSource() | SparkQuery() | StatefulFunction() | Window() | Aggregation() | OverWindow():
            return Reading(plan, conjunction(kept) if kept else None, lanes)
        case DataSink(input=input_):
            return _reading(input_, lanes, kept)
        case _:
            assert_never(plan)


def window_of(node: Node) -> Window | None:
    """The window of an operator that is one."""
    match node:
        case Window():
            return node
        case Aggregation(input=Window() as window):
            return window
        case _:
            return None


def is_time_window(node: Node) -> bool:
    window = window_of(node)
    return window is not None and isinstance(window.kind, TimeWindow)
