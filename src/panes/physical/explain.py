"""The physical plan as rows for EXPLAIN: each operator with what was decided about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from panes.explain import Info, Row
from panes.frames import frame_sql
from panes.physical.plan import (
    Argument,
    By,
    DataSink,
    DataSource,
    EmitMode,
    Filter,
    Mode,
    Normalize,
    Output,
    OverCall,
    OverWindow,
    Pair,
    Placement,
    Plan,
    Project,
    SparkQuery,
    State,
    StatefulFunction,
    Watermark,
    Window,
    children,
)
from panes.sql.duration import spelled
from panes.sql.window_kinds import Window as Kinds
from panes.sql.window_kinds import kind_info


def rows(plan: Plan) -> Row:
    """The plan as a tree of rows."""
    return Row(type(plan).__name__, _info(plan), tuple(rows(child) for child in children(plan)))


def _info(plan: Plan) -> Info:
    match plan:
        case DataSource(columns=columns, computed=computed):
            input_ = "changelog" if plan.changelog else "append-only"
            return {
                "stream": plan.stream,
                "columns": list(columns),
                **({"computed": [f"{one.sql} -> {one.name}" for one in computed]} if computed else {}),
                "input": input_ if plan.streaming else f"batch {input_}",
                **({"rows": "whole"} if plan.whole else {}),
            }
        case Watermark(time=time, delay=delay, idle_timeout=timeout):
            known = {"mode": Mode.EVENT_TIME.value, "time": time, "delay": spelled(delay)}
            return {**known, **({"idle_timeout": spelled(timeout)} if timeout is not None else {})}
        case SparkQuery(sql=sql, keeps_state=keeps_state):
            return {"sql": sql, "engine": "spark", **({"state": "bounded by the watermark"} if keeps_state else {})}
        case StatefulFunction(placement=placement, calls=calls):
            return {"calls": [_argument(one) for one in calls], **_placement(placement, [])}
        case Filter(predicates=predicates, changelog=changelog):
            return {"predicates": list(predicates), **({"changes": "both sides"} if changelog else {})}
        case Window():
            return _window(plan)
        case OverWindow():
            return _over(plan)
        case Normalize(placement=placement):
            info = _placement(placement, [])
            info["order"] = [placement.sequence, "arrival"] if placement.sequence is not None else "arrival"
            return {"key": list(placement.key)} | {name: info[name] for name in info if name != "partition_by"}
        case Pair(key=key):
            return {"key": list(key), "pairs": "within a micro-batch", "state": None, "parallelism": "shards"}
        case Project(fields=fields):
            return {"fields": [_output(field) for field in fields]}
        case DataSink():
            info = {
                "sink": plan.sink or "result",
                "output": "changelog" if plan.changelog else "append",
            }
            info |= {"late_rows": plan.late} if plan.late is not None else {}
            return info | ({"key": list(plan.key) or None} if plan.changelog else {})
        case _:
            assert_never(plan)


def _placement(placement: Placement, waits: list[str]) -> Info:
    info: Info = {"partition_by": list(placement.partition_by), "mode": placement.mode.value}
    by_time = By.TIME in placement.order
    info["order"] = _ordered(placement, placement.order) if by_time else By.ARRIVAL.value
    info |= {"time": _time(placement)} if placement.time_shift and not by_time else {}
    info |= {"emits": placement.emit.value, "state": placement.state.value}
    if placement.state_ttl is not None:
        info["state_ttl"] = spelled(placement.state_ttl)
    elif placement.state == State.PER_KEY and placement.partition_by and placement.mode != Mode.BATCH:
        info["hint"] = "state_ttl forgets quiet keys"
    elif placement.sequence is not None and placement.mode != Mode.BATCH:
        info["hint"] = "state_ttl forgets the sequences of deleted keys"
    info["parallelism"] = 1 if placement.one_shard else "shards"
    if waits:
        info["waits"] = " and ".join(waits)
    if placement.late_into is not None:
        info |= {"late": f"into {placement.late_into}", "partials": "none"}
    elif placement.late:
        info["late"] = "dropped"
    return info


def _ordered(placement: Placement, order: Iterable[By]) -> list[str]:
    """What orders rows, by the names that the query has for it."""
    names = {By.TIME: [_time(placement)], By.KEY: [*placement.key], By.ARRIVAL: [By.ARRIVAL.value]}
    return [name for by in order for name in names[by]]


def _time(placement: Placement) -> str:
    return f"{placement.time} - 1 µs" if placement.time_shift else f"{placement.time}"


def _window(plan: Window) -> Info:
    info = kind_info(plan.kind)
    if plan.keys or not plan.raw:
        info["keys"] = [_output(key) for key in plan.keys]
    if plan.raw:
        info["rows"] = "as they are"
    else:
        info["aggregates"] = [_argument(one) for one in plan.aggregates]
    if plan.bounds:
        info["bounds"] = [f"{call}() -> {name}" for name, call in plan.bounds]
    waits = {Mode.EVENT_TIME: ["watermark"], Mode.ARRIVAL: ["clock"], Mode.BATCH: []}[plan.placement.mode]
    ahead = isinstance(plan.kind, Kinds.Sliding) and plan.kind.lookahead is not None
    return info | _placement(plan.placement, waits if ahead else [])


def _over(plan: OverWindow) -> Info:
    orders = [
        f"{one.sql}{' DESC' if one.descending else ''}"
        + ("" if one.nulls_first != one.descending else f" NULLS {'FIRST' if one.nulls_first else 'LAST'}")
        for one in plan.order_by
    ]
    info: Info = {"order_by": orders, "calls": [_over_call(one) for one in plan.calls]}
    if plan.top_n is not None:
        info["top_n"] = f"{plan.top_n[0]} <= {plan.top_n[1]}"
    placement = plan.placement
    info["strategy"] = plan.strategy.value
    info |= _placement(placement, _waits(plan)) | {"order": [*orders, *_ties(plan)]}
    return info | ({"sequence": placement.sequence} if placement.sequence is not None else {})


def _ties(plan: OverWindow) -> list[str]:
    """What orders rows that ORDER BY leaves equal; what it names itself is left out."""
    placement = plan.placement
    named = {one.sql.lower() for one in plan.order_by}
    left = [by for by in placement.tie_break if by is not By.TIME or (placement.time or "").lower() not in named]
    ties = [By.KEY] if plan.has_key else left  # the key of a changelog is unique
    return [name for name in _ordered(placement, ties) if name.lower() not in named]


def _waits(plan: OverWindow) -> list[str]:
    if plan.placement.emit == EmitMode.CHANGES or plan.placement.mode == Mode.BATCH:
        return []
    return ["rows"] if plan.waits_for_rows else ["window"] if plan.closes_with_window else ["watermark"]


def _over_call(one: OverCall) -> str:
    frame = f" {frame_sql(one.frame)}" if one.frame is not None else ""
    return f"{one.argument.text}{frame} -> {one.argument.output}"


def _argument(one: Argument) -> str:
    return f"{one.text} -> {one.output}"


def _output(one: Output) -> str:
    return one.name if one.sql == one.name else f"{one.sql} -> {one.name}"
