"""The logical plan as rows for EXPLAIN."""

from __future__ import annotations

from typing import assert_never

from panes.explain import Info, Row
from panes.frames import frame_sql
from panes.logical.plan import (
    Aggregation,
    Computed,
    DataSink,
    DataSource,
    Field,
    Filter,
    OverWindow,
    Plan,
    Project,
    SparkQuery,
    StatefulFunction,
    Window,
    children,
)
from panes.sql.calls import Call
from panes.sql.window_kinds import kind_info, mapped, partition_of
from panes.sql.windows import Kind


def rows(plan: Plan) -> Row:
    """The plan as a tree of rows."""
    return Row(type(plan).__name__, _info(plan), tuple(rows(child) for child in children(plan)))


def _info(plan: Plan) -> Info:
    match plan:
        case DataSource(stream=stream, columns=columns):
            info: Info = {"stream": stream.name, "columns": list(columns)}
            return {**info, "watermark": "adopted"} if stream.adopted else info
        case SparkQuery(sql=sql):
            return {"sql": sql}
        case StatefulFunction(calls=calls):
            return {"calls": [_computed(one) for one in calls]}
        case Filter(predicates=predicates):
            return {"predicates": [predicate.sql for predicate in predicates]}
        case Window(kind=kind, keys=keys, bounds=bounds):
            info = _kind(kind)
            info |= {"keys": [_field(key) for key in keys]} if keys else {}
            return info | ({"bounds": [_computed(one) for one in bounds]} if bounds else {})
        case Aggregation(keys=keys, aggregates=aggregates):
            return {
                "keys": [_field(key) for key in keys],
                "aggregates": [_computed(one) for one in aggregates],
            }
        case OverWindow():
            return _over(plan)
        case Project(fields=fields):
            return {"fields": [_field(field) for field in fields]}
        case DataSink(sink=sink, emit=emit, late=late):
            return {
                "sink": sink or "result",
                **({"emit": emit.emit.value.lower()} if emit is not None else {}),
                **({"late_rows": late.sink} if late is not None else {}),
            }
        case _:
            assert_never(plan)


def _kind(kind: Kind) -> Info:
    """A window with its own partition, if it has one."""
    texts = mapped(kind, lambda expr: expr.sql)
    partition = partition_of(texts)
    return kind_info(texts) | ({"partition_by": [*partition]} if partition is not None else {})


def _computed(one: Computed) -> str:
    return f"{_call(one.call)} -> {one.name}"


def _call(call: Call) -> str:
    """A call with what its node does not say: PARTITION BY of a stateful call, the frame of an OVER call."""
    over = call.over
    if over is None:
        return call.sql
    if over.order_by:
        frame = over.frame.map(lambda offset: offset.sql) if over.frame is not None else None
        return f"{call.sql} {frame_sql(frame)}" if frame is not None else call.sql
    keys = ", ".join(expr.sql for expr in over.partition_by)
    return f"{call.sql} PARTITION BY {keys}" if keys else call.sql


def _field(field: Field) -> str:
    text = field.name if field.expr.column == field.name else f"{field.expr.sql} -> {field.name}"
    return f"{text} (hidden)" if field.hidden else text


def _over(plan: OverWindow) -> Info:
    info: Info = {
        "partition_by": [expr.sql for expr in plan.partition_by],
        "order_by": [key.sql for key in plan.order_by],
        "calls": [_computed(one) for one in plan.calls],
    }
    if plan.top_n is not None:
        info["top_n"] = f"{plan.top_n.rank} <= {plan.top_n.limit}"
    return info
