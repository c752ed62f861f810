"""The logical plan: what a query means. Nodes are frozen, without behaviour, and equal wherever they were written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from panes.catalog import Column, Stream
from panes.source import Span
from panes.sql.calls import Call
from panes.sql.expr import Expr
from panes.sql.over import OrderKey
from panes.sql.statements import EmitClause, LateRowsClause
from panes.sql.windows import Kind


@dataclass(frozen=True)
class Computed:
    """A call that Panes computes, and the column that holds its value."""

    name: str
    call: Call


@dataclass(frozen=True)
class Field:
    """An output column; a hidden one carries the time of a derived stream and is not seen by `*`."""

    expr: Expr
    name: str
    hidden: bool = False


@dataclass(frozen=True)
class DataSource:
    """A declared stream, of which only `columns` are read."""

    stream: Stream
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """A column of an input that a query passes on as it is; both names in lower case."""

    input: str
    column: str


@dataclass(frozen=True)
class SparkQuery:
    """A query that Spark runs whole over its inputs, each under a name; see `SparkStmt` for `template`.

    `origins` are the columns, lower case, that an input passes through. `keeps_state`: Spark itself keeps state for it,
    bounded by the watermarks of its streams.
    """

    sql: str
    template: str
    inputs: tuple[tuple[str, Plan], ...]
    columns: tuple[Column, ...] | None
    origins: tuple[tuple[str, Origin], ...] = ()
    keeps_state: bool = False


@dataclass(frozen=True)
class StatefulFunction:
    """Add a column per stateful call; every row passes."""

    input: Plan
    calls: tuple[Computed, ...]


@dataclass(frozen=True)
class Filter:
    """Keep the rows for which all predicates are true."""

    input: Plan
    predicates: tuple[Expr, ...]


@dataclass(frozen=True)
class Window:
    """Put rows into windows of one kind; `kind` says when each opens, what it holds and when it emits.

    `keys` are the group keys of a window whose rows come out as they are; else they are the Aggregation's.
    """

    input: Plan
    kind: Kind
    keys: tuple[Field, ...] = ()
    bounds: tuple[Computed, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Aggregation:
    """One row per window and set of keys; `input` is a Window."""

    input: Plan
    keys: tuple[Field, ...]
    aggregates: tuple[Computed, ...]


@dataclass(frozen=True)
class TopN:
    """Only the first `limit` of each partition are wanted, by the rank in column `rank`."""

    rank: str
    limit: int


@dataclass(frozen=True)
class OverWindow:
    """Add a column per OVER call; all calls share partitions and order."""

    input: Plan
    partition_by: tuple[Expr, ...]
    order_by: tuple[OrderKey, ...]
    calls: tuple[Computed, ...]
    top_n: TopN | None = None


@dataclass(frozen=True)
class Project:
    """The output columns."""

    input: Plan
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class DataSink:
    """Where the result goes: a sink, or `None` for the DataFrame that the caller gets."""

    input: Plan
    sink: str | None = None
    emit: EmitClause | None = None
    late: LateRowsClause | None = None


Plan: TypeAlias = (
    DataSource | SparkQuery | StatefulFunction | Filter | Window | Aggregation | OverWindow | Project | DataSink
)


def children(plan: Plan) -> tuple[Plan, ...]:
    match plan:
        case DataSource():
            return ()
        case SparkQuery(inputs=inputs):
            return tuple(child for _, child in inputs)
        case _:
            return (plan.input,)


def with_children(plan: Plan, new: tuple[Plan, ...]) -> Plan:
    """The same node over other inputs."""
    match plan:
        case DataSource():
            return plan
        case SparkQuery(inputs=inputs):
            return replace(plan, inputs=tuple((name, child) for (name, _), child in zip(inputs, new, strict=True)))
        case _:
            return replace(plan, input=new[0])


def bottom_up(plan: Plan, rule: Callable[[Plan], Plan]) -> Plan:
    """Apply a rule to every node, inputs first."""
    old = children(plan)
    new = tuple(bottom_up(child, rule) for child in old)
    changed = any(one is not other for one, other in zip(old, new, strict=True))
    return rule(with_children(plan, new) if changed else plan)


def has_panes_construct(plan: Plan) -> bool:
    """Whether anything in the plan is more than a scan, a filter and a projection."""
    if isinstance(plan, StatefulFunction | Window | Aggregation | OverWindow):
        return True
    return any(has_panes_construct(child) for child in children(plan))
